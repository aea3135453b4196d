import { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Choices, Goal, GoalEntry, Night, Project } from "./api";
import { useSending } from "./ask";
import { many } from "./format";
import { Morning } from "./morning";
import { Icon, link, Loading, STATUS_ICON, Trouble, useAnswer } from "./parts";

const KIND_TONE: Record<string, string> = {
  proven: "good",
  given_up: "bad",
  not_proven: "warn",
  waiting: "warn",
  running: "busy",
};
const MANY = 12;

// The morning on one look: how much is proven, what is not, and what it cost.
export function NightHead({
  project,
  night,
  where,
  refresh,
}: {
  project: Project;
  night: Night;
  where: string;
  refresh: () => void;
}) {
  const all = night.groups.reduce((sum, group) => sum + group.goals.length, 0);
  const proven = night.groups.flatMap((group) => group.goals).filter((goal) => goal.kind === "proven").length;
  const colour = (goals: Goal[]) => KIND_TONE[goals[0].kind] ?? "calm";
  const about = (
    <p class="dim">
      {where && (
        <>
          <code>{where}</code> ·{" "}
        </>
      )}
      <Quoted text={night.title} />
    </p>
  );
  if (!night.began)
    return (
      <section class="night" aria-label={`The backlog ${night.list}`}>
        <h2>{many(all, "goal")} to work on</h2>
        {about}
      </section>
    );
  return (
    <section class="panel night" aria-label={`The backlog ${night.list}`}>
      <h2>
        {proven} of {many(all, "goal")} done and proven
      </h2>
      {about}
      <div class="shares" aria-hidden="true">
        {night.groups.map((group) => (
          <span key={group.heading} class={colour(group.goals)} style={{ flexGrow: group.goals.length }} />
        ))}
      </div>
      <ul class="legend">
        {night.groups.map((group) => (
          <li key={group.heading}>
            <span class={`dot ${colour(group.goals)}`} aria-hidden="true" /> <b>{group.goals.length}</b>{" "}
            {group.heading.toLowerCase()}
          </li>
        ))}
      </ul>
      <p class="numbers">
        {night.spent.map((each) => (
          <span key={each}>{each}</span>
        ))}
        {night.branch && (
          <span>
            <Icon name="branch" /> together on <code>{night.branch}</code>
            {night.left_out > 0 && `, ${night.left_out} left out`}
          </span>
        )}
      </p>
      {night.trouble && (
        <p class="lost">
          <Icon name="alert" /> There is no night branch: {night.trouble}
        </p>
      )}
      <Morning project={project} night={night} refresh={refresh} />
    </section>
  );
}

// What stands between backticks is code.
function Quoted({ text }: { text: string }) {
  return <>{text.split("`").map((part, n) => (n % 2 ? <code key={n}>{part}</code> : part))}</>;
}

