import { useState } from "preact/hooks";
import { at, DiffPart, File, get, Goal, GoalEntry, Night, Problem, Project, query, Run, send } from "./api";
import { DiffLine } from "./diff";
import { DONE, many, OVER } from "./format";
import { Icon, link, Loading, Trouble, useAnswer } from "./parts";

interface Item {
  name: string;
  title: string;
  run: string;
}
interface Result {
  item: Item;
  said: string;
  well: boolean;
  // It takes effect on its own: the person has to say so once more.
  edges?: boolean;
}
interface Pair {
  one: Goal;
  other: Goal;
  files: string[];
  merged?: Run;
}

function titleOf(one: Goal, other: Goal): string {
  return `Bring together ${one.name} and ${other.name}.`;
}

// What is proven and can be taken, and which two goals cannot be taken both.
function sort(project: Project, night: Night): { ready: Item[]; pairs: Pair[]; applied: Item[] } {
  const goals = night.groups.flatMap((group) => group.goals);
  const proven = goals.filter((goal) => goal.kind === "proven" && goal.run);
  const pairs: Pair[] = proven.flatMap((one) =>
    Object.entries(one.conflicts).flatMap(([name, files]) => {
      const other = proven.find((goal) => goal.name === name);
      if (!other || goals.indexOf(other) < goals.indexOf(one) || (one.applied && other.applied)) return [];
      const merged = project.runs.find((run) => run.goal.startsWith(titleOf(one, other)));
      return [{ one, other, files, merged }];
    }),
  );
  const merged = pairs.flatMap((pair) => (pair.merged && DONE.includes(pair.merged.status) ? [pair.merged] : []));
  const torn = new Set(pairs.flatMap((pair) => [pair.one.name, pair.other.name]));
  const whole = proven.filter((goal) => !torn.has(goal.name));
  const item = ({ name, title, run }: Goal) => ({ name, title, run });
  const made = (run: Run) => ({ name: run.run, title: run.title, run: run.run });
  return {
    ready: [...whole.filter((goal) => !goal.applied).map(item), ...merged.filter((run) => !run.applied).map(made)],
    applied: [...proven.filter((goal) => goal.applied).map(item), ...merged.filter((run) => run.applied).map(made)],
    pairs,
  };
}

