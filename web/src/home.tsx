import { Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Home as Answer, Night, Problem, Project, Run, seeClock, send } from "./api";
import { AnsweredList, AskedQuestion, keyOf, Question, summarize, useAsked } from "./ask";
import { DONE, money, tone } from "./format";
import { tellProjects } from "./head";
import { prefill } from "./new";
import { NightGoals, NightHead } from "./night";
import { Elapsed, Icon, link, Loading, Meter, Quiet, Since, Trouble, useAnswer } from "./parts";
import { Past } from "./past";
import { showState } from "./signal";

// The runs and lists of all projects, read again every other second while somebody looks.
function useHome(limit: number): { data: Answer | null; error: unknown; refresh: () => void } {
  const [turn, setTurn] = useState(0);
  const refresh = () => setTurn((n) => n + 1);
  const { data, error } = useAnswer<Answer>(`/api/runs?limit=${limit}`, turn);
  useEffect(() => {
    const timer = window.setInterval(() => document.visibilityState === "visible" && refresh(), 2000);
    return () => window.clearInterval(timer);
  }, []);
  useEffect(() => {
    if (data) tellProjects(data.projects);
  }, [data]);
  return { data, error, refresh };
}

const NO_LIST: Night = {
  list: "backlog",
  title: "Nothing is listed yet: what you add here is worked on at night, or whenever you start it.",
  began: false,
  open: false,
  working: false,
  spent: [],
  branch: "",
  left_out: 0,
  trouble: "",
  groups: [],
  proposed: {},
};

// The lists of goals of one project, alone.
export function Backlog({ project: name }: { project: string }) {
  const { data, error, refresh } = useHome(20);
  const project = data?.projects.find((each) => each.project === name);
  if (!project)
    return error ? (
      <main>
        <Trouble error={error} />
      </main>
    ) : (
      <Loading />
    );
  const nights = project.nights.length ? project.nights : [NO_LIST];
  return (
    <main>
      <h1>Backlog</h1>
      {error ? <Lost error={error} /> : null}
      {nights.map((night) => (
        <Fragment key={night.list}>
          <NightHead project={project} night={night} where="" refresh={refresh} />
          <NightGoals project={name} night={night} refresh={refresh} />
        </Fragment>
      ))}
    </main>
  );
}

// Nothing waits for the person: they can say what comes next.
function Prompt({ projects, done }: { projects: Project[]; done: () => void }) {
  const [goal, setGoal] = useState("");
  const [chosen, setChosen] = useState(projects[0].project);
  const [busy, setBusy] = useState("");
  const [said, setSaid] = useState("");
  const [error, setError] = useState<unknown>(null);
  const post = async (
    what: string,
    action: string,
    body: object,
    then: (answer: { run: string; said: string }) => void,
  ) => {
    setBusy(what);
    setError(null);
    setSaid("");
    try {
      then(await send(`/api/${encodeURIComponent(chosen)}/do/${action}`, body));
      setGoal("");
    } catch (problem) {
      setError(problem);
    }
    setBusy("");
    done();
  };
  return (
    <form
      class="prompt"
      data-state="prompt"
      aria-label="New goal"
      onSubmit={(event) => {
        event.preventDefault();
        void post(
          "Starting: bough reads your files and runs the check once…",
          "start",
          { goal, ask: true },
          ({ run }) => {
            window.location.hash = link("run", chosen, run);
          },
        );
      }}
    >
      <label>
        What should be true in the end?{" "}
        <textarea rows={2} value={goal} onInput={(event) => setGoal(event.currentTarget.value)} />
      </label>
      <p class="actions">
        <button data-action="start" type="submit" class="first" disabled={busy !== "" || !goal.trim()}>
          Start
        </button>
        <button
          data-action="tonight"
          type="button"
          disabled={busy !== "" || !goal.trim()}
          onClick={() => void post("Adding it…", "add_goal", { fields: { goal } }, ({ said: told }) => setSaid(told))}
        >
          For tonight
        </button>
        {projects.length > 1 && (
          <label>
            in{" "}
            <select data-action="project" value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
              {projects.map((each) => (
                <option key={each.project} value={each.project}>
                  {each.root}
                </option>
              ))}
            </select>
          </label>
        )}
        <a data-action="more-choices" href={link("new", chosen)} onClick={() => goal.trim() && prefill(goal)}>
          Model, check, budget…
        </a>
      </p>
      {busy && (
        <p class="loading" role="status">
          {busy}
        </p>
      )}
      {said && (
        <p class="said" role="status">
          {said}
        </p>
      )}
      {error ? <Trouble error={error} /> : null}
    </form>
  );
}