// The goals by what came of them. Those that are not proven can be moved, changed and dropped, new ones added, and the night started.
export function NightGoals({
  project,
  night,
  live = new Set(),
  refresh,
}: {
  project: string;
  night: Night;
  // Runs that the page shows with what they do, and so not here.
  live?: Set<string>;
  refresh: () => void;
}) {
  const top = `/api/${encodeURIComponent(project)}`;
  const { act, busy, note } = useSending(top, refresh);
  const [open, setOpen] = useState<"" | "add" | "night">("");
  const kept = useRef("");
  // A row that moves takes the focus along, at once, so that Enter moves it on.
  useLayoutEffect(() => {
    const button = document.getElementById(kept.current) as HTMLButtonElement | null;
    if (button && document.activeElement === document.body)
      (button.disabled ? button.parentElement!.querySelector<HTMLButtonElement>("button:enabled") : button)?.focus();
  });
  const send = (action: string, body: object = {}) => act(action, { list: night.list, ...body });
  // Pressed again before the list has come back, it would ask for the same place again.
  const move = (goal: Goal, before: string, id: string) => {
    if (busy) return;
    kept.current = id;
    void send("move_goal", { goal: goal.name, before });
  };
  const goals = night.groups.flatMap((group) => group.goals);
  const names = goals.map((goal) => goal.name);
  // A person can resume the run of a goal by hand: that is no night, which could be stopped.
  const working = night.open && night.working;
  return (
    <section
      class="goals"
      data-state={working ? "working" : night.open ? "open" : night.began ? "ended" : "fresh"}
      aria-label={`Goals of ${night.list}`}
    >
      {night.began && <h2>{night.list === "backlog" ? "Goals" : `Goals of ${night.list}`}</h2>}
      <div class="actions">
        {working ? (
          <button data-action="stop-night" type="button" disabled={busy} onClick={() => void send("stop_night")}>
            Stop the night
          </button>
        ) : (
          (night.open || goals.some((goal) => goal.kind !== "proven")) && (
            <button
              data-action="night"
              type="button"
              aria-expanded={open === "night"}
              onClick={() => setOpen(open === "night" ? "" : "night")}
            >
              <Icon name="moon" /> {night.open ? "Continue the night…" : "Start a night…"}
            </button>
          )
        )}
        <button
          data-action="add"
          type="button"
          aria-expanded={open === "add"}
          onClick={() => setOpen(open === "add" ? "" : "add")}
        >
          <Icon name="plus" /> Add a goal
        </button>
      </div>
      {open === "night" && (
        <StartNight
          top={top}
          open={night.open}
          begin={(chosen) => send("start_night", chosen)}
          close={() => setOpen("")}
        />
      )}
      {open === "add" && (
        <GoalForm names={names} save={(fields) => send("add_goal", { fields })} close={() => setOpen("")} />
      )}
      {note}
      {night.groups.map(({ heading, goals: all }) => {
        const goals = all.filter((goal) => !live.has(goal.run));
        if (!goals.length) return null;
        return (
          <details key={heading} open={goals.length <= MANY || goals[0].kind !== "proven"}>
            <summary>
              <h3>
                {heading} <span class="count">{goals.length}</span>
              </h3>
            </summary>
            <ul class="list">
              {goals.map((goal, n) => (
                <GoalEntry
                  key={goal.name}
                  project={project}
                  list={night.list}
                  goal={goal}
                  names={names.filter((name) => name !== goal.name)}
                  send={send}
                >
                  {["ready", "not_begun"].includes(goal.kind) && goals.length > 1 && (
                    <span class="moves">
                      {(["up", "down"] as const).map((way) => {
                        const id = `${way}-${night.list}-${goal.name}`;
                        const before = way === "up" ? goals[n - 1]?.name : (goals[n + 2]?.name ?? "");
                        return (
                          <button
                            data-action={way === "up" ? "move-up" : "move-down"}
                            key={way}
                            id={id}
                            type="button"
                            class="icon-only"
                            disabled={way === "up" ? n === 0 : n === goals.length - 1}
                            aria-label={`Move ${goal.name} ${way}`}
                            title={`Move ${way}`}
                            onClick={() => move(goal, before, id)}
                          >
                            <Icon name={way} />
                          </button>
                        );
                      })}
                    </span>
                  )}
                </GoalEntry>
              ))}
            </ul>
          </details>
        );
      })}
    </section>
  );
}

type Send = (action: string, body?: object) => Promise<boolean>;

function GoalEntry({
  project,
  list,
  goal,
  names,
  send,
  children,
}: {
  project: string;
  list: string;
  goal: Goal;
  names: string[];
  send: Send;
  children: ComponentChildren;
}) {
  const [state, setState] = useState<"" | "sure" | "edit">("");
  const colour = KIND_TONE[goal.kind] ?? "calm";
  const sure = state === "sure";
  const save = async (fields: object) =>
    !Object.keys(fields).length || (await send("edit_goal", { goal: goal.name, fields }));
  return (
    <li class="entry goal" data-state={goal.kind}>
      <span class={`mark ${colour}`}>
        <Icon name={STATUS_ICON[colour]} />
      </span>
      <span class="main">
        {goal.run ? <a href={link("run", project, goal.run)}>{goal.title}</a> : <strong>{goal.title}</strong>}
        {[goal.words[0] ?? "", ...goal.words.slice(1)].map((words, n) => (
          <small key={words}>
            {n === 0 && (
              <>
                <span class="name">{goal.name}</span>
                {goal.applied && " · in your files"}
                {words && " · "}
              </>
            )}
            <Quoted text={words} />
          </small>
        ))}
      </span>
      {goal.kind !== "proven" && (
        <span class="actions">
          {!sure && (
            <>
              {children}
              <button
                data-action="edit"
                type="button"
                class="quiet"
                aria-label={`Edit ${goal.name}`}
                aria-expanded={state === "edit"}
                onClick={() => setState(state === "edit" ? "" : "edit")}
              >
                Edit
              </button>
            </>
          )}
          <button
            data-action={sure ? "really-drop" : "drop"}
            key="drop"
            type="button"
            class={sure ? "bad" : "quiet"}
            aria-label={`${sure ? "Really drop" : "Drop"} ${goal.name}`}
            onClick={() => (sure ? void send("drop_goal", { goal: goal.name }) : setState("sure"))}
          >
            {!sure ? "Drop" : goal.kind === "running" ? "Stop and drop it" : "Drop it"}
          </button>
          {sure && (
            <button data-action="keep-it" type="button" class="quiet" onClick={() => setState("")}>
              Keep it
            </button>
          )}
        </span>
      )}
      {state === "edit" && (
        <EditGoal
          address={`/api/${encodeURIComponent(project)}/backlogs/${encodeURIComponent(list)}/${encodeURIComponent(goal.name)}`}
          names={names}
          save={save}
          close={() => setState("")}
        />
      )}
    </li>
  );
}

