import { useEffect, useState } from "preact/hooks";
import { at, exported, query, Run } from "./api";
import { AnsweredList, Needs } from "./ask";
import { BurnChart, TestsChart } from "./charts";
import { Changes } from "./diff";
import { count, many, money, tone } from "./format";
import { Graph } from "./graph";
import { Doing, Lost, Progress } from "./home";
import { Ladder } from "./ladder";
import { Badge, Elapsed, Icon, link, Loading, Panel, STATUS_ICON, Tabs, Text, Tree, Trouble, useAnswer, useRun } from "./parts";
import { showState } from "./signal";
import { OVER, Steer } from "./steer";
import { Timeline } from "./timeline";
import { TreeView } from "./tree";

export interface Charts {
  seq: number; from: number; to: number; work: string[]; total: number;
  lanes: { path: string; name: string; depth: number; spans: [number, number, number, string, number][] }[];
  burn: { branches: string[]; points: { at: number; spent: [number, number, number][] }[]; limits: { rounds: number; tokens: number | null; cost: number | null } };
  tests: { at: number; task: string; in: string; passed: number; failed: number }[];
}

const TABS: [string, string][] = [
  ["tree", "Tree"], ["graph", "Graph"], ["timeline", "Timeline"], ["changes", "Changes"], ["requirements", "Requirements"], ["progress", "Budget and tests"], ["ladder", "Ladder"],
];

export function RunPage({ project, name, tab, more }: { project: string; name: string; tab: string; more: string }) {
  const { tree, error, refresh } = useRun(project, name);
  if (!tree) return error ? <Missing error={error} name={name} /> : <Loading />;
  if (tree.removed) return <Missing error="" name={tree.run.run} title={tree.run.title} />;
  const run = tree.run;
  return (
    <main class="wide">
      <Head project={project} tree={tree} refresh={refresh} whole />
      {error ? <Trouble error={error} /> : null}
      <Tabs tabs={TABS} chosen={tab} to={(each) => link("run", project, run.run, each)} />
      {tab === "tree" && <TreeView project={project} tree={tree} />}
      {tab === "graph" && <Graph project={project} tree={tree} below={more || "goal"} />}
      {tab === "timeline" && <Drawn project={project} tree={tree} kind="timeline" />}
      {tab === "progress" && <Drawn project={project} tree={tree} kind="progress" />}
      {tab === "requirements" && <Requirements project={project} tree={tree} />}
      {tab === "ladder" && <Ladder project={project} name={run.run} seq={tree.seq} />}
      {tab === "changes" && <Changes project={project} run={run} task="goal" again={tree.lines.get("goal")?.files} refresh={refresh} />}
    </main>
  );
}

// A run that was removed, or never was.
export function Missing({ error, name, title = "" }: { error: unknown; name: string; title?: string }) {
  const gone = error === "" || (error instanceof Error && "status" in error && error.status === 404);
  useEffect(() => showState(0, "calm", `${name} · bough`), [name]);
  if (!gone) return <main><Trouble error={error} /></main>;
  return (
    <main class="narrow"><section class="empty">
      <h1>{title || name}</h1>
      <p><Icon name="cross" /> This run was removed, or is not in this project: its work and its journal are gone.</p>
      {!exported && <p><a class="button" href="#/">All runs</a></p>}
    </section></main>
  );
}

