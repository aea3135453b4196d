// All the pages' data comes from here: from the server or, in an exported file, from its saved responses.

export * from "./types";

declare global {
  interface Window {
    bough?: Record<string, unknown>;
  }
}

const embedded = document.getElementById("bough-data");
const kept: Record<string, unknown> | null = embedded ? JSON.parse(embedded.textContent ?? "{}") : null;
export const exported = kept !== null;
export const start: string = exported ? String(kept!["start"] ?? "") : "";

// The right to ask is a token in this page's own storage, which belongs to this host and port alone. Unlike a cookie, no
// browser sends it by itself, to another port or from another page.
const TOKEN = "bough-token";
const given = exported ? null : new URLSearchParams(location.search).get("token");
if (given) {
  localStorage.setItem(TOKEN, given);
  history.replaceState(null, "", location.pathname + location.hash);
}
export function sign(more: Record<string, string> = {}): Record<string, string> {
  return { "x-bough": localStorage.getItem(TOKEN) ?? "", ...more };
}

export class Problem extends Error {
  constructor(
    message: string,
    readonly status = 0,
  ) {
    super(message);
  }
}

// The server's clock, so that a wrong one here does not show a wrong time.
let skew = 0;
export function serverNow(): number {
  return Date.now() / 1000 + skew;
}
export function seeClock(now: number): void {
  skew = now - Date.now() / 1000;
}

export function at(project: string, run: string, end = ""): string {
  return `/api/${encodeURIComponent(project)}/runs/${encodeURIComponent(run)}${end}`;
}

export function query(values: Record<string, string | number | undefined>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return given.length
    ? "?" + given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&")
    : "";
}

export async function get<T>(address: string): Promise<T> {
  if (kept) {
    if (address in kept) return kept[address] as T;
    throw new Problem("This part is not in the exported file: view it with bough serve.");
  }
  let answer: Response;
  try {
    answer = await fetch(address, { headers: sign() });
  } catch {
    throw new Problem("The dashboard's server does not respond: start it again with bough serve.");
  }
  return read<T>(answer);
}

export async function send<T>(address: string, body: unknown): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(address, {
      method: "POST",
      headers: sign({ "content-type": "application/json" }),
      body: JSON.stringify(body),
    });
  } catch {
    throw new Problem("The dashboard's server does not respond: start it again with bough serve.");
  }
  return read<T>(answer);
}

export async function read<T>(answer: Response): Promise<T> {
  if (answer.status === 401)
    throw new Problem(
      "This page has no token, or the server was started again, with a new token: open the address that bough serve printed.",
      401,
    );
  if (!answer.ok) {
    const text = await answer.text();
    let said = text;
    try {
      said = JSON.parse(text).error ?? text;
    } catch {
      /* plain text */
    }
    throw new Problem(said || `The server answered ${answer.status}.`, answer.status);
  }
  return (await answer.json()) as T;
}
