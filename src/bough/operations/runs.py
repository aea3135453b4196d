"""The operations on a run. Each imports what it needs when it is called."""

import shlex
from typing import TYPE_CHECKING, Annotated, Any, Literal

from bough.core import events as e
from bough.core.errors import UsageError
from bough.core.ids import CONTROL, GOAL
from bough.operations.table import OPERATIONS, OperationResult, operation
from bough.ports import Approval
from bough.views.formatting import first_sentence, format_clock, pluralize
from bough.views.vocabulary import DONE, STATUS_WORDS, describe_status

if TYPE_CHECKING:
    from bough.app.session import Session


class RunResult(OperationResult, frozen=True, kw_only=True):
    run: str


class RunRequest(RunResult, frozen=True, kw_only=True):
    status: str
    asked: str | None
    """The process that works on the run and was asked; None if there is none."""


class SentMessage(RunResult, frozen=True, kw_only=True):
    task: str | None
    holder: str | None


class RewoundRun(RunResult, frozen=True, kw_only=True):
    task: str
    round: int
    tree: str


class RewindPoints(RunResult, frozen=True, kw_only=True):
    task: str
    points: list[Any]


class ChangedFiles(RunResult, frozen=True, kw_only=True):
    files: list[Any]


class DeliveredRun(ChangedFiles, frozen=True, kw_only=True):
    status: str
    branch: str
    commit: str


class DescribedBranch(RunResult, frozen=True, kw_only=True):
    branch: str
    commit: str
    description: str
    commands: list[str]
    address: str = ""


class AnsweredRun(RunResult, frozen=True, kw_only=True):
    says: str
    """`yes` or `no`; to a plan also `change` (make another) or `own` (use the person's)."""
    task: str = ""
    tests: tuple[str, ...] = ()
    command: str = ""


ASKED = "As a JSON object: the run, and who was asked."
WHEN = {False: "after its current effect", True: "now"}
ALLOWED = {False: "Not allowed", True: "Allowed"}
SAYS: dict[bool, str] = {False: "no", True: "yes"}


@operation("bough stop", "bough stop amber-heron --now", json=ASKED)
async def stop(
    opened: "Session",
    run: str,
    *,
    now: Annotated[bool, "Interrupt the current effect; nothing that is finished is lost."] = False,
) -> RunRequest:
    """Ask a live run to stop.

    It stops after the current effect (a model call, a tool, a check), or at once with --now; either way `bough resume`
    continues it. If RUN (default: the latest) is not running, this says so; that is not an error."""
    from bough.services.run_messages import find_person

    event, said = e.StopRequested(now, find_person()), f"Asked {{}} to stop {run} {WHEN[now]}."
    return await _request(opened, run, event, "stop", said)


@operation("bough pause", "bough pause amber-heron", "bough resume amber-heron", json=ASKED)
async def pause(opened: "Session", run: str) -> RunRequest:
    """Pause a live run.

    RUN (default: the latest) pauses after its current effect (a model call, a tool, a check), and its process ends with
    exit status 6; `bough runs` lists it as paused. `bough resume` continues where it left off, now or in a week. If RUN
    is not running, this says so; that is not an error."""
    from bough.services.run_messages import find_person

    said = f"{run} pauses after its current effect."
    return await _request(opened, run, e.PauseRequested(find_person()), "pause", said)


async def _request(opened: "Session", run: str, event: e.AnyEvent, what: str, said: str) -> RunRequest:
    """Send a request to the process that works on the run, or report that there is none."""
    if (asked := await opened.holder(run)) is not None:
        await opened.store.post(run, CONTROL, event)
    status, _ = await opened.standing(await opened.view(run))
    if asked is None:
        return RunRequest(
            run=run,
            status=status,
            asked=None,
            said=f"{run} is not running ({STATUS_WORDS[status]}): nothing to {what}.",
        )
    return RunRequest(run=run, status=status, asked=asked, said=said.format(asked), next="resume")


