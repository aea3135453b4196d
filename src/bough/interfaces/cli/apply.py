"""`bough apply`"""

from __future__ import annotations

from typing import Any

import click

from bough import app
from bough.interfaces.cli.drawn import draw_command
from bough.views.formatting import one_line
from bough.views.vocabulary import DONE


async def _ask(opened: app.Session, run: str, **given: Any) -> dict[str, Any]:
    taken = "partial" in given or (await opened.view(run)).status in DONE
    return {"edges": await confirm_edges(opened, run)} if taken and not {"edges", "branch"} & {*given} else {}


async def confirm_edges(session: app.Session, run: str) -> bool:
    """Ask whether to apply changes that take effect on their own (hooks, CI files). Return False also if there are
    none, or if nobody can be asked."""
    from bough.interfaces.terminal.output import is_interactive, make_output

    if not is_interactive() or not (found := await session.edges(run)):
        return False
    page = make_output()
    page.paragraph(text=f"Some changes of {run} take effect on their own:")
    for edge in found:
        page.line(f"  {one_line(edge.path)}  {one_line(edge.why)}")
    page.flush()
    return click.confirm("Apply them too?", default=False)


command = draw_command("apply", _ask)
