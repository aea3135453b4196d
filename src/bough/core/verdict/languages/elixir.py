"""Elixir, with mix."""

from __future__ import annotations

from shlex import quote

from bough.core.verdict.language import Language
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import ProjectCommand, Runner


class Mix(Runner):
    name = "mix"
    suffixes = (".exs",)
    manifests = ("mix.exs",)

    def project(self, look: ProjectFiles) -> ProjectCommand | None:
        return ProjectCommand("mix test", "there is a mix.exs", "mix.exs") if "mix.exs" in look.files else None

    def file(self, path: str, look: ProjectFiles, test: str) -> str:
        return f"mix test {quote(path)}"


class Elixir(Language):
    name = "elixir"
    suffixes = ("ex", "exs")
    test_names = r"_test\.exs$|^test_helper\.exs$"
    runners = (Mix(),)
    manifests = ("mix.exs",)
    programs = frozenset({"mix"})


LANGUAGE = Elixir()
