import { get, Run } from "./api";

// What a person sees of a page that is not in front: its title, its icon and, if they allow it, a notification.

const COLOURS: Record<string, string> = {
  good: "#1f8a4c",
  bad: "#c4362c",
  warn: "#d98a00",
  busy: "#2f7fd6",
  calm: "#7d877f",
};
const SELDOM = 15_000;
let told = 0;
let drawn = "";
let last = { tone: "calm", title: "bough" };

// A page that is not in front keeps no connection: it looks now and then whether something waits for the person, in any run.
export function lookWhileHidden(): void {
  window.setInterval(() => {
    if (document.visibilityState === "visible") return;
    void get<{ projects: { runs: Run[] }[] }>("/api/runs").then(
      ({ projects }) => {
        const waiting = projects.flatMap((project) => project.runs).filter((run) => run.waiting.length > 0);
        showState(
          waiting.reduce((sum, run) => sum + run.waiting.length, 0),
          last.tone,
          last.title,
          waiting[0]?.title,
        );
      },
      () => undefined,
    ); // The page says it when it is in front again.
  }, SELDOM);
}

export function showState(waiting: number, tone: string, title: string, about = ""): void {
  last = { tone, title };
  document.title = waiting > 0 ? `(${waiting}) ${title}` : title;
  drawIcon(waiting > 0 ? "warn" : tone, waiting);
  if (waiting > told && document.visibilityState === "hidden" && canNotify() && Notification.permission === "granted") {
    new Notification(waiting === 1 ? "bough needs you" : `bough needs you: ${waiting} questions`, {
      body: about,
      tag: "bough",
    });
  }
  told = waiting;
}

export function canNotify(): boolean {
  return "Notification" in window && window.isSecureContext;
}

function drawIcon(tone: string, waiting: number): void {
  const mark =
    waiting > 0
      ? `<circle cx="23" cy="9" r="8" fill="${COLOURS.warn}"/><text x="23" y="13" font-size="12" font-family="sans-serif" font-weight="700" text-anchor="middle" fill="#fff">${Math.min(waiting, 9)}</text>`
      : "";
  const image = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M16 30V14M16 22c-6 0-9-3-9-8M16 17c5 0 8-3 8-8" fill="none" stroke="${COLOURS[tone]}" stroke-width="4" stroke-linecap="round"/><circle cx="7" cy="12" r="4" fill="${COLOURS[tone]}"/><circle cx="16" cy="10" r="4" fill="${COLOURS[tone]}"/>${mark}</svg>`;
  if (image === drawn) return;
  drawn = image;
  document.querySelector('link[rel="icon"]')?.setAttribute("href", `data:image/svg+xml,${encodeURIComponent(image)}`);
}
