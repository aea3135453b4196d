import { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { GivenAnswer, at, Run, send, serverNow, PlanStep, Waiting } from "./api";
import { age, duration } from "./format";
import { listAnswers } from "./markdown";
import { Icon, link, Text, useTick } from "./parts";

type Refresh = () => void;

// A button that does what a command does and shows the result.
export function useAction(project: string, run: Run, refresh: Refresh) {
  return useSending(at(project, run.run), refresh);
}

export function useSending(top: string, refresh: Refresh) {
  const [said, setSaid] = useState<{ text: string; bad: boolean; commands?: string[] } | null>(null);
  const [busy, setBusy] = useState(false);
  const act = async (action: string, body: unknown): Promise<boolean> => {
    setBusy(true);
    try {
      const { said, commands = [] } = await send<{ said: string; commands?: string[] }>(`${top}/do/${action}`, body);
      setSaid({ text: said, bad: false, commands });
      refresh();
      return true;
    } catch (error) {
      setSaid({ text: error instanceof Error ? error.message : String(error), bad: true });
      refresh();
      return false;
    } finally {
      setBusy(false);
    }
  };
  const note: ComponentChildren = said && (
    <p class={said.bad ? "problem" : "said"} role={said.bad ? "alert" : "status"}>
      <Icon name={said.bad ? "alert" : "check"} /> {said.text}
      {said.commands?.map((each) => (
        <code key={each} class="typed">
          {each}
        </code>
      ))}
    </p>
  );
  return { act, busy, note, said };
}

const KINDS: Record<string, { icon: string; asks: string; region: string }> = {
  question: { icon: "question", asks: "A question for you", region: "The run has a question" },
  plan: { icon: "plan", asks: "Run this plan?", region: "The run asks about its plan" },
  command: { icon: "terminal", asks: "May this command run?", region: "A command is waiting for your approval" },
  tests: { icon: "test", asks: "May these tests change?", region: "Waiting for your approval" },
};

export function keyOf(run: Run, waiting: Waiting): string {
  return `${run.project}/${run.run}/${waiting.kind}${waiting.id}${waiting.task}${waiting.at}`;
}

export interface AskedQuestion {
  run: Run;
  waiting: Waiting;
  late?: boolean;
}

// What is asked, and what was when the person answered too late: it stays, with their text, until they put it away.
export function useAsked(now: AskedQuestion[]): {
  asked: AskedQuestion[];
  keep: (one: AskedQuestion, on: boolean) => void;
} {
  const [kept, setKept] = useState<AskedQuestion[]>([]);
  const keys = now.map((each) => keyOf(each.run, each.waiting));
  const same = (one: AskedQuestion) => (each: AskedQuestion) =>
    keyOf(each.run, each.waiting) === keyOf(one.run, one.waiting);
  const late = kept.filter((each) => !keys.includes(keyOf(each.run, each.waiting)));
  return {
    asked: [...late.map((each) => ({ ...each, late: true })), ...now],
    keep: (one, on) => setKept((was) => [...was.filter((each) => !same(one)(each)), ...(on ? [one] : [])]),
  };
}

export function summarize({ waiting }: AskedQuestion): { icon: string; asks: string } {
  return KINDS[waiting.kind];
}

// Everything of a run that waits for the person.
export function Needs({ run, refresh }: { run: Run; refresh: Refresh }) {
  const { asked, keep } = useAsked(run.waiting.map((waiting) => ({ run, waiting })));
  return (
    <>
      {asked.map((each) => (
        <Question key={keyOf(run, each.waiting)} {...each} refresh={refresh} keep={(on) => keep(each, on)} />
      ))}
    </>
  );
}

export function Question({
  run,
  waiting,
  refresh,
  keep,
  late = false,
  named = false,
}: AskedQuestion & {
  refresh: Refresh;
  keep: (on: boolean) => void;
  named?: boolean;
}) {
  const { act: send, busy, note } = useAction(run.project, run, refresh);
  const act = async (action: string, body: unknown) => {
    keep(true);
    const done = await send(action, body);
    keep(!done);
    return done;
  };
  const kind = KINDS[waiting.kind];
  const part = { name: keyOf(run, waiting), waiting, act, busy };
  const Heading = named ? "h3" : "h2";
  return (
    <section
      class="question"
      data-state={waiting.kind + (late ? " late" : "")}
      aria-label={`${kind.region}: ${waiting.kind === "command" ? waiting.question.slice(0, 60) : waiting.task}`}
      onInput={() => keep(true)}
    >
      <Heading>
        <Icon name={kind.icon} /> {kind.asks}
        {waiting.until > 0 && <Countdown until={waiting.until} from={waiting.at} />}
      </Heading>
      <p class="where">
        {named && (
          <>
            <a href={link("run", run.project, run.run)}>{run.title}</a> ·{" "}
          </>
        )}
        {waiting.task && (
          <>
            task <a href={link("task", run.project, run.run, waiting.task)}>{waiting.task}</a>
            {waiting.title && `: ${waiting.title}`} ·{" "}
          </>
        )}
        asked {age(waiting.at, serverNow())}
      </p>
      {waiting.kind === "command" && <CommandQuestion {...part} />}
      {waiting.kind === "tests" && <TestsQuestion {...part} />}
      {waiting.kind === "plan" && <PlanQuestion {...part} />}
      {waiting.kind === "question" && <OpenQuestion {...part} />}
      {note}
      {late && (
        <p class="actions">
          <span class="dim">It was answered elsewhere meanwhile; what you wrote is still here.</span>
          <button data-action="put-away" type="button" onClick={() => keep(false)}>
            Put it away
          </button>
        </p>
      )}
    </section>
  );
}

// What becomes of it when nobody answers, second by second.
function Countdown({ until, from }: { until: number; from: number }) {
  useTick(true);
  const left = Math.max(0, until - serverNow());
  return (
    <span class="countdown" role="timer" aria-label={`Denied in ${Math.ceil(left)} seconds`}>
      <span class="meter warn">
        <span style={{ width: `${Math.min(1, left / Math.max(1, until - from)) * 100}%` }} />
      </span>{" "}
      {left > 0 ? `denied in ${duration(Math.ceil(left))}` : "denied: nobody answered"}
    </span>
  );
}

const drafts = new Map<string, string>();

// What the person has written stays while they look at something else.
function useDraft(key: string, first = ""): [string, (text: string) => void] {
  const [text, setText] = useState(drafts.get(key) ?? first);
  return [text, (now) => (drafts.set(key, now), setText(now))];
}

interface Part {
  name: string;
  waiting: Waiting;
  act: (action: string, body: unknown) => Promise<boolean>;
  busy: boolean;
}

function YesNo({
  name,
  yes,
  no,
  busy,
  on,
}: {
  name: string;
  yes: string;
  no: string;
  busy: boolean;
  on: (allow: boolean, say: string) => void;
}) {
  const [text, setText] = useDraft(name);
  return (
    <form
      class="answer"
      onSubmit={(event) => {
        event.preventDefault();
        on(false, text);
      }}
    >
      <button data-action="yes" type="button" class="first" disabled={busy} onClick={() => on(true, "")}>
        {yes}
      </button>
      <button data-action="no" type="submit" class="deny" disabled={busy}>
        {no}
      </button>
      <label class="grow">
        Message to the agent if you deny it{" "}
        <input value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
    </form>
  );
}

function CommandQuestion({ name, waiting, act, busy }: Part) {
  return (
    <>
      <pre class="quote">{waiting.question}</pre>
      <YesNo
        name={name}
        yes="Run it"
        no="Do not run it"
        busy={busy}
        on={(allow, say) => void act("command", { id: waiting.id, allow, say })}
      />
    </>
  );
}

function TestsQuestion({ name, waiting, act, busy }: Part) {
  return (
    <>
      <p>{waiting.question}</p>
      {waiting.tests.map((one) => (
        <details key={one.test} open={waiting.tests.length < 4}>
          <summary>
            <code>{one.test}</code>
          </summary>
          {one.was && <pre class="del">{one.was}</pre>}
          {one.now ? <pre class="ins">{one.now}</pre> : <p class="dim">The test is unchanged or gone.</p>}
          {one.said && <Text text={one.said} lines={6} />}
        </details>
      ))}
      <YesNo
        name={name}
        yes="Allow"
        no="Do not allow"
        busy={busy}
        on={(allow, say) => void act("approve", { allow, say, task: waiting.task })}
      />
    </>
  );
}

function OpenQuestion({ name, waiting, act, busy }: Part) {
  const [text, setText] = useDraft(name);
  const answers = listAnswers(waiting.question);
  const answer = (said: string) =>
    void act("answer", { text: said, task: waiting.task === "goal" ? "" : waiting.task });
  return (
    <>
      <Text text={waiting.question} lines={12} prose />
      {answers.length > 0 && (
        <p class="actions" role="group" aria-label="Answers that fit">
          {answers.map((each) => (
            <button
              data-action="suggested"
              key={each}
              type="button"
              class="suggested"
              disabled={busy}
              onClick={() => answer(each)}
            >
              {each}
            </button>
          ))}
        </p>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          answer(text);
        }}
      >
        <label>
          Your answer <textarea required value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <p class="actions">
          <button data-action="answer" type="submit" class="first" disabled={busy || !text.trim()}>
            Answer
          </button>
        </p>
      </form>
    </>
  );
}

// The plan as a tree; its text, to edit, is behind it.
function PlanQuestion({ name, waiting, act, busy }: Part) {
  const [plan, setPlan] = useDraft(`${name} plan`, waiting.plan ?? "");
  const [wish, setWish] = useDraft(name);
  const { task } = waiting;
  const changed = plan !== waiting.plan;
  return (
    <>
      <PlanTree steps={waiting.steps ?? []} />
      <details class="edit">
        <summary>Edit it as TOML</summary>
        <label>
          The plan{" "}
          <textarea
            class="plan"
            spellcheck={false}
            value={plan}
            onInput={(event) => setPlan(event.currentTarget.value)}
          />
        </label>
      </details>
      <form
        class="answer"
        onSubmit={(event) => {
          event.preventDefault();
          void act("plan", { says: "change", task, text: wish });
        }}
      >
        <button
          data-action={changed ? "plan-own" : "plan-run"}
          type="button"
          class="first"
          disabled={busy}
          onClick={() => void act("plan", changed ? { says: "own", task, text: plan } : { says: "yes", task })}
        >
          {changed ? "Run my plan" : "Run it"}
        </button>
        <button
          data-action="plan-none"
          type="button"
          class="deny"
          disabled={busy}
          onClick={() => void act("plan", { says: "no", task })}
        >
          As one piece of work
        </button>
        <label class="grow">
          Or say what should be different <input value={wish} onInput={(event) => setWish(event.currentTarget.value)} />
        </label>
        <button data-action="plan-other" type="submit" disabled={busy || !wish.trim()}>
          Ask for another plan
        </button>
      </form>
    </>
  );
}

export function PlanTree({ steps }: { steps: PlanStep[] }) {
  return (
    <ol class="plantree">
      {steps.map((step) => (
        <li key={step.name}>
          <strong>{step.title || step.name}</strong> <code>{step.name}</code>
          {step.needs.length > 0 && <span class="dim"> after {step.needs.join(", ")}</span>}
          {step.says && step.says !== step.title && (
            <p class="dim">{step.says.length > 240 ? `${step.says.slice(0, 240)}…` : step.says}</p>
          )}
          {(step.check || step.files.length > 0) && (
            <p class="dim">
              {step.check && (
                <>
                  proven by <code>{step.check}</code>{" "}
                </>
              )}
              {step.files.length > 0 && (
                <>
                  in{" "}
                  <code>
                    {step.files.slice(0, 4).join(", ")}
                    {step.files.length > 4 ? " …" : ""}
                  </code>
                </>
              )}
            </p>
          )}
          {step.steps.length > 0 && <PlanTree steps={step.steps} />}
        </li>
      ))}
    </ol>
  );
}

const WORDS: Record<string, string> = { question: "Question", plan: "Plan", command: "Command", tests: "Test changes" };

export function AnsweredList({ answered, recent }: { answered: GivenAnswer[]; recent?: number }) {
  const shown = recent === undefined ? answered : answered.filter((each) => serverNow() - each.at < recent);
  if (!shown.length) return null;
  return (
    <ul class="answered" aria-label="Answered">
      {shown.map((each) => (
        <li key={`${each.kind}${each.task}${each.at}`}>
          <Icon name={each.by ? "check" : "clock"} />{" "}
          <span>
            <b>{WORDS[each.kind]}</b>
            {each.task ? ` of ${each.task}` : ""}: {each.says.length > 160 ? `${each.says.slice(0, 160)}…` : each.says}
            {each.kind === "command" && (
              <>
                {" "}
                <code>{each.question.slice(0, 80)}</code>
              </>
            )}{" "}
            <span class="dim">
              {each.by ? `answered by ${each.by}, ` : ""}
              {age(each.at, serverNow())}
            </span>
          </span>
        </li>
      ))}
    </ul>
  );
}
