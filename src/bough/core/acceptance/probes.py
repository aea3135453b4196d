"""Probes: small tests that a model other than the author writes from what was asked, and that bough runs.

A model's opinion never decides; an executed probe does. A probe says which words demand what it asserts, and bough
looks those words up before it runs it. One that fails goes to a bug hunter, who may contest it; then a judge rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

from bough.core.acceptance.judge_ruling import find_quote
from bough.core.acceptance.requirements import Kind, Requirement
from bough.core.conversation import schema
from bough.core.conversation.structured_answer import Problems, parse_answer
from bough.core.conversation.text_fitting import fence_text
from bough.core.ids import slug
from bough.core.messages import Answer, ToolSpec
from bough.core.verdict.texts import find_block

MOST_CASES = 8
"""Cases of one probe."""
MOST = 12
"""Probes of one examination, unless the goal has more requirements."""
LONGEST = 8_000
"""Characters of a probe."""
OUTPUT = 3_000
"""Characters kept of a failing probe's output."""
Outcome = Literal["passed", "failed", "broken"]


class Probe(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One question to the finished work, in the project's own test framework: a probe, or one of its cases."""

    name: str
    """Unique in the run."""
    path: str
    """Where it is while it runs, and where it would be in the project."""
    text: str
    says: str
    """What it shows, in a sentence."""
    quote: str = ""
    """The words that demand it, as found in what was asked or documented."""
    requirements: tuple[int, ...] = ()
    """Numbers of the goal's requirements it is about."""
    case: str = ""
    """The name of this case, where a probe has several; each is run, contested and dropped on its own."""

    @property
    def group(self) -> str:
        """The probe that it is a case of."""
        return self.name.removesuffix(f"/{self.case}") if self.case else self.name


class Probed(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The result of running a probe."""

    name: str
    outcome: Outcome
    """`broken`: it did not run as a test at all, so it shows nothing."""
    output: str = ""
    """The output of a probe that did not pass."""


class Form(Struct, frozen=True):
    """How a probe is written in a project: by the framework of its check."""

    framework: str
    """The name of the framework as the examiner reads it."""
    path: str
    """Where a probe goes; `{name}` is its name."""
    how: str
    """What a probe has to look like."""
    folder: bool = False
    """The examiner chooses the folder it goes into (the package that it tests)."""
    case: str = ""
    """How one of several tests in a probe begins, as a pattern; empty: a probe has one."""
    by_name: bool = False
    """The runner calls one test of a file by its name; otherwise each gets a file of its own."""


_PROBE = schema.table(
    {
        "says": schema.text("What holds if it passes, in one sentence. Written first."),
        "requirement": schema.number("The number of the requirement it is about."),
        "also": schema.numbers("Further requirements of which each is asserted by a case. Usually []."),
        "quote": schema.text(
            "The words that demand it, exactly as written in what was asked: three or more, or the whole requirement "
            "if it is shorter."
        ),
        "folder": schema.text("Only if the form asks for it: the folder of the package."),
        "text": schema.text("The whole file: its cases, one to four tests; at most 60 lines."),
    },
    "says",
    "quote",
    "text",
)
_KIND = schema.table(
    {
        "requirement": {"type": "integer"},
        "kind": {"type": "string", "enum": [kind for kind in get_args(Kind) if kind != "behaviour"]},
    },
    "requirement",
    "kind",
)
PROBE = ToolSpec(
    name="probe",
    description="Give all probes, in one call.",
    parameters=schema.table(
        {
            "probes": schema.tables("The likeliest to fail first.", _PROBE),
            "kinds": schema.tables(
                "Only requirements that ask for nothing that a test could see change: background (asks for nothing), "
                "document (only documentation or comments), coverage (only tests), restructure (the code's form), "
                "speed (the same, faster), upgrade (another version), unchanged (something must stay as it is). "
                "Usually [].",
                _KIND,
            ),
            "notes": schema.texts("What a person should know and no probe can show. Usually []."),
        },
        "probes",
    ),
    writes=False,
)
LOOK = ToolSpec(
    name="look",
    description="See whole files before you write probes. It costs a question: only if signatures are not enough.",
    parameters=schema.table({"paths": schema.texts("At most 4 files.")}, "paths"),
    writes=False,
)


class _GivenProbe(Struct, frozen=True):
    text: Annotated[str, Meta(min_length=1, max_length=LONGEST)]
    says: Annotated[str, Meta(max_length=1_000)] = ""
    quote: Annotated[str, Meta(max_length=4_000)] = ""
    folder: Annotated[str, Meta(max_length=300)] = ""
    requirement: int = 0
    also: tuple[int, ...] = ()


class _GivenKind(Struct, frozen=True):
    requirement: int
    kind: Kind


class _Answered(Struct, frozen=True):
    probes: Annotated[tuple[_GivenProbe, ...], Meta(max_length=100)]
    kinds: Annotated[tuple[_GivenKind, ...], Meta(max_length=100)] = ()
    notes: Annotated[tuple[Annotated[str, Meta(max_length=2_000)], ...], Meta(max_length=50)] = ()


class _Asked(Struct, frozen=True):
    paths: Annotated[tuple[Annotated[str, Meta(max_length=500)], ...], Meta(max_length=50)]


class Examination(Struct, frozen=True):
    """An examiner's answer, parsed."""

    probes: tuple[Probe, ...]
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Probes that nothing demands, each with why: they do not run."""
    kinds: dict[int, Kind] = {}
    """Requirements that ask for nothing that a test could see, by number."""


def count_allowed_probes(requirements: Sequence[Requirement]) -> int:
    """Each requirement can have a probe of its own, and some can have two."""
    return max(MOST, min(len(requirements) + 4, 2 * MOST))


def list_wanted_files(answer: Answer) -> tuple[str, ...]:
    """The files that the examiner asks to see; empty: it has answered."""
    if not any(call.name == LOOK.name for call in answer.calls):
        return ()
    found = parse_answer(answer, LOOK, _Asked, {"files": "paths", "path": "paths"})
    return () if isinstance(found, str) else found.paths[:4]


def read_probes(
    answer: Answer, task: str, form: Form, requirements: Sequence[Requirement], asked: str, known: int = 0
) -> Examination | Problems:
    """The probes of an answer. `asked`: all that was asked or documented, where each probe's quote has to be. `known`:
    how many probes an earlier examination of the task has numbered."""
    found = parse_answer(answer, PROBE, _Answered, {"test": "text", "code": "text", "why": "says", "tests": "probes"})
    if isinstance(found, str):
        return Problems((found,))
    probes: list[Probe] = []
    left_out: list[str] = []
    for given in found.probes[: count_allowed_probes(requirements)]:
        # A short requirement can be quoted whole, although its words alone would say nothing in a longer text.
        if not any(find_quote(given.quote, text) for text in (asked, *(one.text for one in requirements))):
            left_out.append(
                f"{given.says[:200]} (its quote is too short, or not in what was asked: `{given.quote[:200]}`)"
            )
            continue
        known += 1
        folder = _normalize_folder(given.folder) if form.folder else ""
        stem = f"{slug(task, 80).replace('-', '_')}_{known}"
        about = _match_requirements(given, requirements)
        fenced = re.fullmatch(r"(?s)\s*```\w*\n(.*?)\n?```\s*", given.text)
        for case, text in split_cases((fenced[1] if fenced else given.text).rstrip() + "\n", form.case, form.by_name):
            own = case and not form.by_name
            path = form.path.format(name=f"{stem}_{case.replace('-', '_')}" if own else stem)
            name = f"{task}/probe-{known}/{case}" if case else f"{task}/probe-{known}"
            path = f"{folder}/{path}" if folder else path
            probes.append(Probe(name, path, text, given.says, given.quote, about, case))
    named: dict[int, Kind] = {one.requirement: one.kind for one in found.kinds}
    return Examination(tuple(probes), found.notes, tuple(left_out), named)


def _match_requirements(given: _GivenProbe, requirements: Sequence[Requirement]) -> tuple[int, ...]:
    """The requirements that a probe is about: the one its quote is in, otherwise the one it names; and those whose
    assertion it says it has, too."""
    quoted = [one.number for one in requirements if find_quote(given.quote, one.text)]
    known = [one.number for one in requirements]
    numbers = quoted or known
    first = given.requirement if given.requirement in numbers else numbers[0] if quoted or len(numbers) == 1 else 0
    also = (number for number in given.also if number in known)
    return tuple(dict.fromkeys([first, *also] if first else also))


def _normalize_folder(folder: str) -> str:
    parts = [part for part in folder.strip().strip("/").split("/") if part not in ("", ".")]
    return "" if ".." in parts or ".git" in parts else "/".join(parts)


def select_failing(probes: Sequence[Probe], results: dict[str, Probed]) -> tuple[Probe, ...]:
    return tuple(probe for probe in probes if probe.name in results and results[probe.name].outcome == "failed")


def render_failing_probe(probe: Probe, result: Probed, ruled: str = "") -> str:
    """A failing probe with its text and output, for the agent that repairs the work."""
    return (
        f"### Probe `{probe.name}`\n\nIt shows: {probe.says}\nWhat demands it: “{probe.quote}”{ruled}\n\n"
        f"{fence_text(probe.text.rstrip())}\n\nWhat it printed:\n\n{fence_text(result.output)}"
    )


# ── the cases of a probe: each of its tests runs alone, so that a wrong one is dropped alone ───


def split_cases(text: str, begins: str, by_name: bool = False) -> list[tuple[str, str]]:
    """The name and the file of each case. A file with one test is one case without a name. `begins`: how a test begins
    there, as a pattern; empty: a file cannot be taken apart. `by_name`: it stays whole, and its tests are called by
    their names."""
    if by_name:
        return [(name, text) for name in dict.fromkeys(re.findall(begins, text))] or [("", text)]
    lines = text.splitlines(keepends=True)
    starts = [(at, slug(found[1], 40)) for at, line in enumerate(lines) if begins and (found := re.match(begins, line))]
    if not 1 < len(starts) <= MOST_CASES or len({name for _, name in starts}) < len(starts):
        return [("", text)]
    spans = [find_block(lines, at) for at, _ in starts]
    files = []
    for (_, name), own in zip(starts, spans, strict=True):
        others = {at for span in spans if span != own for at in range(*span)}
        files.append((name, "".join(line for at, line in enumerate(lines) if at not in others).rstrip() + "\n"))
    return files
