"""Whether a repository's settings may go beyond the defaults: the person's answers, and asking them once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from bough.adapters.consent_store import Consents

Ask = Callable[[Path, Mapping[str, str]], bool | None]
"""Asks the person about wishes that they have not answered yet; None: no one is there to answer."""
Tell = Callable[[Mapping[str, str]], None]
"""Reports which wishes are ignored."""


def make_consent(
    root: Path,
    env: Mapping[str, str],
    *,
    trust: bool = False,
    ask: Ask = lambda folder, wishes: None,
    tell: Tell = lambda ignored: None,
) -> Callable[[Mapping[str, str]], Collection[str]]:
    """For `config.load`: which of that folder's wishes are allowed. With `trust` all are, from now on."""

    def allow(wishes: Mapping[str, str]) -> Collection[str]:
        consents = Consents(env)
        if trust:
            consents.keep(root, wishes, allowed=True)
            return wishes.keys()
        said = consents.of(root)
        # Compared by value: an answer holds for what the person was shown, not for what the file says next time.
        open_ = {name: value for name, value in wishes.items() if value != said.refused.get(name)}
        open_ = {name: value for name, value in open_.items() if value != said.allowed.get(name)}
        if open_ and (answer := ask(root, open_)) is not None:
            consents.keep(root, open_, answer)
            said = consents.of(root)
        allowed = {name for name, value in wishes.items() if value == said.allowed.get(name)}
        if ignored := {name: value for name, value in wishes.items() if name not in allowed}:
            tell(ignored)
        return allowed

    return allow
