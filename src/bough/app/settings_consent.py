"""Whether a repository's settings may go beyond the defaults: the person's answers, and asking them once."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from bough import config
from bough.adapters.consent_store import Consents
from bough.adapters.workspaces.home import find_root
from bough.app.journal import require_folder


def list_open_wishes(folder: Path | str) -> tuple[Path, dict[str, str]]:
    """The project around a folder, and what its settings ask for that the person has neither allowed nor refused."""
    root, env = find_root(require_folder(folder)), dict(os.environ)
    said, found = Consents(env).of(root), dict[str, str]()

    def note(wishes: Mapping[str, str]) -> Collection[str]:
        answered = (*said.allowed.items(), *said.refused.items())
        found.update({name: value for name, value in wishes.items() if (name, value) not in answered})
        return ()

    config.list_layers(root, env, note)
    return root, found


def answer_wishes(folder: Path, wishes: Mapping[str, str], *, allowed: bool) -> None:
    """Keep the person's answer with their own state, for the project around the folder."""
    Consents(dict(os.environ)).keep(find_root(require_folder(folder)), wishes, allowed)


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
    """A function that says which of that folder's wishes are allowed. With `trust` all are, from now on."""

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