@operation(
    'bough say amber-heron "Keep the old flag working too."',
    'bough say latest --task buffer/insert-line "The tests are in spec/, not in tests/."',
    json="As a JSON object: the run and the process that runs it.",
)
async def say(
    opened: "Session",
    run: str,
    *,
    text: str = "",
    task: Annotated[str, "Only this task and those below it (default: all tasks)."] = "",
    restore: Annotated[int, "Reinstate requirement N, which a message replaced or dropped."] = 0,
) -> SentMessage:
    """Send a message to a run's agents.

    Every agent working on RUN (a name, its beginning, or `latest`) sees TEXT before its next round; agents that start
    later on the same tasks see it from the start. An agent that claims to be done before it has seen the message keeps
    working. RUN does not have to be running: the message is delivered when it resumes. If RUN is waiting for an answer,
    TEXT is the answer.

    What TEXT demands becomes a requirement of the goal: one step has to meet it, examiners check it, and `bough report`
    lists it, with the requirements that it replaces. --restore undoes such a replacement."""
    from bough.services import run_messages

    if text.strip() and restore:
        raise UsageError("A message and --restore cannot be combined: send one after the other.")
    if restore:
        holder = await run_messages.restore_requirement(opened, run, restore)
        return SentMessage(run=run, task=None, holder=holder, said=f"Requirement {restore} of {run} counts again.")
    if not text.strip():
        raise UsageError(f'The message to {run} is empty: `bough say {run} "…"` sends one.')
    holder = await run_messages.say_to_run(opened, run, text, task)
    if holder is None:
        said = f"Saved. {run} is not running: its agents read it when you resume it."
        return SentMessage(run=run, task=task or None, holder=None, said=said, next="resume")
    whom = f"the agents at {task} of {run}" if task else f"the agents of {run}"
    said = f"Sent: {whom} will see it before their next round."
    return SentMessage(run=run, task=task or None, holder=holder, said=said)


@operation(
    "bough rewind",
    "bough rewind amber-heron --to 3",
    "bough rewind amber-heron --task buffer/insert-line --to 0",
    'bough rewind amber-heron --to 3 --say "Use a table, not recursion"',
    "bough resume amber-heron",
    json="As JSON: the points, or the point it was rewound to.",
)
async def rewind(
    opened: "Session",
    run: str,
    *,
    task: Annotated[str, "The task whose points are listed or used (default: the goal)."] = GOAL,
    to: Annotated[int | None, "The point to continue from; 0: before the first round."] = None,
    say: Annotated[str, "What to do differently; passed to a fresh agent."] = "",
) -> RewoundRun | RewindPoints:
    """Rewind a run to an earlier point.

    Without --to, lists the points of a task that RUN (default: the latest) can be rewound to: the ends of its rounds
    and, for a task with smaller steps, the ends of those steps. With --to, every task of the run returns to its state
    at that moment, and `bough resume` continues from there: what was finished by then is kept, what started later
    starts over. Later events stay in the journal but no longer count, except for their cost. Your own files are not
    touched."""
    await opened.find_task(run, task := task or GOAL)
    if to is not None:
        rewound = await opened.rewind(run, to, task, say)
        said = f"Rewound {run} to point {to} of {task}: {rewound.words}."
        return RewoundRun(run=run, task=task, round=to, tree=rewound.tree, said=said, next="resume")
    if say:
        raise UsageError(f"--say needs a point to start from: add --to POINT (`bough rewind {run}` lists the points).")
    points = await opened.points(run, task)
    room, word = len(str(len(points) - 1)), "point" if any(point.has_steps for point in points) else "round"
    lines = [
        f"{word} {number:>{room}}  {format_clock(point.at)}  {point.tree[:10]}  {point.words}"
        for number, point in enumerate(points)
    ]
    listed = [{"round": n, "happened": one.words, "tree": one.tree, "at": one.at} for n, one in enumerate(points)]
    lines += [f"`bough rewind {run} --to POINT` rewinds it to one of them."] if lines else []
    said = "\n".join(lines) or f"{run} has not started: nothing to rewind."
    return RewindPoints(run=run, task=task, points=listed, said=said)


@operation("bough undo", "bough undo amber-heron", json="As a JSON object: the run and the files.")
async def undo(opened: "Session", run: str) -> ChangedFiles:
    """Remove an applied run's changes from your files.

    The files that `bough apply` changed are restored; what you changed in them since is kept where it can be merged,
    otherwise nothing is written. A commit made by `--commit` stays: use `git revert` for it."""
    files = await opened.undo(run)
    return ChangedFiles(run=run, files=files, said=f"Undid {run} in your files: {pluralize(len(files), 'file')}.")


@operation('bough answer amber-heron "Leave Windows out of it."', "bough status amber-heron", person=True, resumes=True)
async def answer(
    opened: "Session",
    run: str,
    *,
    text: str,
    task: Annotated[str, "The task whose question is answered, when several have one."] = "",
) -> SentMessage:
    """Answer a run's question and resume it.

    A run that has tried everything asks you: at the terminal or, with --ask-later, by waiting without a process (exit
    status 8); `bough status` shows the question. The answer is saved, then the run resumes with it; a run that is
    asking at another terminal resumes there. Exit status: as for `bough run`."""
    from bough.services.run_messages import answer_question

    holder = await answer_question(opened, run, text, task)
    said = f"Answered: {holder} continues {run}." if holder else f"Answered {run}."
    return SentMessage(run=run, task=task or None, holder=holder, said=said, next="" if holder else "resume")


