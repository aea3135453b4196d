"""A substitute for ripgrep, run as a separate program: `grep.py PATTERN PATH GLOB CONTEXT COLUMNS`.

Prints what `rg --null --line-number --with-filename` would, with the same exit statuses: 0 if something was found,
1 if not, 2 for a wrong pattern. Imports only the standard library, because bough cannot be imported where it runs.
"""

import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_LOOKED_AT = 8_192
"""How many bytes at the beginning of a file are searched for a NUL byte, which marks it as binary."""
_BIGGEST = 200_000_000
"""The size in bytes of the largest file that is searched."""


def main(argv: list[str]) -> int:
    pattern, path, glob, context, columns = argv
    try:
        regex = re.compile(pattern)
        fits = re.compile(make_glob_regex(glob.removeprefix("!")))
    except (re.error, OverflowError, RecursionError) as error:
        print_line(f"the pattern is not a valid Python regular expression: {error}\n")
        return 2
    found = False
    for name in sorted(list_files(path)):
        if glob and bool(fits.fullmatch(name if "/" in glob else name.rpartition("/")[2])) is glob.startswith("!"):
            continue
        for apart, line in find_matches(name, regex, int(context)):
            if apart and found and int(context):
                print_line("--\n")
            omitted = " [... omitted end of long line]" if len(line) > int(columns) else ""
            print_line(f"{name}\0{line[: int(columns)]}{omitted}\n")
            found = True
    return 0 if found else 1


def print_line(text: str) -> None:
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))


def list_files(path: str) -> list[str]:
    """List the files to search: those that git does not ignore or, if git lists none, all files below the path."""
    if not Path(path).is_dir():
        return [path]
    if not (found := list_git_files(path)):
        for folder, folders, names in os.walk(path):
            folders[:] = [name for name in folders if name != ".git"]
            found += [str(Path(folder, name)) for name in names]
    return [name for name in found if is_file(name)]


def list_git_files(path: str) -> list[str]:
    listing = ["git", "-c", "core.fsmonitor=false", "ls-files", "-z", "-c", "-o", "--exclude-standard", "--", path]
    try:
        done = subprocess.run(listing, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError:
        return []
    return list({os.fsdecode(name) for name in done.stdout.split(b"\0") if name}) if done.returncode == 0 else []


def is_file(name: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(name).st_mode)
    except OSError:
        return False


def find_matches(name: str, regex: re.Pattern[str], context: int) -> Iterator[tuple[bool, str]]:
    """Yield whether a gap precedes a line, and the line to print, numbered and marked: `:` a match, `-` context."""
    try:
        raw = Path(name).read_bytes() if Path(name).stat().st_size <= _BIGGEST else b""
    except OSError:
        return
    if b"\0" in raw[:_LOOKED_AT]:
        return
    lines = raw.decode("utf-8", "surrogateescape").split("\n")
    if not lines[-1]:
        lines.pop()
    hits = [number for number, line in enumerate(lines) if regex.search(line.removesuffix("\r"))]
    wanted = set(hits)
    shown = -1
    for hit in hits:
        for number in range(max(hit - context, shown + 1), min(hit + context + 1, len(lines))):
            mark = ":" if number in wanted else "-"
            yield shown < 0 or number > shown + 1, f"{number + 1}{mark}{lines[number]}"
            shown = number


def make_glob_regex(glob: str) -> str:
    """Translate a glob as ripgrep takes it (with `**` and `{a,b}`) into a regular expression."""
    pieces = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", ",": "|"}
    tokens = re.findall(r"\*\*/|/\*\*|\*\*|\[!?\]?[^\]]*\]|.", glob.removeprefix("/"), re.DOTALL)
    depth = 0
    regex = ""
    for token in tokens:
        depth += (token == "{") - (token == "}" and depth > 0)
        if token.startswith("[") and len(token) > 1:
            regex += "[" + re.sub(r"^!", "^", token[1:-1]).replace("\\", "\\\\") + "]"
        elif token == "," and not depth:
            regex += ","
        else:
            regex += pieces.get(token, re.escape(token))
    return regex


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
