import { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { at, query } from "./api";
import { many } from "./format";
import { Loading, Trouble, useAnswer } from "./parts";

interface File { name: string; added: number; removed: number; lines: string[]; left_out: number }

export function Changes({ project, run, task, again }: { project: string; run: string; task: string; again: unknown }) {
  const { data, error } = useAnswer<{ files: File[] }>(at(project, run, `/diff${query({ task })}`), again);
  const [beside, setBeside] = useState(window.innerWidth > 1100);
  if (!data) return error ? <Trouble error={error} /> : <Loading what="Comparing files…" />;
  if (!data.files.length) return <p class="dim">Nothing changed.</p>;
  const sum = (key: "added" | "removed") => data.files.reduce((all, file) => all + file[key], 0);
  return (
    <div class="changes">
      <p class="choices">
        <span>{many(data.files.length, "file")}, <span class="ins">+{sum("added")}</span> <span class="del">−{sum("removed")}</span></span>
        <button type="button" aria-pressed={!beside} onClick={() => setBeside(false)}>Unified</button>
        <button type="button" aria-pressed={beside} onClick={() => setBeside(true)}>Side by side</button>
      </p>
      {data.files.map((file, n) => (
        <details key={file.name} class="file" open={data.files.length <= 12 || n < 4}>
          <summary><code>{file.name}</code> <span class="ins">+{file.added}</span> <span class="del">−{file.removed}</span></summary>
          {beside ? <Beside file={file} /> : <Unified file={file} />}
          {file.left_out > 0 && <p class="dim">{many(file.left_out, "more line")}: bough diff {run} shows all.</p>}
        </details>
      ))}
    </div>
  );
}

interface DiffLine { kind: "ctx" | "ins" | "del" | "hunk"; old?: number; now?: number; text: string }

function parse(file: File): DiffLine[] {
  const made: DiffLine[] = [];
  let old = 0, now = 0, inside = false;
  for (const line of file.lines) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)/.exec(line);
    if (hunk) { old = Number(hunk[1]); now = Number(hunk[2]); inside = true; made.push({ kind: "hunk", text: hunk[3].trim() || `line ${hunk[2]}` }); }
    else if (!inside) { if (/^(new file|deleted file|rename|similarity|Binary)/.test(line)) made.push({ kind: "hunk", text: line }); }
    else if (line.startsWith("+")) made.push({ kind: "ins", now: now++, text: line.slice(1) });
    else if (line.startsWith("-")) made.push({ kind: "del", old: old++, text: line.slice(1) });
    else if (line.startsWith("\\")) made.push({ kind: "hunk", text: line.slice(2) });
    else made.push({ kind: "ctx", old: old++, now: now++, text: line.slice(1) });
  }
  return made;
}

function Unified({ file }: { file: File }) {
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label={`Changes of ${file.name}`}>
      <table class="diff"><tbody>
        {parse(file).map((line, n) => line.kind === "hunk"
          ? <tr key={n} class="hunk"><td colSpan={3}>{line.text}</td></tr>
          : <tr key={n} class={line.kind}><td class="no">{line.old ?? ""}</td><td class="no">{line.now ?? ""}</td><td class="code"><span class="sign">{line.kind === "ins" ? "+" : line.kind === "del" ? "−" : " "}</span>{colour(line.text, file.name)}</td></tr>)}
      </tbody></table>
    </div>
  );
}

function Beside({ file }: { file: File }) {
  const rows: [DiffLine | null, DiffLine | null][] = [];
  const lines = parse(file);
  for (let n = 0; n < lines.length; ) {
    const line = lines[n];
    if (line.kind === "hunk" || line.kind === "ctx") { rows.push([line, line]); n += 1; continue; }
    const gone: DiffLine[] = [], come: DiffLine[] = [];
    while (n < lines.length && lines[n].kind === "del") gone.push(lines[n++]);
    while (n < lines.length && lines[n].kind === "ins") come.push(lines[n++]);
    for (let k = 0; k < Math.max(gone.length, come.length); k += 1) rows.push([gone[k] ?? null, come[k] ?? null]);
  }
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label={`Changes of ${file.name}`}>
      <table class="diff beside"><colgroup><col class="no" /><col /><col class="no" /><col /></colgroup><tbody>
        {rows.map(([left, right], n) => left?.kind === "hunk"
          ? <tr key={n} class="hunk"><td colSpan={4}>{left.text}</td></tr>
          : <tr key={n}>
              <td class="no">{left?.old ?? ""}</td><td class={`code ${left?.kind ?? "none"}`}>{left && colour(left.text, file.name)}</td>
              <td class="no">{right?.now ?? ""}</td><td class={`code ${right?.kind ?? "none"}`}>{right && colour(right.text, file.name)}</td>
            </tr>)}
      </tbody></table>
    </div>
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
