import { ComponentChildren } from "preact";

// What bough and models write is Markdown. It becomes elements of the page, never markup: HTML in it stays text, pictures
// and links stay words, since whoever wrote it may have been told by a file of somebody else what to write.

type Block =
  | { kind: "code"; text: string }
  | { kind: "heading"; level: number; text: string }
  | { kind: "list"; ordered: boolean; items: string[] }
  | { kind: "quote" | "text" | "table"; text: string };

const ITEM = /^(\s*)(?:[-*+]|(\d{1,3})[.)])\s+(.*)$/;

export function readBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  const lines = text.split("\n");
  for (let n = 0; n < lines.length;) {
    const line = lines[n];
    const fence = /^\s*(```+|~~~+)/.exec(line);
    const heading = /^(#{1,6})\s+(.*?)#*$/.exec(line);
    if (fence) {
      const inside = [];
      for (n += 1; n < lines.length && !lines[n].trim().startsWith(fence[1]); n += 1) inside.push(lines[n]);
      n += 1;
      blocks.push({ kind: "code", text: inside.join("\n") });
    } else if (heading) {
      blocks.push({ kind: "heading", level: heading[1].length, text: heading[2] });
      n += 1;
    } else if (!line.trim()) n += 1;
    else if (ITEM.test(line)) {
      const items: string[] = [];
      const ordered = ITEM.exec(line)![2] !== undefined;
      for (; n < lines.length && lines[n].trim(); n += 1) {
        const item = ITEM.exec(lines[n]);
        if (item) items.push(item[3]);
        else items[items.length - 1] += `\n${lines[n].trim()}`;
      }
      blocks.push({ kind: "list", ordered, items });
    } else {
      const kind = /^\s*>/.test(line) ? "quote" : /^\s*\|.*\|/.test(line) ? "table" : "text";
      const inside = [];
      for (; n < lines.length && lines[n].trim() && !(inside.length && starts(lines[n])); n += 1)
        inside.push(kind === "quote" ? lines[n].replace(/^\s*>\s?/, "") : lines[n]);
      blocks.push({ kind, text: inside.join("\n") });
    }
  }
  return blocks;
}

function starts(line: string): boolean {
  return /^\s*(```|~~~)|^#{1,6}\s/.test(line) || ITEM.test(line);
}

// Code, strong and stressed words; what only looks like one of them stays as it is.
export function inline(text: string): ComponentChildren[] {
  return text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*|(?<![\w*])[*_][^*_\n]+[*_](?![\w*]))/).map((part, n) => {
    if (n % 2 === 0) return part;
    if (part.startsWith("`")) return <code key={n}>{part.slice(1, -1)}</code>;
    if (part.startsWith("**")) return <strong key={n}>{part.slice(2, -2)}</strong>;
    return <em key={n}>{part.slice(1, -1)}</em>;
  });
}

export function Markdown({ text }: { text: string }) {
  return (
    <div class="markdown">
      {readBlocks(text).map((block, n) => {
        if (block.kind === "code" || block.kind === "table")
          return (
            <pre key={n} class="quote">
              {block.text}
            </pre>
          );
        if (block.kind === "list") {
          const items = block.items.map((item, place) => <li key={place}>{inline(item)}</li>);
          return block.ordered ? <ol key={n}>{items}</ol> : <ul key={n}>{items}</ul>;
        }
        // Where a heading stands in the page is not for its writer to say.
        if (block.kind === "heading")
          return (
            <p key={n} class="heading">
              {inline(block.text)}
            </p>
          );
        return block.kind === "quote" ? (
          <blockquote key={n}>{inline(block.text)}</blockquote>
        ) : (
          <p key={n}>{inline(block.text)}</p>
        );
      })}
    </div>
  );
}

// The answers that a question itself names: the items of its last list, or yes and no.
export function listAnswers(question: string): string[] {
  const lists = readBlocks(question).flatMap((block) => (block.kind === "list" ? [block.items] : []));
  const items = lists.pop() ?? [];
  const found =
    /\?/.test(question) && items.length > 1 && items.length < 7 && items.every((item) => item.length < 120)
      ? items
      : [];
  const last =
    question
      .match(/[^.!?\n]+\?/g)
      ?.pop()
      ?.trim() ?? "";
  if (!found.length && /^(should|shall|may|can|is|are|do|does|will|must)\b/i.test(last) && !/\bor\b/i.test(last))
    found.push("Yes", "No");
  return question.includes("`leave it`") ? [...found, "leave it"] : found;
}