type Value = string | number | string[] | null;
interface FormOfGoal {
  names: string[];
  save: (fields: object) => Promise<boolean>;
  close: () => void;
}

function EditGoal({ address, ...form }: FormOfGoal & { address: string }) {
  const { data, error } = useAnswer<GoalEntry>(address);
  if (!data) return error ? <Trouble error={error} /> : <Loading what="Reading the goal…" />;
  return <GoalForm before={data} {...form} />;
}

const NUMBERS: [string, string, string][] = [
  ["rounds", "Limit on rounds", "1"],
  ["cost", "… on dollars", "any"],
  ["minutes", "… on minutes", "any"],
  ["tokens", "… on tokens", "1"],
];
const LISTS: [string, string, string][] = [
  ["files", "Files it changes", "shop/cart.py, …"],
  ["labels", "Labels", "ui, …"],
];

// Everything that a goal can say, to add one or to change one. Only what the person has changed is sent.
function GoalForm({ before, names, save, close }: FormOfGoal & { before?: GoalEntry }) {
  const [said, setSaid] = useState<Record<string, string>>({});
  const [needs, setNeeds] = useState(before?.needs ?? []);
  const [busy, setBusy] = useState(false);
  const text = useRef<HTMLTextAreaElement>(null);
  useEffect(() => text.current?.focus(), []);
  const known = (field: string) => {
    const value = before?.[field as keyof GoalEntry] ?? "";
    return Array.isArray(value) ? value.join(", ") : String(value);
  };
  const field = (name: string) => ({
    value: said[name] ?? known(name),
    onInput: (event: { currentTarget: HTMLInputElement | HTMLTextAreaElement }) =>
      setSaid({ ...said, [name]: event.currentTarget.value }),
  });
  const read = (name: string, value: string): Value =>
    NUMBERS.some(([each]) => each === name)
      ? value
        ? Number(value)
        : null
      : LISTS.some(([each]) => each === name)
        ? value
            .split(",")
            .map((each) => each.trim())
            .filter(Boolean)
        : name === "priority"
          ? Number(value)
          : value;
  const submit = async () => {
    const fields = Object.fromEntries(
      Object.entries(said)
        .filter(([name, value]) => value !== known(name))
        .map(([name, value]) => [name, read(name, value)]),
    );
    setBusy(true);
    const done = await save(needs.join() === (before?.needs ?? []).join() ? fields : { ...fields, needs });
    setBusy(false);
    if (!done) return;
    if (before) {
      close();
      return;
    }
    setSaid({});
    setNeeds([]);
    text.current?.focus();
  };
  return (
    <form
      class="new boxed"
      aria-label={before ? "Change the goal" : "Add a goal"}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <label>
        Goal <textarea ref={text} required rows={3} placeholder="What should be true in the end?" {...field("goal")} />
      </label>
      <div class="three">
        <label>
          Check <input placeholder="found by bough" {...field("check")} />
        </label>
        <label>
          Priority <input type="number" step="1" placeholder="0: higher numbers begin first" {...field("priority")} />
        </label>
      </div>
      {names.length > 0 && (
        <fieldset>
          <legend>Begins after</legend>
          {names.map((name) => (
            <label key={name} class="tick-box">
              <input
                data-action="begins-after"
                type="checkbox"
                checked={needs.includes(name)}
                onChange={() =>
                  setNeeds(needs.includes(name) ? needs.filter((each) => each !== name) : [...needs, name])
                }
              />{" "}
              {name}
            </label>
          ))}
        </fieldset>
      )}
      <details>
        <summary>Limits, files and labels</summary>
        <div class="three">
          {NUMBERS.map(([name, label, step]) => (
            <label key={name}>
              {label} <input type="number" min="0" step={step} placeholder="as the night says" {...field(name)} />
            </label>
          ))}
          {LISTS.map(([name, label, hint]) => (
            <label key={name}>
              {label} <input placeholder={hint} {...field(name)} />
            </label>
          ))}
        </div>
      </details>
      <p class="actions">
        <button data-action="save-goal" type="submit" class="first" disabled={busy}>
          {before ? "Change it" : "Add it"}
        </button>
        <button data-action="close-goal" type="button" class="quiet" onClick={close}>
          {before ? "Cancel" : "Close"}
        </button>
      </p>
    </form>
  );
}

