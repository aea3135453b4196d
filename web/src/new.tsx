import { useState } from "preact/hooks";
import { at, Choices, Run, send } from "./api";
import { many } from "./format";
import { Icon, link, Loading, Trouble, useAnswer } from "./parts";

interface CheckResult {
  command?: string;
  exit_status?: number | null;
  why?: string;
  lacking?: string;
  passed?: number;
  failed?: number;
  failing?: string[];
}

let draft = "";
// What the form begins with: a comment on a line of a finished run.
export function prefill(text: string): void {
  draft = draft ? `${draft}\n\n${text}` : text;
}

// A new run, or one that follows up on a finished one.
export function NewRun({ project, follows }: { project: string; follows: string }) {
  const { data, error } = useAnswer<Choices>(`/api/${encodeURIComponent(project)}/choices`);
  const before = useAnswer<Run>(follows ? at(project, follows) : null);
  if (!data)
    return error ? (
      <main>
        <Trouble error={error} />
      </main>
    ) : (
      <Loading what="Reading your settings…" />
    );
  return (
    <main class="narrow">
      <p class="crumbs">
        <a href="#/">Runs</a>
      </p>
      <h1>{follows ? "Follow up" : "New run"}</h1>
      {follows && (
        <p class="dim">
          It starts from the work of <a href={link("run", project, follows)}>{before.data?.title ?? follows}</a>, and
          its agents know what was asked, done and learned there.
        </p>
      )}
      <Form project={project} follows={follows} choices={data} />
    </main>
  );
}

function Form({ project, follows, choices }: { project: string; follows: string; choices: Choices }) {
  const [goal, setGoal] = useState(() => {
    const text = draft;
    draft = "";
    return text;
  });
  const [check, setCheck] = useState("");
  const [model, setModel] = useState(follows ? "" : choices.model);
  const [rounds, setRounds] = useState("");
  const [cost, setCost] = useState("");
  const [jobs, setJobs] = useState("");
  const [ask, setAsk] = useState(true);
  const [found, setFound] = useState<CheckResult | null>(null);
  const [busy, setBusy] = useState("");
  const [error, setError] = useState<unknown>(null);
  const top = `/api/${encodeURIComponent(project)}`;
  const work = async (what: string, deed: () => Promise<void>) => {
    setBusy(what);
    setError(null);
    try {
      await deed();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy("");
    }
  };
  const start = () =>
    work("Starting: bough reads your files and runs the check once…", async () => {
      const { run } = await send<{ run: string }>(`${top}/do/start`, {
        goal,
        check,
        model,
        rounds: Number(rounds) || 0,
        cost: Number(cost) || 0,
        jobs: Number(jobs) || 0,
        continues: follows,
        ask,
      });
      window.location.hash = link("run", project, run);
    });
  const list = () =>
    work("Adding it to the backlog…", async () => {
      await send(`${top}/do/add_goal`, {
        fields: { goal, check, rounds: Number(rounds) || null, cost: Number(cost) || null },
      });
      window.location.hash = link();
    });
  const find = () =>
    work("Running the check on your files as they are…", async () => {
      const checked = await send<CheckResult>(`${top}/check`, {});
      setFound(checked);
      if (checked.command) setCheck(checked.command);
    });
  return (
    <form
      class="new"
      data-state={follows ? "follows" : "new"}
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      <label>
        Goal{" "}
        <textarea
          required
          autoFocus
          rows={6}
          value={goal}
          placeholder="What should be true in the end? Name the files, the behaviour, and what must not change."
          onInput={(event) => setGoal(event.currentTarget.value)}
        />
      </label>
      <label>
        Check <span class="dim">the command that proves it; empty: the tests that bough finds</span>
        <span class="pair">
          <input
            value={check}
            placeholder={choices.check || "found by bough"}
            onInput={(event) => setCheck(event.currentTarget.value)}
          />
          <button data-action="find-check" type="button" disabled={busy !== ""} onClick={() => void find()}>
            Find and run it
          </button>
        </span>
      </label>
      {found && (
        <p class={found.exit_status === 0 ? "said" : "lost"}>
          {found.command ? (
            <>
              <code>{found.command}</code>{" "}
              {found.exit_status === 0 ? "passes now" : found.lacking ? `cannot start: ${found.lacking}` : "fails now"}
              {found.failing?.length ? `: ${many(found.failing.length, "failing test")}` : ""}
            </>
          ) : (
            "No check was found: name one."
          )}
        </p>
      )}
      <div class="three model">
        <label>
          Model or preset{" "}
          <input
            list="models"
            value={model}
            placeholder={follows ? "as before" : "provider:model"}
            onInput={(event) => setModel(event.currentTarget.value)}
          />
        </label>
        <datalist id="models">
          {choices.models.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
        <label>
          Rounds{" "}
          <input
            inputMode="numeric"
            value={rounds}
            placeholder="by plan"
            onInput={(event) => setRounds(event.currentTarget.value)}
          />
        </label>
        <label>
          Cost limit in ${" "}
          <input
            inputMode="decimal"
            value={cost}
            placeholder={choices.limits.cost ? String(choices.limits.cost) : "no limit"}
            onInput={(event) => setCost(event.currentTarget.value)}
          />
        </label>
        <label>
          Agents at once{" "}
          <input
            inputMode="numeric"
            value={jobs}
            placeholder="1"
            onInput={(event) => setJobs(event.currentTarget.value)}
          />
        </label>
      </div>
      <label class="tick-box">
        <input
          data-action="show-plan"
          type="checkbox"
          checked={ask}
          onChange={(event) => setAsk(event.currentTarget.checked)}
        />{" "}
        Show me the plan of a large goal before it runs
      </label>
      <p class="actions">
        <button data-action="start-run" type="submit" class="first" disabled={busy !== "" || !goal.trim()}>
          <Icon name="plus" /> {follows ? "Start the follow-up" : "Start the run"}
        </button>
        {!follows && (
          <button
            data-action="list-goal"
            type="button"
            disabled={busy !== "" || !goal.trim()}
            onClick={() => void list()}
          >
            Add to the backlog
          </button>
        )}
        <span class="dim">Your files stay as they are until you apply the work.</span>
      </p>
      {busy && (
        <p class="loading" role="status">
          {busy}
        </p>
      )}
      {error ? <Trouble error={error} /> : null}
    </form>
  );
}
