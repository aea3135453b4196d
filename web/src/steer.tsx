import { useState } from "preact/hooks";
import { at, exported, get, Point, query, Run } from "./api";
import { useAction } from "./ask";
import { clock, DONE, OVER, stateOf } from "./format";
import { Icon, link } from "./parts";

type Refresh = () => void;

export function Steer({ project, run, refresh }: { project: string; run: Run; refresh: Refresh }) {
  const { act, busy, note, said } = useAction(project, run, refresh);
  const [partial, setPartial] = useState(false);
  // What takes effect on its own is applied only when the person says so once more.
  const edges = said?.bad && said.text.includes("take effect on their own");
  if (exported) return null;
  const live = run.holder !== null;
  const over = OVER.includes(run.status);
  return (
    <div class="steer" data-state={stateOf(run)}>
      <div class="actions">
        {live && (
          <button data-action="pause" type="button" disabled={busy} onClick={() => act("pause", {})}>
            <Icon name="pause" /> Pause
          </button>
        )}
        {live && (
          <button data-action="stop" type="button" disabled={busy} onClick={() => act("stop", { now: false })}>
            Stop
          </button>
        )}
        {!live && !over && run.waiting.length === 0 && <Resume run={run} act={act} busy={busy} />}
        {!live && DONE.includes(run.status) && !run.applied && run.changed && (
          <button data-action="apply" type="button" class="first" disabled={busy} onClick={() => act("apply", {})}>
            Apply
          </button>
        )}
        {!live && run.applied && (
          <button data-action="undo" type="button" disabled={busy} onClick={() => act("undo", {})}>
            Undo apply
          </button>
        )}
        {!live && DONE.includes(run.status) && run.changed && (
          <>
            <button
              data-action="branch"
              type="button"
              disabled={busy}
              onClick={() => act("apply", { branch: `bough/${run.run}` })}
            >
              Branch
            </button>
            <button data-action="request" type="button" disabled={busy} onClick={() => act("pr", {})}>
              Pull request
            </button>
          </>
        )}
        {!live && over && (
          <a
            data-action="follow-up"
            class={`button ${DONE.includes(run.status) ? "" : "first"}`}
            href={link("new", project, run.run)}
          >
            <Icon name="branch" /> Follow up…
          </a>
        )}
        {!live && over && !DONE.includes(run.status) && !run.applied && run.changed && !partial && (
          <button data-action="partial" type="button" disabled={busy} onClick={() => setPartial(true)}>
            Take the partial work…
          </button>
        )}
        {partial && (
          <button
            data-action="apply-partial"
            type="button"
            class="bad"
            disabled={busy}
            onClick={() => act("apply", { partial: true }).then(() => setPartial(false))}
          >
            The work is not verified: apply it
          </button>
        )}
        {edges && (
          <button
            data-action="apply-edges"
            type="button"
            class="bad"
            disabled={busy}
            onClick={() => act("apply", { edges: true, ...(DONE.includes(run.status) ? {} : { partial: true }) })}
          >
            I have seen them: apply it
          </button>
        )}
        {!live && <Rewind project={project} run={run} task="goal" refresh={refresh} />}
        <Say project={project} run={run} task="goal" refresh={refresh} />
        {live && (
          <button
            data-action="stop-now"
            type="button"
            class="quiet"
            disabled={busy}
            onClick={() => act("stop", { now: true })}
          >
            Stop now
          </button>
        )}
        {(!over || DONE.includes(run.status) || run.applied) && <Copy run={run} />}
      </div>
      {note}
    </div>
  );
}

