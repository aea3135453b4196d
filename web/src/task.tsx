import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { at, exported, get, Happening, Line, Match, query, Rounds, TaskPage as Task, Verdict } from "./api";
import { Changes } from "./diff";
import { clock, count, duration, many, money, say, stateOf } from "./format";
import { Ladder } from "./ladder";
import { inline } from "./markdown";
import { Badge, link, Loading, Panel, Tabs, Text, Tree, Trouble, useAnswer, useRun } from "./parts";
import { Head, Missing } from "./run";
import { Rewind, Say } from "./steer";
import { now } from "./tree";

const TABS: [string, string][] = [
  ["talk", "Conversation"],
  ["changes", "Changes"],
  ["checks", "Checks"],
  ["stuck", "Stuck"],
  ["notes", "Notes and prompts"],
];

export function TaskPage({
  project,
  name,
  path,
  tab,
  round,
}: {
  project: string;
  name: string;
  path: string;
  tab: string;
  round: number;
}) {
  const { tree, error, refresh } = useRun(project, name);
  if (!tree) return error ? <Missing error={error} name={name} /> : <Loading />;
  if (tree.removed) return <Missing error="" name={tree.run.run} title={tree.run.title} />;
  return (
    <main class="wide">
      <Head project={project} tree={tree} refresh={refresh} />
      <Inside key={path} project={project} tree={tree} path={path} tab={tab} round={round} refresh={refresh} />
    </main>
  );
}

function Inside({
  project,
  tree,
  path,
  tab,
  round,
  refresh,
}: {
  project: string;
  tree: Tree;
  path: string;
  tab: string;
  round: number;
  refresh: () => void;
}) {
  const name = tree.run.run;
  const line = tree.lines.get(path);
  const version = line ? `${line.last_at}/${line.state}` : "";
  const { data, error } = useAnswer<Task>(at(project, name, `/task${query({ task: path })}`), version);
  const talk = useTalk(project, name, path, version, round);
  if (!data) return error ? <Trouble error={error} /> : <Loading />;
  const shown = line ?? data.line;
  const live = tree.run.holder !== null;
  const asks = tree.run.waiting.some((each) => each.task === path);
  const parts = path === "goal" ? ["goal"] : ["goal", ...path.split("/")];
  return (
    <>
      <nav class="crumbs" aria-label="Path of this task">
        {parts.map((part, n) => (
          <span key={n}>
            {n > 0 && " / "}
            <a
              href={link("task", project, name, n === 0 ? "goal" : parts.slice(1, n + 1).join("/"))}
              aria-current={n === parts.length - 1 ? "page" : undefined}
            >
              {part}
            </a>
          </span>
        ))}
      </nav>
      <section class="panel now" data-state={stateOf(tree.run)}>
        <h1>{shown.title || path}</h1>
        <p class="numbers">
          {asks ? <Badge word="waiting" text="waiting for you" /> : <Badge word={shown.state} text={shown.words} />}
          {shown.check && <Badge word={shown.check.ruling} text={`check ${say(shown.check.ruling)}`} />}
          <span>
            {shown.rounds[1]}/{shown.rounds[2]} rounds
          </span>
          <span>{money(shown.cost[1], shown.unpriced)}</span>
          <span>{count(shown.tokens[1])} tokens</span>
          {shown.role && (
            <span>
              {shown.role}, attempt {shown.attempt}
            </span>
          )}
          {shown.worker && <span>on {shown.worker}</span>}
        </p>
        {live && shown.doing && (
          <p>
            <b>Now:</b> {shown.doing}
          </p>
        )}
        {shown.stuck && (
          <p class="warn">
            <b>Stuck:</b> {shown.stuck}
          </p>
        )}
        {shown.why && !asks && (
          <p>
            <b>Because:</b> {shown.why}
          </p>
        )}
        {!(live && shown.doing) && !shown.why && !shown.stuck && <p class="dim">{now(shown, live)}</p>}
        {data.report && (
          <details open>
            <summary>Report</summary>
            <Text text={data.report} prose />
          </details>
        )}
        {!exported && (
          <p class="actions">
            {path !== "goal" && <Say project={project} run={tree.run} task={path} refresh={refresh} />}
            <Rewind project={project} run={tree.run} task={path} refresh={refresh} />
          </p>
        )}
      </section>
      <Tabs tabs={TABS} chosen={tab} to={(each) => link("task", project, name, path, each)} />
      {tab === "talk" && (
        <Talk talk={talk} project={project} run={name} path={path} round={round} children={data.children} />
      )}
      {tab === "changes" && (
        <Changes project={project} run={tree.run} task={path} again={shown.files} refresh={refresh} />
      )}
      {tab === "checks" && <Checks verdict={data.verdict} talk={talk} project={project} />}
      {tab === "stuck" && <Ladder project={project} name={name} seq={tree.seq} only={path} />}
      {tab === "notes" && <Notes talk={talk} project={project} run={name} />}
    </>
  );
}

