import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { at, exported, get, Happening, Line, query, Rounds, TaskPage as Task, Verdict } from "./api";
import { Changes } from "./diff";
import { clock, count, duration, many, money } from "./format";
import { Ladder } from "./ladder";
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

export function TaskPage({ project, name, path, tab }: { project: string; name: string; path: string; tab: string }) {
  const { tree, error, refresh } = useRun(project, name);
  if (!tree) return error ? <Missing error={error} name={name} /> : <Loading />;
  if (tree.removed) return <Missing error="" name={tree.run.run} title={tree.run.title} />;
  return (
    <main class="wide">
      <Head project={project} tree={tree} refresh={refresh} />
      <Inside key={path} project={project} tree={tree} path={path} tab={tab} refresh={refresh} />
    </main>
  );
}

function Inside({
  project,
  tree,
  path,
  tab,
  refresh,
}: {
  project: string;
  tree: Tree;
  path: string;
  tab: string;
  refresh: () => void;
}) {
  const name = tree.run.run;
  const line = tree.lines.get(path);
  const version = line ? `${line.last_at}/${line.state}` : "";
  const { data, error } = useAnswer<Task>(at(project, name, `/task${query({ task: path })}`), version);
  const talk = useTalk(project, name, path, version);
  if (!data) return error ? <Trouble error={error} /> : <Loading />;
  const shown = line ?? data.line;
  const live = tree.run.holder !== null;
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
      <section class="panel now">
        <h1>{shown.title || path}</h1>
        <p class="numbers">
          <Badge word={shown.state} text={shown.words} />
          {shown.check && <Badge word={shown.check.ruling} text={`check ${shown.check.ruling.replaceAll("_", " ")}`} />}
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
        {shown.why && (
          <p>
            <b>Because:</b> {shown.why}
          </p>
        )}
        {!(live && shown.doing) && !shown.why && !shown.stuck && <p class="dim">{now(shown, live)}</p>}
        {data.report && (
          <details open>
            <summary>Report</summary>
            <Text text={data.report} />
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
      {tab === "talk" && <Talk talk={talk} project={project} run={name} children={data.children} />}
      {tab === "changes" && (
        <Changes project={project} run={tree.run} task={path} again={shown.files} refresh={refresh} />
      )}
      {tab === "checks" && <Checks verdict={data.verdict} talk={talk} project={project} />}
      {tab === "stuck" && <Ladder project={project} name={name} seq={tree.seq} only={path} />}
      {tab === "notes" && <Notes talk={talk} project={project} run={name} />}
    </>
  );
}

interface Conversation {
  events: Happening[];
  from: number;
  total: number;
  error: unknown;
  earlier: () => void;
}

// The conversation: its last rounds, earlier ones on demand, and new ones as they come.
function useTalk(project: string, run: string, path: string, version: string): Conversation {
  const [state, setState] = useState<{ events: Happening[]; from: number; total: number } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const busy = useRef(false);
  const load = async (from?: number) => {
    const part = await get<Rounds>(at(project, run, `/rounds${query({ task: path, from })}`));
    setState((was) => {
      const known = new Set(part.events.map((each) => each.seq));
      const rest = (was?.events ?? []).filter((each) => !known.has(each.seq));
      return {
        events: [...part.events, ...rest].sort((a, b) => a.seq - b.seq),
        from: Math.min(part.from, was?.from ?? part.from),
        total: Math.max(part.total, was?.total ?? 0),
      };
    });
  };
  useEffect(() => {
    if (busy.current) return;
    busy.current = true;
    const last = state?.events[state.events.length - 1]?.seq;
    const work =
      last === undefined
        ? load()
        : get<{ events: Happening[] }>(
            at(project, run, `/events${query({ task: path, since: last, limit: 200 })}`),
          ).then(({ events }) =>
            setState((was) =>
              was && events.length
                ? { ...was, events: [...was.events, ...events.filter((each) => each.seq > last)] }
                : was,
            ),
          );
    work.catch(setError).finally(() => {
      busy.current = false;
    });
  }, [version]);
  return {
    events: state?.events ?? [],
    from: state?.from ?? 0,
    total: state?.total ?? 0,
    error: state ? null : error,
    earlier: () => {
      void load(Math.max(0, (state?.from ?? 0) - 25)).catch(setError);
    },
  };
}

// The newest is in view, and stays so while the person does not scroll up.
function Talk({
  talk,
  project,
  run,
  children,
}: {
  talk: Conversation;
  project: string;
  run: string;
  children: Line[];
}) {
  const results = useMemo(
    () =>
      new Map(talk.events.filter((each) => each.kind === "ToolFinished").map((each) => [`${each.event.call}`, each])),
    [talk.events],
  );
  const called = useMemo(
    () =>
      new Set(
        talk.events.flatMap((each) =>
          each.kind === "ModelAnswered" ? (each.event.calls ?? []).map((call: any) => `${call.id}`) : [],
        ),
      ),
    [talk.events],
  );
  const [words, setWords] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const [away, setAway] = useState(false);
  const newest = talk.events[talk.events.length - 1]?.seq ?? 0;
  const down = () => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  };
  useEffect(() => {
    if (following.current && !words) down();
  }, [newest, words]);
  // The page may be gone when a late scroll is told: the element comes with the event.
  const scrolled = (event: Event) => {
    const element = event.currentTarget as HTMLElement | null;
    if (!element) return;
    following.current = element.scrollHeight - element.scrollTop - element.clientHeight < 80;
    setAway(!following.current);
  };
  const matches = (each: Happening) => {
    if (!words) return true;
    const calls = (each.event.calls ?? []).map((call: any) => results.get(`${call.id}`)?.event.output ?? "");
    return `${each.words} ${JSON.stringify(each.event)} ${calls.join(" ")}`.toLowerCase().includes(words.toLowerCase());
  };
  if (talk.error) return <Trouble error={talk.error} />;
  let round = talk.from;
  const entries = talk.events.map((each) => {
    if (each.kind === "ModelAnswered") round += 1;
    return matches(each) ? (
      <Entry key={each.seq} told={each} round={round} results={results} called={called} project={project} run={run} />
    ) : null;
  });
  const found = entries.filter(Boolean).length;
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
        <label class="find">
          Search{" "}
          <input
            type="search"
            value={words}
            placeholder="words, a file, a command"
            onInput={(event) => setWords(event.currentTarget.value)}
          />
        </label>
        {words && (
          <span class="dim" role="status">
            {many(found, "match")}
            {talk.from > 0 ? ` in the last ${talk.total - talk.from} of ${talk.total} rounds` : ""}
          </span>
        )}
        {talk.from > 0 && !exported && (
          <button type="button" onClick={talk.earlier}>
            Show {many(Math.min(25, talk.from), "earlier round")}
          </button>
        )}
        <span class="push" />
        {away && (
          <button
            type="button"
            onClick={() => {
              following.current = true;
              setAway(false);
              down();
            }}
          >
            Newest
          </button>
        )}
      </div>
      <div class="said-all" ref={box} onScroll={scrolled} tabIndex={0} role="log" aria-label="Conversation">
        {entries}
        {talk.events.length === 0 && <p class="empty">No messages yet.</p>}
      </div>
    </div>
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

function Entry({ told, round, results, called, project, run }: EntryProps) {
  const { kind, event, cut = {} } = told;
  const text = (field: string, value: string, lines?: number, blob?: string) => (
    <Text
      text={value}
      cut={blob ? Math.max(cut[field] ?? 0, value.length + 1) : cut[field]}
      more={more(project, run, told.seq, field, blob)}
      lines={lines}
    />
  );
  if (SILENT.has(kind) || (kind === "ToolFinished" && called.has(`${event.call}`))) return null;
  switch (kind) {
    case "ModelAnswered":
      return (
        <article class="say model" aria-label={`Round ${round}`}>
          <h2>
            Round {round}{" "}
            <span class="dim">
              {clock(told.at)} · {event.model} · {count(event.usage?.input ?? 0)} tokens in,{" "}
              {count(event.usage?.output ?? 0)} out ·{" "}
              {event.cost === null || event.cost === undefined ? "no price" : money(event.cost)} ·{" "}
              {duration(event.seconds ?? 0)}
            </span>
          </h2>
          {event.text && text("text", event.text, 30)}
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
          {text("text", event.text)}
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
          {text("text", event.text, 60)}
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
    <div class={`call ${result && !result.event.ok ? "bad" : ""}`}>
      <h3>
        <code>{call.name}</code>{" "}
        {result ? (
          <span class="dim">
            {result.event.interrupted ? "interrupted" : result.event.ok ? "done" : "failed"},{" "}
            {duration(result.event.seconds ?? 0)}
          </span>
        ) : (
          <span class="dim">running</span>
        )}
      </h3>
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
    </div>
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
      {verdict.canary && <p class="dim">{verdict.canary}</p>}
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
