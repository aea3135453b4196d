import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Charts, exported } from "./api";
import { clock, duration } from "./format";
import { link } from "./parts";

const LANE = 24;
const PAGE = 200;
// Pixels that a long wait gets, however long it was.
const GAP = 34;
type Span = Charts["lanes"][number]["spans"][number];
interface Lane {
  key: string;
  name: string;
  depth: number;
  href?: string;
  spans: Span[];
}
interface Axis {
  x: (at: number) => number;
  when: (x: number) => number;
  gaps: { from: number; to: number; x: number }[];
}

// Time from left to right. Where nothing worked for long, because all waited for a person, the axis is cut and says so.
function makeAxis(charts: Charts, width: number, zoom: number): Axis {
  const idle = charts.work.map((work) => work === "waiting" || work === "you");
  const busy = charts.lanes
    .flatMap((lane) => lane.spans.filter((span) => !idle[span[2]]).map(([from, to]) => [from, to]))
    .sort((a, b) => a[0] - b[0]);
  const least = Math.max(20, (charts.to - charts.from) * 0.04);
  const gaps: { from: number; to: number }[] = [];
  let end = charts.from;
  for (const [from, to] of [...busy, [charts.to, charts.to]]) {
    if (from - end > least) gaps.push({ from: end, to: from });
    end = Math.max(end, to);
  }
  const worked = Math.max(1, charts.to - charts.from - gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0));
  const room = Math.max(50, width - gaps.length * GAP);
  const scale = (room / worked) * zoom;
  const shift = width * zoom - width + gaps.length * GAP * (1 - zoom);
  const place = (at: number) => {
    let x = 0,
      last = charts.from;
    for (const gap of gaps) {
      if (at <= gap.from) break;
      x += (gap.from - last) * scale;
      if (at < gap.to) return x + ((at - gap.from) / (gap.to - gap.from)) * GAP;
      x += GAP;
      last = gap.to;
    }
    return x + (at - last) * scale;
  };
  const x = (at: number) => place(at) - Math.max(0, shift);
  const when = (target: number) => {
    let low = charts.from,
      high = charts.to;
    for (let n = 0; n < 40; n += 1) {
      const middle = (low + high) / 2;
      if (x(middle) < target) low = middle;
      else high = middle;
    }
    return low;
  };
  return { x, when, gaps: gaps.map((gap) => ({ ...gap, x: x(gap.from) })) };
}

