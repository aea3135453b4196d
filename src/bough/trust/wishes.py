"""Decides which settings of a repository apply. Its file is untrusted input, so each setting in it is only a *wish*.

These apply unasked: lower numbers for what a run may use or for when work counts as stuck, the time limit of the
project's own check, a stricter verdict, and the project's check as one candidate (it runs in the sandbox, and the
verdict names it). Everything else, which could spend money, give access, weaken a verdict or start programs, needs the
person's consent, which holds only for the value that they saw."""

from collections.abc import Mapping
from typing import Any

LOWERED = frozenset({"budget", "limits", "planning", "ladder", "stuck"})
"""Sections whose numbers limit what a run may use. A repository may lower them."""
LONGEST_CHECK = 3600.0
"""The longest time limit, in seconds, that a repository may set for its check."""
_DURATIONS = frozenset({("check", "timeout"), ("limits", "check_timeout")})
_STRICTER: Mapping[tuple[str, str], Any] = {("limits", "strict"): True, ("check", "accept_failing"): False}
ABOUT_THE_VERDICT = frozenset({"check", "checks", "acceptance", "workspace", "services", "limits"})
"""Sections that affect what a verdict proves. A verdict names the repository's values in them."""


def applies_unasked(section: str, key: str, value: Any, default: Any, *, outside: bool = False) -> bool:
    """Return whether a repository's setting applies without consent. `default`: the value without it; `outside`:
    commands run without a sandbox."""
    candidate = (section, key) == ("check", "command") and not outside
    if candidate or value == default or _STRICTER.get((section, key), ...) == value:
        return True
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (value, default))
    if (section, key) in _DURATIONS:
        return isinstance(value, int | float) and 1 <= value <= LONGEST_CHECK
    if section == "budget" and default is None:  # The person has set no limit, so any limit is lower.
        return isinstance(value, int | float) and value > 0
    # A repository may lower a limit, but not so far that nothing works: no time for a command, no output shown. For
    # planning and `max_repairs`, 0 is a valid choice: no splitting, no repairs.
    floor = 0 if section == "planning" or key == "max_repairs" else 1 if numbers and default > 1 else 0.01
    return section in LOWERED and numbers and floor <= value < default
