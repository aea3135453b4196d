"""Runs a check on altered copies of a tree, which shows whether it proves anything.

With the product broken on purpose the check must fail, or it does not test it; the result is stored for the command and
the files that decide about it, so that it is measured only once. The tests that carry the claim that the work is done
(they failed before or are new, and pass now) must fail with a value in them changed: those that do not prove nothing,
such as a test of work whose results equal anything.
"""

import asyncio
import hashlib
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bough.adapters.verifiers.ask_original_tests import Question
from bough.adapters.verifiers.check_runner import CheckRunner, Say, load_kept
from bough.core.verdict import alteration, canary, original_tests, rulings
from bough.core.verdict.check_run import Baseline, CheckRun
from bough.core.verdict.literals import COMPARED
from bough.core.verdict.original_tests import find_file
from bough.core.verdict.registry import narrow
from bough.core.verdict.test_files import is_configuration
from bough.ports.verifier import Work
from bough.trust.files import Place

FORMAT = 1
LEAST, TIMES = 60.0, 4
"""The time limit of a check on a broken product: `LEAST` seconds, or `TIMES` its usual time if that is longer."""
SINGLY = 20.0
"""Seconds for trying the values of a check without named tests one by one."""
MOST_SINGLE = 6
"""The most values tried one by one."""
Values = dict[str, canary.Value]
"""A changed value for each test."""
NOT_FOUND = "found no value in the tests whose change makes them fail"


class CheckedWork(Work, eq=False, kw_only=True):
    """A check that ran on a task's tree, with everything that its verdict is based on."""

    say: Say
    question: Question | None
    """What the original tests run on; None: they do not run."""
    ran: CheckRun
    known: Baseline
    """The check's result at the task's base."""
    flaky: tuple[str, ...] = ()
    canary: str = ""
    """Whether the check was seen to fail with a changed value, as a sentence; empty until that was tried."""
    changed: tuple[str, ...] = ()
    merged: bool = False
    """Whether the work was judged before it was merged: then only the check's result counts."""
    doubt: str = ""
    """Why the tests that carry the claim prove nothing by themselves: a changed value does not make them fail."""


