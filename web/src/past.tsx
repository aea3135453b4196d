import { useState } from "preact/hooks";
import { Project, Run } from "./api";
import { clock, DONE, duration, money, tone } from "./format";
import { Icon, link, STATUS_ICON } from "./parts";

const SORTS: [string, string, (run: Run) => boolean][] = [
  ["done", "Completed", (run) => DONE.includes(run.status)],
  ["unproven", "Not proven", (run) => run.status === "not_proven"],
  ["failed", "Failed", (run) => run.status === "failed"],
  ["halted", "Stopped", (run) => !DONE.includes(run.status) && !["not_proven", "failed"].includes(run.status)],
];

function dayOf(at: number, now: number): string {
  const day = new Date(at * 1000).toDateString();
  if (day === new Date(now * 1000).toDateString()) return "Today";
  if (day === new Date((now - 86400) * 1000).toDateString()) return "Yesterday";
  return new Date(at * 1000).toLocaleDateString([], { weekday: "long", day: "numeric", month: "long" });
}

// What came of earlier runs, by day; a state can be chosen.
export function Past({
  project,
  runs,
  named,
  more,
}: {
  project: Project;
  runs: Run[];
  named: boolean;
  more: () => void;
}) {
  const [sort, setSort] = useState("");
  const sorts = SORTS.filter(([, , is]) => runs.some(is));
  const is = sorts.find(([name]) => name === sort)?.[2];
  const shown = runs.filter((run) => !is || is(run)).sort((a, b) => b.last_at - a.last_at);
  const days = [...new Set(shown.map((run) => dayOf(run.last_at, run.now)))];
  const older = project.total - project.runs.length;
  if (!runs.length && older <= 0) return null;
  return (
    <section aria-label={`What came of it in ${project.root}`}>
      <header class="bar">
        <h2>{named ? project.root : "What came of it"}</h2>
        {sorts.length > 1 && (
          <span class="switch" role="group" aria-label="State">
            <button data-action="all-states" type="button" aria-pressed={!is} onClick={() => setSort("")}>
              All
            </button>
            {sorts.map(([name, words, fits]) => (
              <button
                data-action="one-state"
                key={name}
                type="button"
                aria-pressed={sort === name}
                onClick={() => setSort(name)}
              >
                {words} <span class="dim">{runs.filter(fits).length}</span>
              </button>
            ))}
          </span>
        )}
        <span class="push" />
        {named && <a href={link("stats", project.project)}>Statistics</a>}
        {project.runs.length > 1 && <a href={link("compare", project.project)}>Compare</a>}
      </header>
      {days.map((day) => (
        <div key={day} class="day">
          <h3>{day}</h3>
          <ul class="list">
            {shown
              .filter((run) => dayOf(run.last_at, run.now) === day)
              .map((run) => (
                <Ended key={run.run} run={run} />
              ))}
          </ul>
        </div>
      ))}
      {older > 0 && (
        <p>
          <button data-action="older" type="button" onClick={more}>
            Show older runs ({older})
          </button>
        </p>
      )}
    </section>
  );
}

function Ended({ run }: { run: Run }) {
  const colour = tone(run.status);
  return (
    <li>
      <a class="entry" href={link("run", run.project, run.run)}>
        <span class={`mark ${colour}`}>
          <Icon name={STATUS_ICON[colour]} />
        </span>
        <span class="main">
          <strong>{run.title}</strong>
          <small>
            {run.words}
            {run.applied ? ", in your files" : ""}
            {run.summary && !DONE.includes(run.status) ? `: ${run.summary}` : ""}
          </small>
        </span>
        <span class="side">
          <span>{money(run.spend.cost, run.spend.unpriced)}</span>
          <span>{duration(run.seconds)}</span>
          <span>{clock(run.last_at).slice(0, 5)}</span>
          <span class="name">{run.run}</span>
        </span>
      </a>
    </li>
  );
}
