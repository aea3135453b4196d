import { Line } from "./api";
import { ICONS, many, tone } from "./format";
import { link, Tree } from "./parts";

const WIDTH = 264;
const HEIGHT = 54;
const GAP_X = 46;
const GAP_Y = 16;

// The steps below a task, each to the right of what it needs.
export function Graph({ project, tree, below }: { project: string; tree: Tree; below: string }) {
  const steps = tree.order
    .map((path) => tree.lines.get(path))
    .filter((line): line is Line => line !== undefined && line.parent === below);
  if (steps.length < 2)
    return <p class="empty">There is no plan with several steps {below === "goal" ? "" : `in ${below} `}to draw.</p>;
  const named = new Map(steps.map((line) => [line.name, line]));
  const column = new Map<string, number>();
  const place = (line: Line, above: Set<string>): number => {
    if (above.has(line.name)) return 0;
    const known = column.get(line.name);
    if (known !== undefined) return known;
    const needs = line.needs.map((name) => named.get(name)).filter((each): each is Line => each !== undefined);
    const found = needs.length ? 1 + Math.max(...needs.map((each) => place(each, new Set(above).add(line.name)))) : 0;
    column.set(line.name, found);
    return found;
  };
  steps.forEach((line) => place(line, new Set()));
  const rows = new Map<number, number>();
  const spots = steps.map((line) => {
    const x = column.get(line.name)!;
    const y = rows.get(x) ?? 0;
    rows.set(x, y + 1);
    return { line, x: x * (WIDTH + GAP_X) + 2, y: y * (HEIGHT + GAP_Y) + 2 };
  });
  const spot = new Map(spots.map((each) => [each.line.name, each]));
  const width = Math.max(...spots.map((each) => each.x)) + WIDTH + 4;
  const height = Math.max(...spots.map((each) => each.y)) + HEIGHT + 4;
  return (
    <div class="graph" tabIndex={0} role="region" aria-label="Steps and what they need">
      <svg
        class="drawn"
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="group"
        aria-label={`${steps.length} steps`}
      >
        {spots.flatMap(({ line, x, y }) =>
          line.needs
            .map((name) => spot.get(name))
            .filter((from) => from !== undefined)
            .map((from) => {
              const x1 = from!.x + WIDTH,
                y1 = from!.y + HEIGHT / 2,
                y2 = y + HEIGHT / 2,
                middle = (x1 + x) / 2;
              return (
                <path
                  key={`${from!.line.name}-${line.name}`}
                  class={`edge ${from!.line.state === "completed" ? "good" : ""}`}
                  d={`M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x} ${y2}`}
                />
              );
            }),
        )}
        {spots.map(({ line, x, y }) => (
          <a
            key={line.path}
            href={link(
              line.leaf ? "task" : "run",
              project,
              tree.run.run,
              line.leaf ? line.path : "graph",
              ...(line.leaf ? [] : [line.path]),
            )}
          >
            <rect class={`node ${tone(line.state)}`} x={x} y={y} width={WIDTH} height={HEIGHT} rx="7" />
            <text class="label" x={x + 12} y={y + 22}>
              {ICONS[line.state]} {cut(line.title || line.name, 30)}
            </text>
            <text class="small" x={x + 12} y={y + 41}>
              {cut(
                `${line.words}${line.leaf ? "" : ", has steps"}${line.started_at ? ` · ${many(line.rounds[1], "round")}` : ""}`,
                38,
              )}
            </text>
          </a>
        ))}
      </svg>
    </div>
  );
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
