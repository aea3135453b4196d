import { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useSending } from "./ask";
import { many } from "./format";
import { Icon, link, STATUS_ICON } from "./parts";

export interface Goal { name: string; title: string; kind: string; run: string; words: string[] }
export interface Night { list: string; title: string; began: boolean; spent: string[]; branch: string; trouble: string; groups: { heading: string; goals: Goal[] }[] }

const KIND_TONE: Record<string, string> = { proven: "good", given_up: "bad", not_proven: "warn", waiting: "warn", running: "busy" };
const MANY = 12;

// The morning on one look: how much is proven, what is not, and what it cost.
export function NightHead({ night, where }: { night: Night; where: string }) {
  const all = night.groups.reduce((sum, group) => sum + group.goals.length, 0);
  const proven = night.groups.flatMap((group) => group.goals).filter((goal) => goal.kind === "proven").length;
  const colour = (goals: Goal[]) => KIND_TONE[goals[0].kind] ?? "calm";
  const about = <p class="dim">{where && <><code>{where}</code> · </>}<Quoted text={night.title} /></p>;
  if (!night.began) return <section class="night" aria-label={`The backlog ${night.list}`}><h2>{many(all, "goal")} to work on</h2>{about}</section>;
  return (
    <section class="panel night" aria-label={`The backlog ${night.list}`}>
      <h2>{proven} of {many(all, "goal")} done and proven</h2>
      {about}
      <div class="shares" aria-hidden="true">{night.groups.map((group) => <span key={group.heading} class={colour(group.goals)} style={{ flexGrow: group.goals.length }} />)}</div>
      <ul class="legend">{night.groups.map((group) => <li key={group.heading}><span class={`dot ${colour(group.goals)}`} aria-hidden="true" /> <b>{group.goals.length}</b> {group.heading.toLowerCase()}</li>)}</ul>
      <p class="numbers">{night.spent.map((each) => <span key={each}>{each}</span>)}{night.branch && <span><Icon name="branch" /> together on <code>{night.branch}</code></span>}</p>
      {night.trouble && <p class="lost"><Icon name="alert" /> There is no night branch: {night.trouble}</p>}
    </section>
  );
}

// What stands between backticks is code.
function Quoted({ text }: { text: string }) {
  return <>{text.split("`").map((part, n) => (n % 2 ? <code key={n}>{part}</code> : part))}</>;
}

// The goals by what came of them. Those that have not begun can be moved and dropped, and new ones added.
export function NightGoals({ project, night, live, refresh }: { project: string; night: Night; live: Set<string>; refresh: () => void }) {
  const { act, note } = useSending(`/api/${encodeURIComponent(project)}`, refresh);
  const [adding, setAdding] = useState(false);
  const kept = useRef("");
  // A row that moves takes the focus along, so that Enter moves it on.
  useEffect(() => {
    const button = document.getElementById(kept.current) as HTMLButtonElement | null;
    if (button && document.activeElement === document.body) (button.disabled ? button.parentElement!.querySelector<HTMLButtonElement>("button:enabled") : button)?.focus();
  });
  const move = (goal: Goal, before: string, id: string) => { kept.current = id; void act("move_goal", { list: night.list, goal: goal.name, before }); };
  const drop = (goal: Goal) => act("drop_goal", { list: night.list, goal: goal.name });
  const names = night.groups.flatMap((group) => group.goals).map((goal) => goal.name);
  return (
    <section class="goals" aria-label={`Goals of ${night.list}`}>
      {night.began && <h2>{night.list === "backlog" ? "Goals" : `Goals of ${night.list}`}</h2>}
      {night.groups.map(({ heading, goals: all }) => {
        const goals = all.filter((goal) => !live.has(goal.run));
        if (!goals.length) return null;
        return (
          <details key={heading} open={goals.length <= MANY || goals[0].kind !== "proven"}>
            <summary><h3>{heading} <span class="count">{goals.length}</span></h3></summary>
            <ul class="list">
              {goals.map((goal, n) => (
                <GoalEntry key={goal.name} project={project} goal={goal} drop={drop}>
                  {["ready", "not_begun"].includes(goal.kind) && goals.length > 1 && (
                    <span class="moves">
                      {(["up", "down"] as const).map((way) => {
                        const id = `${way}-${night.list}-${goal.name}`;
                        const before = way === "up" ? goals[n - 1]?.name : goals[n + 2]?.name ?? "";
                        return <button key={way} id={id} type="button" class="icon-only" disabled={way === "up" ? n === 0 : n === goals.length - 1} aria-label={`Move ${goal.name} ${way}`} title={`Move ${way}`} onClick={() => move(goal, before, id)}><Icon name={way} /></button>;
                      })}
                    </span>
                  )}
                </GoalEntry>
              ))}
            </ul>
          </details>
        );
      })}
      {note}
      {adding
        ? <AddGoal names={names} add={(goal) => act("add_goal", { list: night.list, ...goal })} close={() => setAdding(false)} />
        : <p class="actions"><button type="button" onClick={() => setAdding(true)}><Icon name="plus" /> Add a goal</button></p>}
    </section>
  );
}