// The night ends in one act: everything that is proven goes into the person's files, or into pull requests.
export function Morning({ project, night, refresh }: { project: Project; night: Night; refresh: () => void }) {
  const { ready, pairs, applied } = sort(project, night);
  const [open, setOpen] = useState<"" | "apply" | "pr">("");
  const [left, setLeft] = useState<string[]>([]);
  const [busy, setBusy] = useState("");
  const [results, setResults] = useState<Result[]>([]);
  const chosen = ready.filter((each) => !left.includes(each.name));
  // Everything is chosen again each time that it opens.
  const unfold = (which: "apply" | "pr") => {
    setOpen(open === which ? "" : which);
    setLeft([]);
  };
  // One after the other: each is merged with the files as the one before has left them.
  const each = async (items: Item[], action: string, body: object, kept: Result[] = []) => {
    setOpen("");
    const done = [...kept];
    for (const item of items) {
      setBusy(`${item.title} …`);
      try {
        const { said } = await send<{ said: string }>(at(project.project, item.run, `/do/${action}`), body);
        done.push({ item, said, well: true });
      } catch (error) {
        const said = error instanceof Error ? error.message : String(error);
        const edges = action === "apply" && said.includes("take effect on their own");
        done.push({ item, said, well: false, edges });
      }
      setResults([...done]);
    }
    setBusy("");
    refresh();
  };
  if (!ready.length && !pairs.length && !applied.length && !results.length) return null;
  return (
    <div class="morning" data-state={`${ready.length ? "ready" : ""} ${applied.length ? "applied" : ""}`.trim()}>
      {pairs.map((pair) => (
        <Conflict
          key={`${pair.one.name}/${pair.other.name}`}
          project={project.project}
          list={night.list}
          pair={pair}
          refresh={refresh}
        />
      ))}
      <div class="actions take">
        {ready.length > 0 && (
          <>
            <button
              data-action="apply-all"
              type="button"
              class="first"
              disabled={busy !== ""}
              aria-expanded={open === "apply"}
              onClick={() => unfold("apply")}
            >
              Apply {ready.length} to my files…
            </button>
            <button
              data-action="open-requests"
              type="button"
              disabled={busy !== ""}
              aria-expanded={open === "pr"}
              onClick={() => unfold("pr")}
            >
              Open pull requests…
            </button>
          </>
        )}
        {applied.length > 0 && (
          <>
            <span class="dim">
              <Icon name="check" /> {many(applied.length, "goal")} in your files
            </span>
            <button
              data-action="undo-all"
              type="button"
              class="quiet"
              disabled={busy !== ""}
              onClick={() => void each([...applied].reverse(), "undo", {})}
            >
              Undo
            </button>
          </>
        )}
      </div>
      {open && (
        <form
          class="boxed"
          aria-label={open === "apply" ? "Apply to my files" : "Open pull requests"}
          onSubmit={(event) => {
            event.preventDefault();
            void each(chosen, open === "apply" ? "apply" : "pr", open === "apply" ? {} : { draft: true });
          }}
        >
          {ready.map((item) => (
            <label key={item.name} class="tick-box">
              <input
                data-action="take"
                type="checkbox"
                checked={!left.includes(item.name)}
                onChange={() =>
                  setLeft(left.includes(item.name) ? left.filter((name) => name !== item.name) : [...left, item.name])
                }
              />{" "}
              {item.title} <a href={link("run", project.project, item.run)}>see the change</a>
            </label>
          ))}
          <p class="dim">
            {open === "apply"
              ? "What you changed meanwhile is merged line by line; where that fails, nothing of that goal is written. Undo takes it back."
              : "Each is pushed and opened as a draft with your own git and gh."}
          </p>
          <p class="actions">
            <button
              data-action={open === "apply" ? "apply-chosen" : "open-chosen"}
              type="submit"
              class="first"
              disabled={!chosen.length}
            >
              {open === "apply" ? `Apply ${chosen.length}` : `Open ${many(chosen.length, "draft")}`}
            </button>
            <button data-action="cancel-taking" type="button" class="quiet" onClick={() => setOpen("")}>
              Cancel
            </button>
          </p>
        </form>
      )}
      {busy && (
        <p class="loading" role="status">
          {busy}
        </p>
      )}
      {results.length > 0 && (
        <ul class="plain results" aria-label="What came of it">
          {results.map((one) => (
            <li key={one.item.name} class={one.well ? "good" : "bad"}>
              <Icon name={one.well ? "check" : "alert"} /> <b>{one.item.name}</b>: {one.said}{" "}
              {one.edges && (
                <button
                  data-action="apply-edges"
                  type="button"
                  disabled={busy !== ""}
                  onClick={() =>
                    void each(
                      [one.item],
                      "apply",
                      { edges: true },
                      results.filter((other) => other !== one),
                    )
                  }
                >
                  I have seen them: apply it
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Conflict({
  project,
  list,
  pair,
  refresh,
}: {
  project: string;
  list: string;
  pair: Pair;
  refresh: () => void;
}) {
  const { one, other, files, merged } = pair;
  // An attempt that came to nothing can be made again.
  const failed = merged !== undefined && OVER.includes(merged.status) && !DONE.includes(merged.status);
  const [see, setSee] = useState(false);
  const [keep, setKeep] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const work = async (deed: () => Promise<void>) => {
    setBusy(true);
    setError(null);
    try {
      await deed();
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
    refresh();
  };
  const top = `/api/${encodeURIComponent(project)}`;
  const merge = () =>
    work(async () => {
      const { run } = await send<{ run: string }>(`${top}/do/start`, await describeMerge(project, list, pair));
      window.location.hash = link("run", project, run);
    });
  const drop = (goal: Goal) => work(async () => void (await send(`${top}/do/drop_goal`, { list, goal: goal.name })));
  return (
    <section
      class="conflict"
      data-state={merged && !failed ? "merged" : "conflict"}
      aria-label={`Conflict of ${one.name} and ${other.name}`}
    >
      <h3>
        <Icon name="alert" /> Both are proven, and do not fit together
      </h3>
      <p>
        <a href={link("run", project, one.run)}>{one.title}</a> <span class="dim">and</span>{" "}
        <a href={link("run", project, other.run)}>{other.title}</a>
      </p>
      {files.map((file) => (
        <Overlap key={file} project={project} pair={pair} file={file} see={see} />
      ))}
      {merged ? (
        <p>
          <a href={link("run", project, merged.run)}>
            {failed
              ? "An agent could not merge them"
              : DONE.includes(merged.status)
                ? "An agent has merged them"
                : "An agent merges them"}
          </a>
          : {merged.words}
        </p>
      ) : null}
      <p class="actions">
        {(!merged || failed) && (
          <button data-action="merge" type="button" class="first" disabled={busy} onClick={() => void merge()}>
            Let an agent merge
          </button>
        )}
        {[one, other].map((goal) =>
          keep === goal.name ? (
            <button
              data-action="drop-other"
              key={goal.name}
              type="button"
              class="bad"
              disabled={busy}
              onClick={() => void drop(goal.name === one.name ? other : one)}
            >
              Drop {(goal.name === one.name ? other : one).name} from the list
            </button>
          ) : (
            <button
              data-action="keep-one"
              key={goal.name}
              type="button"
              disabled={busy}
              onClick={() => setKeep(goal.name)}
            >
              Keep {goal.name}
            </button>
          ),
        )}
        <button data-action="see-both" type="button" aria-expanded={see} onClick={() => setSee(!see)}>
          See both
        </button>
      </p>
      {busy && (
        <p class="loading" role="status">
          Working…
        </p>
      )}
      {error ? <Trouble error={error} /> : null}
    </section>
  );
}

interface Region {
  from: number;
  to: number;
  gone: string[];
  come: string[];
}

// The lines that a change replaces, as numbers of the file before it.
function readRegions(rows: DiffLine[]): Region[] {
  const found: Region[] = [];
  let open: Region | null = null;
  let place = 1;
  for (const [kind, old, , text] of rows) {
    if (kind === "ins" || kind === "del") {
      if (!open) found.push((open = { from: old ?? place, to: old ?? place, gone: [], come: [] }));
      if (kind === "ins") open.come.push(text);
      else {
        open.gone.push(text);
        open.to = place = old! + 1;
      }
      continue;
    }
    open = null;
    if (kind === "ctx") place = old! + 1;
  }
  return found;
}

function diffOf(project: string, run: string, file: string): string {
  return at(project, run, `/diff${query({ task: "goal", file })}`);
}

// Which lines of a file two goals have both changed and, on demand, what each made of them.
function Overlap({ project, pair, file, see }: { project: string; pair: Pair; file: string; see: boolean }) {
  const one = useAnswer<DiffPart>(diffOf(project, pair.one.run, file));
  const other = useAnswer<DiffPart>(diffOf(project, pair.other.run, file));
  if (one.error || other.error) return <Trouble error={one.error ?? other.error} />;
  if (!one.data || !other.data) return <Loading what={`Comparing ${file}…`} />;
  const [mine, theirs] = [one.data, other.data].map((each) => readRegions(each.rows as DiffLine[]));
  const both = mine.flatMap((a) => theirs.filter((b) => a.from <= b.to && b.from <= a.to).map((b) => [a, b]));
  const say = ([a, b]: Region[]) => {
    const [from, to] = [Math.min(a.from, b.from), Math.max(a.to, b.to) - 1];
    return to > from ? `lines ${from} to ${to}` : `line ${from}`;
  };
  return (
    <div class="overlap">
      <p>
        <code>{file}</code> {both.length ? both.map(say).join(", ") : "as a whole"}
      </p>
      {see &&
        both.map((two, n) => (
          <div key={n} class="both">
            {two.map((region, side) => (
              <div key={side}>
                <small>{[pair.one, pair.other][side].name}</small>
                {region.gone.length > 0 && <pre class="del">{region.gone.join("\n")}</pre>}
                {region.come.length > 0 && <pre class="ins">{region.come.join("\n")}</pre>}
              </div>
            ))}
          </div>
        ))}
    </div>
  );
}

const LARGEST = 14_000;

// A run that begins with the work of one, and is told the work of the other.
async function describeMerge(project: string, list: string, { one, other, files }: Pair): Promise<object> {
  const entry = (goal: Goal) =>
    get<GoalEntry>(
      `/api/${encodeURIComponent(project)}/backlogs/${encodeURIComponent(list)}/${encodeURIComponent(goal.name)}`,
    );
  const [mine, theirs] = [await entry(one), await entry(other)];
  let diff = "";
  for (const file of await get<File[]>(at(project, other.run, `/files${query({ task: "goal" })}`))) {
    const part = await get<DiffPart>(diffOf(project, other.run, file.name));
    const signs: Record<string, string> = { ins: "+", del: "-", ctx: " ", hunk: "@@ " };
    diff += `--- ${file.name}\n${(part.rows as DiffLine[]).map(([kind, , , text]) => signs[kind] + text).join("\n")}\n`;
    if (diff.length > LARGEST || part.total > part.rows.length || file.binary)
      throw new Problem(`The change of ${other.name} is too large to hand over: keep one, and list the other again.`);
  }
  const checks = [...new Set([mine.check, theirs.check].filter(Boolean))];
  return {
    goal: `${titleOf(one, other)}

The files here have the work of ${one.name}. The work of ${other.name} has to be in them as well: it is below, as a diff from the same files as ${one.name} began with. Both changed ${files.join(", ")}. Keep what both goals ask for.

${one.name} asked for: ${mine.goal.trim()}

${other.name} asked for: ${theirs.goal.trim()}

The work of ${other.name}:

\`\`\`diff
${diff}\`\`\`
`,
    check: checks.join(" && "),
    continues: one.run,
    ask: false,
  };
}