// Drawn on a canvas, since a long run has tens of thousands of spans; the tree says the same in words.
export function Timeline({
  project,
  run,
  charts,
  start,
  go,
}: {
  project: string;
  run: string;
  charts: Charts;
  start: number;
  go: (start: number) => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [zoom, setZoom] = useState(1);
  const [by, setBy] = useState<"task" | "work">("task");
  const [tip, setTip] = useState("");
  const axis = useMemo(() => makeAxis(charts, width, zoom), [charts, width, zoom]);
  const lanes: Lane[] = useMemo(
    () =>
      by === "task"
        ? charts.lanes.map((lane) => ({
            key: lane.path,
            name: lane.name,
            depth: lane.depth,
            href: link("task", project, run, lane.path),
            spans: lane.spans,
          }))
        : charts.work.map((work, n) => ({
            key: work,
            name: LABELS[work] ?? work,
            depth: 0,
            href: "",
            spans: charts.lanes.flatMap((lane) => lane.spans.filter((span) => span[2] === n)),
          })),
    [charts, by],
  );
  useEffect(() => {
    const measure = () => canvas.current?.parentElement && setWidth(canvas.current.parentElement.clientWidth);
    measure();
    window.addEventListener("resize", measure);
    return () => window.removeEventListener("resize", measure);
  }, []);
  useEffect(() => {
    const element = canvas.current;
    if (!element || !width) return;
    const scale = window.devicePixelRatio || 1;
    element.width = width * scale;
    element.height = lanes.length * LANE * scale;
    const pen = element.getContext("2d");
    if (!pen) return;
    pen.scale(scale, scale);
    const style = getComputedStyle(document.documentElement);
    const value = (name: string) => style.getPropertyValue(name).trim() || "#888";
    const colours = charts.work.map((work) => value(`--work-${work}`));
    lanes.forEach((lane, n) => {
      pen.fillStyle = value("--line");
      pen.fillRect(0, n * LANE + LANE - 1, width, 1);
      for (const [begun, ended, work] of lane.spans) {
        const left = axis.x(begun),
          right = axis.x(ended);
        if (right < 0) continue;
        pen.fillStyle = colours[work];
        pen.fillRect(Math.max(0, left), n * LANE + 5, Math.max(2, right - Math.max(0, left)), LANE - 11);
      }
    });
    for (const gap of axis.gaps) {
      if (gap.x + GAP < 0) continue;
      pen.fillStyle = value("--raised");
      pen.fillRect(gap.x + 3, 0, GAP - 6, lanes.length * LANE);
      pen.strokeStyle = value("--dim");
      pen.setLineDash([2, 3]);
      for (const x of [gap.x + 3, gap.x + GAP - 3]) {
        pen.beginPath();
        pen.moveTo(x, 0);
        pen.lineTo(x, lanes.length * LANE);
        pen.stroke();
      }
    }
  }, [lanes, width, axis]);
  const point = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const lane = lanes[Math.floor((event.clientY - box.top) / LANE)];
    const x = event.clientX - box.left;
    const found = lane?.spans.find(([begun, ended]) => axis.x(begun) - 3 <= x && x <= axis.x(ended) + 3);
    const gap = axis.gaps.find((each) => each.x <= x && x <= each.x + GAP);
    setTip(
      found
        ? `${lane.name}: ${LABELS[charts.work[found[2]]]}${found[3] ? ` (${found[3]})` : ""}, ${clock(found[0])}, ${duration(found[1] - found[0])}${found[4] > 1 ? `, ${found[4]} in a row` : ""}`
        : gap
          ? `Nothing worked for ${duration(gap.to - gap.from)}`
          : "",
    );
  };
  return (
    <div class="timeline">
      <div class="bar">
        <span class="switch" role="group" aria-label="Lanes">
          <button type="button" aria-pressed={by === "task"} onClick={() => setBy("task")}>
            By task
          </button>
          <button type="button" aria-pressed={by === "work"} onClick={() => setBy("work")}>
            By work
          </button>
        </span>
        <button type="button" onClick={() => setZoom(Math.max(1, zoom / 2))} disabled={zoom <= 1}>
          Zoom out
        </button>
        <button type="button" onClick={() => setZoom(Math.min(4096, zoom * 2))}>
          Zoom in on the end
        </button>
        <span class="dim" aria-live="polite">
          {tip || `${clock(axis.when(0))} to ${clock(charts.to)}`}
        </span>
      </div>
      <ul class="legend">
        {charts.work.map((work) => (
          <li key={work}>
            <span class={`swatch work-${work}`} /> {LABELS[work] ?? work}
          </li>
        ))}
      </ul>
      <div class="lanes">
        <ol class="labels">
          {lanes.map((lane) => (
            <li key={lane.key} style={{ height: `${LANE}px`, paddingLeft: `${lane.depth * 0.7}rem` }}>
              {lane.href ? <a href={lane.href}>{lane.name}</a> : lane.name}
            </li>
          ))}
        </ol>
        <div class="canvas" onMouseMove={point} onMouseLeave={() => setTip("")}>
          <canvas
            ref={canvas}
            role="img"
            aria-label="What each agent did, over time"
            style={{ width: "100%", height: `${lanes.length * LANE}px` }}
          />
          {axis.gaps
            .filter((gap) => gap.x >= 0)
            .map((gap) => (
              <span key={gap.from} class="gap" style={{ left: `${gap.x}px`, width: `${GAP}px` }}>
                {duration(gap.to - gap.from)}
              </span>
            ))}
        </div>
      </div>
      {axis.gaps.length > 0 && (
        <p class="dim">
          Cut out, between the dotted lines: {axis.gaps.length === 1 ? "a stretch" : `${axis.gaps.length} stretches`} in
          which nothing worked, with how long.
        </p>
      )}
      {charts.total > charts.lanes.length && (
        <p class="actions">
          {!exported && (
            <button type="button" disabled={start === 0} onClick={() => go(Math.max(0, start - PAGE))}>
              Earlier lanes
            </button>
          )}
          {!exported && (
            <button type="button" disabled={start + PAGE >= charts.total} onClick={() => go(start + PAGE)}>
              Later lanes
            </button>
          )}
          <span class="dim">
            Lanes {start + 1} to {start + charts.lanes.length} of {charts.total}
          </span>
        </p>
      )}
    </div>
  );
}

const LABELS: Record<string, string> = {
  thinking: "model",
  tool: "tool",
  check: "check",
  merge: "merge",
  waiting: "waiting for another",
  you: "waiting for you",
};
