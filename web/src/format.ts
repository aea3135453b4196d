import { Run, WORDS } from "./types";

// One set of words for states, the same as in a terminal.
export function say(word: string): string {
  return WORDS[word] ?? word.replaceAll("_", " ");
}

export function count(n: number): string {
  if (n < 1000) return String(n);
  return n < 999_950 ? `${(n / 1000).toFixed(1)}k` : `${(n / 1e6).toFixed(1)}M`;
}

export function money(dollars: number, unpriced = 0): string {
  if (!dollars) return unpriced ? "unpriced" : "$0";
  const places = dollars < 0.01 ? 4 : 2;
  return `$${dollars.toFixed(places)}${unpriced ? "+" : ""}`;
}

export function duration(seconds: number): string {
  if (seconds < 9.95) return `${Math.max(seconds, 0).toFixed(1)} s`;
  const whole = Math.round(seconds);
  const two = (n: number) => String(n).padStart(2, "0");
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${two(whole % 60)}s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)}h ${two(Math.floor((whole % 3600) / 60))}m`;
  return `${Math.floor(whole / 86400)}d ${two(Math.floor((whole % 86400) / 3600))}h`;
}

export function clock(at: number): string {
  return at
    ? new Date(at * 1000).toLocaleTimeString([], {
        hour: "2-digit",
        minute: "2-digit",
        second: "2-digit",
        hour12: false,
      })
    : "";
}

export function age(at: number, now: number): string {
  const seconds = Math.max(0, now - at);
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  if (seconds < 86400 * 60) return `${Math.floor(seconds / 86400)} d ago`;
  return new Date(at * 1000).toLocaleDateString();
}

export function many(n: number, word: string): string {
  return `${n.toLocaleString("en")} ${word}${n === 1 ? "" : word.endsWith("ch") ? "es" : "s"}`;
}

export const ICONS: Record<string, string> = {
  pending: "○",
  in_progress: "●",
  testing: "◐",
  test_failed: "✘",
  completed: "✔",
  blocked: "⊘",
  decomposed: "◌",
  skipped: "○",
  failed: "✘",
  cancelled: "✘",
};

// The ends of a run whose work can be taken as it is, and all its ends.
export const DONE = ["completed", "accepted"];
export const OVER = [...DONE, "not_proven", "failed"];

// In which of its states a run is, as far as they differ in what can be done.
export function stateOf(run: Run): string {
  if (run.holder !== null) return "live";
  if (!OVER.includes(run.status)) return run.waiting.length ? "asks" : run.status === "budget" ? "budget" : "halted";
  return `${run.status}${run.applied ? " applied" : run.changed ? "" : " unchanged"}`;
}

// Which colour a state, a run's status or a ruling has.
export function tone(word: string): string {
  if ([...DONE, "passed", "proven"].includes(word)) return "good";
  if (["failed", "test_failed", "blocked", "cancelled", "refuted", "tampered"].includes(word)) return "bad";
  if (["running", "in_progress", "testing"].includes(word)) return "busy";
  if (
    [
      "needs_approval",
      "stopped",
      "budget",
      "unavailable",
      "interrupted",
      "not_proven",
      "environment",
      "paused",
      "needs_answer",
      "waiting",
      "not shown",
    ].includes(word)
  )
    return "warn";
  return "calm";
}
