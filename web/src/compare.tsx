import { ComponentChildren } from "preact";
import { at, Home, Run, Statistics, Stats } from "./api";
import { count, duration, money } from "./format";
import { Badge, link, Loading, Trouble, useAnswer, useRun } from "./parts";

export function Compare({ project, one, other }: { project: string; one: string; other: string }) {
  const { data, error } = useAnswer<Home>("/api/runs?limit=100");
  if (!data) return error ? <Trouble error={error} /> : <Loading />;
  const runs = data.projects.find((each) => each.project === project)?.runs ?? [];
  const left = one || runs[1]?.run || "";
  // Two runs of the same goal compare best.
  const right =
    other ||
    runs.find((run) => run.run !== left && run.goal === runs.find((each) => each.run === left)?.goal)?.run ||
    runs[0]?.run ||
    "";
  const choose = (label: string, value: string, to: (name: string) => string) => (
    <label>
      {label}{" "}
      <select
        data-action="compare-run"
        value={value}
        onChange={(event) => {
          window.location.hash = to(event.currentTarget.value);
        }}
      >
        {runs.map((run) => (
          <option key={run.run} value={run.run}>
            {run.run}: {run.title.slice(0, 60)}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <main class="wide">
      <p class="crumbs">
        <a href="#/">Runs</a>
      </p>
      <h1>Compare</h1>
      <form class="filter" onSubmit={(event) => event.preventDefault()}>
        {choose("First run", left, (name) => link("compare", project, name, right))}
        {choose("Second run", right, (name) => link("compare", project, left, name))}
      </form>
      {left && right ? (
        <Pair key={`${left}/${right}`} project={project} one={left} other={right} />
      ) : (
        <p class="dim">Comparing needs two runs.</p>
      )}
    </main>
  );
}

function Pair({ project, one, other }: { project: string; one: string; other: string }) {
  const left = useRun(project, one);
  const right = useRun(project, other);
  const a = useAnswer<Statistics>(at(project, one, "/stats"), left.tree?.run.status);
  const b = useAnswer<Statistics>(at(project, other, "/stats"), right.tree?.run.status);
  if (left.error || right.error) return <Trouble error={left.error ?? right.error} />;
  if (!left.tree || !right.tree || !a.data || !b.data) return <Loading />;
  const pair: [Run, Stats][] = [
    [left.tree.run, a.data.stats],
    [right.tree.run, b.data.stats],
  ];
  const rows: [string, (run: Run, stats: Stats) => ComponentChildren][] = [
    ["State", (run) => <Badge word={run.status} text={run.words} />],
    ["Goal", (run) => run.title],
    ["Model", (run) => run.models.main],
    ["Tasks done", (run) => `${run.done} of ${run.leaves}`],
    ["Rounds", (run) => `${run.spend.rounds} of ${run.limits.rounds}`],
    ["Cost", (run) => money(run.spend.cost, run.spend.unpriced)],
    ["Tokens", (run) => count(run.spend.tokens_in + run.spend.tokens_out)],
    ["Time", (run) => duration(run.seconds)],
    ["Time in checks", (_, stats) => duration(stats.check_seconds)],
    ["Repairs that worked", (_, stats) => `${stats.repaired} of ${stats.repairs}`],
    ["Signals", (_, stats) => String(total(stats.signals))],
    ["Rungs taken", (_, stats) => String(total(stats.rungs))],
    ["Merges, conflicts", (_, stats) => `${stats.merges}, ${stats.conflicts}`],
  ];
  return (
    <>
      <div class="scrolls panel" tabIndex={0} role="region" aria-label="Numbers of both runs">
        <table class="compare">
          <thead>
            <tr>
              <td />
              {pair.map(([run]) => (
                <th key={run.run} scope="col">
                  <a href={link("run", project, run.run)}>{run.run}</a>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([label, cell]) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                {pair.map(([run, stats]) => (
                  <td key={run.run}>{cell(run, stats)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="columns">
        {[left.tree, right.tree].map((tree) => (
          <section class="panel" key={tree.run.run}>
            <h2>{tree.run.run}</h2>
            <ul class="plain">
              {tree.order.slice(0, 200).map((path) => {
                const line = tree.lines.get(path);
                return (
                  line && (
                    <li key={path} style={{ marginLeft: `${line.depth}rem` }}>
                      <Badge word={line.state} text={line.words} />{" "}
                      <a href={link("task", project, tree.run.run, path)}>{line.name}</a>{" "}
                      <span class="dim">{money(line.cost[1], line.unpriced)}</span>
                    </li>
                  )
                );
              })}
            </ul>
          </section>
        ))}
      </div>
    </>
  );
}

function total(counts: Record<string, number> | undefined): number {
  return Object.values(counts ?? {}).reduce((sum, each) => sum + each, 0);
}