// With the same model and budget, or with others: what a run needs that has stopped for one of them.
function Resume({
  run,
  act,
  busy,
}: {
  run: Run;
  act: (action: string, body: unknown) => Promise<boolean>;
  busy: boolean;
}) {
  const spent = run.status === "budget";
  const [open, setOpen] = useState(spent);
  const [model, setModel] = useState("");
  const [rounds, setRounds] = useState(spent ? String(run.limits.rounds * 2) : "");
  const [cost, setCost] = useState("");
  const [say, setSay] = useState("");
  const body = {
    ...(model.trim() && { model: model.trim() }),
    ...(Number(rounds) > 0 && { rounds: Number(rounds) }),
    ...(Number(cost) > 0 && { cost: Number(cost) }),
    ...(say.trim() && { say: say.trim() }),
  };
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault();
        void act("resume", open ? body : {});
      }}
    >
      <button data-action="resume" type="submit" class="first" disabled={busy}>
        Resume
      </button>
      {!open && (
        <button data-action="resume-changes" type="button" class="quiet" onClick={() => setOpen(true)}>
          with changes…
        </button>
      )}
      {open && (
        <label>
          Rounds{" "}
          <input
            inputMode="numeric"
            size={5}
            value={rounds}
            placeholder={String(run.limits.rounds)}
            onInput={(event) => setRounds(event.currentTarget.value)}
          />
        </label>
      )}
      {open && (
        <label>
          Cost ${" "}
          <input
            inputMode="decimal"
            size={5}
            value={cost}
            placeholder={run.limits.cost ? String(run.limits.cost) : "no limit"}
            onInput={(event) => setCost(event.currentTarget.value)}
          />
        </label>
      )}
      {open && (
        <label>
          Model{" "}
          <input
            size={18}
            value={model}
            placeholder={run.models.main}
            onInput={(event) => setModel(event.currentTarget.value)}
          />
        </label>
      )}
      {open && (
        <label class="grow">
          Message{" "}
          <input
            value={say}
            placeholder="What should be different"
            onInput={(event) => setSay(event.currentTarget.value)}
          />
        </label>
      )}
    </form>
  );
}

// The command line can do whatever the page can.
function Copy({ run }: { run: Run }) {
  const verb = run.applied ? "undo" : DONE.includes(run.status) ? "apply" : "";
  const command = run.applied
    ? `bough undo ${run.run}`
    : run.next.find((each) => each.command.startsWith(`bough ${verb}`))?.command;
  return command ? (
    <span class="dim twin">
      or in a terminal: <code>{command}</code>
    </span>
  ) : null;
}

export function Rewind({ project, run, task, refresh }: { project: string; run: Run; task: string; refresh: Refresh }) {
  const { act, busy, note } = useAction(project, run, refresh);
  const [points, setPoints] = useState<Point[] | null>(null);
  const [to, setTo] = useState(0);
  const [say, setSay] = useState("");
  if (run.holder !== null) return null;
  const open = async () => {
    const found = await get<Point[]>(at(project, run.run, `/points${query({ task })}`));
    setPoints(found);
    setTo(Math.max(0, found.length - 1));
  };
  if (!points)
    return (
      <>
        <button data-action="rewind" type="button" onClick={() => void open()}>
          Rewind…
        </button>
        {note}
      </>
    );
  return (
    <form
      class="inline boxed"
      onSubmit={(event) => {
        event.preventDefault();
        void act("rewind", { to, task, say }).then((done) => done && setPoints(null));
      }}
    >
      <label>
        Rewind to{" "}
        <select
          data-action="rewind-to"
          value={String(to)}
          onChange={(event) => setTo(Number(event.currentTarget.value))}
        >
          {points.map((point, n) => (
            <option key={n} value={String(n)}>
              {n}: {clock(point.at)} {point.words.slice(0, 90)}
            </option>
          ))}
        </select>
      </label>
      <label class="grow">
        Message to the next agent <input value={say} onInput={(event) => setSay(event.currentTarget.value)} />
      </label>
      <button data-action="really-rewind" type="submit" class="first" disabled={busy}>
        Rewind
      </button>
      <button data-action="cancel-rewind" type="button" class="quiet" onClick={() => setPoints(null)}>
        Cancel
      </button>
      {note}
    </form>
  );
}

// A message to a task's agents, who read it before their next round or when the run resumes.
export function Say({ project, run, task, refresh }: { project: string; run: Run; task: string; refresh: Refresh }) {
  const { act, busy, note } = useAction(project, run, refresh);
  const [open, setOpen] = useState(false);
  const [text, setText] = useState("");
  if (OVER.includes(run.status)) return null;
  if (!open)
    return (
      <>
        <button data-action="message" type="button" onClick={() => setOpen(true)}>
          <Icon name="comment" /> Send a message…
        </button>
        {note}
      </>
    );
  return (
    <form
      class="inline boxed"
      onSubmit={(event) => {
        event.preventDefault();
        void act("say", { text, task: task === "goal" ? "" : task }).then((done) => {
          if (done) {
            setText("");
            setOpen(false);
          }
        });
      }}
    >
      <label class="grow">
        {task === "goal" ? "Message to all agents" : `Message to the agents at ${task}`}{" "}
        <input value={text} autoFocus onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <button data-action="send" type="submit" class="first" disabled={busy || !text.trim()}>
        Send
      </button>
      <button data-action="cancel-message" type="button" class="quiet" onClick={() => setOpen(false)}>
        Cancel
      </button>
      {note}
    </form>
  );
}
