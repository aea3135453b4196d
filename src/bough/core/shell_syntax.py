"""The one reader of command lines: which programs a line runs, through wrappers and scripts, and where arguments go.

It is no shell: syntax that it does not parse (substitutions, here-documents, unbalanced quotes) makes the whole line
opaque: nothing is recognised in it and nothing is added to it."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_ENDS = frozenset("&|;()\n")
"""Characters that end a simple command."""
_REDIRECTS = re.compile(r"[<>][<>&|]*")
_STOPS = _ENDS | frozenset("<> \t")
_PIECE = re.compile(r"""(?s)'([^']*)'|"((?:\\.|\$(?!\()|[^"`$\\])*)"|\\(.?)|(\$(?!\()|[^'"`$\\])""")
"""A part of a word: in single or double quotes, an escaped character, or a plain one; nothing with a substitution, and
no unclosed quote."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_LIVE = frozenset("$*?[{")
"""Characters that a shell interprets within a word unless quoted."""
_SHELL_ONLY = frozenset(
    """. : ! [[ alias case cd declare eval exec exit export for function if local let popd pushd read set shopt source
    time trap type ulimit umask unset until wait while""".split()  # noqa: SIM905
)
"""First words that only a shell understands."""
_WRAPPERS = frozenset(
    """env time nice nohup command exec stdbuf timeout xvfb-run cross-env dotenv
    uv poetry pipenv pdm hatch rye pixi conda mamba npx pnpx bunx yarn pnpm bun bundle npm""".split()  # noqa: SIM905
)
"""Programs that run the program named among their arguments."""
_VALUED = frozenset(
    "--with --extra --group --python --project --directory --package --env-file -n -p -E".split()  # noqa: SIM905
)
"""Options of wrappers whose value is the next word."""
_MANAGERS = frozenset({"npm", "yarn", "pnpm", "bun"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh"})


class Word(NamedTuple):
    text: str
    """The text of the word without its quotes."""
    start: int
    end: int
    """The offset in the line at which the word ends."""
    live: bool = False
    """Whether the word contains something that a shell would expand: a variable, a pattern, a home folder."""


Part = tuple[Word, ...]
"""One simple command of a line, without its redirections and without the variables set before it."""


@lru_cache(maxsize=8_192)
def split_commands(line: str) -> tuple[Part, ...]:
    """Split a line into its simple commands, in order; none if the line is opaque."""
    found: list[Part] = []
    words: list[Word] = []
    at, skip = 0, False
    while at < len(line):
        char = line[at]
        if char in _ENDS:
            found.append(_strip_assignments(words))
            words, skip, at = [], False, at + 1
        elif char in " \t":
            at += 1
        elif char == "#":
            end = line.find("\n", at)
            at = len(line) if end < 0 else end
        elif redirect := _REDIRECTS.match(line, at):
            if line.startswith("<<", at):
                return ()
            # `2>&1` and `>file`: neither the descriptor before it nor the file after it is a word of the command.
            if words and words[-1].end == at and words[-1].text.isdigit():
                words.pop()
            at, skip = redirect.end(), True
        else:
            word = _read_word(line, at)
            if word is None:
                return ()
            if not skip:
                words.append(word)
            at, skip = word.end, False
    found.append(_strip_assignments(words))
    return tuple(part for part in found if part)


def _strip_assignments(words: list[Word]) -> Part:
    """Return the words after the variables set before a command. `env A=1 …` is another way to set them."""
    while words and _ASSIGNMENT.match(words[1 if words[0].text == "env" and words[1:] else 0].text):
        words = words[1:]
    return tuple(words)


def _read_word(line: str, start: int) -> Word | None:
    """Read the word that begins at `start`; None if it contains something that is not parsed here."""
    text, at, live = "", start, line[start] == "~"
    while at < len(line) and line[at] not in _STOPS:
        piece = _PIECE.match(line, at)
        if piece is None:
            return None
        single, double, escaped, plain = piece.groups()
        if double is not None:
            text += re.sub(r'\\(["\\$`])', r"\1", double)
            live |= bool(re.search(r"(?<!\\)\$", double))
        elif escaped is not None:  # A backslash at the end of a line escapes nothing.
            text += escaped
            live |= escaped in ("", "\n")
        else:
            text += single or plain or ""
            live |= plain in _LIVE
        at = piece.end()
    return Word(text, start, at, live)


def split_argv(line: str) -> list[str] | None:
    """Split a line that is one plain command into words; None if it needs a shell: operators, redirections, variables,
    patterns, built-ins."""
    found = split_commands(line)
    if len(found) != 1 or found[0][0].text in _SHELL_ONLY or any(word.live for word in found[0]):
        return None
    ends = [0, *(word.end for word in found[0])]
    starts = [*(word.start for word in found[0]), len(line)]
    between = "".join(line[end:start] for end, start in zip(ends, starts, strict=True))
    return [word.text for word in found[0]] if not between.strip(" \t") else None


def find_programs(part: Part) -> Iterator[int]:
    """Find the words of a command that may name the program it finally runs: the first, or one after wrappers (`poetry
    run`, `npx`, `env A=1`). None if a package manager runs a script (`npm test`), whose programs are unknown here."""
    first = get_program_name(part, 0)
    if first in _MANAGERS and len(part) > 1 and not _runs_a_program(first, part):
        return
    for at in range(len(part) if first in _WRAPPERS else 1):
        if not at or part[at - 1].text not in _VALUED:
            yield at


def _runs_a_program(manager: str, part: Part) -> bool:
    """Whether a package manager is asked to run a program (`yarn jest`) and not a script (`yarn test`)."""
    words = [word.text for word in part]
    if manager == "npm":
        return words[1] in ("exec", "x") and "--" in words
    return words[1] not in ("test", "t", "run", "run-script")


class Script(NamedTuple):
    """A script of package.json in the command of a package manager."""

    manager: str
    name: str
    part: Part

    @property
    def separator(self) -> str:
        """Return the separator that must precede arguments for the script itself; empty if none is needed."""
        return "-- " if self.manager == "npm" and all(word.text != "--" for word in self.part) else ""


def find_scripts(line: str) -> list[Script]:
    """Find the scripts of package.json that a line runs: `npm test`, `yarn run unit`."""
    found = []
    for part in split_commands(line):
        manager = get_program_name(part, 0)
        if manager in _MANAGERS and len(part) > 1 and not _runs_a_program(manager, part):
            name = next((word.text for word in part[1:] if word.text not in ("run", "run-script")), "")
            found.append(Script(manager, "test" if name == "t" else name, part))
    return found


def find_inner_line(part: Part) -> str:
    """Find the line that a command passes to another shell (`bash -c '…'`); empty if it passes none."""
    is_shell = get_program_name(part, 0) in _SHELLS and len(part) > 2 and "c" in part[1].text
    return part[2].text if is_shell else ""


def find_folder(line: str) -> str:
    """Find the folder that a line changes to before anything else (`cd web && …`); empty if it changes to none."""
    first = [word.text for word in next(iter(split_commands(line)), ())]
    return first[1] if len(first) == 2 and first[0] == "cd" else ""


def find_subcommand(part: Part, at: int, *names: str) -> int | None:
    """Find the position of the subcommand of the program at `at`, after its options: `cargo +nightly -q test`."""
    for index in range(at + 1, len(part)):
        word = part[index].text
        if word in names:
            return index
        if not word.startswith(("-", "+")) and part[index - 1].text not in ("-C", "--config", "-Z"):
            break
    return None


def get_program_name(part: Part, at: int) -> str:
    """Return a word as the name of a program, without its folder."""
    return get_word(part, at).rpartition("/")[2]


def get_word(part: Part, at: int) -> str:
    """Return the text of a word; empty if there is no word at `at`."""
    return part[at].text if at < len(part) else ""


def insert_arguments(line: str, at: int, arguments: str) -> str:
    """Insert `arguments` (already quoted) into a line, after the word that ends at `at`."""
    return f"{line[:at]} {arguments}{line[at:]}"
