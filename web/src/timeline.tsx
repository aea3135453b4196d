import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { at as addressOf, Charts, exported, query, Rounds } from "./api";
import { clock, duration } from "./format";
import { link, Loading, Trouble, useAnswer } from "./parts";
import { Entry, useEntries } from "./task";

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

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

// Moments at round times, far enough apart for their labels.
function makeTicks(charts: Charts, axis: Axis, width: number): { at: number; x: number }[] {
  const from = axis.when(0);
  const step = STEPS.find((each) => ((charts.to - from) / each) * 76 < width) ?? 86400;
  const zone = new Date(from * 1000).getTimezoneOffset() * 60;
  const ticks = [];
  for (let at = Math.ceil((from - zone) / step) * step + zone; at < charts.to; at += step) {
    const x = axis.x(at);
    const cut = axis.gaps.some((gap) => gap.from < at && at < gap.to);
    if (!cut && x >= 0 && x < width - 40 && x - (ticks[ticks.length - 1]?.x ?? -80) > 70) ticks.push({ at, x });
  }
  return ticks;
}

interface ClickedSpan {
  path: string;
  name: string;
  span: Span;
}

// A span that was clicked: what happened in it, with tokens, cost and output.
function Detail({
  project,
  run,
  charts,
  chosen,
  close,
}: {
  project: string;
  run: string;
  charts: Charts;
  chosen: ClickedSpan;
  close: () => void;
}) {
  const [begun, ended, work, label, number, round] = chosen.span;
  const from = Math.max(0, round - 1);
  const { data, error } = useAnswer<Rounds>(
    addressOf(project, run, `/rounds${query({ task: chosen.path, from: exported ? undefined : from })}`),
  );
  // An end is written a moment after it, and a beginning a moment before.
  const inside = (data?.events ?? []).filter((each) => each.at > begun - 0.001 && each.at < ended + 0.5);
  const told = useEntries(inside);
  const place = useRef<HTMLElement>(null);
  // Below long lanes, nobody would see that it has opened.
  useEffect(() => place.current?.scrollIntoView({ block: "nearest" }), [data]);
  return (
    <section ref={place} class="panel span" aria-label="What happened there">
      <header class="bar">
        <h2>
          {chosen.name}: {LABELS[charts.work[work]]} {label && <code>{label}</code>}
        </h2>
        <span class="dim">
          {clock(begun)} to {clock(ended)}, {duration(ended - begun)}
          {number > 1 ? `, ${number} in a row` : ""}
        </span>
        <span class="push" />
        {round > 0 && <a href={link("task", project, run, chosen.path, "talk", String(round))}>Open round {round}</a>}
        <button data-action="close-span" type="button" class="quiet" onClick={close}>
          Close
        </button>
      </header>
      {error ? <Trouble error={error} /> : !data ? <Loading /> : null}
      {inside.map((each) => (
        <Entry key={each.seq} told={each} round={round} {...told} project={project} run={run} />
      ))}
      {data && !inside.length && <p class="dim">Nothing is written about it but its beginning and its end.</p>}
    </section>
  );
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
  // A thumb needs more room than a mouse, beside a span as well.
  const thumb = window.innerWidth <= 600;
  const [LANE, REACH] = thumb ? [44, 12] : [24, 4];
  const [width, setWidth] = useState(0);
  const [zoom, setZoom] = useState(1);
  const [by, setBy] = useState<"task" | "work">("task");
  const [tip, setTip] = useState("");
  const [chosen, setChosen] = useState<ClickedSpan | null>(null);
  const axis = useMemo(() => makeAxis(charts, width, zoom), [charts, width, zoom]);
  const ticks = useMemo(() => (width ? makeTicks(charts, axis, width) : []), [charts, axis, width]);
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
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    pen.fillStyle = value("--line");
    for (const { x } of ticks) pen.fillRect(x, 0, 1, lanes.length * LANE);
    lanes.forEach((lane, n) => {
      pen.fillStyle = value("--line");
      pen.fillRect(0, n * LANE + LANE - 1, width, 1);
      for (const [begun, ended, work] of lane.spans) {
        const left = axis.x(begun),
          right = axis.x(ended);
        if (right < 0) continue;
        const [x, y, long] = [Math.max(0, left), n * LANE + 4, Math.max(2, right - Math.max(0, left))];
        pen.fillStyle = colours[work];
        if (IDLE.includes(charts.work[work])) {
          // Waiting is an outline with stripes: nothing worked.
          pen.fillRect(x, y, long, 2);
          pen.fillRect(x, y + LANE - 11, long, 2);
          for (let stripe = x; stripe < x + long; stripe += 6) pen.fillRect(stripe, y, 2, LANE - 9);
        } else pen.fillRect(x, y, long, LANE - 9);
        const took = duration(ended - begun);
        if (long > pen.measureText(took).width + 10 && !IDLE.includes(charts.work[work])) {
          pen.fillStyle = value("--page");
          pen.fillText(took, x + 5, y + (LANE - 8) / 2);
        }
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
  }, [lanes, width, axis, ticks, LANE]);
  const seek = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const lane = lanes[Math.floor((event.clientY - box.top) / LANE)];
    const x = event.clientX - box.left;
    const near = (span: Span) => Math.max(axis.x(span[0]) - x, x - axis.x(span[1]), 0);
    const found = lane?.spans.filter((span) => near(span) <= REACH).sort((a, b) => near(a) - near(b))[0];
    return { lane, x, found };
  };
  const choose = (event: MouseEvent) => {
    const { lane, found } = seek(event);
    const owner = charts.lanes.find((each) => found && each.spans.includes(found));
    setChosen(lane && found && owner ? { path: owner.path, name: owner.name, span: found } : null);
  };
  const point = (event: MouseEvent) => {
    const { lane, x, found } = seek(event);
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
          <button data-action="by-task" type="button" aria-pressed={by === "task"} onClick={() => setBy("task")}>
            By task
          </button>
          <button data-action="by-work" type="button" aria-pressed={by === "work"} onClick={() => setBy("work")}>
            By work
          </button>
        </span>
        <button
          data-action="zoom-out"
          type="button"
          onClick={() => setZoom(Math.max(1, zoom / 2))}
          disabled={zoom <= 1}
        >
          Zoom out
        </button>
        <button data-action="zoom-in" type="button" onClick={() => setZoom(Math.min(4096, zoom * 2))}>
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
            <li
              key={lane.key}
              style={{ height: `${LANE}px`, lineHeight: `${LANE}px`, paddingLeft: `${lane.depth * 0.7}rem` }}
            >
              {lane.href ? <a href={lane.href}>{lane.name}</a> : lane.name}
            </li>
          ))}
        </ol>
        <div class="canvas" data-action="span" onMouseMove={point} onMouseLeave={() => setTip("")} onClick={choose}>
          {ticks.map((tick) => (
            <span key={tick.at} class="moment" style={{ left: `${tick.x}px` }}>
              {clock(tick.at)}
            </span>
          ))}
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
      {chosen ? (
        <Detail
          key={`${chosen.path}${chosen.span[0]}`}
          project={project}
          run={run}
          charts={charts}
          chosen={chosen}
          close={() => setChosen(null)}
        />
      ) : (
        <p class="dim">Click a span to see what happened in it.</p>
      )}
      {axis.gaps.length > 0 && (
        <p class="dim">
          Cut out, between the dotted lines: {axis.gaps.length === 1 ? "a stretch" : `${axis.gaps.length} stretches`} in
          which nothing worked, with how long.
        </p>
      )}
      {charts.total > charts.lanes.length && (
        <p class="actions">
          {!exported && (
            <button
              data-action="earlier-lanes"
              type="button"
              disabled={start === 0}
              onClick={() => go(Math.max(0, start - PAGE))}
            >
              Earlier lanes
            </button>
          )}
          {!exported && (
            <button
              data-action="later-lanes"
              type="button"
              disabled={start + PAGE >= charts.total}
              onClick={() => go(start + PAGE)}
            >
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

const IDLE = ["waiting", "you"];
const LABELS: Record<string, string> = {
  thinking: "model",
  tool: "tool",
  check: "check",
  merge: "merge",
  waiting: "waiting: another task, a merge, a quota",
  you: "waiting for you",
};