@operation(
    "bough approve", "bough approve amber-heron --deny --say 'Keep round() as it is.'", person=True, resumes=True
)
async def approve(
    opened: "Session",
    run: str,
    *,
    allow: Annotated[bool, "Do not allow what is asked: the agent is told and continues."] = True,
    task: Annotated[str, "The task to answer, when several wait."] = "",
    say: Annotated[str, "With --deny: what to do instead, or what the plan should be like."] = "",
) -> OperationResult:
    """Approve or deny what a run asks about: tests, a plan, a command.

    A run waits for you (exit status 8) when existing tests fail on the new code and nothing in the goal demands that
    they change. `bough status` shows what each test expected before and what it expects now. The run resumes with your
    answer.

    A live run that asks at another terminal, in an editor or on the dashboard's page can be answered here as well: it
    continues there, and the first answer counts. A plan that you deny is not used; with --say, another one is made."""
    from bough.services.run_messages import list_waiting

    if allow and say.strip():
        raise UsageError("--say needs --deny: `bough approve --deny --say TEXT` says what to do instead.")
    live = await opened.holder(run) is not None
    waiting = [one for one in await list_waiting(opened, run, task=task) if one.kind != "question"]
    if any(one.kind != "tests" for one in waiting):
        if len(waiting) > 1:
            listed = ", ".join(f"{one.kind} of {one.task}" for one in waiting)
            raise UsageError(f"{run} is waiting for you in several places ({listed}): choose one with --task.")
        if waiting[0].kind == "command":
            return await OPERATIONS["command"].does(opened, run, allow=allow, say=say, task=task)
        return await OPERATIONS["plan"].does(
            opened, run, says="yes" if allow else "change" if say else "no", task=task, text=say
        )
    tests = await opened.rule_on_changes(run, allow=allow, say=say, task=task)
    left = [] if live else await list_waiting(opened, run)
    said = f"{ALLOWED[allow]}: {', '.join(tests)}." + (f" {len(left)} more to answer." if left else "")
    return AnsweredRun(run=run, says=SAYS[allow], tests=tuple(tests), said=said, next="" if live or left else "resume")


@operation(person=True)
async def plan(
    opened: "Session", run: str, *, says: Literal["yes", "no", "change", "own"], task: str = "", text: str = ""
) -> AnsweredRun:
    """Answer a live run that asks about its plan. `text`: what should be different, or your own steps as TOML."""
    from bough.services import run_messages

    waiting, proposed = await run_messages.find_proposal(opened, run, task)
    approval = run_messages.read_own_plan(proposed, text) if says == "own" else Approval(says, text)
    await run_messages.rule_on_plan(opened, run, waiting, approval)
    said = f"Answered: {run} continues with the plan of {waiting.task}."
    return AnsweredRun(run=run, says=says, task=waiting.task, said=said)


@operation(person=True)
async def command(
    opened: "Session", run: str, *, allow: bool, say: str = "", id: str = "", task: str = ""
) -> AnsweredRun:
    """Answer a live run that asks about a command. `id` or `task` chooses among several; `say`: what to do instead."""
    from bough.services.run_messages import rule_on_command

    line = await rule_on_command(opened, run, allow, say, id, task)
    return AnsweredRun(run=run, says=SAYS[allow], command=line, said=f"{ALLOWED[allow]}: {line}")


