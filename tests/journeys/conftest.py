"""Journeys start where a person starts: with a home without settings, and a small project."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.model import Goal, Hold, Model
from tests.journeys.person import STARTING_FILES, Person
from tests.wire import WireModel

Meet = Callable[..., Person]


@pytest.fixture
def meet(tmp_path: Path) -> Iterator[Meet]:
    """A person whose model does these goals; their project has `files` in one commit, or nothing at all."""
    with ExitStack() as open_things:

        def somebody(*goals: Goal, files: dict[str, str] | None = None, empty: bool = False, **model: Any) -> Person:
            scripted = Model(list(goals), **model)
            wire = open_things.enter_context(WireModel(scripted))
            home, project = tmp_path / "home", tmp_path / "project"
            project.mkdir()
            (home / ".config" / "bough").mkdir(parents=True)
            (home / ".gitconfig").write_text(
                "[user]\nname = Ann\nemail = ann@example.org\n[init]\ndefaultBranch = main\n"
            )
            (home / ".config/bough/config.toml").write_text(
                f'[models]\nmain = "openai:wire-model"\nbase_url = "{wire.base_url}"\n'
            )
            person = Person(home, project, scripted, wire)
            open_things.callback(person.over)
            person.git("init", "-q")
            if not empty:
                for path, content in (STARTING_FILES if files is None else files).items():
                    person.write(path, content)
                person.commit("The shop opens.")
            return person

        yield somebody
        while Hold.all:
            Hold.all.pop().free.set()