interface EventWindow {
  events: Happening[];
  // The rounds that are loaded: from the first to before the last; and all that there are.
  from: number;
  to: number;
  total: number;
}
interface Conversation extends EventWindow {
  error: unknown;
  load: (from: number, beside?: boolean) => Promise<void>;
}

const PART = 25;

// Some rounds of the conversation: the last ones, or those around one that was asked for; others beside them on demand.
// While the last ones are loaded, new ones are added as they come.
function useTalk(project: string, run: string, path: string, version: string, round: number): Conversation {
  const [state, setState] = useState<EventWindow | null>(null);
  const [error, setError] = useState<unknown>(null);
  const busy = useRef(false);
  const load = async (from?: number, beside = false) => {
    const part = await get<Rounds>(
      at(project, run, `/rounds${query({ task: path, from: exported ? undefined : from })}`),
    );
    const to = Math.min(part.from + PART, part.total);
    setState((was) => {
      const rest = beside && was ? was : { events: [], from: part.from, to, total: 0 };
      const known = new Set(part.events.map((each) => each.seq));
      return {
        events: [...part.events, ...rest.events.filter((each) => !known.has(each.seq))].sort((a, b) => a.seq - b.seq),
        from: Math.min(part.from, rest.from),
        to: Math.max(to, rest.to),
        total: Math.max(part.total, rest.total),
      };
    });
  };
  const go = (from: number, beside = false) => load(Math.max(0, from), beside).catch(setError);
  useEffect(() => {
    if (busy.current) return;
    busy.current = true;
    const last = state?.events[state.events.length - 1]?.seq;
    const follows = state && state.to >= state.total;
    const add = ({ events }: { events: Happening[] }) =>
      setState((was) => {
        const news = events.filter((each) => each.seq > (last ?? 0));
        const begun = news.filter((each) => each.kind === "RoundStarted").length;
        return was && { ...was, events: [...was.events, ...news], to: was.to + begun, total: was.total + begun };
      });
    const work =
      last === undefined
        ? load(round ? round - 1 : undefined)
        : follows
          ? get<{ events: Happening[] }>(
              at(project, run, `/events${query({ task: path, since: last, limit: 200 })}`),
            ).then(add)
          : Promise.resolve();
    work.catch(setError).finally(() => {
      busy.current = false;
    });
  }, [version]);
  useEffect(() => {
    if (state && round && (round <= state.from || round > state.to)) void go(round - 1);
  }, [round]);
  return { ...(state ?? { events: [], from: 0, to: 0, total: 0 }), error: state ? null : error, load: go };
}