@operation(
    "bough diff amber-heron",
    "bough apply amber-heron",
    "bough apply --with-probes",
    json="As a JSON object: the run and the files.",
    person=True,
)
async def apply(
    opened: "Session",
    run: str,
    *,
    partial: Annotated[bool, "Apply even if the run is not completed; its work is not proven."] = False,
    edges: Annotated[bool, "Also apply files that take effect on their own: hooks, CI, programs, links out."] = False,
    commit: Annotated[bool, "Commit the changes, with the evidence as trailers."] = False,
    hooks: Annotated[bool, "With --commit: run your repository's hooks, filters and signing."] = False,
    branch: Annotated[str, "Commit to a new branch from HEAD; your files stay unchanged."] = "",
    steps: Annotated[bool, "With --commit or --branch: one commit per step."] = False,
    with_probes: Annotated[bool, "Also add the probes that passed: programs in cases/ that say how they run."] = False,
) -> DeliveredRun:
    """Apply a run's changes to your files.

    What you changed since RUN (default: the latest) started is merged with its changes. If both changed the same
    lines, nothing is written and the conflicting files are listed. Without --commit and --branch your index and
    branches stay unchanged. A run that is still running cannot be applied. `bough undo` reverts an apply.

    Changes that take effect before you run anything (hooks, CI, editor tasks, .envrc, a conftest.py in a new place, new
    programs, links that lead out of the project, bough.toml) are listed, and you are asked about them; without a
    terminal, pass --edges to accept them."""
    for wrong, why in (
        (commit and branch, "--commit and --branch are mutually exclusive"),
        (hooks and (steps or not commit), "--hooks needs --commit and cannot be combined with --steps"),
        (steps and not (commit or branch), "--steps needs --commit or --branch"),
        (steps and commit and with_probes, "--steps --commit cannot be combined with --with-probes: use --branch"),
    ):
        if wrong:
            raise UsageError(f"{why}: see `bough apply --help`.")
    found = await opened.view(run)
    status, holder = await opened.standing(found)
    if found.status not in DONE and holder is None and not partial:
        raise UsageError(
            f"{run} is not completed ({describe_status(status)}), so its work is not proven: review it with "
            f"`bough diff {run}`, or apply it anyway with `bough apply {run} --partial`."
        )
    if branch:
        made = await opened.branch(run, branch, steps=steps, with_probes=with_probes)
        said = f"{run} is on the branch {branch} ({made[:10]}); your files are unchanged."
        return DeliveredRun(run=run, status=found.status, files=[], branch=branch, commit=made, said=said)
    files = await opened.apply(run, edges, commit, steps=steps, with_probes=with_probes, hooks=hooks)
    applied = (await opened.run(run)).application
    made = applied.commit if applied is not None else ""
    accepted = describe_status(found.status, found.accepted) if found.status in DONE else "not proven"
    unverified = "" if found.status == "completed" else f" ({accepted})"
    committed = f", committed as {made[:10]}" if made else ""
    said = f"Applied {run}{unverified}: {pluralize(len(files), 'file')} changed{committed}."
    said = said if files else f"{run} changed nothing: nothing to apply."
    return DeliveredRun(run=run, status=found.status, files=files, branch="", commit=made, said=said)


@operation(
    "bough pr",
    "bough pr amber-heron --branch fix-totals",
    "bough pr amber-heron --draft",
    person=True,
    json="As a JSON object: the run, the branch, its commit and the file with the description.",
)
async def pr(
    opened: "Session",
    run: str,
    *,
    branch: Annotated[str, "The branch (default: bough/RUN)."] = "",
    steps: Annotated[bool, "One commit per step."] = False,
    partial: Annotated[bool, "Make the branch even if the work is not proven."] = False,
    draft: Annotated[bool, "Push the branch and open a draft with your own `git` and `gh`."] = False,
) -> DescribedBranch:
    """Put a run's work on a branch, with a description for a pull request.

    The branch starts at HEAD; your files stay unchanged. The description (the goal, the check and its verdict, the
    evidence for each requirement, the files) is written to .bough/pr-RUN.md, and the commands for `git push`, `gh` and
    `glab` are printed: nothing is pushed, except with --draft."""
    from bough.services.night_branch import make_branch_once, open_pull_request, write_description

    status = (await opened.view(run)).status
    if status not in DONE and not partial:
        raise UsageError(
            f"{run} is not completed ({describe_status(status)}), so its work is not proven: "
            f"review it with `bough diff {run}`, accept it with `bough verify {run} --accept`, or pass --partial."
        )
    branch = branch or f"bough/{run}"
    if draft:  # `bough backlog run` may have made the branch already.
        branch, made = await make_branch_once(opened, run, branch, "HEAD", steps=steps)
    else:
        made = await opened.branch(run, branch, steps=steps)
    path, goal = await write_description(opened, run)
    title, file = shlex.quote(first_sentence(goal)), shlex.quote(str(path))
    commands = [
        f"git push -u origin {branch}",
        f"gh pr create --head {branch} --title {title} --body-file {file}",
        f'glab mr create -s {branch} --title {title} --description "$(cat {file})"',
    ]
    said = f"{run} is on the branch {branch} ({made[:10]}); the description is in {path}."
    address = ""
    if draft:
        address, remark = await open_pull_request(opened, run, branch)
        said = f"Opened {address} for {run}.{f' {remark}' if remark else ''}"
    return DescribedBranch(
        run=run, branch=branch, commit=made, description=str(path), commands=commands, address=address, said=said
    )
