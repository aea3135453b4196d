import { useMemo, useState } from "preact/hooks";
import { at, exported, query } from "./api";
import { BurnChart, TestsChart } from "./charts";
import { count, duration, many, money } from "./format";
import { Ladder } from "./ladder";
import { Badge, link, Loading, Meter, Panel, Tabs, Tree, Trouble, useAnswer, useRun } from "./parts";
import { Steer } from "./steer";
import { Timeline } from "./timeline";
import { TreeView } from "./tree";
import { Changes } from "./diff";

export interface Charts {
  seq: number; from: number; to: number; work: string[]; total: number;
  lanes: { path: string; name: string; depth: number; spans: [number, number, number, string, number][] }[];
  burn: { branches: string[]; points: { at: number; spent: [number, number, number][] }[]; limits: { rounds: number; tokens: number | null; cost: number | null } };
  tests: { at: number; task: string; in: string; passed: number; failed: number }[];
}

const TABS: [string, string][] = [
  ["tree", "Tree"], ["timeline", "Timeline"], ["progress", "Budget and tests"], ["requirements", "Requirements"], ["ladder", "Ladder"], ["changes", "Changes"],
];

export function RunPage({ project, name, tab }: { project: string; name: string; tab: string }) {
  const { tree, error, refresh } = useRun(project, name);
  if (!tree) return error ? <Trouble error={error} /> : <Loading />;
  return (
    <main class="wide">
      <Head project={project} tree={tree} refresh={refresh} />
      {error ? <Trouble error={error} /> : null}
      <Tabs tabs={TABS} chosen={tab} to={(each) => link("run", project, name, each)} />
      {tab === "tree" && <TreeView project={project} tree={tree} />}
      {tab === "timeline" && <Drawn project={project} tree={tree} kind="timeline" />}
      {tab === "progress" && <Drawn project={project} tree={tree} kind="progress" />}
      {tab === "requirements" && <Requirements project={project} tree={tree} />}
      {tab === "ladder" && <Ladder project={project} name={tree.run.run} seq={tree.seq} />}
      {tab === "changes" && <Changes project={project} run={tree.run.run} task="goal" again={tree.lines.get("goal")?.files} />}
    </main>
  );
}

export function Head({ project, tree, refresh }: { project: string; tree: Tree; refresh: () => void }) {
  const { run } = tree;
  const busy = useMemo(() => [...tree.lines.values()].filter((line) => line.doing).length, [tree.lines]);
  return (
    <header class="head">
      <div class="top">
        <h1><a href={link("run", project, run.run)}>{run.run}</a></h1>
        <Badge word={run.status} text={run.words} />
        {run.applied && <Badge word="completed" text="applied" />}
        {!tree.up && <Badge word="stopped" text="connection lost; reconnecting" />}
        {exported && <Badge word="calm" text="exported" />}
      </div>
      <p class="goal">{run.goal.length > 400 ? run.title : run.goal}</p>
      {run.summary && <p class="dim">{run.summary}</p>}
      <p class="numbers">
        <span><Meter value={run.done} most={run.leaves} label={`${run.done} of ${many(run.leaves, "task")} done`} /> {run.done}/{run.leaves} tasks</span>
        <span>{run.spend.rounds}/{run.limits.rounds} rounds</span>
        <span>{count(run.spend.tokens_in + run.spend.tokens_out)} tokens</span>
        <span>{money(run.spend.cost, run.spend.unpriced)}{run.limits.cost ? ` of ${money(run.limits.cost)}` : ""}</span>
        <span>{duration(run.seconds)}</span>
        {run.holder !== null && busy > 0 && <span>{many(busy, "active task")}</span>}
        <span class="dim">{run.models.main}</span>
      </p>
      <Steer project={project} run={run} refresh={refresh} />
    </header>
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
  if (!data.rows?.length) return <p class="dim">No requirements have been read from the goal yet.</p>;
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

