import { useEffect, useState } from "preact/hooks";
import { Agents } from "./agents";
import { at, Charts, exported, query, Run } from "./api";
import { AnsweredList, Needs } from "./ask";
import { BurnChart, TestsChart } from "./charts";
import { count, DONE, money, OVER, tone } from "./format";
import { Graph } from "./graph";
import { Doing, Lost, Progress } from "./home";
import { Ladder } from "./ladder";
import {
  Badge,
  Elapsed,
  Icon,
  link,
  Loading,
  Panel,
  STATUS_ICON,
  Tabs,
  Text,
  Tree,
  Trouble,
  useAnswer,
  useRun,
} from "./parts";
import { Outcome, Proven, Review, Shown, useEvidence } from "./review";
import { showState } from "./signal";
import { Steer } from "./steer";
import { Timeline } from "./timeline";
import { TreeView } from "./tree";

const TABS: [string, string][] = [
  ["tree", "Tree"],
  ["graph", "Graph"],
  ["timeline", "Timeline"],
  ["changes", "Changes"],
  ["requirements", "Requirements"],
  ["progress", "Budget and tests"],
  ["ladder", "Ladder"],
];

export function RunPage({
  project,
  name,
  tab: asked,
  more,
}: {
  project: string;
  name: string;
  tab: string;
  more: string;
}) {
  const { tree, error, refresh } = useRun(project, name);
  if (!tree) return error ? <Missing error={error} name={name} /> : <Loading />;
  if (tree.removed) return <Missing error="" name={tree.run.run} title={tree.run.title} />;
  const run = tree.run;
  // A finished run is there to be reviewed: it opens with its change.
  const reviewed = OVER.includes(run.status) && run.holder === null && run.changed;
  const tab = asked || (reviewed ? "changes" : "tree");
  const tabs = reviewed
    ? [...TABS.filter(([id]) => id === "changes"), ...TABS.filter(([id]) => id !== "changes")]
    : TABS;
  return (
    <main class="wide">
      <Head project={project} tree={tree} refresh={refresh} whole review={tab === "changes"} />
      {error ? <Trouble error={error} /> : null}
      <Tabs tabs={tabs} chosen={tab} to={(each) => link("run", project, run.run, each)} />
      {tab === "tree" && <Agents project={project} tree={tree} />}
      {tab === "tree" && <TreeView project={project} tree={tree} />}
      {tab === "graph" && <Graph project={project} tree={tree} below={more || "goal"} />}
      {tab === "timeline" && <Drawn project={project} tree={tree} kind="timeline" />}
      {tab === "progress" && <Drawn project={project} tree={tree} kind="progress" />}
      {tab === "requirements" && <Requirements project={project} tree={tree} />}
      {tab === "ladder" && <Ladder project={project} name={run.run} seq={tree.seq} />}
      {tab === "changes" && <Review project={project} tree={tree} refresh={refresh} />}
    </main>
  );
}

// A run that was removed, or never was.
export function Missing({ error, name, title = "" }: { error: unknown; name: string; title?: string }) {
  const gone = error === "" || (error instanceof Error && "status" in error && error.status === 404);
  useEffect(() => showState(0, "calm", `${name} · bough`), [name]);
  if (!gone)
    return (
      <main>
        <Trouble error={error} />
      </main>
    );
  return (
    <main class="narrow">
      <section class="empty">
        <h1>{title || name}</h1>
        <p>
          <Icon name="cross" /> This run was removed, or is not in this project: its work and its journal are gone.
        </p>
        {!exported && (
          <p>
            <a data-action="all-runs" class="button" href="#/">
              All runs
            </a>
          </p>
        )}
      </section>
    </main>
  );
}

// What it is for, what happens now, and what is proven: on one screen.
export function Head({
  project,
  tree,
  refresh,
  whole = false,
  review = false,
}: {
  project: string;
  tree: Tree;
  refresh: () => void;
  whole?: boolean;
  review?: boolean;
}) {
  const { run } = tree;
  const [open, setOpen] = useState(false);
  const colour = run.waiting.length ? "warn" : tone(run.status);
  const over = OVER.includes(run.status);
  useEffect(() => showState(run.waiting.length, colour, `${run.title} · bough`, run.title));
  const ended = over && run.holder === null && run.waiting.length === 0;
  const long = run.goal.trim().length > run.title.length + 20;
  return (
    <header class={`head ${whole ? "whole" : ""}`}>
      <div class="facts-of">
        <p class="crumbs">
          {!exported && (
            <>
              <a href="#/">Runs</a> /{" "}
            </>
          )}
          <a href={link("run", project, run.run)}>{run.run}</a>
          {run.applied && <Badge word="completed" text="applied" />}
          {exported && <Badge word="calm" text="exported" />}
        </p>
        {tree.lost && <Lost error={tree.lost} />}
        {whole ? (
          <h1>{run.title || run.run}</h1>
        ) : (
          <p class="goal-line">
            <a href={link("run", project, run.run)}>{run.title || run.run}</a>
          </p>
        )}
        {whole && long && (
          <>
            {open && <pre class="goal">{run.goal}</pre>}
            <button
              data-action="whole-goal"
              type="button"
              class="quiet"
              aria-expanded={open}
              onClick={() => setOpen(!open)}
            >
              {open ? "Hide the whole goal" : "Show the whole goal"}
            </button>
          </>
        )}
        {ended ? (
          <Outcome project={project} run={run} files={tree.lines.get("goal")?.files} />
        ) : (
          <>
            <p class={`standing ${colour}`}>
              <span class={`mark ${colour}`}>
                <Icon name={STATUS_ICON[colour]} />
              </span>{" "}
              <strong class="status">{run.words}</strong>{" "}
              <span class="what">
                {run.holder !== null && run.waiting.length === 0 ? (
                  <Doing run={run} />
                ) : run.waiting.length ? (
                  "Answer below, in a terminal or in your editor: the first answer counts."
                ) : (
                  run.summary
                )}
              </span>
            </p>
            <p class="numbers">
              <Progress run={run} />
              <Elapsed run={run} />
              <span>
                {run.spend.rounds} of {run.limits.rounds} rounds
              </span>
              <span>{count(run.spend.tokens_in + run.spend.tokens_out)} tokens</span>
              <span>
                {money(run.spend.cost, run.spend.unpriced)}
                {run.limits.cost ? ` of ${money(run.limits.cost)}` : ""}
              </span>
              <span>{run.models.main}</span>
            </p>
          </>
        )}
        {!exported && <Needs run={run} refresh={refresh} />}
        {whole &&
          (over && !DONE.includes(run.status) ? (
            <Why run={run} project={project} tree={tree} refresh={refresh} />
          ) : (
            <Steer project={project} run={run} refresh={refresh} />
          ))}
        {whole && <AnsweredList answered={run.answered} />}
      </div>
      {whole && !review && <EvidenceCard project={project} tree={tree} />}
    </header>
  );
}

