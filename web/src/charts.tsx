import { useState } from "preact/hooks";
import { clock, count, money } from "./format";
import type { Charts } from "./api";

const WIDTH = 720;
const HEIGHT = 260;
const LEFT = 56;
const BOTTOM = 26;
const COLOURS = 8;

type Unit = "cost" | "tokens" | "rounds";
const UNITS: Unit[] = ["cost", "tokens", "rounds"];

function said(unit: Unit, value: number): string {
  return unit === "cost" ? money(value) : count(Math.round(value));
}

function Axes({ from, to, most, text }: { from: number; to: number; most: number; text: (value: number) => string }) {
  const steps = [0, 0.25, 0.5, 0.75, 1];
  return (
    <g class="axes">
      {steps.map((share) => {
        const y = (HEIGHT - BOTTOM) * (1 - share) + 6;
        return (
          <g key={share}>
            <line x1={LEFT} x2={WIDTH} y1={y} y2={y} />
            <text x={LEFT - 6} y={y + 4} text-anchor="end">
              {text(most * share)}
            </text>
          </g>
        );
      })}
      {[0, 0.5, 1].map((share) => (
        <text
          key={share}
          x={LEFT + (WIDTH - LEFT) * share}
          y={HEIGHT - 4}
          text-anchor={share === 0 ? "start" : share === 1 ? "end" : "middle"}
        >
          {clock(from + (to - from) * share)}
        </text>
      ))}
    </g>
  );
}

// What each branch has spent over time, stacked, and the limit: the gap between them is what is left.
export function BurnChart({ charts }: { charts: Charts }) {
  const { branches, burn: points, limits, from, to } = charts;
  const priced = points.length > 0 && points[points.length - 1][1].some((each) => each[0] > 0);
  const [unit, setUnit] = useState<Unit>(priced ? "cost" : "tokens");
  if (!points.length) return <p class="dim">Nothing spent yet.</p>;
  const which = UNITS.indexOf(unit);
  const final = points[points.length - 1][1].map((each) => each[which]);
  const ranked = branches.map((_, n) => n).sort((a, b) => final[b] - final[a]);
  const mine = ranked.slice(0, COLOURS - 1);
  const rest = ranked.slice(COLOURS - 1);
  const layers = [...mine.map((n) => [n]), ...(rest.length ? [rest] : [])];
  const total = final.reduce((sum, each) => sum + each, 0);
  const limit = limits[unit];
  const most = Math.max(total, limit !== null && limit < total * 3 ? limit : 0, unit === "cost" ? 0.0001 : 1) * 1.05;
  const x = (at: number) => LEFT + ((WIDTH - LEFT) * (at - from)) / Math.max(to - from, 1e-6);
  const y = (value: number) => (HEIGHT - BOTTOM) * (1 - value / most) + 6;
  const sum = (spent: [number, number, number][], of: number[]) =>
    of.reduce((all, n) => all + (spent[n]?.[which] ?? 0), 0);
  let below = points.map(() => 0);
  const areas = layers.map((of) => {
    const above = points.map((point, n) => below[n] + sum(point[1], of));
    const line = points.map((point, n) => `${x(point[0]).toFixed(1)},${y(above[n]).toFixed(1)}`);
    const back = points.map((point, n) => `${x(point[0]).toFixed(1)},${y(below[n]).toFixed(1)}`).reverse();
    below = above;
    return [...line, ...back].join(" ");
  });
  const left = limit === null ? "no limit" : `${said(unit, Math.max(0, limit - total))} left of ${said(unit, limit)}`;
  return (
    <div>
      <p class="actions" role="group" aria-label="Unit">
        {UNITS.map((each) => (
          <button
            data-action="unit"
            key={each}
            type="button"
            aria-pressed={each === unit}
            onClick={() => setUnit(each)}
          >
            {each}
          </button>
        ))}
        <span class="dim">
          {said(unit, total)} spent, {left}
        </span>
      </p>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${said(unit, total)} spent, ${left}`}>
        <Axes from={from} to={to} most={most} text={(value) => said(unit, value)} />
        {areas.map((area, n) => (
          <polygon key={n} class={`c${n % COLOURS}`} points={area} />
        ))}
        {limit !== null && limit <= most && <line class="limit" x1={LEFT} x2={WIDTH} y1={y(limit)} y2={y(limit)} />}
      </svg>
      <ul class="legend">
        {layers.map((of, n) => (
          <li key={n}>
            <span class={`swatch c${n % COLOURS}`} /> {of.length > 1 ? `${of.length} others` : branches[of[0]]}{" "}
            <span class="dim">
              {said(
                unit,
                of.reduce((all, i) => all + final[i], 0),
              )}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}

// The tests of one check over time: those of different checks do not compare.
export function TestsChart({ charts }: { charts: Charts }) {
  const { from, to } = charts;
  const all = charts.tests.map(([at, task, found, passed, failed]) => ({ at, task, found, passed, failed }));
  const tasks = [...new Set(all.map((each) => each.task))];
  const [chosen, setChosen] = useState("");
  if (!all.length) return <p class="dim">No check has reported test counts yet.</p>;
  const most = (task: string) => all.filter((each) => each.task === task && each.found !== "tool").length;
  const task = tasks.includes(chosen)
    ? chosen
    : [...tasks].sort((a, b) => most(b) - most(a) || Number(b === "goal") - Number(a === "goal"))[0];
  const tests = all.filter((each) => each.task === task);
  const high = Math.max(...tests.map((each) => each.passed + each.failed), 1) * 1.05;
  const x = (at: number) => LEFT + ((WIDTH - LEFT) * (at - from)) / Math.max(to - from, 1e-6);
  const y = (value: number) => (HEIGHT - BOTTOM) * (1 - value / high) + 6;
  const checks = tests.filter((each) => each.found !== "tool");
  const steps = (value: (each: (typeof all)[number]) => number) =>
    checks
      .map(
        (each, n) => `${n ? `H${x(each.at).toFixed(1)}V` : `M${x(each.at).toFixed(1)},`}${y(value(each)).toFixed(1)}`,
      )
      .join("");
  const last = checks[checks.length - 1] ?? tests[tests.length - 1];
  return (
    <div>
      <p class="actions">
        {tasks.length > 1 && (
          <label>
            Task{" "}
            <select data-action="tests-of" value={task} onChange={(event) => setChosen(event.currentTarget.value)}>
              {tasks.map((each) => (
                <option key={each} value={each}>
                  {each}
                </option>
              ))}
            </select>
          </label>
        )}
        <span class="dim">
          Last: {last.passed} passed, {last.failed} failed
        </span>
      </p>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`${task}: ${last.passed} passed, ${last.failed} failed at last`}
      >
        <Axes from={from} to={to} most={high} text={(value) => count(Math.round(value))} />
        <path class="line good" d={steps((each) => each.passed)} />
        <path class="line bad" d={steps((each) => each.failed)} />
        {tests.map((each, n) => (
          <circle
            key={n}
            class={each.failed ? "bad" : each.found === "tool" ? "calm" : "good"}
            cx={x(each.at)}
            cy={y(each.passed)}
            r={each.found === "tool" ? 2 : 3.5}
          >
            <title>{`${clock(each.at)} (${each.found}): ${each.passed} passed, ${each.failed} failed`}</title>
          </circle>
        ))}
      </svg>
      <ul class="legend">
        <li>
          <span class="swatch good" /> passed
        </li>
        <li>
          <span class="swatch bad" /> failed
        </li>
        <li>
          <span class="swatch calm" /> an agent's own test run
        </li>
      </ul>
    </div>
  );
}
