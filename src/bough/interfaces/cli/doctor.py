"""`bough doctor`"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bough import app
from bough.core.errors import BoughError
from bough.interfaces.cli.options import PROTOCOLS, bough_command, dir_option, flag, json_option, option
from bough.interfaces.cli.printing import print_json

if TYPE_CHECKING:
    from bough.services.diagnosis import Diagnosis


@bough_command("bough doctor", "bough doctor --model ollama:qwen3")
@dir_option
@option("--model", "M", "Try this model on three tiny tasks (this calls it and may cost money).")
@flag("--forget", "With --model: forget what was learned about it, and do nothing else.")
@option("--base-url", "URL", "Any OpenAI-compatible endpoint.")
@option("--protocol", None, "With --model: the protocol to use (default: auto-detected).", PROTOCOLS)
@json_option("As a JSON object.")
async def command(
    folder: Path, model: str | None, forget: bool, base_url: str | None, protocol: Any, as_json: bool
) -> int:
    """Check what works here and what is missing.

    Checks Python, git, the journal, ripgrep, the sandbox (which it tries to break out of), API keys (never shown) and
    whether the model can be reached; then runs the project's check, as `bough check` does. No model is called unless
    you name one with --model: bough then tries it on three tiny tasks in a temporary folder, says in four lines whether
    it is reachable, which protocol it uses and why, how large its window is and whether its price is known, and
    remembers what it learned for later runs. Exit status: 0 if a run could start, else 1.
    """
    from bough.services.diagnosis import Diagnosis, diagnose, diagnose_model, forget_model

    if forget and model is None:
        raise click.UsageError("--forget needs --model.")
    choices = app.Choices(model=model, base_url=base_url, protocol=protocol)
    if forget:
        known = await forget_model(folder, choices)
        sys.stdout.write(f"{model}: {'forgotten' if known else 'nothing was learned about it'}.\n")
        return 0
    python = Diagnosis("python", True, f"{sys.version.split()[0]} ({sys.executable})")
    findings = [python, *await diagnose(folder, choices)]
    if model is not None and all(finding.ok for finding in findings if finding.needed):
        findings += await diagnose_model(folder, choices)
    if not as_json:
        _print_findings(findings)
    if all(finding.ok for finding in findings if finding.what in ("git", "journal", "settings", "sandbox")):
        findings.append(await _check_project(folder))
        if not as_json:
            _print_findings(findings[-1:])
    ready = all(finding.ok for finding in findings if finding.needed)
    if as_json:
        listed = [{"what": f.what, "ok": f.ok, "needed": f.needed, "says": f.says} for f in findings]
        print_json({"ready": ready, "findings": listed})
    else:
        verdict = "A run can start here." if ready else "A run cannot start here until the problems above are fixed."
        sys.stdout.write(f"\n{verdict}\n")
    return 0 if ready else 1


async def _check_project(folder: Path) -> Diagnosis:
    """Run the project's check as a run would. Failing tests do not prevent a run."""
    from bough.interfaces.terminal.banner import describe_check
    from bough.services.diagnosis import Diagnosis, run_check
    from bough.views.telling.run_events import describe_base

    try:
        found = await run_check(folder)
    except BoughError as error:
        return Diagnosis("check", False, str(error))
    if not found.command:
        return Diagnosis("check", False, "none found: pass one with `bough run --check CMD`", needed=False)
    says = f"{describe_check(found)}: {describe_base(found)}"
    if found.lacking:
        return Diagnosis("check", False, f"{says}. {found.way_out}")
    passes = found.exit_status == 0 or bool(found.aside and found.failed <= len(found.aside))
    return Diagnosis("check", passes, says, needed=False, fails=not passes)


def _print_findings(findings: list[Diagnosis]) -> None:
    from bough.interfaces.terminal.output import make_output
    from bough.views.formatting import pad

    page = make_output()
    for finding in findings:
        if finding.ok:
            mark, style = "✔ ok      ", "green"
        elif finding.fails:
            mark, style = "✘ fails   ", "yellow"
        else:
            mark, style = ("✘ problem ", "red") if finding.needed else ("○ missing ", "yellow")
        page.paragraph((mark, style), "  ", (pad(finding.what, 8), "bold"), "  ", text=finding.says, indent=22)
    page.flush()
