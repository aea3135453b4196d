import { Problem, read, sign } from "./api";
import { Change } from "./types";

// Changes, as they happen, on one connection for all windows and tabs of this browser: it allows six per server. The
// window that holds a lock leads: it asks for all runs that visible windows follow, and passes on what it hears.

type Wants = [key: string, since: number][];
interface Trouble {
  message: string;
  status: number;
}
type Message =
  | { kind: "wants"; page: string; wants: Wants }
  | { kind: "who" }
  | { kind: "state"; trouble: Trouble | null }
  | { kind: "change"; key: string; change: Change }
  | { kind: "removed"; key: string };

interface Follower {
  key: string;
  since: () => number;
  heard: (change: Change) => void;
  connected: (problem: Problem | null) => void;
  removed: () => void;
}

const RENEW = 10_000;
const FORGET = 35_000;
const page = `${Date.now().toString(36)}${Math.random().toString(36).slice(2)}`;
const followers = new Set<Follower>();
let channel: BroadcastChannel | null = null;
let lead: Leader | null = null;

function tell(message: Message): void {
  channel?.postMessage(message);
  hear(message);
}

function announce(): void {
  const visible = document.visibilityState === "visible";
  tell({ kind: "wants", page, wants: visible ? [...followers].map((each) => [each.key, each.since()]) : [] });
}

function hear(message: Message): void {
  if (message.kind === "who") announce();
  else if (message.kind === "wants") lead?.want(message.page, message.wants);
  else if (message.kind === "state") {
    const problem = message.trouble && new Problem(message.trouble.message, message.trouble.status);
    for (const each of followers) each.connected(problem);
  } else
    for (const each of [...followers].filter((one) => one.key === message.key))
      if (message.kind === "change") each.heard(message.change);
      else each.removed();
}

function begin(): void {
  channel = "BroadcastChannel" in window ? new BroadcastChannel("bough") : null;
  if (channel) channel.onmessage = (event: MessageEvent<Message>) => hear(event.data);
  document.addEventListener("visibilitychange", announce);
  window.addEventListener("pagehide", () => tell({ kind: "wants", page, wants: [] }));
  window.setInterval(() => followers.size > 0 && announce(), RENEW);
  const takeOver = () => {
    lead = new Leader();
    tell({ kind: "who" });
  };
  // Without locks (another machine's page over plain HTTP) each window leads for itself.
  if (!navigator.locks) {
    channel?.close();
    channel = null;
    takeOver();
  } else
    void navigator.locks.request("bough-live", () => {
      takeOver();
      return new Promise<never>(() => undefined);
    });
}

class Leader {
  private pages = new Map<string, { wants: Wants; at: number }>();
  // How far each run has been heard on the open connection.
  private heard = new Map<string, number>();
  private open: AbortController | null = null;
  private trouble: Trouble | null = null;
  private timer = 0;

  constructor() {
    window.setInterval(() => this.look(true), RENEW);
  }

  want(from: string, wants: Wants): void {
    if (wants.length) this.pages.set(from, { wants, at: Date.now() });
    else this.pages.delete(from);
    this.look();
  }

  // Connect again where somebody follows another run, or knows less of one than what was passed on. What nobody follows
  // any more is left out at the next renewal: windows come and go.
  private look(renewal = false): void {
    for (const [from, { at }] of this.pages) if (Date.now() - at > FORGET) this.pages.delete(from);
    const wanted = new Map<string, number>();
    for (const { wants } of this.pages.values())
      for (const [key, since] of wants) wanted.set(key, Math.min(since, wanted.get(key) ?? since));
    const missed = [...wanted].some(([key, since]) => since < (this.heard.get(key) ?? Infinity));
    if (this.open && !missed && wanted.size && !(renewal && wanted.size < this.heard.size)) return;
    window.clearTimeout(this.timer);
    this.open?.abort();
    this.open = null;
    this.heard = wanted;
    if (!wanted.size) return;
    const mine = (this.open = new AbortController());
    this.listen(mine.signal).catch((problem) => {
      if (mine.signal.aborted) return;
      this.open = null;
      this.say(
        problem instanceof Problem
          ? { message: problem.message, status: problem.status }
          : { message: "The connection is lost.", status: 0 },
      );
      this.timer = window.setTimeout(() => this.look(), 1000);
    });
  }

  private say(trouble: Trouble | null): void {
    if (trouble || this.trouble) tell({ kind: "state", trouble });
    this.trouble = trouble;
  }

  private async listen(signal: AbortSignal): Promise<void> {
    const runs = [...this.heard].map(([key, since]) => `follow=${encodeURIComponent(`${key}/${since}`)}`);
    const answer = await fetch(`/api/live?${runs.join("&")}`, { headers: sign(), signal });
    if (!answer.ok || !answer.body) return void (await read(answer));
    this.say(null);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; ;) {
      const { done, value } = await reader.read();
      if (done) throw new Problem("The connection is lost.");
      const messages = (text + value).split("\n\n");
      text = messages.pop() ?? "";
      for (const message of messages) {
        const data = message.split("\n").find((line) => line.startsWith("data: "));
        if (!data) continue;
        const said = JSON.parse(data.slice(6));
        if (message.startsWith("event: removed")) {
          tell({ kind: "removed", key: said });
          continue;
        }
        const key = `${said.run.project}/${said.run.run}`;
        this.heard.set(key, said.seq);
        tell({ kind: "change", key, change: said });
      }
    }
  }
}

let begun = false;

export function follow(
  project: string,
  run: string,
  since: () => number,
  heard: (change: Change) => void,
  connected: (problem: Problem | null) => void,
  removed: () => void,
): () => void {
  const mine: Follower = { key: `${project}/${run}`, since, heard, connected, removed };
  followers.add(mine);
  if (!begun) begin();
  begun = true;
  announce();
  return () => {
    followers.delete(mine);
    announce();
  };
}