// What the server finds in all rounds; an exported file has only what it shows.
function Found({ project, run, path, words }: { project: string; run: string; path: string; words: string }) {
  const { data, error } = useAnswer<Match[]>(at(project, run, `/find${query({ task: path, words })}`));
  if (!data) return error ? <Trouble error={error} /> : <Loading what="Searching all rounds…" />;
  return (
    <section class="found" aria-label="Found">
      <p class="dim" role="status">
        {many(data.length, "match")}
      </p>
      <ul class="plain">
        {data.map((each) => {
          const place = each.excerpt.toLowerCase().indexOf(words.toLowerCase());
          return (
            <li key={each.seq}>
              <a href={link("task", project, run, path, "talk", String(Math.max(1, each.round)))}>Round {each.round}</a>{" "}
              <span class="dim">{clock(each.at)}</span> {place < 0 ? each.excerpt : each.excerpt.slice(0, place)}
              {place >= 0 && <mark>{each.excerpt.slice(place, place + words.length)}</mark>}
              {place >= 0 && each.excerpt.slice(place + words.length)}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

// Everything that was said, in the scroll of the page. Who is at its end stays there while more comes.
function Talk({
  talk,
  project,
  run,
  path,
  round: asked,
  children,
}: {
  talk: Conversation;
  project: string;
  run: string;
  path: string;
  round: number;
  children: Line[];
}) {
  const told = useEntries(talk.events);
  const [typed, setTyped] = useState("");
  const [words, setWords] = useState("");
  const [number, setNumber] = useState("");
  const following = useRef(false);
  const newest = talk.events[talk.events.length - 1]?.seq ?? 0;
  const down = () => window.scrollTo({ top: document.documentElement.scrollHeight });
  useEffect(() => {
    const timer = window.setTimeout(() => setWords(typed.trim()), 300);
    return () => window.clearTimeout(timer);
  }, [typed]);
  useEffect(() => {
    const scrolled = () => {
      const page = document.documentElement;
      following.current = window.scrollY > 0 && page.scrollHeight - window.scrollY - window.innerHeight < 120;
    };
    window.addEventListener("scroll", scrolled, { passive: true });
    return () => window.removeEventListener("scroll", scrolled);
  }, []);
  useEffect(() => {
    if (following.current) down();
  }, [newest]);
  const there = asked > talk.from && asked <= talk.to;
  useEffect(() => {
    if (there) document.getElementById(`round-${asked}`)?.scrollIntoView({ block: "start" });
  }, [asked, there]);
  if (talk.error) return <Trouble error={talk.error} />;
  const to = (round: number) => link("task", project, run, path, "talk", String(round));
  let round = talk.from;
  const entries = talk.events.map((each) => {
    if (each.kind === "RoundStarted") round += 1;
    return <Entry key={each.seq} told={each} round={round} {...told} project={project} run={run} />;
  });
  return (
    <div class="talk">
      {children.length > 0 && (
        <Panel title={many(children.length, "subtask")}>
          <ul class="plain">
            {children.map((line) => (
              <li key={line.path}>
                <Badge word={line.state} text={line.words} />{" "}
                <a href={link("task", project, run, line.path)}>{line.title || line.name}</a>{" "}
                <span class="dim">{now(line, true)}</span>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      <div class="bar">
        {!exported && (
          <label class="find">
            Search{" "}
            <input
              data-action="search"
              type="search"
              value={typed}
              placeholder="words, a file, a command"
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          </label>
        )}
        {!exported && talk.total > PART && (
          <form
            data-action="go-to-round"
            class="find"
            onSubmit={(event) => {
              event.preventDefault();
              const wanted = Math.min(talk.total, Math.max(1, Number(number) || 1));
              window.location.hash = to(wanted);
            }}
          >
            <label>
              Go to round{" "}
              <input
                inputMode="numeric"
                size={5}
                value={number}
                placeholder={`1–${talk.total}`}
                onInput={(event) => setNumber(event.currentTarget.value)}
              />
            </label>
          </form>
        )}
        <span class="push" />
        <button
          data-action="newest"
          type="button"
          onClick={() => {
            if (talk.to < talk.total) void talk.load(talk.total - PART).then(() => requestAnimationFrame(down));
            else down();
          }}
        >
          Newest
        </button>
      </div>
      {words && <Found project={project} run={run} path={path} words={words} />}
      {talk.from > 0 && !exported && (
        <button data-action="earlier" type="button" onClick={() => void talk.load(talk.from - PART, true)}>
          Show {many(Math.min(PART, talk.from), "earlier round")}
        </button>
      )}
      <div class="said-all" role="log" aria-label="Conversation">
        {entries}
        {talk.events.length === 0 && <p class="empty">No messages yet.</p>}
      </div>
      {talk.to < talk.total && !exported && (
        <button data-action="later" type="button" onClick={() => void talk.load(talk.to, true)}>
          Show {many(Math.min(PART, talk.total - talk.to), "later round")}
        </button>
      )}
    </div>
  );
}

// What came of each call, and which calls are shown with the round that made them.
export function useEntries(events: Happening[]): { results: Map<string, Happening>; called: Set<string> } {
  return useMemo(
    () => ({
      results: new Map(
        events.filter((each) => each.kind === "ToolFinished").map((each) => [`${each.event.call}`, each]),
      ),
      called: new Set(
        events.flatMap((each) =>
          each.kind === "ModelAnswered" ? (each.event.calls ?? []).map((call: any) => `${call.id}`) : [],
        ),
      ),
    }),
    [events],
  );
}

const SILENT = new Set([
  "RoundStarted",
  "ToolStarted",
  "CheckStarted",
  "WorkspaceOpened",
  "CompactionStarted",
  "ProbesStarted",
  "CommandStarted",
]);

function more(project: string, run: string, seq: number, field: string, blob?: string): () => Promise<string> {
  return async () => {
    if (blob)
      return (await get<{ text: string }>(`/api/${encodeURIComponent(project)}/blobs/${encodeURIComponent(blob)}`))
        .text;
    const whole = await get<Happening>(at(project, run, `/event/${seq}`));
    return String(field.split(".").reduce((value: any, key) => value?.[key], whole.event) ?? "");
  };
}

interface EntryProps {
  told: Happening;
  round: number;
  results: Map<string, Happening>;
  called: Set<string>;
  project: string;
  run: string;
}

export function Entry({ told, round, results, called, project, run }: EntryProps) {
  const { kind, event, cut = {} } = told;
  const text = (field: string, value: string, lines?: number, blob?: string, prose = false) => (
    <Text
      text={value}
      prose={prose}
      cut={blob ? Math.max(cut[field] ?? 0, value.length + 1) : cut[field]}
      more={more(project, run, told.seq, field, blob)}
      lines={lines}
    />
  );
  if (SILENT.has(kind) || (kind === "ToolFinished" && called.has(`${event.call}`))) return null;
  switch (kind) {
    case "ModelAnswered":
      return (
        <article class="say model" id={`round-${round}`} aria-label={`Round ${round}`}>
          <h2>
            Round {round}{" "}
            <span class="dim">
              {clock(told.at)} · {event.model} · {count(event.usage?.input ?? 0)} tokens in,{" "}
              {count(event.usage?.output ?? 0)} out · {money(event.cost ?? 0, event.cost == null ? 1 : 0)} ·{" "}
              {duration(event.seconds ?? 0)}
            </span>
          </h2>
          {event.text && text("text", event.text, 30, undefined, true)}
          {(event.calls ?? []).map((call: any, n: number) => (
            <Call key={n} call={call} result={results.get(`${call.id}`)} project={project} run={run} />
          ))}
        </article>
      );
    case "AttemptStarted":
      return (
        <article class="say bough">
          <h2>
            A {String(event.role).replaceAll("_", " ")} starts{" "}
            <span class="dim">
              {clock(told.at)} · {event.tier} model
            </span>
          </h2>
          <details>
            <summary>Prompt as sent</summary>
            <h3>System</h3>
            {text("system", event.system, 40)}
            <h3>Brief</h3>
            {text("brief", event.brief, 80)}
          </details>
        </article>
      );
    case "MessageAdded":
    case "FindingReturned":
      return (
        <article class="say bough">
          <h2>
            bough says{" "}
            <span class="dim">
              {clock(told.at)} · {String(event.why ?? "finding").replaceAll("_", " ")}
            </span>
          </h2>
          {text("text", event.text, undefined, undefined, true)}
        </article>
      );
    case "HelperAnswered":
      return (
        <article class="say helper">
          <h2>
            The {String(event.helper).replaceAll("_", " ")} says{" "}
            <span class="dim">
              {clock(told.at)} · {duration(event.seconds ?? 0)}
            </span>
          </h2>
          {event.text && text("text", event.text, 10)}
        </article>
      );
    case "CheckFinished":
      return (
        <article class={`say check ${event.verdict.ruling === "passed" ? "good" : "bad"}`}>
          <h2>
            {told.words} <span class="dim">{clock(told.at)}</span>
          </h2>
          {event.verdict.ruling !== "passed" && <VerdictView verdict={event.verdict} />}
        </article>
      );
    case "ToolFinished":
      return (
        <article class="say">
          <h2>
            {told.words} <span class="dim">{clock(told.at)}</span>
          </h2>
          {event.output && text("output", event.output, 14, event.blob)}
        </article>
      );
    case "Reported":
      return (
        <article class="say bough">
          <h2>
            Report <span class="dim">{clock(told.at)}</span>
          </h2>
          {text("text", event.text, 60, undefined, true)}
        </article>
      );
    default:
      return (
        <p class={`event ${told.style}`}>
          <span class="dim">{clock(told.at)}</span> {told.words}
        </p>
      );
  }
}

function Call({ call, result, project, run }: { call: any; result?: Happening; project: string; run: string }) {
  let told = String(call.arguments ?? "");
  try {
    const values = JSON.parse(told);
    if (values && typeof values === "object")
      told = Object.entries(values)
        .map(([key, value]) =>
          typeof value === "string"
            ? value.includes("\n")
              ? `${key}:\n${value}`
              : `${key}: ${value}`
            : `${key}: ${JSON.stringify(value)}`,
        )
        .join("\n");
  } catch {
    /* as the model wrote it */
  }
  const output = result?.event.output as string | undefined;
  return (
    <details class={`call ${result && !result.event.ok ? "bad" : ""}`}>
      <summary>
        <code>{call.name}</code> <span class="telling">{told.split("\n").join(" · ").slice(0, 160)}</span>{" "}
        <span class="dim">
          {result
            ? `${result.event.interrupted ? "interrupted" : result.event.ok ? "done" : "failed"}, ${duration(result.event.seconds ?? 0)}`
            : "running"}
        </span>
      </summary>
      <Text text={told} lines={6} />
      {output && (
        <div class="output">
          <Text
            text={output}
            cut={result!.event.blob ? output.length + 1 : result!.cut?.output}
            lines={8}
            more={more(project, run, result!.seq, "output", result!.event.blob)}
          />
        </div>
      )}
    </details>
  );
}

// Failing tests first: they are what a person looks for.
export function VerdictView({ verdict }: { verdict: Verdict }) {
  return (
    <div class="verdict">
      <p>
        <Badge word={verdict.ruling} /> {verdict.reason}
      </p>
      {verdict.failures?.map((failure) => (
        <details key={failure.id} open={verdict.failures!.length <= 3}>
          <summary>
            <Badge
              word={failure.kind === "pre-existing" || failure.kind === "flaky" ? "stopped" : "failed"}
              text={failure.kind}
            />{" "}
            <code>{failure.id}</code>
          </summary>
          {failure.text && <Text text={failure.text} lines={25} />}
        </details>
      ))}
      {verdict.disagreements?.map((one) => (
        <details key={one.test} open>
          <summary>
            <Badge word="needs_approval" text="original test disagrees" /> <code>{one.test}</code>
          </summary>
          {one.said && <Text text={one.said} />}
          {one.was && <pre class="del">{one.was}</pre>}
          {one.now && <pre class="ins">{one.now}</pre>}
        </details>
      ))}
      {verdict.command && (
        <p class="dim">
          <code>{verdict.command}</code> {duration(verdict.seconds ?? 0)} · {verdict.passed ?? 0} passed,{" "}
          {verdict.failed ?? 0} failed, {verdict.skipped ?? 0} skipped
        </p>
      )}
      {verdict.canary && <p class="dim">{inline(verdict.canary)}</p>}
      {verdict.flaky?.length ? <p class="dim">Flaky: {verdict.flaky.join(", ")}</p> : null}
      {verdict.advice?.length ? (
        <ul>
          {verdict.advice.map((each, n) => (
            <li key={n}>
              {each.path}:{each.line}: {each.what}
            </li>
          ))}
        </ul>
      ) : null}
      {verdict.output && (
        <details open={!verdict.failures?.length}>
          <summary>Output</summary>
          <Text text={verdict.output} lines={30} />
        </details>
      )}
    </div>
  );
}

function Checks({ verdict, talk, project }: { verdict: Verdict | null; talk: Conversation; project: string }) {
  void project;
  const earlier = talk.events.filter((each) => each.kind === "CheckFinished").reverse();
  if (!verdict && !earlier.length) return <p class="dim">No check has run for this task yet.</p>;
  return (
    <div>
      {verdict && (
        <Panel title="Now">
          <VerdictView verdict={verdict} />
        </Panel>
      )}
      {earlier.length > 1 && (
        <Panel title="Earlier">
          {earlier.slice(1).map((each) => (
            <details key={each.seq}>
              <summary>
                {clock(each.at)} {each.words}
              </summary>
              <VerdictView verdict={each.event.verdict} />
            </details>
          ))}
        </Panel>
      )}
    </div>
  );
}

function Notes({ talk, project, run }: { talk: Conversation; project: string; run: string }) {
  const notes = talk.events.filter((each) => each.kind === "NoteKept" || each.kind === "PersonAnswered");
  const prompts = talk.events.filter((each) => each.kind === "AttemptStarted");
  return (
    <div>
      <Panel title="Notes">
        {notes.length ? (
          <ul>
            {notes.map((each) => (
              <li key={each.seq}>
                <Badge
                  word={each.event.kind === "dead_end" ? "failed" : "calm"}
                  text={String(each.event.kind ?? "you said").replaceAll("_", " ")}
                />{" "}
                {each.event.text}
              </li>
            ))}
          </ul>
        ) : (
          <p class="dim">The agent has made no notes{talk.from > 0 ? " in the loaded rounds" : ""}.</p>
        )}
      </Panel>
      <Panel title="Prompts as sent">
        {prompts.map((each) => (
          <details key={each.seq}>
            <summary>
              {each.words} <span class="dim">{clock(each.at)}</span>
            </summary>
            <h2>System</h2>
            <Text
              text={each.event.system}
              cut={each.cut?.system}
              more={more(project, run, each.seq, "system")}
              lines={60}
            />
            <h2>Brief</h2>
            <Text
              text={each.event.brief}
              cut={each.cut?.brief}
              more={more(project, run, each.seq, "brief")}
              lines={100}
            />
          </details>
        ))}
        {!prompts.length && <p class="dim">No agent has started{talk.from > 0 ? " in the loaded rounds" : ""}.</p>}
      </Panel>
    </div>
  );
}