// What it is for, what happens now, and what is proven: on one screen.
export function Head({ project, tree, refresh, whole = false }: { project: string; tree: Tree; refresh: () => void; whole?: boolean }) {
  const { run } = tree;
  const [open, setOpen] = useState(false);
  const colour = run.waiting.length ? "warn" : tone(run.status);
  const over = OVER.includes(run.status);
  useEffect(() => showState(run.waiting.length, colour, `${run.title} · bough`, run.title));
  const long = run.goal.trim().length > run.title.length + 20;
  return (
    <header class={`head ${whole ? "whole" : ""}`}>
      <div class="facts-of">
        <p class="crumbs">{!exported && <><a href="#/">Runs</a> / </>}<a href={link("run", project, run.run)}>{run.run}</a>{run.applied && <Badge word="completed" text="applied" />}{exported && <Badge word="calm" text="exported" />}</p>
        {tree.lost && <Lost error={tree.lost} />}
        {whole ? <h1>{run.title || run.run}</h1> : <p class="goal-line"><a href={link("run", project, run.run)}>{run.title || run.run}</a></p>}
        {whole && long && <>{open && <pre class="goal">{run.goal}</pre>}<button type="button" class="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? "Hide the whole goal" : "Show the whole goal"}</button></>}
        <p class={`standing ${colour}`}><span class={`mark ${colour}`}><Icon name={STATUS_ICON[colour]} /></span> <strong class="status">{run.words}</strong> <span class="what">{run.holder !== null && run.waiting.length === 0 ? <Doing run={run} /> : run.waiting.length ? "Answer below, in a terminal or in your editor: the first answer counts." : run.summary}</span></p>
        <p class="numbers">
          <Progress run={run} />
          <Elapsed run={run} />
          <span>{run.spend.rounds} of {run.limits.rounds} rounds</span>
          <span>{count(run.spend.tokens_in + run.spend.tokens_out)} tokens</span>
          <span>{money(run.spend.cost, run.spend.unpriced)}{run.limits.cost ? ` of ${money(run.limits.cost)}` : ""}</span>
          <span>{run.models.main}</span>
        </p>
        {!exported && <Needs run={run} refresh={refresh} />}
        {whole && (over && run.status !== "completed" ? <Why run={run} project={project} tree={tree} refresh={refresh} /> : <Steer project={project} run={run} refresh={refresh} />)}
        {whole && <AnsweredList answered={run.answered} />}
      </div>
      {whole && <EvidenceCard project={project} tree={tree} />}
    </header>
  );
}

// Why it failed or is not proven, and what to do about it: not two clicks away.
function Why({ run, project, tree, refresh }: { run: Run; project: string; tree: Tree; refresh: () => void }) {
  const bad = tree.order.map((path) => tree.lines.get(path)).filter((line) => line && ["failed", "blocked", "test_failed"].includes(line.state) && line.leaf && line.path !== "goal").slice(0, 6);
  return (
    <section class="panel why" aria-label="What happened">
      <h2>{run.status === "failed" ? "Why it gave up" : "What is not proven"}</h2>
      {run.report ? <Text text={run.report} lines={24} prose /> : run.summary && <p>{run.summary}</p>}
      {bad.length > 0 && <ul class="plain">{bad.map((line) => <li key={line!.path}><Badge word={line!.state} text={line!.words} /> <a href={link("task", project, run.run, line!.path, line!.check ? "checks" : "talk")}>{line!.title || line!.name}</a> <span class="dim">{line!.why}</span></li>)}</ul>}
      <h3>What you can do</h3>
      <p>Follow up with a message, another model or a larger budget: it starts from this work. Or rewind it to an earlier point and tell the next agent what to do differently. {run.changed ? <><a href={link("run", project, run.run, "changes")}>Look at the partial work</a>, and take it if it is good.</> : "Nothing was changed, so there is no work to take."}</p>
      <Steer project={project} run={run} refresh={refresh} />
      <ul class="plain terminal">
        {run.next.map((each) => <li key={each.command}><code>{each.command}</code> <span class="dim">{each.why}</span></li>)}
      </ul>
    </section>
  );
}

const STANDINGS: Record<string, string> = { proven: "check", refuted: "cross" };

function EvidenceCard({ project, tree }: { project: string; tree: Tree }) {
  const { data } = useAnswer<Evidence>(at(project, tree.run.run, "/evidence"), exported ? 0 : `${tree.run.status}${Math.floor(tree.run.now / 5)}`);
  const rows = data?.rows ?? [];
  if (!rows.length) return null;
  const proven = rows.filter((row) => row.standing === "proven").length;
  return (
    <aside class="panel evidence" aria-label="Evidence">
      <h2>Evidence <span class={`count ${proven === rows.length ? "good" : "calm"}`}>{proven} of {rows.length} proven</span></h2>
      <ul class="plain">
        {rows.slice(0, 7).map((row) => <li key={row.requirement.number} class={tone(row.standing)}><Icon name={STANDINGS[row.standing] ?? "dot"} /> <span>{row.requirement.text} <small>{row.standing}</small></span></li>)}
      </ul>
      <p><a href={link("run", project, tree.run.run, "requirements")}>{rows.length > 7 ? `All ${rows.length} requirements` : "How each was shown"}</a></p>
    </aside>
  );
}

function Drawn({ project, tree, kind }: { project: string; tree: Tree; kind: "timeline" | "progress" }) {
  // Charts are reloaded at most every two seconds of the run.
  const [start, setStart] = useState(0);
  const { data, error } = useAnswer<Charts>(at(project, tree.run.run, `/charts${query({ from: start || undefined })}`), exported ? 0 : Math.floor(tree.run.now / 2));
  if (!data) return error ? <Trouble error={error} /> : <Loading />;
  if (kind === "timeline") return <Timeline project={project} run={tree.run.run} charts={data} start={start} go={setStart} />;
  return (
    <div class="columns">
      <Panel title="Budget by branch"><BurnChart burn={data.burn} from={data.from} to={data.to} /></Panel>
      <Panel title="Tests over time"><TestsChart tests={data.tests} from={data.from} to={data.to} /></Panel>
    </div>
  );
}

interface Evidence {
  rows?: {
    requirement: { number: number; text: string }; standing: string;
    proofs?: { task: string; state: string; verdict?: { ruling: string; reason: string }; commit?: string; files?: string[]; examined?: string; tests?: string[] }[];
    probes?: { name: string; says: string; outcome: string }[];
  }[];
  notes?: string[];
}

function Requirements({ project, tree }: { project: string; tree: Tree }) {
  const { data, error } = useAnswer<Evidence>(at(project, tree.run.run, "/evidence"), exported ? 0 : Math.floor(tree.run.now / 5));
  if (!data) return error ? <Trouble error={error} /> : <Loading />;
  if (!data.rows?.length) return <p class="empty">No requirements have been read from the goal yet.</p>;
  return (
    <div>
      <ol class="requirements">
        {data.rows.map((row) => (
          <li key={row.requirement.number}>
            <div class="top"><span class="number">{row.requirement.number}.</span> <Badge word={row.standing} text={row.standing} /></div>
            <p>{row.requirement.text}</p>
            {row.proofs?.map((proof) => (
              <p key={proof.task} class="proof">
                <a href={link("task", project, tree.run.run, proof.task)}>{proof.task}</a> <Badge word={proof.state} />{" "}
                {proof.verdict && <span class="dim">{proof.verdict.reason}</span>}{" "}
                {proof.tests?.length ? <span class="dim">{many(proof.tests.length, "test")} of its own</span> : null}{" "}
                {proof.examined && <span class="dim">{proof.examined}</span>}
              </p>
            ))}
            {row.probes?.map((probe) => (
              <p key={probe.name} class="proof"><Badge word={probe.outcome} /> {probe.says}</p>
            ))}
          </li>
        ))}
      </ol>
      {data.notes?.length ? <Panel title="What no probe can show"><ul>{data.notes.map((note) => <li key={note}>{note}</li>)}</ul></Panel> : null}
    </div>
  );
}

