import { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { follow, get, at, Line, Problem, Run } from "./api";
import { tone } from "./format";

export function link(...parts: string[]): string {
  return "#/" + parts.map(encodeURIComponent).join("/");
}

export function Badge({ word, text }: { word: string; text?: string }) {
  return <span class={`badge ${tone(word)}`}>{text ?? word.replaceAll("_", " ")}</span>;
}

export function Trouble({ error }: { error: unknown }) {
  return <p class="problem" role="alert">{error instanceof Error ? error.message : String(error)}</p>;
}

export function Loading({ what = "Reading the journal…" }: { what?: string }) {
  return <p class="loading" role="status">{what}</p>;
}

export function Meter({ value, most, label }: { value: number; most: number; label: string }) {
  const share = most ? Math.min(1, value / most) : 0;
  return (
    <span class="meter" role="img" aria-label={label}>
      <span class={share > 0.9 ? "full" : ""} style={{ width: `${share * 100}%` }} />
    </span>
  );
}

// The response of an address, reloaded when it or `again` changes; the old one stays until then.
export function useAnswer<T>(address: string | null, again: unknown = 0): { data: T | null; error: unknown } {
  const [state, setState] = useState<{ address: string | null; data: T | null; error: unknown }>({ address: null, data: null, error: null });
  useEffect(() => {
    if (address === null) return undefined;
    let current = true;
    get<T>(address).then(
      (data) => current && setState({ address, data, error: null }),
      (error) => current && setState((was) => ({ address, data: was.address === address ? was.data : null, error })),
    );
    return () => { current = false; };
  }, [address, again]);
  return state.address === address ? state : { data: null, error: null };
}

export interface Tree { run: Run; order: string[]; lines: Map<string, Line>; seq: number; up: boolean; complete: boolean }

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
      type Part = { seq: number; tasks: Line[]; next: number | null; order?: string[] };
      const [run, first] = await Promise.all([get<Run>(at(project, name)), get<Part>(at(project, name, "/tree"))]);
      const lines = new Map(first.tasks.map((line) => [line.path, line]));
      seq.current = first.seq;
      let made: Tree = { run, order: first.order ?? [], lines, seq: first.seq, up: true, complete: first.next === null };
      if (!current) return;
      setTree(made);
      for (let from = first.next; from !== null && current; ) {
        const part: Part = await get(at(project, name, `/tree?from=${from}&limit=500`));
        for (const line of part.tasks) lines.set(line.path, line);
        from = part.next;
        made = { ...made, lines: new Map(lines), complete: from === null };
        if (current) setTree(made);
      }
      if (!current) return;
      stop = follow(project, name, () => seq.current, (change) => {
        if (change.seq < seq.current) return;
        seq.current = change.seq;
        setTree((was) => {
          if (!was) return was;
          const next = new Map(was.lines);
          for (const line of change.tasks) next.set(line.path, line);
          return { ...was, run: change.run, lines: next, order: change.order ?? was.order, seq: change.seq, up: true };
        });
      }, (up) => setTree((was) => (was && was.up !== up ? { ...was, up } : was)));
    };
    load().catch((problem) => current && setError(problem instanceof Problem ? problem : new Problem(String(problem))));
    return () => { current = false; stop(); };
  }, [project, name, turn]);
  return { tree, error, refresh: () => setTurn((n) => n + 1) };
}

export function Tabs({ tabs, chosen, to }: { tabs: [string, string][]; chosen: string; to: (tab: string) => string }) {
  return (
    <nav class="tabs" aria-label="Views">
      {tabs.map(([id, text]) => (
        <a key={id} href={to(id)} aria-current={id === chosen ? "page" : undefined}>{text}</a>
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
export function Text({ text, cut, more, lines = 14 }: { text: string; cut?: number; more?: () => Promise<string>; lines?: number }) {
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
      <pre>{visible}</pre>
      {(folds || cut) && (
        <button type="button" class="quiet" aria-expanded={open} onClick={unfold}>
          {open ? "Show less" : `Show all (${(cut ?? shown.length).toLocaleString("en")} characters)`}
        </button>
      )}
    </div>
  );
}