class AlteredCopies:
    def __init__(self, runner: CheckRunner, home: Path) -> None:
        self._runner, self._workspaces, self._texts = runner, runner.workspaces, runner.texts
        self._home = home / "beliefs"
        self._secret = random.SystemRandom().random()

    async def run(self, work: Work, tree: str, texts: Mapping[str, str], say: Say = lambda line: None) -> CheckRun:
        """Run the check on a tree with these files altered."""
        made = await self._workspaces.graft(tree, tree, (), texts)
        return await asyncio.shield(self._runner.once(work, made, say))

    async def believe(self, work: Work, tree: str, known: Baseline, say: Say = lambda line: None) -> alteration.Belief:
        """Decide whether a check tests the product of a tree. `known`: the check's result on that tree."""
        if (seen := alteration.weigh_base(known)) is not None:
            return seen
        if known.exit_status != 0:
            return alteration.Belief("unknown", "it does not pass on these files, so breaking them shows nothing")
        place = Place(self._home, f"{await self.make_key(work, tree)}.{FORMAT}.json")
        if (kept := load_kept(place, alteration.Belief)) is not None:
            return kept
        found = await self._break(work, tree, known, say)
        if found.kind not in ("nothing", "unknown"):
            self._home.mkdir(parents=True, exist_ok=True)
            place.write(msgspec.json.encode(found))
        return found

    async def make_key(self, work: Work, tree: str) -> str:
        """Make a key of the command and of the files that decide its result: those it runs, and test configuration."""
        contents = (await self._texts.of(tree, work.check.command)).contents
        run = alteration.find_run_files(work.check.command)
        paths = [path for path in await self._workspaces.paths(tree) if path in run or is_configuration(path)]
        files = await asyncio.to_thread(lambda: "\n".join(f"{path}\0{contents.id(path)}" for path in sorted(paths)))
        return hashlib.sha256(f"{work.check.command}\0{work.check.environment}\0{files}".encode()).hexdigest()[:24]

    async def _break(self, work: Work, tree: str, known: Baseline, say: Say) -> alteration.Belief:
        paths = alteration.list_product(await self._workspaces.paths(tree), work.check.command)
        reported = {find_file(case.id) for case in known.report.cases}
        texts = await self._workspaces.texts(tree, [path for path in paths if path not in reported])
        rules = work.task.rules
        limit = min(rules.check_timeout, max(LEAST, TIMES * known.seconds))
        brief = Work(work.run, replace(work.task, rules=replace(rules, check_timeout=limit)), work.check)
        found = alteration.Belief("nothing", "there is no product code yet that could be broken")
        how: alteration.How
        for how in ("on", "emptied"):
            made = await asyncio.to_thread(alteration.alter, texts, how, reported)
            if not made:
                continue
            found = alteration.Belief("unknown", f"it was cut off on a broken product after {limit:g} s")
            say("the check runs once on a copy with the product broken")
            now = (await self.run(brief, tree, made, say)).known
            if seen := alteration.weigh(how, now, known):
                return seen
            if how == "on" and now.exit_status not in (0, None) and not alteration.counts_tests(known):
                same = await asyncio.to_thread(alteration.alter, texts, "off", reported)
                return alteration.weigh_control((await self.run(brief, tree, same, say)).known)
        return found

    # ── the tests that carry the claim ────────────────────────────────────────────────────────────────────────────────

    async def ask(self, work: CheckedWork) -> str:
        """Change values in the tests that carry the claim, and record in the work what they did, and what is in doubt:
        a test that passes all the same does not refute the work, but proves nothing, so that a probe has to. Return the
        objection if a test that the person had does not even run any more."""
        repaired, added = original_tests.find_carrying(work.ran.report, work.known.report)
        # Try tests that the goal names first, then others that nobody can foresee: the same ones for the same claim.
        claims, request = [*repaired, *added], f"{work.run.plan.goal.instructions}\n{work.task.step.instructions}"
        shuffled = random.Random(f"{self._secret}{claims}").sample(claims, len(claims))
        tests = canary.choose_claim(shuffled, request)
        old, new = [test for test in tests if test in repaired], [test for test in tests if test not in repaired]
        if tests:
            return await self._ask_tests(work, old, new)
        if not work.ran.report.cases:
            await self._ask_whole(work)
        return ""

    async def change_values(self, work: Work, tree: str, tests: Sequence[str]) -> tuple[Values, Values]:
        """Run tests with one value of each changed, and again until each was seen to fail or has no value left. Return
        those that failed, with the change, and those that passed with every change, with the surest one."""
        texts = await self._texts.of(tree, work.check.command)
        values = await asyncio.to_thread(canary.list_test_changes, texts, tests)
        left = {test: canary.choose_surest(each) for test, each in values.items()}
        red, green = Values(), Values()
        for number in range(canary.ROUNDS):
            now = {test: each[number] for test, each in left.items() if number < len(each)}
            if not now:
                break
            wrong = canary.apply_changes(texts, now.values())
            names = sorted({original_tests.strip_parameters(test) for test in now})
            ran = await self._run_alone(work, tree, names, wrong)
            failed = canary.find_failed(ran.report, ran.finished.exit_status, names)
            for test, value in now.items():
                name = original_tests.strip_parameters(test)
                if failed.get(name):
                    red[test] = value
                    green.pop(test, None)
                    del left[test]
                elif name in failed:
                    green.setdefault(test, value)
        return red, green

    async def _ask_tests(self, work: CheckedWork, old: list[str], new: list[str]) -> str:
        """Try the claim's tests: those that failed before (`old`) in their original version, `new` ones as they are."""
        tree, tests = work.task.tree, [*old, *new]
        after = await self._texts.of(tree, work.check.command)
        ground = work.question.tree if work.question is not None else tree
        groups = ((ground, old), (tree, new)) if ground != tree else ((tree, tests),)
        seen = await asyncio.gather(*(self.change_values(work, where, group) for where, group in groups if group))
        failed, passed = ({test: value for one in seen for test, value in one[at].items()} for at in (0, 1))
        # Some runners report only files: there a file counts as one test, whatever it asserts.
        if not failed and not passed and (not work.ran.report.cases or all(test in after for test in tests)):
            await self._ask_whole(work)
            return ""
        stays = {test: f"{test} also passes with {canary.describe_value(value)}" for test, value in passed.items()}
        work.canary = f"not seen to fail: {next(iter(stays.values()), NOT_FOUND)}"
        if failed:
            test, value = next(iter(failed.items()))
            one, rest = len(failed) == 1, len(tests) - len(failed)
            which = f"{test} fails with {canary.describe_value(value)}"
            which = which if one else f"{len(failed)} tests fail when a value in each is changed"
            work.canary = f"seen to fail: {which}{f'; {rulings.count_tests(rest)} not' if rest else ''}"
        # Where nothing is compared with the value, a test that failed at the base was seen to fail there.
        doubtful = (stays[test] for test in passed if passed[test][1].rank == COMPARED or not (failed or old))
        work.doubt = next(doubtful, "")
        if unread := [test for test in passed if test in old]:
            # Tests that also pass with files that nothing can read do not run: the work runs others in their place.
            nonsense = dict.fromkeys((passed[test][0] for test in unread), alteration.NONSENSE)
            names = sorted({original_tests.strip_parameters(test) for test in old})
            ran = await self._run_alone(work, ground, names, nonsense)
            if ran.finished.exit_status == 0:
                first = unread[0]
                return f"{first} also passes with nonsense in place of {passed[first][0]}: its file does not run"
        return ""

    async def _run_alone(self, work: Work, tree: str, names: Sequence[str], texts: Mapping[str, str]) -> CheckRun:
        """Run single tests on a tree with these files altered."""
        return await self.run(work.with_command(narrow(work.check.command, work.check.runner, names)), tree, texts)

    async def _ask_whole(self, work: CheckedWork) -> None:
        """Change values in the files of a check whose tests have no names, if it failed before or its tests changed."""
        if work.known.exit_status == 0 and work.question is None:
            return
        ground = work.question.tree if work.question is not None else work.task.tree
        texts, command = await self._texts.of(ground, work.check.command), work.check.command
        paths = await asyncio.to_thread(canary.list_asked_files, texts, command)
        values = await asyncio.to_thread(canary.list_file_changes, texts, paths)
        most = max(min(MOST_SINGLE, int(SINGLY / max(work.known.seconds, 1.0))), 1)
        green, read = list[canary.Value](), set[str]()
        work.canary = f"not seen to fail: {NOT_FOUND}"
        for value in random.SystemRandom().sample(values, min(len(values), most)):
            ran = await self.run(work, ground, canary.apply_changes(texts, [value]))
            if ran.finished.exit_status == 0:
                green.append(value)
            else:
                read.add(value[0])
                work.canary = f"seen to fail: the check fails with {canary.describe_value(value)}"
        # A compared value that the check ignores counts, in a file that it reads, even if it fails for another one.
        ignored = (one for one in green if one[1].rank == COMPARED and (not read or one[0] in read))
        work.doubt = next((f"it also passes with {canary.describe_value(value)}" for value in ignored), "")