// What needs me, what is happening, what came of it: in that order.
export function Home() {
  const [limit, setLimit] = useState(20);
  const [words, setWords] = useState("");
  const { data, error, refresh } = useHome(limit);
  const all = (data?.projects ?? []).flatMap((project) => project.runs);
  if (all.length) seeClock(all[0].now);
  // What is denied soon comes first, then what waits longest.
  const urgent = (run: Run) => Math.min(...run.waiting.map((each) => (each.until || 9e9) + each.at / 1e6));
  const waiting = all.filter((run) => run.waiting.length > 0).sort((a, b) => urgent(a) - urgent(b));
  // What moves comes before what is still.
  const live = all
    .filter((run) => run.holder !== null && run.waiting.length === 0)
    .sort((a, b) => Number(b.doing !== null) - Number(a.doing !== null));
  const inbox = useAsked(waiting.flatMap((run) => run.waiting.map((each) => ({ run, waiting: each }))));
  useEffect(() => {
    if (data)
      showState(
        waiting.reduce((sum, run) => sum + run.waiting.length, 0),
        live.length ? "busy" : "calm",
        "bough",
        waiting[0]?.title,
      );
  });
  // Opened with `bough run --web`: that run is what the person wants to see.
  const beside = data?.beside
    ? all.find((run) => run.holder?.startsWith(`process ${data.beside} on this machine`))
    : undefined;
  useEffect(() => {
    if (beside && !window.location.hash) window.location.replace(link("run", beside.project, beside.run));
  }, [beside?.run]);
  if (!data)
    return error ? (
      <main>
        <Trouble error={error} />
      </main>
    ) : (
      <Loading />
    );
  const wanted = (run: Run) =>
    !words || `${run.run} ${run.goal} ${run.words}`.toLowerCase().includes(words.toLowerCase());
  const many = data.projects.length > 1;
  const nights = data.projects.flatMap((project) => (project.nights ?? []).map((night) => ({ project, night })));
  // A goal of a list is shown there, and a live one with what it does: neither appears twice.
  const listed = new Set(
    nights.flatMap(({ project, night }) =>
      night.groups.flatMap((group) => group.goals.map((goal) => `${project.project}/${goal.run}`)),
    ),
  );
  const busy = new Set(live.map((run) => run.run));
  type Each = (typeof nights)[number];
  const head = ({ project, night }: Each) => (
    <NightHead
      key={`${project.project}/${night.list}`}
      project={project}
      night={night}
      where={many ? project.root : ""}
      refresh={refresh}
    />
  );
  const goals = ({ project, night }: Each) => (
    <NightGoals project={project.project} night={night} live={busy} refresh={refresh} />
  );
  return (
    <main>
      <div class="bar">
        <h1>Runs</h1>
        <span class="push" />
        {all.length > 4 && (
          <label class="find">
            Find{" "}
            <input
              data-action="find-run"
              type="search"
              value={words}
              placeholder="name, goal or state"
              onInput={(event) => setWords(event.currentTarget.value)}
            />
          </label>
        )}
        {data.projects.map((project) => (
          <a
            data-action="new-run"
            key={project.project}
            class="button first new-run"
            href={link("new", project.project)}
          >
            <Icon name="plus" /> New run{many ? ` in ${project.root.split("/").pop()}` : ""}
          </a>
        ))}
      </div>
      {error ? <Lost error={error} /> : null}
      {data.projects.map(
        (project) => project.error && <Trouble key={project.project} error={`${project.root}: ${project.error}`} />,
      )}
      {data.projects.map((project) => (
        <Wishes key={project.project} project={project} named={many} done={refresh} />
      ))}
      {nights.filter(({ night }) => night.began).map(head)}
      <Inbox {...inbox} refresh={refresh} />
      {inbox.asked.length === 0 && data.projects.length > 0 && <Prompt projects={data.projects} done={refresh} />}
      {all.length === 0 && nights.length === 0 && !data.projects.some((project) => project.error) && (
        <Begin projects={data.projects} />
      )}
      {all.map((run) => (
        <AnsweredList key={run.run} answered={run.answered} recent={600} />
      ))}
      {live.filter(wanted).length > 0 && (
        <section aria-labelledby="live">
          <h2 id="live">
            Happening now <span class="count busy">{live.length}</span>
          </h2>
          <ul class="cards">
            {live.filter(wanted).map((run) => (
              <Live key={run.run} run={run} />
            ))}
          </ul>
        </section>
      )}
      {nights.map((each) => (
        <Fragment key={`${each.project.project}/${each.night.list}`}>
          {!each.night.began && head(each)}
          {goals(each)}
        </Fragment>
      ))}
      {data.projects.map((project) => (
        <Past
          key={project.project}
          project={project}
          named={many}
          more={() => setLimit(limit + 20)}
          runs={project.runs.filter(
            (run) =>
              run.holder === null &&
              run.waiting.length === 0 &&
              wanted(run) &&
              (words || !listed.has(`${project.project}/${run.run}`)),
          )}
        />
      ))}
      {all.length > 0 && all.filter(wanted).length === 0 && <p class="dim">No run matches “{words}”.</p>}
    </main>
  );
}

