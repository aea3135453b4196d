import { Home, Statistics } from "./api";
import { count, duration, many, money, tone } from "./format";
import { link, Loading, Panel, Trouble, useAnswer } from "./parts";

export function Stats({ project }: { project: string }) {
  const { data, error } = useAnswer<Statistics>(`/api/${encodeURIComponent(project)}/stats`);
  const runs = useAnswer<Home>("/api/runs?limit=100");
  if (!data) return error ? <Trouble error={error} /> : <Loading />;
  const mine = [...(runs.data?.projects.find((each) => each.project === project)?.runs ?? [])].reverse();
  const share = (part: number, all: number) =>
    all ? `${part} of ${all} (${Math.round((100 * part) / all)}%)` : "none";
  return (
    <main>
      <p class="crumbs">
        <a href="#/">Runs</a>
      </p>
      <h1>Statistics</h1>
      {data.warnings.map((warning) => (
        <p key={warning} class="problem">
          {warning}
        </p>
      ))}
      <dl class="facts">
        <div>
          <dt>Tasks completed</dt>
          <dd>{share(data.stats.completed, data.stats.tasks)}</dd>
        </div>
        <div>
          <dt>Repairs that made the check pass</dt>
          <dd>{share(data.stats.repaired, data.stats.repairs)}</dd>
        </div>
        <div>
          <dt>Rounds</dt>
          <dd>
            {data.stats.rounds} in {many(data.runs, "run")}
          </dd>
        </div>
        <div>
          <dt>Time in checks</dt>
          <dd>
            {duration(data.stats.check_seconds)} of {duration(data.stats.seconds)}
          </dd>
        </div>
        <div>
          <dt>Checks not found</dt>
          <dd>{share(data.stats.checks_not_found, data.stats.checks)}</dd>
        </div>
        <div>
          <dt>Flaky tests</dt>
          <dd>{data.stats.flaky}</dd>
        </div>
        <div>
          <dt>Merges without conflict</dt>
          <dd>{share(data.stats.merges - data.stats.conflicts, data.stats.merges)}</dd>
        </div>
        <div>
          <dt>Tokens saved</dt>
          <dd>{count(data.stats.pruned + data.stats.compacted)}</dd>
        </div>
      </dl>
      <Panel title={`${mine.some((run) => run.spend.cost > 0) ? "Cost" : "Rounds"} of each run, oldest first`}>
        <Bars
          rows={mine.map((run) => ({
            name: run.run,
            href: link("run", project, run.run),
            values: [run.spend.cost, run.spend.rounds],
            words: `${run.words}, ${money(run.spend.cost, run.spend.unpriced)}, ${many(run.spend.rounds, "round")}`,
            tone: tone(run.status),
          }))}
        />
      </Panel>
      <div class="columns">
        <Panel title="Models">
          <table>
            <thead>
              <tr>
                <th>Tier</th>
                <th class="number">Rounds</th>
                <th class="number">Tokens</th>
                <th class="number">Cost</th>
                <th class="number">Checks passed</th>
              </tr>
            </thead>
            <tbody>
              {Object.entries(data.stats.tiers).map(([tier, each]) => (
                <tr key={tier}>
                  <td>{tier}</td>
                  <td class="number">{each.rounds}</td>
                  <td class="number">{count(each.tokens)}</td>
                  <td class="number">{money(each.cost)}</td>
                  <td class="number">{each.won}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Panel>
        <Panel title="Stuck, and what was done">
          <Counts counts={data.stats.signals} words={data.words} />
          <Counts counts={data.stats.rungs} words={data.words} />
        </Panel>
        <Panel title="Tokens by role">
          <Counts counts={data.stats.tokens_by_role} words={{}} />
        </Panel>
      </div>
    </main>
  );
}

function Counts({ counts, words }: { counts: Record<string, number>; words: Record<string, string> }) {
  const rows = Object.entries(counts).sort((a, b) => b[1] - a[1]);
  if (!rows.length) return <p class="dim">None.</p>;
  return (
    <table>
      <tbody>
        {rows.map(([name, n]) => (
          <tr key={name}>
            <td>{words[name] ?? name.replaceAll("_", " ")}</td>
            <td class="number">{count(n)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Bars({ rows }: { rows: { name: string; href: string; values: number[]; words: string; tone: string }[] }) {
  const which = rows.some((row) => row.values[0] > 0) ? 0 : 1;
  const most = Math.max(...rows.map((row) => row.values[which]), 1e-9);
  return (
    <ul class="bars">
      {rows.map((row) => (
        <li key={row.name}>
          <a href={row.href}>{row.name}</a>
          <span class="bar">
            <span class={row.tone} style={{ width: `${Math.max(1, (100 * row.values[which]) / most)}%` }} />
          </span>
          <span class="dim">{row.words}</span>
        </li>
      ))}
    </ul>
  );
}
