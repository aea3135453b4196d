import { Line } from "./api";
import { count, money, OVER } from "./format";
import { Ago, Badge, link, Meter, Quiet, Since, Tree } from "./parts";

const MOST = 12;
const AT_WORK = ["in_progress", "testing", "test_failed"];

// Who is at work, each with what it did last, what it does now and what it has used. What moves comes before what waits.
export function Agents({ project, tree }: { project: string; tree: Tree }) {
  const { run } = tree;
  if (run.holder === null || OVER.includes(run.status)) return null;
  const lines = [...tree.lines.values()];
  const moves = (line: Line) => Boolean(line.doing || run.activity[line.path]?.what);
  const busy = lines
    .filter((line) => AT_WORK.includes(line.state) && (line.leaf || moves(line)))
    .sort((a, b) => Number(moves(b)) - Number(moves(a)) || b.last_at - a.last_at);
  const waits = lines.filter((line) => line.state === "pending" && line.why);
  if (!busy.length && !waits.length) return null;
  return (
    <section class="agents" aria-label="Agents">
      <ul class="cards">
        {busy.slice(0, MOST).map((line) => (
          <Agent
            key={line.path}
            project={project}
            run={run.run}
            line={line}
            activity={run.activity[line.path]}
            asks={run.waiting.some((each) => each.task === line.path)}
          />
        ))}
      </ul>
      {busy.length > MOST && <p class="dim">and {busy.length - MOST} more at work, in the tree below</p>}
      {waits.length > 0 && (
        <ul class="plain waits">
          {waits.slice(0, MOST).map((line) => (
            <li key={line.path}>
              <Badge word="pending" text="waits" />{" "}
              <a href={link("task", project, run.run, line.path)}>{line.title || line.name}</a>{" "}
              <span class="dim">{line.why}</span>
            </li>
          ))}
          {waits.length > MOST && <li class="dim">and {waits.length - MOST} more</li>}
        </ul>
      )}
    </section>
  );
}

function Agent({
  project,
  run,
  line,
  activity,
  asks,
}: {
  project: string;
  run: string;
  line: Line;
  activity?: { what: string; since: number; line: string };
  asks: boolean;
}) {
  const [own, , granted] = line.rounds;
  const doing = line.doing || activity?.what || "";
  return (
    <li>
      <a class="card agent" href={link("task", project, run, line.path)}>
        <span class="top">
          <strong class="title">{line.title || line.name}</strong>
          {line.role && <small>{line.role}</small>}
        </span>
        <span class="doing">
          <span class={doing ? "pulse" : "pulse still"} aria-hidden="true" />{" "}
          <span>
            {asks ? "waits for your answer" : doing || "between two steps"}{" "}
            {doing && !asks && (
              <span class="dim">
                for <Since at={activity?.since || line.last_at} />
              </span>
            )}
            {activity?.line && <code class="last-line">{activity.line}</code>}
          </span>
        </span>
        {line.acted && (
          <small class="acted">
            {line.acted}, <Ago at={line.acted_at} />
          </small>
        )}
        {!asks && <Quiet since={line.last_at} />}
        <span class="numbers">
          <span>
            <Meter share={granted ? own / granted : 0} label={`${own} of ${granted} rounds`} /> {own}/{granted} rounds
          </span>
          <span>{money(line.cost[0], line.unpriced)}</span>
          <span>{count(line.tokens[0])} tokens</span>
        </span>
      </a>
    </li>
  );
}
