"""Build tools of which bough knows only how they run a project's tests: each has one command for that."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bough.core.verdict.language import Language
from bough.core.verdict.runner import ClosingLine, Runner, find_last_lines

_LISP = """sbcl --non-interactive --eval '(require :asdf)' --eval '(asdf:load-asd (truename "{file}"))' \
--eval '(asdf:test-system (pathname-name "{file}"))'"""


class BuildTool(Runner):
    name = "build_tool"
    closes = (  # What test programs of a project's own print most often.
        r"\W*(?P<passed>\d{1,9}) (?:tests? )?passed,? (?P<failed>\d{1,9}) (?:tests? )?failed"
        r"(?:, (?P<failed2>\d{1,9}) err(?:ors?(?:\(s\))?|ored))?(?:,? (?P<skipped>\d{1,9}) (?:tests? )?skipped)?\W*"
    )
    starts = (
        (r"MODULE\.bazel|WORKSPACE(?:\.bazel)?", "", "bazel test //..."),
        (r"stack\.yaml", "", "stack test"),
        (r"cabal\.project", "", "cabal test all"),
        (r"[^/]+\.cabal", r"(?m)^[Tt]est-[Ss]uite", "cabal test"),
        (r"test/runtests\.jl", "", "julia --project -e 'using Pkg; Pkg.test()'"),
        (r"pubspec\.yaml", r"sdk: flutter", "flutter test"),
        (r"pubspec\.yaml", "", "dart test"),
        (r"Package\.swift", r"testTarget", "swift test"),
        (r"shard\.yml", "", "crystal spec"),
        (r"[^/]+\.nimble", "", "nimble test"),
        (r"project\.clj", "", "lein test"),
        (r"build\.sbt", "", "sbt test"),
        (r"dune-project", "", "dune test"),
        (r"rebar\.config", "", "rebar3 do eunit, ct"),
        (r"gleam\.toml", "", "gleam test"),
        (r"dub\.(?:json|sdl)", "", "dub test"),
        (r"[\w-]+\.asd", r"test-op", _LISP),
        (r"tests/testthat\.R", "", "Rscript -e 'testthat::test_local(stop_on_failure = TRUE)'"),
    )

    def closing(self, lines: Sequence[str]) -> ClosingLine | None:
        """Some print one count on each line, or those that passed of all."""
        found: dict[str, int] = {}
        last = -1
        for at, line in find_last_lines(lines):
            if told := re.fullmatch(r"Success/Total: (\d{1,9})/(\d{1,9}).*", line.strip()):
                return ClosingLine(at, int(told[1]), max(int(told[2]) - int(told[1]), 0))
            if told := re.fullmatch(r"(Total|Passed|Failed|Skipped)(?: tests?)?\s*:\s+(\d{1,9})", line.strip()):
                found.setdefault(told[1], int(told[2]))
                last = max(at, last)
        if "Passed" not in found or not {"Total", "Failed"} & found.keys():
            return super().closing(lines)
        passed, skipped = found["Passed"], found.get("Skipped", 0)
        failed = found.get("Failed", max(found.get("Total", 0) - passed - skipped, 0))
        return ClosingLine(last, passed, failed, skipped)


class BuildTools(Language):
    """No language, but what runs the tests of many."""

    name = "build_tools"
    rank = 60
    runners = (BuildTool(),)
    manifests = ("stack.yaml", "cabal.project", "pubspec.yaml", "Package.swift", "build.sbt", "dune-project")
    programs = frozenset(command.split()[0] for _, _, command in BuildTool.starts)


LANGUAGE = BuildTools()
