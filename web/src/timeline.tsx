import { useEffect, useRef, useState } from "preact/hooks";
import { exported } from "./api";
import { clock, duration } from "./format";
import { link } from "./parts";
import type { Charts } from "./run";

const LANE = 24;
const PAGE = 200;

// One lane per agent. Drawn on a canvas, since a long run has tens of thousands of spans; the tree says the same in words.
export function Timeline({ project, run, charts, start, go }: { project: string; run: string; charts: Charts; start: number; go: (start: number) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [zoom, setZoom] = useState(1);
  const [tip, setTip] = useState("");
  const span = Math.max(charts.to - charts.from, 1) / zoom;
  const from = charts.to - span;
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
    element.height = charts.lanes.length * LANE * scale;
    const pen = element.getContext("2d");
    if (!pen) return;
    pen.scale(scale, scale);
    const style = getComputedStyle(document.documentElement);
    const colours = charts.work.map((work) => style.getPropertyValue(`--work-${work}`).trim() || "#888");
    const grid = style.getPropertyValue("--line").trim() || "#ddd";
    charts.lanes.forEach((lane, n) => {
      pen.fillStyle = grid;
      pen.fillRect(0, n * LANE + LANE - 1, width, 1);
      for (const [begun, ended, work] of lane.spans) {
        const left = ((begun - from) / span) * width;
        const right = ((ended - from) / span) * width;
        if (right < 0) continue;
        pen.fillStyle = colours[work];
        pen.fillRect(Math.max(0, left), n * LANE + 4, Math.max(1.5, right - Math.max(0, left)), LANE - 9);
      }
    });
  }, [charts, width, from, span]);
  const point = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const lane = charts.lanes[Math.floor((event.clientY - box.top) / LANE)];
    const at = from + ((event.clientX - box.left) / box.width) * span;
    const near = (span / box.width) * 3;
    const found = lane?.spans.find(([begun, ended]) => begun - near <= at && at <= ended + near);
    setTip(found ? `${lane.path}: ${charts.work[found[2]]}${found[3] ? ` (${found[3]})` : ""}, ${clock(found[0])}, ${duration(found[1] - found[0])}${found[4] > 1 ? `, ${found[4]} in a row` : ""}` : "");
  };
  return (
    <div class="timeline">
      <p class="choices">
        <button type="button" onClick={() => setZoom(Math.max(1, zoom / 2))} disabled={zoom <= 1}>Zoom out</button>
        <button type="button" onClick={() => setZoom(Math.min(4096, zoom * 2))}>Zoom in on the end</button>
        <span class="dim" aria-live="polite">{tip || `${clock(from)} to ${clock(charts.to)}: ${duration(span)}`}</span>
      </p>
      <ul class="legend">{charts.work.map((work) => <li key={work}><span class={`swatch work-${work}`} /> {work}</li>)}</ul>
      <div class="lanes">
        <ol class="labels">
          {charts.lanes.map((lane) => <li key={lane.path} style={{ height: `${LANE}px`, paddingLeft: `${lane.depth * 0.7}rem` }}><a href={link("task", project, run, lane.path)}>{lane.name}</a></li>)}
        </ol>
        <div class="canvas" onMouseMove={point} onMouseLeave={() => setTip("")}>
          <canvas ref={canvas} role="img" aria-label="What each agent did, over time" style={{ width: "100%", height: `${charts.lanes.length * LANE}px` }} />
        </div>
      </div>
      {charts.total > charts.lanes.length && (
        <p class="choices">
          {!exported && <button type="button" disabled={start === 0} onClick={() => go(Math.max(0, start - PAGE))}>Earlier lanes</button>}
          {!exported && <button type="button" disabled={start + PAGE >= charts.total} onClick={() => go(start + PAGE)}>Later lanes</button>}
          <span class="dim">Lanes {start + 1} to {start + charts.lanes.length} of {charts.total}</span>
        </p>
      )}
    </div>
  );
}
