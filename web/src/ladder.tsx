import { at, Rung } from "./api";
import { clock, duration } from "./format";
import { link, Loading, Panel, Trouble, useAnswer } from "./parts";

export function Ladder({ project, name, seq, only }: { project: string; name: string; seq: number; only?: string }) {
  const { data, error } = useAnswer<Rung[]>(at(project, name, "/ladder"), seq);
  if (!data) return error ? <Trouble error={error} /> : <Loading />;
  const rungs = only === undefined ? data : data.filter((rung) => rung.task === only);
  if (!rungs.length) return <p class="dim">Nothing was stuck: the ladder was not needed.</p>;
  const helped = new Map<string, [number, number]>();
  for (const rung of rungs) {
    const [yes, all] = helped.get(rung.tried) ?? [0, 0];
    helped.set(rung.tried, [yes + (rung.helped ? 1 : 0), all + 1]);
  }
  return (
    <div>
      {only === undefined && (
        <Panel title="What helped">
          <table>
            <thead>
              <tr>
                <th>Tried</th>
                <th class="number">Times</th>
                <th class="number">Helped</th>
              </tr>
            </thead>
            <tbody>
              {[...helped].map(([tried, [yes, all]]) => (
                <tr key={tried}>
                  <td>{tried}</td>
                  <td class="number">{all}</td>
                  <td class="number">{yes}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Panel>
      )}
      <ol class="ladder">
        {rungs.map((rung) => (
          <li key={rung.seq} class={rung.helped === null ? "busy" : rung.helped ? "good" : "bad"}>
            <p class="dim">
              {clock(rung.at)} · <a href={link("task", project, name, rung.task)}>{rung.task}</a>
            </p>
            <p>
              <b>Stuck:</b> {rung.stuck || rung.says}
              {rung.stuck && rung.says ? `. ${rung.says}` : ""}
            </p>
            {rung.evidence.length > 0 && (
              <details>
                <summary>Evidence</summary>
                {rung.evidence.map((each, n) => (
                  <pre key={n}>{each}</pre>
                ))}
              </details>
            )}
            <p>
              <b>Tried:</b> {rung.tried}{" "}
              <span class="dim">
                ({rung.level} level: {rung.reason})
              </span>
            </p>
            {rung.answer && (
              <p>
                <b>You said:</b> {rung.answer}
              </p>
            )}
            <p>
              <b>Result:</b> {rung.came}
              {rung.after !== undefined ? ` after ${duration(rung.after)}` : ""}
            </p>
          </li>
        ))}
      </ol>
    </div>
  );
}