// Why it failed or is not proven, and what to do about it: not two clicks away.
function Why({ run, project, tree, refresh }: { run: Run; project: string; tree: Tree; refresh: () => void }) {
  const bad = tree.order
    .map((path) => tree.lines.get(path))
    .filter(
      (line) => line && ["failed", "blocked", "test_failed"].includes(line.state) && line.leaf && line.path !== "goal",
    )
    .slice(0, 6);
  return (
    <section class="panel why" aria-label="What happened">
      <h2>{run.status === "failed" ? "Why it gave up" : "What is not proven"}</h2>
      {run.report ? <Text text={run.report} lines={24} prose /> : run.summary && <p>{run.summary}</p>}
      {bad.length > 0 && (
        <ul class="plain">
          {bad.map((line) => (
            <li key={line!.path}>
              <Badge word={line!.state} text={line!.words} />{" "}
              <a href={link("task", project, run.run, line!.path, line!.check ? "checks" : "talk")}>
                {line!.title || line!.name}
              </a>{" "}
              <span class="dim">{line!.why}</span>
            </li>
          ))}
        </ul>
      )}
      <h3>What you can do</h3>
      <p>
        Follow up with a message, another model or a larger budget: it starts from this work. Or rewind it to an earlier
        point and tell the next agent what to do differently.{" "}
        {run.changed ? (
          <>
            <a href={link("run", project, run.run, "changes")}>Look at the partial work</a>, and take it if it is good.
          </>
        ) : (
          "Nothing was changed, so there is no work to take."
        )}
      </p>
      <Steer project={project} run={run} refresh={refresh} />
      <ul class="plain terminal">
        {run.next.map((each) => (
          <li key={each.command}>
            <code>{each.command}</code> <span class="dim">{each.why}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function EvidenceCard({ project, tree }: { project: string; tree: Tree }) {
  const { data } = useEvidence(project, tree.run);
  const rows = data?.rows ?? [];
  if (!data || !rows.length) return null;
  return (
    <aside class="panel evidence" aria-label="Evidence">
      <Proven data={data} to={link("run", project, tree.run.run, "requirements")} />
      {rows.slice(0, 7).map((row) => (
        <Shown key={row.requirement.number} project={project} run={tree.run.run} row={row} />
      ))}
      {rows.length > 7 && (
        <p>
          <a href={link("run", project, tree.run.run, "requirements")}>All {rows.length} requirements</a>
        </p>
      )}
    </aside>
  );
}

function Drawn({ project, tree, kind }: { project: string; tree: Tree; kind: "timeline" | "progress" }) {
  // Charts are reloaded at most every two seconds of the run.
  const [start, setStart] = useState(0);
  const { data, error } = useAnswer<Charts>(
    at(project, tree.run.run, `/charts${query({ from: start || undefined })}`),
    exported ? 0 : Math.floor(tree.run.now / 2),
  );
  if (!data) return error ? <Trouble error={error} /> : <Loading />;
  if (kind === "timeline")
    return <Timeline project={project} run={tree.run.run} charts={data} start={start} go={setStart} />;
  return (
    <div class="columns">
      <Panel title="Budget by branch">
        <BurnChart charts={data} />
      </Panel>
      <Panel title="Tests over time">
        <TestsChart charts={data} />
      </Panel>
    </div>
  );
}

function Requirements({ project, tree }: { project: string; tree: Tree }) {
  const { data, error } = useEvidence(project, tree.run);
  if (!data) return error ? <Trouble error={error} /> : <Loading />;
  if (!data.rows.length) return <p class="empty">No requirements have been read from the goal yet.</p>;
  return (
    <div class="panel evidence">
      {data.rows.map((row) => (
        <Shown key={row.requirement.number} project={project} run={tree.run.run} row={row} />
      ))}
      {data.notes.length > 0 && (
        <Panel title="What no probe can show">
          <ul>
            {data.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </Panel>
      )}
    </div>
  );
}
