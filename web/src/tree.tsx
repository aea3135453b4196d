import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Line } from "./api";
import { count, ICONS, money, say, tone } from "./format";
import { link, Meter, Tree } from "./parts";

const HEIGHT = 46;
const AROUND = 8;

// The tree. Only visible lines are in the page, so that a thousand tasks scroll like ten.
export function TreeView({ project, tree }: { project: string; tree: Tree }) {
  const [closed, setClosed] = useState<Set<string>>(new Set());
  const [chosen, setChosen] = useState("goal");
  const [top, setTop] = useState(0);
  const [room, setRoom] = useState(600);
  const box = useRef<HTMLDivElement>(null);
  const focus = useRef(false);

  const shown = useMemo(() => {
    const hidden = new Set<string>();
    return tree.order.filter((path) => {
      const parent = path === "goal" ? null : path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "goal";
      const gone = parent !== null && (closed.has(parent) || hidden.has(parent));
      if (gone) hidden.add(path);
      return !gone;
    });
  }, [tree.order, closed]);

  useEffect(() => {
    const watch = new ResizeObserver(() => box.current && setRoom(box.current.clientHeight));
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);

  const place = Math.max(0, shown.indexOf(chosen));
  useEffect(() => {
    if (!focus.current) return;
    focus.current = false;
    const element = box.current;
    if (!element) return;
    const y = place * HEIGHT;
    if (y < element.scrollTop) element.scrollTop = y;
    else if (y + HEIGHT > element.scrollTop + element.clientHeight)
      element.scrollTop = y + HEIGHT - element.clientHeight;
    requestAnimationFrame(() => element.querySelector<HTMLElement>('[tabindex="0"]')?.focus());
  }, [chosen, place]);

  const toggle = (path: string, close: boolean) =>
    setClosed((was) => {
      const next = new Set(was);
      if (close) next.add(path);
      else next.delete(path);
      return next;
    });
  const go = (index: number) => {
    focus.current = true;
    setChosen(shown[Math.max(0, Math.min(shown.length - 1, index))]);
  };
  const key = (event: KeyboardEvent) => {
    const line = tree.lines.get(chosen);
    const page = Math.max(1, Math.floor(room / HEIGHT) - 1);
    const moves: Record<string, () => void> = {
      ArrowDown: () => go(place + 1),
      ArrowUp: () => go(place - 1),
      Home: () => go(0),
      End: () => go(shown.length - 1),
      PageDown: () => go(place + page),
      PageUp: () => go(place - page),
      ArrowRight: () => (line && !line.leaf && closed.has(chosen) ? toggle(chosen, false) : go(place + 1)),
      ArrowLeft: () =>
        line && !line.leaf && !closed.has(chosen)
          ? toggle(chosen, true)
          : line?.parent
            ? go(shown.indexOf(line.parent))
            : undefined,
      Enter: () => {
        window.location.hash = link("task", project, tree.run.run, chosen);
      },
    };
    if (moves[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      moves[event.key]();
    }
  };

  const first = Math.max(0, Math.floor(top / HEIGHT) - AROUND);
  const last = Math.min(shown.length, Math.ceil((top + room) / HEIGHT) + AROUND);
  const part = shown.slice(first, last);
  if (place < first || place >= last) part.push(shown[place]);
  return (
    <div class="treegrid" role="treegrid" aria-label="Tasks" aria-rowcount={shown.length + 1} onKeyDown={key}>
      <div role="rowgroup">
        <div class="row head" role="row" aria-rowindex={1}>
          <span role="columnheader">Task</span>
          <span role="columnheader" class="state">
            State
          </span>
          <span role="columnheader" class="number">
            Rounds
          </span>
          <span role="columnheader" class="check">
            Check
          </span>
          <span role="columnheader" class="number own">
            Own cost
          </span>
          <span role="columnheader" class="number all">
            With subtasks
          </span>
        </div>
      </div>
      <div class="scroll" role="rowgroup" ref={box} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
        <div class="space" role="presentation" style={{ height: `${shown.length * HEIGHT}px` }}>
          {part.map((path) => {
            const index = shown.indexOf(path);
            return (
              <Row
                key={path}
                line={tree.lines.get(path)}
                path={path}
                index={index}
                current={path === chosen}
                closed={closed.has(path)}
                live={tree.run.holder !== null}
                activity={tree.run.activity[path]}
                toggle={toggle}
                choose={setChosen}
                href={link("task", project, tree.run.run, path)}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

interface Props {
  line?: Line;
  path: string;
  index: number;
  current: boolean;
  closed: boolean;
  live: boolean;
  activity?: { what: string; line: string };
  href: string;
  toggle: (path: string, close: boolean) => void;
  choose: (path: string) => void;
}

function Row({ line, path, index, current, closed, live, activity, toggle, choose, href }: Props) {
  const style = { transform: `translateY(${index * HEIGHT}px)` };
  if (!line)
    return (
      <div class="row" role="row" aria-rowindex={index + 2} style={style} tabIndex={current ? 0 : -1}>
        <span role="gridcell">{path}</span>
      </div>
    );
  const [own, all, granted] = line.rounds;
  return (
    <div
      class={`row ${tone(line.state)}`}
      role="row"
      aria-rowindex={index + 2}
      aria-level={line.depth + 1}
      aria-expanded={line.leaf ? undefined : !closed}
      style={style}
      tabIndex={current ? 0 : -1}
      onFocus={() => choose(path)}
    >
      <span role="gridcell" class="name" style={{ "--depth": Math.min(line.depth, 8) }}>
        {line.leaf ? (
          <span class="fold" />
        ) : (
          <button
            data-action="branch-of-tree"
            type="button"
            class="fold"
            tabIndex={-1}
            aria-label={closed ? `Expand ${line.name}` : `Collapse ${line.name}`}
            onClick={() => toggle(path, !closed)}
          >
            {closed ? "▸" : "▾"}
          </button>
        )}
        <span class="icon" aria-hidden="true">
          {ICONS[line.state]}
        </span>
        <span class="what">
          <a href={href} tabIndex={-1}>
            {line.name}
          </a>
          <small>
            {live && (line.doing || activity?.what) && line.title && line.title !== line.name && `${line.title} · `}
            {now(line, live, activity)}
            {live && activity?.line && line.doing !== "thinking" ? <code> {activity.line}</code> : null}
          </small>
        </span>
      </span>
      <span role="gridcell" class="state">
        {line.words}
        {line.halted && ` (${line.halted})`}
        {line.worker && ` on ${line.worker}`}
      </span>
      <span role="gridcell" class="number">
        {line.started_at ? `${all}/${granted}` : "–"}
        {!line.leaf && line.started_at ? <i> {own} own</i> : null}
        {line.started_at && granted ? <Meter share={all / granted} label={`${all} of ${granted} rounds`} /> : null}
      </span>
      <span role="gridcell" class="check">
        {line.check ? (
          <>
            {say(line.check.ruling)}
            <small>{tests(line)}</small>
          </>
        ) : (
          "–"
        )}
      </span>
      <span role="gridcell" class="number own">
        {line.started_at ? money(line.cost[0], line.unpriced) : "–"}
        <small>{line.started_at ? `${count(line.tokens[0])} tok` : ""}</small>
      </span>
      <span role="gridcell" class="number all">
        {line.leaf ? "" : money(line.cost[1], line.unpriced)}
        {line.leaf ? null : <small>{count(line.tokens[1])} tok</small>}
      </span>
    </div>
  );
}

function tests(line: Line): string {
  const { passed, failed } = line.check!;
  if (!passed && !failed) return "";
  return failed ? `${failed} fail, ${passed} pass` : `${passed} pass`;
}

// What it is doing, why it waits, or what it is for.
export function now(line: Line, live: boolean, activity?: { what: string }): string {
  return (
    (live && (line.doing || activity?.what)) ||
    (live && line.stuck) ||
    (line.state === "pending" && line.why) ||
    line.about ||
    line.title
  );
}
