import { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { at, exported, get, post, query, Run, Waiting } from "./api";
import { clock } from "./format";
import { Text } from "./parts";

type Refresh = () => void;

// A button that does what a command does and shows the result.
function useAction(project: string, run: Run, refresh: Refresh) {
  const [said, setSaid] = useState<{ text: string; bad: boolean } | null>(null);
  const [busy, setBusy] = useState(false);
  const act = async (action: string, body: unknown): Promise<boolean> => {
    setBusy(true);
    try {
      setSaid({ text: await post(project, run.run, action, body), bad: false });
      refresh();
      return true;
    } catch (error) {
      setSaid({ text: error instanceof Error ? error.message : String(error), bad: true });
      return false;
    } finally {
      setBusy(false);
    }
  };
  const note: ComponentChildren = said && <p class={said.bad ? "problem" : "said"} role={said.bad ? "alert" : "status"}>{said.text}</p>;
  return { act, busy, note };
}

export function Steer({ project, run, refresh }: { project: string; run: Run; refresh: Refresh }) {
  const { act, busy, note } = useAction(project, run, refresh);
  const [partial, setPartial] = useState(false);
  if (exported) return null;
  const live = run.holder !== null;
  const over = ["completed", "not_proven", "failed"].includes(run.status);
  return (
    <div class="steer">
      {(run.waiting ?? []).map((waiting) => <Question key={`${waiting.kind}${waiting.id}${waiting.task}`} project={project} run={run} waiting={waiting} refresh={refresh} />)}
      <p class="actions">
        {live && <button type="button" disabled={busy} onClick={() => act("pause", {})}>Pause</button>}
        {live && <button type="button" disabled={busy} onClick={() => act("stop", { now: false })}>Stop</button>}
        {live && <button type="button" class="quiet" disabled={busy} onClick={() => act("stop", { now: true })}>Stop now</button>}
        {!live && !over && <button type="button" class="first" disabled={busy} onClick={() => act("resume", {})}>Resume</button>}
        {!live && run.status === "completed" && !run.applied && <button type="button" class="first" disabled={busy} onClick={() => act("apply", {})}>Apply</button>}
        {!live && over && run.status !== "completed" && !run.applied && !partial && <button type="button" disabled={busy} onClick={() => setPartial(true)}>Apply anyway…</button>}
        {partial && <button type="button" class="bad" disabled={busy} onClick={() => act("apply", { partial: true }).then(() => setPartial(false))}>The work is not verified: apply it</button>}
        {!live && run.applied && <button type="button" disabled={busy} onClick={() => act("undo", {})}>Undo apply</button>}
        <Say project={project} run={run} task="goal" refresh={refresh} />
        <Copy run={run} />
      </p>
      {note}
    </div>
  );
}

// The command line can do whatever the page can.
function Copy({ run }: { run: Run }) {
  const verb = run.applied ? "undo" : run.status === "completed" ? "apply" : "";
  const command = run.applied ? `bough undo ${run.run}` : run.next.find((each) => each.command.startsWith(`bough ${verb}`))?.command;
  return command ? <span class="dim twin">or in a terminal: <code>{command}</code></span> : null;
}

function Question({ project, run, waiting, refresh }: { project: string; run: Run; waiting: Waiting; refresh: Refresh }) {
  const { act, busy, note } = useAction(project, run, refresh);
  const [text, setText] = useState("");
  if (waiting.kind === "tests")
    return (
      <section class="question" aria-label="Waiting for your approval">
        <h2>May these tests change?</h2>
        <p>{waiting.question}</p>
        {waiting.tests?.map((one) => (
          <details key={one.test} open><summary><code>{one.test}</code></summary>
            {one.said && <pre>{one.said}</pre>}{one.was && <pre class="del">{one.was}</pre>}{one.now && <pre class="ins">{one.now}</pre>}
          </details>
        ))}
        <label>Message to the agent if you deny it <input value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
        <p class="actions">
          <button type="button" class="first" disabled={busy} onClick={() => act("approve", { allow: true })}>Allow</button>
          <button type="button" disabled={busy} onClick={() => act("approve", { allow: false, say: text })}>Do not allow</button>
        </p>
        {note}
      </section>
    );
  if (waiting.kind === "command")
    return (
      <section class="question" aria-label="A command is waiting for your approval">
        <h2>May this command run?</h2>
        <pre>{waiting.question}</pre>
        <label>Message to the agent if you deny it <input value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
        <p class="actions">
          <button type="button" class="first" disabled={busy} onClick={() => act("command", { id: waiting.id, allow: true })}>Run it</button>
          <button type="button" disabled={busy} onClick={() => act("command", { id: waiting.id, allow: false, say: text })}>Do not run it</button>
        </p>
        {note}
      </section>
    );
  if (waiting.kind === "plan") return <PlanQuestion project={project} run={run} waiting={waiting} refresh={refresh} />;
  return (
    <section class="question" aria-label="The run has a question">
      <h2>{run.run} asks you</h2>
      <Text text={waiting.question} lines={30} />
      <form onSubmit={(event) => { event.preventDefault(); void act("answer", { text }).then((done) => done && setText("")); }}>
        <label>Your answer <textarea required value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
        <p class="actions"><button type="submit" class="first" disabled={busy || !text.trim()}>Answer</button></p>
      </form>
      {note}
    </section>
  );
}

// The plan as text, to accept or to edit in place.
function PlanQuestion({ project, run, waiting, refresh }: { project: string; run: Run; waiting: Waiting; refresh: Refresh }) {
  const { act, busy, note } = useAction(project, run, refresh);
  const [plan, setPlan] = useState(waiting.plan ?? "");
  const [wish, setWish] = useState("");
  const { task } = waiting;
  const changed = plan !== waiting.plan;
  return (
    <section class="question" aria-label="The run asks about its plan">
      <h2>Run {task} like this?</h2>
      <label>The plan, which you can edit <textarea class="plan" spellcheck={false} value={plan} onInput={(event) => setPlan(event.currentTarget.value)} /></label>
      <label>Or say what should be different <input value={wish} onInput={(event) => setWish(event.currentTarget.value)} /></label>
      <p class="actions">
        <button type="button" class="first" disabled={busy} onClick={() => act("plan", changed ? { says: "own", task, text: plan } : { says: "yes", task })}>{changed ? "Run my plan" : "Run it"}</button>
        <button type="button" disabled={busy || !wish.trim()} onClick={() => act("plan", { says: "change", task, text: wish })}>Ask for another plan</button>
        <button type="button" disabled={busy} onClick={() => act("plan", { says: "no", task })}>Run it as one piece of work</button>
      </p>
      {note}
    </section>
  );
}

interface Point { at: number; words: string }

export function Rewind({ project, run, task, refresh }: { project: string; run: Run; task: string; refresh: Refresh }) {
  const { act, busy, note } = useAction(project, run, refresh);
  const [points, setPoints] = useState<Point[] | null>(null);
  const [to, setTo] = useState(0);
  const [say, setSay] = useState("");
  if (run.holder !== null) return null;
  const open = async () => {
    const { points: found } = await get<{ points: Point[] }>(at(project, run.run, `/points${query({ task })}`));
    setPoints(found);
    setTo(Math.max(0, found.length - 1));
  };
  if (!points) return <button type="button" onClick={() => void open()}>Rewind…</button>;
  return (
    <form class="rewind" onSubmit={(event) => { event.preventDefault(); void act("rewind", { to, task, say }).then((done) => done && setPoints(null)); }}>
      <label>Rewind the run to{" "}
        <select value={String(to)} onChange={(event) => setTo(Number(event.currentTarget.value))}>
          {points.map((point, n) => <option key={n} value={String(n)}>{n}: {clock(point.at)} {point.words.slice(0, 90)}</option>)}
        </select>
      </label>
      <label>Message to the next agent <input value={say} onInput={(event) => setSay(event.currentTarget.value)} /></label>
      <button type="submit" class="first" disabled={busy}>Rewind</button>
      <button type="button" class="quiet" onClick={() => setPoints(null)}>Cancel</button>
      {note}
    </form>
  );
}

// A message to a task's agents, who read it before their next round or when the run resumes.
export function Say({ project, run, task, refresh }: { project: string; run: Run; task: string; refresh: Refresh }) {
  const { act, busy, note } = useAction(project, run, refresh);
  const [open, setOpen] = useState(false);
  const [text, setText] = useState("");
  if (["completed", "not_proven", "failed"].includes(run.status)) return null;
  if (!open) return <><button type="button" onClick={() => setOpen(true)}>Send a message…</button>{note}</>;
  return (
    <form class="rewind" onSubmit={(event) => { event.preventDefault(); void act("say", { text, task: task === "goal" ? "" : task }).then((done) => { if (done) { setText(""); setOpen(false); } }); }}>
      <label>{task === "goal" ? "Message to all agents" : `Message to the agents at ${task}`} <input value={text} autoFocus onInput={(event) => setText(event.currentTarget.value)} /></label>
      <button type="submit" class="first" disabled={busy || !text.trim()}>Send</button>
      <button type="button" class="quiet" onClick={() => setOpen(false)}>Cancel</button>
      {note}
    </form>
  );
}
