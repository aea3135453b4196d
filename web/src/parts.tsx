import { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { exported, get, at, Line, Problem, Run, seeClock, serverNow, TreePart } from "./api";
import { duration, OVER, say, tone } from "./format";
import { follow } from "./live";
import { Markdown } from "./markdown";

export function link(...parts: string[]): string {
  return "#/" + parts.map(encodeURIComponent).join("/");
}

export function Badge({ word, text }: { word: string; text?: string }) {
  return <span class={`badge ${tone(word)}`}>{text ?? say(word)}</span>;
}

export function Trouble({ error }: { error: unknown }) {
  return (
    <p class="problem" role="alert">
      <Icon name="alert" /> {error instanceof Error ? error.message : String(error)}
    </p>
  );
}

const PATHS: Record<string, string> = {
  check: "M3 8.5l3.2 3.2L13 4.8",
  cross: "M4 4l8 8M12 4l-8 8",
  alert: "M8 2.2l6.3 11.3H1.7zM8 6.4v3.2M8 11.6v.1",
  question: "M5.6 6a2.4 2.4 0 1 1 3.4 2.2c-.7.3-1 .8-1 1.6M8 12v.1",
  terminal: "M2.5 4l3.5 4-3.5 4M8 12h5.5",
  plan: "M3 3.5h4M5 3.5v9M5 8h4M5 12.5h4M11 8h2M11 12.5h2",
  test: "M6 2.5v4L2.8 12a1 1 0 0 0 .9 1.5h8.6a1 1 0 0 0 .9-1.5L10 6.5v-4M4.8 2.5h6.4M5 9.5h6",
  dot: "M8 8m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  plus: "M8 3v10M3 8h10",
  clock: "M8 4.5V8l2.5 1.5M8 8m-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0",
  bell: "M4 11.5V7a4 4 0 0 1 8 0v4.5l1 1H3zM6.8 14h2.4",
  moon: "M13 9.6A5.6 5.6 0 1 1 6.4 3a4.6 4.6 0 0 0 6.6 6.6z",
  branch: "M5 3v10M5 8c4 0 6-1 6-4M11 4m-1.3 0a1.3 1.3 0 1 0 2.6 0a1.3 1.3 0 1 0-2.6 0",
  bars: "M3.5 13.5V9M8 13.5V3M12.5 13.5V6.5",
  contrast: "M8 2.5v11a5.5 5.5 0 0 0 0-11zM8 8m-5.5 0a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0M10.5 4v8",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  up: "M8 13V3.5M4 7.5l4-4 4 4",
  down: "M8 3v9.5M4 8.5l4 4 4-4",
  comment: "M2.5 3.5h11v7H7l-3 2.5v-2.5H2.5z",
};
// An icon always has words beside it, so it is silent.
export function Icon({ name }: { name: string }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name] ?? PATHS.dot} />
    </svg>
  );
}
export const STATUS_ICON: Record<string, string> = {
  good: "check",
  bad: "cross",
  warn: "alert",
  busy: "dot",
  calm: "dot",
};

// Draws again every second while something is under way.
export function useTick(on: boolean): void {
  const [, setTick] = useState(0);
  useEffect(() => {
    if (!on) return undefined;
    const timer = window.setInterval(() => setTick((n) => n + 1), 1000);
    return () => window.clearInterval(timer);
  }, [on]);
}

export function Since({ at: begun }: { at: number }) {
  useTick(true);
  return <span class="tick">{duration(Math.max(0, serverNow() - begun))}</span>;
}

export function Ago({ at: past }: { at: number }) {
  useTick(true);
  return <span class="tick">{duration(Math.max(0, Math.round(serverNow() - past)))} ago</span>;
}

const SILENCE = 60;

// Nothing was heard for a while: it says so, since it may hang.
export function Quiet({ since }: { since: number }) {
  useTick(true);
  const quiet = serverNow() - since;
  return quiet > SILENCE ? (
    <span class="quiet-for">
      <Icon name="clock" /> no event for {duration(quiet)}
    </span>
  ) : null;
}