function GoalEntry({ project, goal, drop, children }: { project: string; goal: Goal; drop: (goal: Goal) => Promise<boolean>; children: ComponentChildren }) {
  const [sure, setSure] = useState(false);
  const colour = KIND_TONE[goal.kind] ?? "calm";
  return (
    <li class="entry goal">
      <span class={`mark ${colour}`}><Icon name={STATUS_ICON[colour]} /></span>
      <span class="main">{goal.run ? <a href={link("run", project, goal.run)}>{goal.title}</a> : <strong>{goal.title}</strong>}{[goal.words[0] ?? "", ...goal.words.slice(1)].map((words, n) => <small key={words}>{n === 0 && <><span class="name">{goal.name}</span>{words && " · "}</>}<Quoted text={words} /></small>)}</span>
      <span class="actions">
        {children}
        {goal.kind !== "proven" && (sure
          ? <><button type="button" class="bad" autoFocus onClick={() => void drop(goal)}>{goal.kind === "running" ? "Stop and drop it" : "Drop it"}</button><button type="button" class="quiet" onClick={() => setSure(false)}>Keep it</button></>
          : <button type="button" class="quiet" aria-label={`Drop ${goal.name}`} onClick={() => setSure(true)}>Drop</button>)}
      </span>
    </li>
  );
}

interface NewGoal { goal: string; check: string; needs: string[] }

function AddGoal({ names, add, close }: { names: string[]; add: (goal: NewGoal) => Promise<boolean>; close: () => void }) {
  const [goal, setGoal] = useState("");
  const [check, setCheck] = useState("");
  const [needs, setNeeds] = useState("");
  const text = useRef<HTMLTextAreaElement>(null);
  useEffect(() => text.current?.focus(), []);
  const submit = async () => {
    if (!(await add({ goal, check, needs: needs ? [needs] : [] }))) return;
    setGoal("");
    text.current?.focus();
  };
  return (
    <form class="new boxed" onSubmit={(event) => { event.preventDefault(); void submit(); }}>
      <label>Goal <textarea ref={text} required rows={3} value={goal} placeholder="What should be true in the end?" onInput={(event) => setGoal(event.currentTarget.value)} /></label>
      <div class="three">
        <label>Check <input value={check} placeholder="found by bough" onInput={(event) => setCheck(event.currentTarget.value)} /></label>
        <label>Begins after <select value={needs} onChange={(event) => setNeeds(event.currentTarget.value)}><option value="">nothing else</option>{names.map((name) => <option key={name} value={name}>{name}</option>)}</select></label>
      </div>
      <p class="actions"><button type="submit" class="first" disabled={!goal.trim()}><Icon name="plus" /> Add it</button><button type="button" class="quiet" onClick={close}>Close</button></p>
    </form>
  );
}
