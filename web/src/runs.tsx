import { useEffect, useState } from "preact/hooks";
import { exported, post, Run } from "./api";
import { age, duration, many, money } from "./format";
import { Badge, link, Loading, Meter, Trouble, useAnswer } from "./parts";

interface Project { project: string; root: string; total: number; runs: Run[]; error?: string; wishes?: Record<string, string> }

export function Runs() {
  const [turn, setTurn] = useState(0);
  const [limit, setLimit] = useState(20);
  const [words, setWords] = useState("");
  const [status, setStatus] = useState("");
  const { data, error } = useAnswer<{ projects: Project[] }>(`/api/runs?limit=${limit}`, turn);
  useEffect(() => {
    if (exported) return undefined;
    const timer = window.setInterval(() => document.visibilityState === "visible" && setTurn((n) => n + 1), 2000);
    return () => window.clearInterval(timer);
  }, []);
  if (!data) return error ? <Trouble error={error} /> : <Loading />;
  const all = data.projects.flatMap((project) => project.runs);
  const wanted = (run: Run) =>
    (!status || run.status === status) && (!words || `${run.run} ${run.goal}`.toLowerCase().includes(words.toLowerCase()));
  const states = [...new Set(all.map((run) => run.status))].sort();
  return (
    <main>
      <h1>Runs</h1>
      {error ? <Trouble error={error} /> : null}
      <form class="filter" role="search" onSubmit={(event) => event.preventDefault()}>
        <label>Find <input type="search" value={words} placeholder="name, or words from the goal" onInput={(event) => setWords(event.currentTarget.value)} /></label>
        <label>State{" "}
          <select value={status} onChange={(event) => setStatus(event.currentTarget.value)}>
            <option value="">any</option>
            {states.map((each) => <option key={each} value={each}>{all.find((run) => run.status === each)!.words}</option>)}
          </select>
        </label>
      </form>
      {data.projects.map((project) => (
        <section key={project.project}>
          <header class="project">
            <h2>{project.root}</h2>
            <a href={link("stats", project.project)}>Statistics</a>
            {project.runs.length > 1 && <a href={link("compare", project.project)}>Compare</a>}
          </header>
          {project.error && <Trouble error={project.error} />}
          {!exported && project.runs.length > 0 && <Wishes project={project} done={() => setTurn((n) => n + 1)} />}
          <ul class="runs">
            {project.runs.filter(wanted).map((run) => <Card key={run.run} run={run} />)}
          </ul>
          {project.runs.filter(wanted).length === 0 && <p class="dim">No matching runs.</p>}
          {project.total > project.runs.length && (
            <button type="button" onClick={() => setLimit(limit + 20)}>Show {many(project.total - project.runs.length, "older run")}</button>
          )}
        </section>
      ))}
    </main>
  );
}

// What the repository's settings ask for: nothing of it applies before the person allows it.
function Wishes({ project, done }: { project: Project; done: () => void }) {
  const [said, setSaid] = useState("");
  const wishes = Object.entries(project.wishes ?? {});
  if (!wishes.length) return said ? <p role="status">{said}</p> : null;
  const answer = (allow: boolean) =>
    post(project.project, project.runs[0].run, "trust", { wishes: project.wishes, allow })
      .then(setSaid, (error: Error) => setSaid(error.message))
      .then(done);
  return (
    <div class="wishes">
      <p>The settings of this repository ask for more than the defaults. They are ignored until you allow them.</p>
      <ul>{wishes.map(([name, value]) => <li key={name}><code>{name} = {value}</code></li>)}</ul>
      <button type="button" onClick={() => answer(true)}>Allow</button>{" "}
      <button type="button" onClick={() => answer(false)}>Do not allow</button>
      {said && <p role="status">{said}</p>}
    </div>
  );
}

function Card({ run }: { run: Run }) {
  return (
    <li>
      <a class="card" href={link("run", run.project, run.run)}>
        <span class="top">
          <strong>{run.run}</strong>
          <Badge word={run.status} text={run.words} />
          {run.applied && <Badge word="completed" text="applied" />}
          <span class="dim age">{age(run.last_at, run.now)}</span>
        </span>
        <span class="goal">{run.title}</span>
        <span class="numbers">
          <Meter value={run.done} most={run.leaves} label={`${run.done} of ${many(run.leaves, "task")} done`} />
          <span>{run.done}/{run.leaves} tasks</span>
          <span>{run.spend.rounds}/{run.limits.rounds} rounds</span>
          <span>{money(run.spend.cost, run.spend.unpriced)}</span>
          <span>{duration(run.seconds)}</span>
        </span>
      </a>
    </li>
  );
}
