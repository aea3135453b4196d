"""The tool `search`, which finds lines with ripgrep or, where that is not installed, with `grep.py`, which prints the
same. Either runs as a command in the sandbox, so that it can be killed when a pattern takes forever.
"""

import re
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from bough.adapters.tools import paths
from bough.adapters.tools.output_text import cut_middle, to_plain_text
from bough.adapters.tools.tool import Bench, Refusal, Tool
from bough.ports import ToolResult, WorkFolder

_TIMEOUT = 60.0
_KEPT = 2_000_000
"""The most bytes of matches that are read."""
_COLUMNS = "500"
"""The most characters that are shown of a line."""
_LINE = re.compile(r"(.*?)\0(\d+)([:-])(.*)")


class Search(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[
        str, Meta(description="A regular expression, matched line by line; (?i) ignores case.", min_length=1)
    ]
    path: Annotated[str, Meta(description="The file or folder to search.")] = "."
    glob: Annotated[str, Meta(description="Only files whose name or path matches, e.g. *.py or src/**/*.ts.")] = ""
    context: Annotated[int, Meta(description="Lines to show before and after each match.", ge=0, le=20)] = 0
    limit: Annotated[int, Meta(description="How many matches to show.", ge=1, le=1000)] = 100


def make_search(ripgrep: str | None) -> Tool:
    """Make the tool `search`. `ripgrep`: the path of the program; None: use `grep.py`."""
    return Tool(
        name="search",
        description=(
            "Find lines by a regular expression, in files that git does not ignore (hidden ones too, binary ones not). "
            "Each match is shown as path:line:text."
        ),
        arguments=Search,
        example='{"pattern": "def total\\\\(", "path": "src", "glob": "*.py", "context": 2}',
        act=partial(search, ripgrep),
    )


def _make_argv(ripgrep: str | None, arguments: Search, path: str, workspace: WorkFolder) -> list[str]:
    if ripgrep is None:
        own = [sys.executable, "-I", "-S", "-X", "utf8", str(Path(__file__).with_name("grep.py"))]
        return [*own, arguments.pattern, path, arguments.glob, str(arguments.context), _COLUMNS]
    options = ["--no-config", "--no-messages", "--hidden", "--crlf", "--sort=path", "--no-ignore-dot"]
    # Without a repository here, ripgrep would obey bough's `.gitignore` above the workspace, which ignores everything.
    options += [] if (workspace.root / ".git").exists() else ["--no-ignore-parent", "--no-require-git"]
    options += ["--with-filename", "--no-heading", "--line-number", "--null", "--color=never"]
    options += ["--max-columns", _COLUMNS, "--max-columns-preview", "--context", str(arguments.context)]
    globs = [f"--glob={arguments.glob}"] if arguments.glob else []
    return [ripgrep, *options, *globs, "--glob=!.git", "--regexp", arguments.pattern, "--", path]


async def search(ripgrep: str | None, arguments: Search, bench: Bench) -> ToolResult:
    if "\0" in arguments.pattern or "\0" in arguments.glob:
        raise Refusal("`pattern` and `glob` must not contain a NUL character.", fault=True)
    place = paths.resolve_path(bench.workspace, arguments.path)
    what = place.beneath.kind
    if not what:
        raise Refusal(f"There is no `{place.shown}` to search.{paths.suggest_paths(place, bench.workspace)}")
    if what not in ("file", "folder"):
        raise Refusal(f"`{place.shown}` is a {what}: only files and folders can be searched.")
    argv = _make_argv(ripgrep, arguments, place.shown, bench.workspace)
    finished = await bench.sandbox.run(argv, workspace=bench.workspace, timeout=_TIMEOUT, limit=_KEPT)
    text = finished.output.decode("utf-8", "replace")
    lines, matches = _select_matches(text, arguments.limit)
    if not matches:
        if finished.killed:
            return ToolResult(
                f"The search was killed {finished.killed}: use a simpler pattern or a smaller `path`.", ok=False
            )
        if finished.exit_status == 1:
            only = f" in files like {arguments.glob}" if arguments.glob else ""
            return ToolResult(f"No line in {place.shown} matches `{arguments.pattern}`{only}.")
        said, _ = cut_middle(to_plain_text(text).strip(), 2_000)
        return ToolResult(f"The search failed: {said}", ok=False)
    count = f"{matches:,} match{'es' if matches > 1 else ''}"
    if finished.killed:
        count = f"at least {count}; the search was killed {finished.killed}"
    if matches > arguments.limit:
        count = f"the first {arguments.limit:,} of {count}: narrow `pattern`, `path` or `glob`"
    listed, cut = cut_middle("\n".join(lines), bench.rules.shown - 200)
    return ToolResult(f"{listed}\n({count})", whole="\n".join(lines).encode() if cut else None)


def _select_matches(output: str, limit: int) -> tuple[list[str], int]:
    """Return the lines to show for the first `limit` matches, and how many matches there are in all."""
    lines: list[str] = []
    matches, full = 0, False
    for line in (ended.rstrip("\r") for ended in output.split("\n")):
        found = _LINE.fullmatch(line)
        if found is None:
            full = full or (line == "--" and matches >= limit)
            if line == "--" and not full:
                lines.append(line)
            continue
        path, number, mark, text = found.groups()
        matches += mark == ":"
        if matches <= limit and not full:
            lines.append(f"{path.removeprefix('./')}{mark}{number}{mark}{to_plain_text(text)}")
    return lines, matches
