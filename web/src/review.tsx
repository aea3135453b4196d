import { useState } from "preact/hooks";
import { at, Evidence, exported, File, query, Run, Table } from "./api";
import { Changes } from "./diff";
import { DONE, duration, many, money, tone } from "./format";
import { Badge, Icon, link, STATUS_ICON, Text, Tree, useAnswer } from "./parts";
import { VerdictView } from "./task";

export function useEvidence(project: string, run: Run) {
  return useAnswer<Table>(
    at(project, run.run, "/evidence"),
    exported ? 0 : `${run.status}${run.holder ? Math.floor(run.now / 5) : run.seq}`,
  );
}

export function countProven(table: Table | null): { rows: Evidence[]; proven: number } {
  const rows = table?.rows.filter((row) => row.standing !== "superseded") ?? [];
  return { rows, proven: rows.filter((row) => row.standing === "proven").length };
}

// What came of it, in one line.
export function Outcome({ project, run, files: again }: { project: string; run: Run; files: unknown }) {
  const { data } = useEvidence(project, run);
  const files = useAnswer<File[]>(run.changed ? at(project, run.run, `/files${query({ task: "goal" })}`) : null, again);
  const { rows, proven } = countProven(data);
  const sum = (key: "added" | "removed") => (files.data ?? []).reduce((all, file) => all + file[key], 0);
  const colour = tone(run.status);
  const words = run.status === "completed" && rows.length > 0 && proven === rows.length ? "Proven" : run.words;
  return (
    <p class={`standing outcome ${colour}`}>
      <span class={`mark ${colour}`}>
        <Icon name={STATUS_ICON[colour]} />
      </span>{" "}
      <strong class="status">{words}</strong>
      {rows.length > 0 && (
        <span>
          {proven} of {many(rows.length, "requirement")}
        </span>
      )}
      {files.data && (
        <span>
          {many(files.data.length, "file")} <span class="ins">+{sum("added").toLocaleString("en")}</span>{" "}
          <span class="del">−{sum("removed").toLocaleString("en")}</span>
        </span>
      )}
      {!run.changed && <span>no file changed</span>}
      <span>{money(run.spend.cost, run.spend.unpriced)}</span>
      <span>{duration(run.seconds)}</span>
      {!DONE.includes(run.status) && run.summary && <span class="what">{run.summary}</span>}
    </p>
  );
}

// The change and, beside it, the evidence: a requirement opens in place.
export function Review({ project, tree, refresh }: { project: string; tree: Tree; refresh: () => void }) {
  const { run } = tree;
  const { data } = useEvidence(project, run);
  const [pick, setPick] = useState("");
  return (
    <div class="review">
      <Changes
        project={project}
        run={run}
        task="goal"
        again={tree.lines.get("goal")?.files}
        refresh={refresh}
        pick={pick}
      />
      {data && data.rows.length > 0 && (
        <aside class="panel evidence" aria-label="Evidence">
          <Proven data={data} />
          {data.rows.map((row) => (
            <Shown
              key={row.requirement.number}
              project={project}
              run={run.run}
              row={row}
              pick={setPick}
              open={data.rows.length === 1}
            />
          ))}
          {data.notes.length > 0 && (
            <details>
              <summary>What no probe can show</summary>
              <ul>
                {data.notes.map((note) => (
                  <li key={note}>{note}</li>
                ))}
              </ul>
            </details>
          )}
        </aside>
      )}
    </div>
  );
}

export function Proven({ data, to }: { data: Table; to?: string }) {
  const { rows, proven } = countProven(data);
  const colour = `count ${proven === rows.length ? "good" : "calm"}`;
  const words = `${proven} of ${rows.length} proven`;
  return (
    <h2>
      Evidence{" "}
      {to ? (
        <a class={colour} href={to}>
          {words}
        </a>
      ) : (
        <span class={colour}>{words}</span>
      )}
    </h2>
  );
}

const STANDINGS: Record<string, string> = { proven: "check", refuted: "cross" };
const NOW: Record<string, string> = { passed: "passes", failed: "fails" };

export function Shown({
  project,
  run,
  row,
  pick,
  open = false,
}: {
  project: string;
  run: string;
  row: Evidence;
  pick?: (file: string) => void;
  open?: boolean;
}) {
  const tests = (row.shown?.by ?? []).filter((name) => !row.probes.some((probe) => probe.name === name));
  return (
    <details class={`requirement ${tone(row.standing)}`} open={open}>
      <summary>
        <Icon name={STANDINGS[row.standing] ?? "dot"} />{" "}
        <span>
          {row.requirement.text} <small>{row.standing}</small>
        </span>
      </summary>
      {tests.length > 0 && (
        <ul class="plain">
          {tests.map((name) => (
            <li key={name}>
              <Badge word="passed" text="failed before, passes now" /> <code>{name}</code>
            </li>
          ))}
        </ul>
      )}
      {row.probes.map((probe) => (
        <p key={probe.name} class="proof">
          <Badge
            word={probe.outcome}
            text={
              probe.before === "failed" ? `failed before, ${NOW[probe.outcome] ?? probe.outcome} now` : probe.outcome
            }
          />{" "}
          {probe.says} {probe.why && <span class="dim">{probe.why}</span>}
          {probe.repaired && <span class="dim"> after a repair</span>}
        </p>
      ))}
      {row.proofs.map((proof) => (
        <div key={proof.task} class="proof">
          <p>
            <a href={link("task", project, run, proof.task)}>{proof.task}</a> <Badge word={proof.state} />{" "}
            {proof.examined && <span class="dim">{proof.examined}</span>}
          </p>
          {proof.tests.length > 0 && <Text text={proof.tests.join("\n")} lines={6} />}
          {proof.files.length > 0 && (
            <p>
              {proof.files.slice(0, 12).map((file) =>
                pick ? (
                  <button data-action="proof-file" key={file} type="button" class="quiet" onClick={() => pick(file)}>
                    <code>{file}</code>
                  </button>
                ) : (
                  <code key={file}>{file} </code>
                ),
              )}
            </p>
          )}
          {proof.verdict && <VerdictView verdict={proof.verdict} />}
        </div>
      ))}
      {!row.proofs.length && !row.probes.length && !row.shown && <p class="dim">Nothing was run for it.</p>}
    </details>
  );
}