// What `bough backlog run` offers.
function StartNight({
  top,
  open,
  begin,
  close,
}: {
  top: string;
  open: boolean;
  begin: (chosen: object) => Promise<boolean>;
  close: () => void;
}) {
  const { data, error } = useAnswer<Choices>(`${top}/choices`);
  const [busy, setBusy] = useState(false);
  if (!data) return error ? <Trouble error={error} /> : <Loading what="Reading your settings…" />;
  const submit = async (form: HTMLFormElement) => {
    const said = Object.fromEntries(new FormData(form)) as Record<string, string>;
    setBusy(true);
    const begun = await begin({
      ...said,
      jobs: Number(said.jobs),
      cost: Number(said.cost),
      per_goal: Number(said.per_goal),
      disk: Number(said.disk),
      give_up: "give_up" in said,
      partial: "partial" in said,
      draft: "draft" in said,
    });
    setBusy(false);
    if (begun) close();
  };
  return (
    <form
      class="new boxed"
      aria-label="The night"
      onSubmit={(event) => {
        event.preventDefault();
        void submit(event.currentTarget);
      }}
    >
      <p class="dim">
        Every goal is a run of its own with its branch, budget and verdict. It is a process of its own: it goes on when
        you close this page{open ? "" : ", until the list is done or you stop it"}.
      </p>
      <div class="three">
        <label>
          Goals at once{" "}
          <input name="jobs" type="number" min="1" max="100" autoFocus placeholder={String(data.backlog.jobs)} />
        </label>
        <label>
          Until <input name="until" type="time" />
        </label>
        <label>
          Limit of the night in $ <input name="cost" type="number" min="0" step="any" placeholder="no limit" />
        </label>
        <label>
          Limit of one goal in ${" "}
          <input
            name="per_goal"
            type="number"
            min="0"
            step="any"
            placeholder={data.backlog.per_goal ? String(data.backlog.per_goal) : "no limit"}
          />
        </label>
        <label>
          Model or preset <input name="model" list="night-models" placeholder={data.model || "provider:model"} />
        </label>
        <datalist id="night-models">
          {data.models.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
        <label>
          Limit on disk in GB <input name="disk" type="number" min="0" step="any" placeholder="no limit" />
        </label>
        <label>
          Branch for all proven work <input name="together" placeholder="none" />
        </label>
      </div>
      <label class="tick-box">
        <input data-action="give-up" name="give_up" type="checkbox" /> Give up a goal that is stuck instead of waiting
        for my answer
      </label>
      <label class="tick-box">
        <input data-action="partial-branches" name="partial" type="checkbox" /> Branches also for work that is finished
        and not proven
      </label>
      <label class="tick-box">
        <input data-action="draft-requests" name="draft" type="checkbox" /> Push proven branches and open draft pull
        requests with <code>gh</code>
      </label>
      <p class="actions">
        <button data-action="start-night" type="submit" class="first" disabled={busy}>
          <Icon name="moon" /> {open ? "Continue it" : "Start it"}
        </button>
        <button data-action="cancel-night" type="button" class="quiet" onClick={close}>
          Cancel
        </button>
      </p>
      {busy && (
        <p class="loading" role="status">
          Starting: bough reads your files…
        </p>
      )}
    </form>
  );
}
