"""The person at the terminal, when bough asks about a plan, a command or stuck work."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import click

from bough.core.acceptance.requirements import Requirement
from bough.core.errors import UsageError
from bough.core.planning.guidance import ApprovalAdvice
from bough.core.planning.plan import Plan, Step
from bough.interfaces.cli.display import Display
from bough.interfaces.terminal.output import make_output
from bough.interfaces.terminal.plan_tree import render_plan, render_requirements
from bough.ports import Approval
from bough.steering import Stop

ADVICE = {
    "take": "",
    "ask": "This looks like more than one piece of work.",
    "recommend": "This is a large goal: running it in these steps is recommended.",
}
QUESTION = "Run this plan? [Y]es, [n]o (as one piece of work), [c]ustomize: "
CHANGE = "Say what should be different, or press Enter to edit the plan as TOML: "


class Person:
    def __init__(self, goal: Step, display: Display, stop: Stop) -> None:
        self._goal = goal
        self._display = display
        self._stop = stop
        self.requirements: tuple[Requirement, ...] = ()
        """The requirements read from the goal."""
        self._one_question = asyncio.Lock()
        """One of several tasks asks at a time here; all of them can be answered elsewhere meanwhile."""

    @asynccontextmanager
    async def _aside(self) -> AsyncIterator[None]:
        """The terminal is the person's. A question that is answered elsewhere says so here."""
        with self._display.aside():
            try:
                yield
            except asyncio.CancelledError:
                click.echo("\nAnswered elsewhere.")
                raise

    async def approve(self, steps: tuple[Step, ...], advice: ApprovalAdvice) -> Approval | None:
        """Their answer to a plan; None if they want to stop."""
        from msgspec.structs import replace

        asked = tuple(one.text for one in self.requirements) if len(self.requirements) > 1 else ()
        criteria = self._goal.criteria or asked
        plan = Plan(replace(self._goal, steps=steps, parallel=True, criteria=criteria))
        async with self._one_question, self._aside():
            self._show(plan, advice)
            while True:
                answer = await self._read_line(QUESTION)
                if answer is None:
                    return None
                match answer.strip().lower()[:1]:
                    case "" | "y":
                        return Approval("yes")
                    case "n":
                        return Approval("no")
                    case "c":
                        changed = await self._customize(plan)
                        if changed is not None:
                            return changed
                    case _:
                        click.echo("Please answer y, n or c.")

    async def ask(self, question: str) -> str | None:
        """Their answer; None if they postpone it (Ctrl-D) or want to stop."""
        async with self._one_question, self._aside():
            page = make_output()
            for line in question.splitlines():
                page.paragraph(text=line)
            page.flush()
            click.echo("Ctrl-D postpones the answer: the run waits, and `bough answer` resumes it.")
            return await self._read_line("> ", stops=False)

    async def permit(self, line: str, task: str) -> str | None:
        """Their answer to a command that needs approval; None: no answer."""
        async with self._one_question, self._aside():
            shown = line.replace("\n", "\n  ")
            whose = f" of {task}" if task else ""
            click.echo(f"This command{whose} needs your approval:\n\n  {shown}\n")
            return await self._read_line("Run it? [y]es, [N]o, or say what to do instead: ", stops=False)

    def _show(self, plan: Plan, advice: ApprovalAdvice) -> None:
        page = make_output()
        if len(self.requirements) > 1:
            click.echo("Requirements:")
            for line in render_requirements(self.requirements, page.width):
                click.echo(f"  {line}")
            click.echo("")
        for row in render_plan(plan, width=page.width):
            click.echo(page.painted(row, page.width))
        click.echo(f"\n{ADVICE[advice]}" if ADVICE[advice] else "")

    async def _customize(self, plan: Plan) -> Approval | None:
        """A wish for another proposal, or their own steps from an editor; None: nothing changed."""
        from bough.core.workflow.loading import load
        from bough.core.workflow.writing import write_workflow

        wish = await self._read_line(CHANGE)
        if wish and wish.strip():
            return Approval("change", wish=wish.strip())
        text = write_workflow(plan)
        while True:
            edited = await asyncio.to_thread(click.edit, text, extension=".toml")
            if edited is None or not edited.strip():
                return None
            try:
                goal = load(edited, "plan.toml", inputs={}).plan.goal
                changed = goal.criteria if goal.criteria != plan.goal.criteria else ()
                return Approval("own", steps=goal.steps, requirements=changed)
            except UsageError as error:
                click.echo(str(error))
                again = await self._read_line("Edit again? [Y]es, [n]o: ")
                if again is None or again.strip().lower().startswith("n"):
                    return None
                text = edited

    async def _read_line(self, prompt: str, stops: bool = True) -> str | None:
        """One typed line; None at the end of input (Ctrl-D) or when a stop is requested (Ctrl-C). Not `input` in a
        thread: that cannot be cancelled."""
        click.echo(prompt, nl=False)
        loop = asyncio.get_running_loop()
        typed: asyncio.Future[str | None] = loop.create_future()

        def read() -> None:
            text = os.read(sys.stdin.fileno(), 4096).decode(errors="replace")
            if not typed.done():
                typed.set_result(text.rstrip("\n") if text else None)

        def stopped() -> None:
            if not typed.done():
                typed.set_result(None)

        loop.add_reader(sys.stdin.fileno(), read)
        unwatch = self._stop.watch(stopped)
        try:
            line = await typed
        finally:
            loop.remove_reader(sys.stdin.fileno())
            unwatch()
        if line is None:
            click.echo()
            if stops and not self._stop.requested:
                self._stop.request()
        return line
