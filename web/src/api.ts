// All the pages' data comes from here: from the server or, in an exported file, from its saved responses.

export interface Spend { rounds: number; tokens_in: number; tokens_out: number; cost: number; unpriced: number; estimated: number }
export interface Limits { rounds: number; tokens: number | null; cost: number | null; minutes: number | null }
export interface Run {
  project: string; run: string; status: string; words: string; summary: string; holder: string | null; goal: string; title: string;
  models: Record<string, string>; started_at: number; last_at: number; now: number; seconds: number; limits: Limits; spend: Spend;
  applied: boolean; seq: number; tasks: number; leaves: number; done: number; given_up: number; progress: number; report: string; changed: boolean;
  doing: { task: string; title: string; doing: string; line: string; at: number; others: number } | null; activity: Record<string, { what: string; line: string }>;
  next: { command: string; why: string }[]; waiting: Waiting[]; answered: Answered[]; missing: string;
}
export interface Step { name: string; title: string; says: string; needs: string[]; files: string[]; check: string; steps: Step[] }
export interface Waiting {
  kind: "question" | "plan" | "command" | "tests"; id: string; task: string; title: string; question: string; at: number; until: number; tests: Disagreement[]; plan?: string; steps?: Step[];
}
export interface Answered { kind: string; task: string; question: string; says: string; by: string; at: number }
export interface Disagreement { test: string; path?: string; was?: string; now?: string; said?: string }
export interface Line {
  path: string; name: string; parent: string | null; depth: number; leaf: boolean; title: string; about: string; state: string; words: string;
  why: string; doing: string; stuck: string; halted: string; role: string; worker: string; attempt: number; rounds: [number, number, number];
  cost: [number, number]; tokens: [number, number]; unpriced: number; check: { ruling: string; passed: number; failed: number } | null;
  files: number; needs: string[]; started_at: number; last_at: number;
}
export interface Told {
  seq: number; task: string; version: number; at: number; kind: string; words: string; style: string;
  event: Record<string, any>; cut?: Record<string, number>;
}
export interface Change { seq: number; run: Run; tasks: Line[]; order?: string[] }

declare global { interface Window { bough?: Record<string, unknown> } }

const embedded = document.getElementById("bough-data");
const kept: Record<string, unknown> | null = embedded ? JSON.parse(embedded.textContent ?? "{}") : null;
export const exported = kept !== null;
export const start: string = exported ? String(kept!["start"] ?? "") : "";

export class Problem extends Error {
  constructor(message: string, readonly status = 0) { super(message); }
}

// The server's clock, so that a wrong one here does not show a wrong time.
let skew = 0;
export function serverNow(): number { return Date.now() / 1000 + skew; }
export function seeClock(now: number): void { skew = now - Date.now() / 1000; }

export function at(project: string, run: string, end = ""): string {
  return `/api/${encodeURIComponent(project)}/runs/${encodeURIComponent(run)}${end}`;
}

export function query(values: Record<string, string | number | undefined>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return given.length ? "?" + given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&") : "";
}

export async function get<T>(address: string): Promise<T> {
  if (kept) {
    if (address in kept) return kept[address] as T;
    throw new Problem("This part is not in the exported file: view it with bough serve.");
  }
  let answer: Response;
  try {
    answer = await fetch(address, { credentials: "same-origin" });
  } catch {
    throw new Problem("The dashboard's server does not respond: start it again with bough serve.");
  }
  return read<T>(answer);
}

export async function send<T>(address: string, body: unknown): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(address, { method: "POST", headers: { "content-type": "application/json", "x-bough": "1" }, body: JSON.stringify(body) });
  } catch {
    throw new Problem("The dashboard's server does not respond: start it again with bough serve.");
  }
  return read<T>(answer);
}

async function read<T>(answer: Response): Promise<T> {
  if (answer.status === 401) throw new Problem("The server was started again, with a new token: open the address that bough serve printed.", 401);
  if (!answer.ok) {
    const text = await answer.text();
    let said = text;
    try { said = JSON.parse(text).error ?? text; } catch { /* plain text */ }
    throw new Problem(said || `The server answered ${answer.status}.`, answer.status);
  }
  return (await answer.json()) as T;
}

// Changes, as they happen. Only visible pages keep a connection: browsers allow six per server.
export function follow(project: string, run: string, since: () => number, heard: (change: Change) => void, connected: (problem: Problem | null) => void, removed: () => void): () => void {
  if (exported) return () => undefined;
  let source: EventSource | null = null;
  let timer = 0;
  const open = () => {
    source = new EventSource(at(project, run, `/live?since=${since()}`));
    source.onopen = () => connected(null);
    source.onmessage = (message) => heard(JSON.parse(message.data));
    source.addEventListener("removed", () => { close(); removed(); });
    source.onerror = () => {
      if (source?.readyState !== EventSource.CLOSED) { connected(new Problem("The connection is lost.")); return; }
      // The server refused it, and says why to those who ask: it may have a new token.
      close();
      timer = window.setTimeout(look, 1000);
      get(at(project, run)).catch((problem) => { if (source?.readyState !== EventSource.OPEN) connected(problem); });
    };
  };
  const close = () => { window.clearTimeout(timer); source?.close(); source = null; };
  const look = () => { if (document.visibilityState === "visible") { if (!source) open(); } else close(); };
  document.addEventListener("visibilitychange", look);
  look();
  return () => { document.removeEventListener("visibilitychange", look); close(); };
}