const KEYS: [string, string][] = [
  ["j, k", "next, previous of what needs you"],
  ["y, n", "yes, no"],
  ["Enter", "write the answer"],
  ["c", "new run"],
  ["/", "find"],
  ["?", "these keys"],
];

// What needs the person, a line each; the chosen one is open beside it.
function Inbox({
  asked,
  keep,
  refresh,
}: {
  asked: AskedQuestion[];
  keep: (one: AskedQuestion, on: boolean) => void;
  refresh: () => void;
}) {
  const [chosen, setChosen] = useState("");
  const [help, setHelp] = useState(false);
  const keys = asked.map((each) => keyOf(each.run, each.waiting));
  const place = Math.max(0, keys.indexOf(chosen));
  const move = (by: number) =>
    setChosen((was) => keys[Math.max(0, Math.min(Math.max(0, keys.indexOf(was)) + by, keys.length - 1))] ?? "");
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && event.target.closest("input, textarea, select, dialog");
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      const button = (css: string) => document.querySelector<HTMLElement>(`.inbox .question ${css}`);
      const onButton = event.target instanceof HTMLElement && event.target.closest("button, a, summary");
      const deeds: Record<string, () => void> = {
        j: () => move(1),
        k: () => move(-1),
        y: () => button("button.first:not([type=submit])")?.click(),
        n: () => button("button.deny")?.click(),
        c: () => document.querySelector<HTMLElement>(".new-run")?.click(),
        "/": () => document.querySelector<HTMLElement>(".bar .find input")?.focus(),
        "?": () => setHelp((was) => !was),
        Escape: () => setHelp(false),
      };
      if (!onButton) deeds.Enter = () => button(":is(textarea:not(.plan), input)")?.focus();
      if (!deeds[event.key]) return;
      event.preventDefault();
      deeds[event.key]();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [place, keys.join("|")]);
  const open = asked[place];
  return (
    <>
      {help && (
        <section class="panel keys" aria-label="Keys">
          <dl>
            {KEYS.map(([key, what]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
        </section>
      )}
      {open && (
        <section class="inbox" aria-labelledby="needs">
          <h2 id="needs">
            Needs you <span class="count warn">{asked.length}</span>
          </h2>
          {asked.length > 1 && (
            <ul class="list">
              {asked.map((each, n) => (
                <li key={keys[n]}>
                  <button
                    data-action="choose"
                    type="button"
                    class="ask"
                    aria-pressed={n === place}
                    onClick={() => setChosen(keys[n])}
                  >
                    <Icon name={summarize(each).icon} />
                    <span>
                      <strong>{summarize(each).asks}</strong>
                      <small>{each.run.title}</small>
                    </span>
                  </button>
                </li>
              ))}
            </ul>
          )}
          <Question key={keys[place]} {...open} refresh={refresh} keep={(on) => keep(open, on)} named />
        </section>
      )}
    </>
  );
}

export function Lost({ error }: { error: unknown }) {
  if (error instanceof Problem && error.status) return <Trouble error={error} />;
  return (
    <p class="lost" role="alert">
      <Icon name="alert" /> Connection lost: what you see is from before. The page reconnects on its own. If the server
      has ended, start <code>bough serve</code> and open the address that it prints.
    </p>
  );
}

// What the repository's settings ask for: nothing of it applies before the person allows it.
function Wishes({ project, named, done }: { project: Project; named: boolean; done: () => void }) {
  const [said, setSaid] = useState("");
  const wishes = Object.entries(project.wishes ?? {});
  if (!wishes.length)
    return said ? (
      <p class="said" role="status">
        {said}
      </p>
    ) : null;
  const answer = (allow: boolean) =>
    send<{ said: string }>(`/api/${encodeURIComponent(project.project)}/do/trust`, { wishes: project.wishes, allow })
      .then(
        (answered) => setSaid(answered.said),
        (error: Error) => setSaid(error.message),
      )
      .then(done);
  return (
    <section class="panel" aria-label={`Settings of ${project.root}`}>
      <p>
        The settings of {named ? <code>{project.root}</code> : "this repository"} ask for more than the defaults. They
        are ignored until you allow them.
      </p>
      <ul>
        {wishes.map(([name, value]) => (
          <li key={name}>
            <code>
              {name} = {value}
            </code>
          </li>
        ))}
      </ul>
      <div class="actions">
        <button data-action="allow-settings" type="button" onClick={() => answer(true)}>
          Allow
        </button>
        <button data-action="deny-settings" type="button" onClick={() => answer(false)}>
          Do not allow
        </button>
      </div>
      {said && <p role="status">{said}</p>}
    </section>
  );
}

const TERMINAL = [
  ['bough run "Make the tests pass"', "works on one goal"],
  ['bough backlog add "…"', "lists goals to work through at night"],
  ["bough demo", "shows a run, without a model"],
];

function Begin({ projects }: { projects: Project[] }) {
  return (
    <section class="empty">
      <h2>No runs yet</h2>
      <p>
        Give bough a goal and it works on it in a private copy of{" "}
        {projects.length === 1 ? <code>{projects[0].root}</code> : "your project"}, until a check that it ran itself has
        passed.
      </p>
      <table>
        <caption>or in a terminal</caption>
        <tbody>
          {TERMINAL.map(([command, what]) => (
            <tr key={command}>
              <td>
                <code>{command}</code>
              </td>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export function Doing({ run }: { run: Run }) {
  const { doing } = run;
  if (run.missing) return <>{run.missing}</>;
  if (!doing) return <>between two steps</>;
  const others = doing.others > 0 ? ` and ${doing.others} more at work` : "";
  return (
    <>
      {doing.title ? `${doing.title}: ` : ""}
      {doing.doing}{" "}
      <span class="dim">
        for <Since at={doing.at} />
        {others}
      </span>
      {doing.line && <code class="last-line">{doing.line}</code>}
    </>
  );
}

function Live({ run }: { run: Run }) {
  return (
    <li>
      <a class="card" href={link("run", run.project, run.run)}>
        <strong class="title">{run.title}</strong>
        <span class="doing">
          <span class="pulse" aria-hidden="true" />{" "}
          <span>
            <Doing run={run} />
          </span>
        </span>
        <span class="numbers">
          <Progress run={run} />
          <Elapsed run={run} />
          <span>{money(run.spend.cost, run.spend.unpriced)}</span>
          <span class="name">{run.run}</span>
          <Quiet since={run.last_at} />
        </span>
      </a>
    </li>
  );
}

export function Progress({ run }: { run: Run }) {
  const rest = run.given_up ? `, ${run.given_up} given up` : "";
  const words =
    run.leaves > 1
      ? `${run.done} of ${run.leaves} tasks done${rest}`
      : run.progress < 1
        ? "one piece of work"
        : DONE.includes(run.status)
          ? "done"
          : "ended";
  return (
    <span class="progress">
      <Meter share={run.progress} label={words} tone={run.progress === 1 ? tone(run.status) : "busy"} /> {words}
    </span>
  );
}
