import { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { at, DiffPart, exported, File, get, query, Run } from "./api";
import { useAction } from "./ask";
import { many, OVER } from "./format";
import { prefill } from "./new";
import { Icon, link, Loading, Rows, Trouble, useAnswer } from "./parts";

export type DiffLine = ["ctx" | "ins" | "del" | "hunk", number | null, number | null, string];
type Pair = [DiffLine | null, DiffLine | null];
interface Part extends DiffPart {
  rows: (DiffLine | Pair)[];
}

const KINDS: [string, string][] = [
  ["product", "Product code"],
  ["tests", "Tests"],
  ["data", "Data"],
];
const PART = 2000;

// Every file with its counts; the lines of one are loaded when it is opened, in parts, and only those in view are drawn.
export function Changes({
  project,
  run,
  task,
  again,
  refresh,
  pick,
}: {
  project: string;
  run: Run;
  task: string;
  again: unknown;
  refresh: () => void;
  pick?: string;
}) {
  const { data, error } = useAnswer<File[]>(at(project, run.run, `/files${query({ task })}`), again);
  const [chosen, setChosen] = useState("");
  const [words, setWords] = useState("");
  const [beside, setBeside] = useState(false); // Beside each other, long lines are cut: the person asks for it.
  const [place, setPlace] = useState<Place | null>(null);
  const [drafts, setDrafts] = useStored<Draft[]>(`drafts/${project}/${run.run}/${task}`, []);
  const [viewed, setViewed] = useStored<Record<string, string>>(`viewed/${project}/${run.run}/${task}`, {});
  const [print, setPrint] = useState("");
  useEffect(() => {
    if (pick) setChosen(pick);
  }, [pick]);
  const list = useMemo(() => {
    const files = (data ?? []).filter((file) => !words || file.name.toLowerCase().includes(words.toLowerCase()));
    return KINDS.flatMap(([kind, title]) => {
      const mine = files.filter((file) => file.kind === kind);
      return mine.length
        ? [{ title: `${title} (${mine.length.toLocaleString("en")})` }, ...mine.map((file) => ({ file }))]
        : [];
    });
  }, [data, words]);
  if (!data) return error ? <Trouble error={error} /> : <Loading what="Comparing files…" />;
  if (!data.length) return <p class="empty">Nothing changed{run.holder !== null ? " yet" : ""}.</p>;
  const sum = (key: "added" | "removed") => data.reduce((all, file) => all + file[key], 0);
  const file = data.find((each) => each.name === chosen) ?? data[0];
  const seen = (each: File) => viewed[each.name]?.startsWith(counted(each)) ?? false;
  const now = counted(file) + print;
  // Marked as viewed, it is not once its lines are others.
  const isViewed = print ? viewed[file.name] === now : seen(file);
  const two = beside && file.added > 0 && file.removed > 0; // A new file has nothing to stand beside.
  return (
    <div class="changes" data-state={OVER.includes(run.status) ? "over" : "live"}>
      <div class="bar">
        <span>
          {many(data.length, "file")} <span class="ins">+{sum("added").toLocaleString("en")}</span>{" "}
          <span class="del">−{sum("removed").toLocaleString("en")}</span>
        </span>
        {data.length > 8 && (
          <label class="find">
            Find{" "}
            <input
              data-action="find-file"
              type="search"
              value={words}
              onInput={(event) => setWords(event.currentTarget.value)}
            />
          </label>
        )}
        <span class="push" />
        <span class="switch" role="group" aria-label="Layout">
          <button data-action="unified" type="button" aria-pressed={!beside} onClick={() => setBeside(false)}>
            Unified
          </button>
          <button data-action="beside" type="button" aria-pressed={beside} onClick={() => setBeside(true)}>
            Side by side
          </button>
        </span>
      </div>
      <div class="split">
        <Rows
          class="files"
          label="Changed files"
          count={list.length}
          heights={[28, 44]}
          row={(index) => {
            const each = list[index];
            if ("title" in each) return <span class="group">{each.title}</span>;
            const cut = each.file.name.lastIndexOf("/") + 1;
            return (
              <button
                data-action="file"
                type="button"
                class={`file ${seen(each.file) ? "viewed" : ""}`}
                aria-pressed={each.file === file}
                title={each.file.name}
                onClick={() => {
                  setChosen(each.file.name);
                  setPlace(null);
                  setPrint("");
                }}
              >
                <span class="path">
                  <bdi>
                    {seen(each.file) && <Icon name="check" />}
                    <span class="dim">{each.file.name.slice(0, cut)}</span>
                    {each.file.name.slice(cut)}
                  </bdi>
                </span>
                {each.file.binary ? (
                  <span class="dim">binary</span>
                ) : (
                  <span>
                    <span class="ins">+{each.file.added}</span> <span class="del">−{each.file.removed}</span>
                  </span>
                )}
              </button>
            );
          }}
        />
        <div class="one">
          <h2>
            <Icon name="file" /> <code>{file.name}</code>
            <label class="tick-box">
              <input
                data-action="viewed"
                type="checkbox"
                checked={isViewed}
                onChange={() => {
                  const { [file.name]: _, ...rest } = viewed;
                  setViewed(isViewed ? rest : { ...rest, [file.name]: now });
                }}
              />{" "}
              Viewed
            </label>
          </h2>
          {place && (
            <Comment
              key={`${place.file}${place.line}`}
              place={place}
              close={() => setPlace(null)}
              add={(text) => {
                setDrafts([...drafts, { ...place, said: text }]);
                setPlace(null);
              }}
            />
          )}
          {drafts.length > 0 && (
            <Drafts project={project} run={run} task={task} drafts={drafts} keep={setDrafts} refresh={refresh} />
          )}
          <Lines
            key={`${file.name}${two}`}
            project={project}
            run={run.run}
            task={task}
            file={file}
            beside={two}
            again={again}
            comment={exported ? undefined : (line, to, text) => setPlace({ file: file.name, line, to, text })}
            read={setPrint}
          />
        </div>
      </div>
    </div>
  );
}

function counted(file: File): string {
  return `+${file.added} −${file.removed} `;
}

// What this browser keeps for the person until the work is looked at.
function useStored<T>(name: string, empty: T): [T, (value: T) => void] {
  const key = `bough/${name}`;
  const [value, setValue] = useState<T>(() => {
    try {
      return JSON.parse(localStorage.getItem(key) ?? "null") ?? empty;
    } catch {
      return empty; // A file has no storage in some browsers.
    }
  });
  const keep = (next: T) => {
    setValue(next);
    try {
      localStorage.setItem(key, JSON.stringify(next));
    } catch {
      /* as above */
    }
  };
  return [value, keep];
}

interface Place {
  file: string;
  line: number;
  to: number;
  text: string;
}
interface Draft extends Place {
  said: string;
}

function lines(place: Place): string {
  return place.to > place.line ? `lines ${place.line} to ${place.to}` : `line ${place.line}`;
}

function Comment({ place, close, add }: { place: Place; close: () => void; add: (text: string) => void }) {
  const [text, setText] = useState("");
  return (
    <form
      class="comment"
      onSubmit={(event) => {
        event.preventDefault();
        add(text.trim());
      }}
    >
      <p>
        <Icon name="comment" /> {lines(place)} <code>{place.text.trim().slice(0, 100)}</code>
      </p>
      <label>
        What should be different{" "}
        <textarea autoFocus rows={2} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <p class="actions">
        <button data-action="add-comment" type="submit" class="first" disabled={!text.trim()}>
          Add comment
        </button>
        <button data-action="cancel-comment" type="button" class="quiet" onClick={close}>
          Cancel
        </button>
      </p>
    </form>
  );
}

// The comments so far. All of them go to the agents as one message with their places, or, once the run is finished, into
// one follow-up.
function Drafts({
  project,
  run,
  task,
  drafts,
  keep,
  refresh,
}: {
  project: string;
  run: Run;
  task: string;
  drafts: Draft[];
  keep: (drafts: Draft[]) => void;
  refresh: () => void;
}) {
  const { act, busy, note } = useAction(project, run, refresh);
  const over = OVER.includes(run.status);
  const all = drafts
    .map((each) => `${each.file}, ${lines(each)} (\`${each.text.trim().slice(0, 200)}\`): ${each.said}`)
    .join("\n\n");
  const send = async () => {
    if (over) {
      prefill(all);
      keep([]);
      window.location.hash = link("new", project, run.run);
    } else if (await act("say", { text: all, task: task === "goal" ? "" : task })) keep([]);
  };
  return (
    <section class="drafts" aria-label="Your comments">
      <ul class="plain">
        {drafts.map((each, n) => (
          <li key={n}>
            <code>
              {each.file}:{each.line}
              {each.to > each.line && `–${each.to}`}
            </code>{" "}
            {each.said}{" "}
            <button
              data-action="remove-comment"
              type="button"
              class="quiet"
              aria-label={`Remove the comment on ${lines(each)}`}
              onClick={() => keep(drafts.filter((_, m) => m !== n))}
            >
              Remove
            </button>
          </li>
        ))}
      </ul>
      <p class="actions">
        <button data-action="send-comments" type="button" class="first" disabled={busy} onClick={() => void send()}>
          {over ? `Follow up with ${many(drafts.length, "comment")}…` : `Send ${many(drafts.length, "comment")}`}
        </button>
      </p>
      {note}
    </section>
  );
}

function Lines({
  project,
  run,
  task,
  file,
  beside,
  again,
  comment,
  read,
}: {
  project: string;
  run: string;
  task: string;
  file: File;
  beside: boolean;
  again: unknown;
  comment?: (line: number, to: number, text: string) => void;
  read: (print: string) => void;
}) {
  const [parts, setParts] = useState<Map<number, (DiffLine | Pair)[]>>(new Map());
  const [total, setTotal] = useState<number | null>(null);
  const [error, setError] = useState<unknown>(null);
  const asked = useRef(new Set<number>());
  // Where a drag over line numbers began.
  const dragged = useRef<[number, string] | null>(null);
  const load = (from: number) => {
    if (asked.current.has(from)) return;
    asked.current.add(from);
    get<Part>(
      at(
        project,
        run,
        `/diff${query({ task, file: file.name, beside: beside ? 1 : undefined, from: from || undefined })}`,
      ),
    ).then(
      (part) => {
        setTotal(part.total);
        if (from === 0) read(fingerprint(JSON.stringify(part.rows)));
        setParts((was) => new Map(was).set(from, part.rows));
      },
      (problem) => {
        asked.current.delete(from);
        setError(problem);
      },
    );
  };
  useEffect(() => {
    asked.current.clear();
    load(0);
  }, [again]);
  if (error) return <Trouble error={error} />;
  if (total === null) return <Loading what="Reading the changes…" />;
  if (!total)
    return <p class="dim">{file.binary ? "A binary file changed." : "Only its mode changed, or it is empty."}</p>;
  const need = (first: number, last: number) => {
    for (let from = Math.floor(first / PART) * PART; from < Math.min(last, total); from += PART) load(from);
  };
  const number = (line: DiffLine | null, side: 1 | 2) => {
    const value = line?.[side];
    if (value === null || value === undefined) return <span class="no" />;
    if (!comment) return <span class="no">{value}</span>;
    const end = () => {
      const [from, text] = dragged.current ?? [value, line![3]];
      dragged.current = null;
      comment(Math.min(from, value), Math.max(from, value), from <= value ? text : line![3]);
    };
    return (
      <button
        data-action="comment"
        type="button"
        class="no"
        aria-label={`Comment on line ${value}${side === 1 ? " before" : ""}`}
        onPointerDown={() => (dragged.current = [value, line![3]])}
        onPointerUp={end}
        onClick={(event) => event.detail === 0 && end()}
      >
        {value}
      </button>
    );
  };
  return (
    <Rows
      class={`diff ${beside ? "beside" : ""}`}
      label={`Changes of ${file.name}`}
      count={total}
      heights={[20, 24]}
      top={need}
      row={(index) => {
        const row = parts.get(Math.floor(index / PART) * PART)?.[index % PART];
        if (!row) return <span class="code dim">…</span>;
        if (!beside) {
          const line = row as DiffLine;
          if (line[0] === "hunk") return <span class="hunk">{line[3]}</span>;
          return (
            <span class={`row ${line[0]}`}>
              {number(line, 1)}
              {number(line, 2)}
              <span class="code">
                <span class="sign">{line[0] === "ins" ? "+" : line[0] === "del" ? "−" : " "}</span>
                {colour(line[3], file.name)}
              </span>
            </span>
          );
        }
        const [left, right] = row as Pair;
        if (left?.[0] === "hunk") return <span class="hunk">{left[3]}</span>;
        const half = (line: DiffLine | null, side: 1 | 2) => (
          <>
            {number(line, side)}
            <span class={`code ${line?.[0] ?? "none"}`}>{line && colour(line[3], file.name)}</span>
          </>
        );
        return (
          <span class="row">
            {half(left, 1)}
            {half(right, 2)}
          </span>
        );
      }}
    />
  );
}

function fingerprint(text: string): string {
  let sum = 5381;
  for (let n = 0; n < text.length; n += 1) sum = (Math.imul(sum, 33) ^ text.charCodeAt(n)) >>> 0;
  return sum.toString(36);
}

// Enough colour to read by: comments, strings, numbers and the words that most languages share.
const WORDS =
  /^(?:abstract|and|as|assert|async|await|break|case|catch|class|const|continue|def|default|defer|del|do|elif|else|enum|except|export|extends|finally|fn|for|from|func|function|if|impl|implements|import|in|instanceof|interface|is|lambda|let|match|mod|module|mut|new|not|null|None|nil|or|package|pass|private|protected|pub|public|raise|return|self|static|struct|super|switch|this|throw|trait|true|True|false|False|try|type|use|var|void|when|where|while|with|yield)$/;
const HASH = /\.(py|rb|sh|toml|ya?ml|cfg|ini|pl|r|mk)$|(^|\/)(Makefile|Dockerfile)$/i;
const PLAIN = /\.(md|txt|rst|csv|json|lock)$/i;

export function colour(text: string, name: string): ComponentChildren {
  if (PLAIN.test(name) || text.length > 600) return text;
  const comment = HASH.test(name) ? "#.*$" : "//.*$|/\\*.*?(?:\\*/|$)";
  const pattern = new RegExp(
    `(${comment})|("(?:\\\\.|[^"\\\\])*"?|'(?:\\\\.|[^'\\\\])*'?|\`(?:\\\\.|[^\`\\\\])*\`?)|(\\b\\d[\\w.]*)|([A-Za-z_]\\w*)`,
    "g",
  );
  const made: ComponentChildren[] = [];
  let last = 0;
  for (const found of text.matchAll(pattern)) {
    const kind = found[1] ? "cm" : found[2] ? "st" : found[3] ? "nu" : WORDS.test(found[4]) ? "kw" : "";
    if (!kind) continue;
    if (found.index > last) made.push(text.slice(last, found.index));
    made.push(<span class={kind}>{found[0]}</span>);
    last = found.index + found[0].length;
  }
  made.push(text.slice(last));
  return made;
}