// How long a run has worked, as a clock that runs.
export function Elapsed({ run }: { run: Run }) {
  useTick(run.holder !== null);
  return (
    <span class="tick">{duration(run.seconds + (run.holder !== null ? Math.max(0, serverNow() - run.now) : 0))}</span>
  );
}

export function Loading({ what = "Reading the journal…" }: { what?: string }) {
  return (
    <p class="loading" role="status">
      {what}
    </p>
  );
}

export function Meter({ share, label, tone: colour = "" }: { share: number; label: string; tone?: string }) {
  return (
    <span class={`meter ${colour}`} role="img" aria-label={label}>
      <span style={{ width: `${Math.min(1, share) * 100}%` }} />
    </span>
  );
}

// Rows of one height, on a phone of the second one; only those in view are in the page, so that a hundred thousand
// scroll like ten.
export function Rows({
  count,
  heights,
  row,
  label,
  class: name = "",
  top,
}: {
  count: number;
  heights: [number, number];
  row: (index: number) => ComponentChildren;
  label: string;
  class?: string;
  top?: (first: number, last: number) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ from: 0, room: 600, phone: isPhone() });
  const height = heights[view.phone ? 1 : 0];
  useEffect(() => {
    const element = box.current!;
    const look = () =>
      setView((was) =>
        was.from === element.scrollTop && was.room === element.clientHeight && was.phone === isPhone()
          ? was
          : { from: element.scrollTop, room: element.clientHeight, phone: isPhone() },
      );
    const watch = new ResizeObserver(look);
    watch.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      watch.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  const first = Math.max(0, Math.floor(view.from / height) - 10);
  const last = Math.min(count, Math.ceil((view.from + view.room) / height) + 10);
  useEffect(() => top?.(first, last), [first, last, count]);
  const shown = [];
  for (let index = first; index < last; index += 1)
    shown.push(
      <div key={index} class="line" style={{ transform: `translateY(${index * height}px)`, height: `${height}px` }}>
        {row(index)}
      </div>,
    );
  return (
    <div class={`rows ${name}`} ref={box} tabIndex={0} role="region" aria-label={label}>
      <div class="space" style={{ height: `${count * height}px` }}>
        {shown}
      </div>
    </div>
  );
}

// As the style sheet sees it.
const isPhone = () => window.matchMedia("(max-width: 600px)").matches;

// The response of an address, reloaded when it or `again` changes; the old one stays until then.
export function useAnswer<T>(address: string | null, again: unknown = 0): { data: T | null; error: unknown } {
  const [state, setState] = useState<{ address: string | null; data: T | null; error: unknown }>({
    address: null,
    data: null,
    error: null,
  });
  useEffect(() => {
    if (address === null) return undefined;
    let current = true;
    get<T>(address).then(
      (data) => current && setState({ address, data, error: null }),
      (error) => current && setState((was) => ({ address, data: was.address === address ? was.data : null, error })),
    );
    return () => {
      current = false;
    };
  }, [address, again]);
  return state.address === address ? state : { data: null, error: null };
}

export interface Tree {
  run: Run;
  order: string[];
  lines: Map<string, Line>;
  seq: number;
  lost: Problem | null;
  complete: boolean;
  removed: boolean;
}

const SELDOM = 4000;

function isOver(run: Run): boolean {
  return run.holder === null && run.waiting.length === 0 && OVER.includes(run.status);
}

// A run's current state: loaded in parts, then updated with every change.
export function useRun(project: string, name: string): { tree: Tree | null; error: unknown; refresh: () => void } {
  const [tree, setTree] = useState<Tree | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [turn, setTurn] = useState(0);
  const seq = useRef(0);
  useEffect(() => {
    let current = true;
    let stop = () => undefined as void;
    setError(null);
    const load = async () => {
      const [run, first] = await Promise.all([get<Run>(at(project, name)), get<TreePart>(at(project, name, "/tree"))]);
      const lines = new Map(first.tasks.map((line) => [line.path, line]));
      seq.current = first.seq;
      seeClock(run.now);
      let made: Tree = {
        run,
        order: first.order ?? [],
        lines,
        seq: first.seq,
        lost: null,
        complete: first.next === null,
        removed: false,
      };
      if (!current) return;
      setTree(made);
      for (let from = first.next; from !== null && current;) {
        const part: TreePart = await get(at(project, name, `/tree?from=${from}&limit=500`));
        for (const line of part.tasks) lines.set(line.path, line);
        from = part.next;
        made = { ...made, lines: new Map(lines), complete: from === null };
        if (current) setTree(made);
      }
      if (!current) return;
      watch(run);
    };
    // What is over needs no stream: it is looked at now and then, since it may be resumed, applied or removed elsewhere.
    const watch = (run: Run) => {
      stop();
      if (!current || exported) return;
      if (isOver(run)) {
        const timer = window.setInterval(() => {
          if (document.visibilityState !== "visible") return;
          get<Run>(at(project, name)).then(
            (now) => current && (now.seq !== run.seq || now.holder !== run.holder) && setTurn((n) => n + 1),
            (problem) => current && problem instanceof Problem && problem.status === 404 && remove(),
          );
        }, SELDOM);
        stop = () => window.clearInterval(timer);
        return;
      }
      stop = follow(
        project,
        name,
        () => seq.current,
        (change) => {
          if (change.seq < seq.current) return;
          seq.current = change.seq;
          seeClock(change.run.now);
          setTree((was) => {
            if (!was) return was;
            const next = new Map(was.lines);
            for (const line of change.tasks) next.set(line.path, line);
            return {
              ...was,
              run: change.run,
              lines: next,
              order: change.order ?? was.order,
              seq: change.seq,
              lost: null,
            };
          });
          if (isOver(change.run)) watch(change.run);
        },
        (lost) => setTree((was) => (was && was.lost?.message !== lost?.message ? { ...was, lost } : was)),
        remove,
      );
    };
    const remove = () => setTree((was) => (was ? { ...was, removed: true } : was));
    load().catch((problem) => current && setError(problem instanceof Problem ? problem : new Problem(String(problem))));
    return () => {
      current = false;
      stop();
    };
  }, [project, name, turn]);
  return { tree, error, refresh: () => setTurn((n) => n + 1) };
}

export function Tabs({ tabs, chosen, to }: { tabs: [string, string][]; chosen: string; to: (tab: string) => string }) {
  return (
    <nav class="tabs" aria-label="Views">
      {tabs.map(([id, text]) => (
        <a key={id} href={to(id)} aria-current={id === chosen ? "page" : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}

export function Panel({ title, children, id }: { title: string; children: ComponentChildren; id?: string }) {
  return (
    <section class="panel" id={id}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

// A long text, folded; all of it is loaded only on demand.
export function Text({
  text,
  cut,
  more,
  lines = 14,
  prose = false,
}: {
  text: string;
  cut?: number;
  more?: () => Promise<string>;
  lines?: number;
  prose?: boolean;
}) {
  const [whole, setWhole] = useState<string | null>(null);
  const [open, setOpen] = useState(false);
  const shown = whole ?? text;
  const all = shown.split("\n");
  const folds = all.length > lines || shown.length > 1600;
  const visible = folds && !open ? all.slice(0, lines).join("\n").slice(0, 1600) : shown;
  const unfold = async () => {
    if (!open && cut && more && whole === null) setWhole(await more().catch((error) => `${text}\n\n${error.message}`));
    setOpen(!open);
  };
  return (
    <div class="text">
      {prose ? <Markdown text={visible} /> : <pre>{visible}</pre>}
      {(folds || cut) && (
        <button data-action="unfold" type="button" class="quiet" aria-expanded={open} onClick={unfold}>
          {open ? "Show less" : `Show all (${(cut ?? shown.length).toLocaleString("en")} characters)`}
        </button>
      )}
    </div>
  );
}
