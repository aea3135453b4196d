"""Elixir, with mix."""

from __future__ import annotations

from shlex import quote

from bough.core.verdict.language import Language
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import Runner


class Mix(Runner):
    name = "mix"
    suffixes = (".exs",)
    manifests = ("mix.exs",)
    starts = ((r"mix\.exs", "", "mix test"),)

    def file(self, path: str, look: ProjectFiles, test: str) -> str:
        return f"mix test {quote(path)}"


class Elixir(Language):
    name = "elixir"
    suffixes = ("ex", "exs")
    runners = (Mix(),)
    manifests = ("mix.exs",)
    programs = frozenset({"mix"})
    no_package = r"the dependency is not available, run \"mix deps|Could not find Hex|Unchecked dependencies"
    setups = (("mix.exs", "mix deps.get"),)
    installs = r"mix deps\.get"


LANGUAGE = Elixir()
