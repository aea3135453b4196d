import { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { at, exported, get, query, Run } from "./api";
import { useAction } from "./ask";
import { many } from "./format";
import { prefill } from "./new";
import { Icon, link, Loading, Rows, Trouble, useAnswer } from "./parts";
import { OVER } from "./steer";

interface File { name: string; added: number; removed: number; binary: boolean; kind: string }
type DiffLine = ["ctx" | "ins" | "del" | "hunk", number | null, number | null, string];
type Pair = [DiffLine | null, DiffLine | null];
interface Part { from: number; total: number; rows: (DiffLine | Pair)[] }

const KINDS: [string, string][] = [["product", "Product code"], ["tests", "Tests"], ["data", "Data"]];
const PART = 2000;

// Every file with its counts; the lines of one are loaded when it is opened, in parts, and only those in view are drawn.
export function Changes({ project, run, task, again, refresh }: { project: string; run: Run; task: string; again: unknown; refresh: () => void }) {
  const { data, error } = useAnswer<{ files: File[] }>(at(project, run.run, `/files${query({ task })}`), again);
  const [chosen, setChosen] = useState("");
  const [words, setWords] = useState("");
  const [beside, setBeside] = useState(window.innerWidth > 1300);
  const [place, setPlace] = useState<Place | null>(null);
  const list = useMemo(() => {
    const files = (data?.files ?? []).filter((file) => !words || file.name.toLowerCase().includes(words.toLowerCase()));
    return KINDS.flatMap(([kind, title]) => {
      const mine = files.filter((file) => file.kind === kind);
      return mine.length ? [{ title: `${title} (${mine.length.toLocaleString("en")})` }, ...mine.map((file) => ({ file }))] : [];
    });
  }, [data, words]);
  if (!data) return error ? <Trouble error={error} /> : <Loading what="Comparing files…" />;
  if (!data.files.length) return <p class="empty">Nothing changed{run.holder !== null ? " yet" : ""}.</p>;
  const sum = (key: "added" | "removed") => data.files.reduce((all, file) => all + file[key], 0);
  const file = data.files.find((each) => each.name === chosen) ?? data.files[0];
  const two = beside && file.added > 0 && file.removed > 0; // A new file has nothing to stand beside.
  return (
    <div class="changes">
      <div class="bar">
        <span>{many(data.files.length, "file")} <span class="ins">+{sum("added").toLocaleString("en")}</span> <span class="del">−{sum("removed").toLocaleString("en")}</span></span>
        {data.files.length > 8 && <label class="find">Find <input type="search" value={words} onInput={(event) => setWords(event.currentTarget.value)} /></label>}
        <span class="push" />
        <span class="switch" role="group" aria-label="Layout"><button type="button" aria-pressed={!beside} onClick={() => setBeside(false)}>Unified</button><button type="button" aria-pressed={beside} onClick={() => setBeside(true)}>Side by side</button></span>
      </div>
      <div class="split">
        <Rows class="files" label="Changed files" count={list.length} height={28} row={(index) => {
          const each = list[index];
          if ("title" in each) return <span class="group">{each.title}</span>;
          const cut = each.file.name.lastIndexOf("/") + 1;
          return (
            <button type="button" class="file" aria-pressed={each.file === file} title={each.file.name} onClick={() => { setChosen(each.file.name); setPlace(null); }}>
              <span class="path"><span class="dim">{each.file.name.slice(0, cut)}</span>{each.file.name.slice(cut)}</span>
              {each.file.binary ? <span class="dim">binary</span> : <span><span class="ins">+{each.file.added}</span> <span class="del">−{each.file.removed}</span></span>}
            </button>
          );
        }} />
        <div class="one">
          <h2><Icon name="file" /> <code>{file.name}</code></h2>
          {place && <Comment key={`${place.file}${place.line}`} project={project} run={run} task={task} place={place} close={() => setPlace(null)} refresh={refresh} />}
          <Lines key={`${file.name}${two}`} project={project} run={run.run} task={task} file={file} beside={two} again={again} comment={exported ? undefined : (line, text) => setPlace({ file: file.name, line, text })} />
        </div>
      </div>
    </div>
  );
}

interface Place { file: string; line: number; text: string }

// A comment on a line is a message to the run with its place; a finished run takes it as a follow-up.
function Comment({ project, run, task, place, close, refresh }: { project: string; run: Run; task: string; place: Place; close: () => void; refresh: () => void }) {
  const { act, busy, note } = useAction(project, run, refresh);
  const [text, setText] = useState("");
  const over = OVER.includes(run.status);
  const said = `${place.file}, line ${place.line} (\`${place.text.trim().slice(0, 200)}\`): ${text.trim()}`;
  const follow = () => { prefill(said); window.location.hash = link("new", project, run.run); };
  return (
    <form class="comment" onSubmit={(event) => { event.preventDefault(); if (over) follow(); else void act("say", { text: said, task: task === "goal" ? "" : task }).then((done) => done && setText("")); }}>
      <p><Icon name="comment" /> Line {place.line} <code>{place.text.trim().slice(0, 100)}</code></p>
      <label>{over ? "What should be different (starts a follow-up)" : "Message to the agents about this line"} <textarea autoFocus rows={2} value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
      <p class="actions"><button type="submit" class="first" disabled={busy || !text.trim()}>{over ? "Follow up…" : "Send"}</button><button type="button" class="quiet" onClick={close}>Cancel</button></p>
      {note}
    </form>
  );
}

function Lines({ project, run, task, file, beside, again, comment }: { project: string; run: string; task: string; file: File; beside: boolean; again: unknown; comment?: (line: number, text: string) => void }) {
  const [parts, setParts] = useState<Map<number, (DiffLine | Pair)[]>>(new Map());
  const [total, setTotal] = useState<number | null>(null);
  const [error, setError] = useState<unknown>(null);
  const asked = useRef(new Set<number>());
  const load = (from: number) => {
    if (asked.current.has(from)) return;
    asked.current.add(from);
    get<Part>(at(project, run, `/diff${query({ task, file: file.name, beside: beside ? 1 : undefined, from: from || undefined })}`)).then(
      (part) => { setTotal(part.total); setParts((was) => new Map(was).set(from, part.rows)); },
      (problem) => { asked.current.delete(from); setError(problem); },
    );
  };
  useEffect(() => { asked.current.clear(); load(0); }, [again]);
  if (error) return <Trouble error={error} />;
  if (total === null) return <Loading what="Reading the changes…" />;
  if (!total) return <p class="dim">{file.binary ? "A binary file changed." : "Only its mode changed, or it is empty."}</p>;
  const need = (first: number, last: number) => { for (let from = Math.floor(first / PART) * PART; from < Math.min(last, total); from += PART) load(from); };
  const number = (line: DiffLine | null, side: 1 | 2) => {
    const value = line?.[side];
    if (value === null || value === undefined) return <span class="no" />;
    return comment ? <button type="button" class="no" aria-label={`Comment on line ${value}${side === 1 ? " before" : ""}`} onClick={() => comment(value, line![3])}>{value}</button> : <span class="no">{value}</span>;
  };
  return (
    <Rows class={`diff ${beside ? "beside" : ""}`} label={`Changes of ${file.name}`} count={total} height={20} top={need} row={(index) => {
      const row = parts.get(Math.floor(index / PART) * PART)?.[index % PART];
      if (!row) return <span class="code dim">…</span>;
      if (!beside) {
        const line = row as DiffLine;
        if (line[0] === "hunk") return <span class="hunk">{line[3]}</span>;
        return <span class={`row ${line[0]}`}>{number(line, 1)}{number(line, 2)}<span class="code"><span class="sign">{line[0] === "ins" ? "+" : line[0] === "del" ? "−" : " "}</span>{colour(line[3], file.name)}</span></span>;
      }
      const [left, right] = row as Pair;
      if (left?.[0] === "hunk") return <span class="hunk">{left[3]}</span>;
      const half = (line: DiffLine | null, side: 1 | 2) => <>{number(line, side)}<span class={`code ${line?.[0] ?? "none"}`}>{line && colour(line[3], file.name)}</span></>;
      return <span class="row">{half(left, 1)}{half(right, 2)}</span>;
    }} />
  );
}

// Enough colour to read by: comments, strings, numbers and the words that most languages share.
const WORDS = /^(?:abstract|and|as|assert|async|await|break|case|catch|class|const|continue|def|default|defer|del|do|elif|else|enum|except|export|extends|finally|fn|for|from|func|function|if|impl|implements|import|in|instanceof|interface|is|lambda|let|match|mod|module|mut|new|not|null|None|nil|or|package|pass|private|protected|pub|public|raise|return|self|static|struct|super|switch|this|throw|trait|true|True|false|False|try|type|use|var|void|when|where|while|with|yield)$/;
const HASH = /\.(py|rb|sh|toml|ya?ml|cfg|ini|pl|r|mk)$|(^|\/)(Makefile|Dockerfile)$/i;
const PLAIN = /\.(md|txt|rst|csv|json|lock)$/i;

export function colour(text: string, name: string): ComponentChildren {
  if (PLAIN.test(name) || text.length > 600) return text;
  const comment = HASH.test(name) ? "#.*$" : "//.*$|/\\*.*?(?:\\*/|$)";
  const pattern = new RegExp(`(${comment})|("(?:\\\\.|[^"\\\\])*"?|'(?:\\\\.|[^'\\\\])*'?|\`(?:\\\\.|[^\`\\\\])*\`?)|(\\b\\d[\\w.]*)|([A-Za-z_]\\w*)`, "g");
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
