"""Probes: small programs that a model other than the author writes from the goal, and that bough runs.

A model's opinion never decides; an executed probe does. A probe quotes the words that demand its assertion, and bough
looks them up first. A failing probe goes to a repairing agent (bug hunter), who may contest it before a judge.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct
from msgspec.structs import replace

from bough.core.acceptance.goal_reading import is_stated
from bough.core.acceptance.judge_ruling import SHORTEST, find_quote
from bough.core.acceptance.requirements import Kind, Requirement
from bough.core.conversation import schema
from bough.core.conversation.structured_answer import Problems, parse_answer
from bough.core.conversation.text_fitting import fence_text
from bough.core.ids import slug
from bough.core.messages import Answer, ToolSpec

MOST = 12
"""The maximum number of probes of one examination, unless the goal has many requirements."""
FEWEST = 3
"""The number of words that are enough for a quote, however short they are."""
LONGEST = 8_000
"""The maximum number of characters of a probe."""
OUTPUT = 3_000
"""The number of characters that are kept of a failing probe's output."""
SCRIPT = "shell"
"""The language of cases that are shell scripts, which work in every project."""
SCRIPT_PATH = "cases/{name}.sh"
Outcome = Literal["passed", "failed", "broken"]


class Probe(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One question to the finished work: a case that uses the product as its users do."""

    name: str
    """The probe's name, unique in the run."""
    path: str
    """The path of its file in the project while it runs."""
    text: str
    says: str
    """What holds if the probe passes, in a sentence."""
    quote: str = ""
    """The words that demand what the probe asserts, from the goal or the documentation."""
    requirements: tuple[int, ...] = ()
    """Numbers of the goal's requirements that the probe is about."""
    language: str = ""
    """The language of the program; empty only in old journals, for a test for the project's own runner."""
    why: str = ""
    """Why the probe is a test for a runner; only in old journals."""


class ProbeResult(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    name: str
    outcome: Outcome
    """`broken` means that the probe did not run as a test at all, so it shows nothing."""
    output: str = ""
    """The output of a probe that did not pass."""


class Form(Struct, frozen=True):
    """How an examiner's case is written in a project."""

    language: str
    path: str
    """Path of a program, with `{name}` for its name."""
    how: str


_PROBE = schema.table(
    {
        "says": schema.text("What holds if the probe passes, in one sentence. Written first."),
        "requirement": schema.number("The number of the requirement that the probe is about."),
        "also": schema.numbers("Further requirements that the probe asserts. Usually []."),
        "quote": schema.text(
            f"The words that demand what it asserts, exactly as written in what was asked: {FEWEST} words or {SHORTEST}"
            " letters at least, or the whole requirement if it is shorter."
        ),
        "text": schema.text("The whole program; at most 40 lines."),
    },
    "says",
    "quote",
    "text",
)
_KINDS = [kind for kind in get_args(Kind) if kind != "behaviour"]
_KIND = schema.table(
    {"requirement": {"type": "integer"}, "kind": {"type": "string", "enum": _KINDS}}, "requirement", "kind"
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


class _GivenProbe(Struct, frozen=True):
    text: Annotated[str, Meta(min_length=1, max_length=LONGEST)]
    says: Annotated[str, Meta(max_length=1_000)] = ""
    quote: Annotated[str, Meta(max_length=4_000)] = ""
    requirement: int = 0
    also: tuple[int, ...] = ()


class _GivenKind(Struct, frozen=True):
    requirement: int
    kind: Kind


class _GivenExamination(Struct, frozen=True):
    probes: Annotated[tuple[_GivenProbe, ...], Meta(max_length=100)]
    kinds: Annotated[tuple[_GivenKind, ...], Meta(max_length=100)] = ()
    notes: Annotated[tuple[Annotated[str, Meta(max_length=2_000)], ...], Meta(max_length=50)] = ()


class Examination(Struct, frozen=True):
    probes: tuple[Probe, ...]
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Descriptions of the probes that nothing demands, each with the reason; they do not run."""
    kinds: dict[int, Kind] = {}
    """Kinds of the requirements that no test can show, by number."""


def count_allowed_probes(requirements: Sequence[Requirement]) -> int:
    """Return how many probes are allowed: four more than requirements, but `MOST` to twice `MOST`."""
    return max(MOST, min(len(requirements) + 4, 2 * MOST))


def read_probes(
    answer: Answer, task: str, form: Form, requirements: Sequence[Requirement], asked: str, known: int = 0
) -> Examination | Problems:
    """Read the probes of an examiner's answer. `asked`: the texts that each probe has to quote from. `known`: the
    number of probes from an earlier examination of the task."""
    aliases = {"test": "text", "code": "text", "why": "says", "tests": "probes"}
    found = parse_answer(answer, PROBE, _GivenExamination, aliases)
    if isinstance(found, str):
        return Problems((found,))
    probes: list[Probe] = []
    left_out: list[str] = []
    for given in found.probes[: count_allowed_probes(requirements)]:
        # A short requirement can be quoted whole, although so few words would not be enough in a longer text.
        if not any(find_quote(given.quote, text, FEWEST) for text in (asked, *(one.text for one in requirements))):
            why = f"its quote is too short, or not in what was asked: `{given.quote[:200]}`"
            left_out.append(f"{given.says[:200]} ({why})")
            continue
        known += 1
        fenced = re.fullmatch(r"(?s)\s*```\w*\n(.*?)\n?```\s*", given.text)
        text = (fenced[1] if fenced else given.text).rstrip() + "\n"
        made = place_case(text, form, f"{slug(task, 80).replace('-', '_')}_{known}")
        about, name = _match_requirements(given, requirements), f"{task}/probe-{known}"
        probes.append(replace(made, name=name, says=given.says, quote=given.quote, requirements=about))
    stated = {(one.number, "background") for one in requirements if is_stated(one.text)}
    named = {one.requirement: one.kind for one in found.kinds if (one.requirement, one.kind) not in stated}
    return Examination(tuple(probes), found.notes, tuple(left_out), named)


def _match_requirements(given: _GivenProbe, requirements: Sequence[Requirement]) -> tuple[int, ...]:
    """Find the numbers of a probe's requirements: the one it quotes, or else names, and those it asserts as well."""
    quoted = [one.number for one in requirements if find_quote(given.quote, one.text, FEWEST)]
    known = [one.number for one in requirements]
    numbers = quoted or known
    first = given.requirement if given.requirement in numbers else numbers[0] if quoted or len(numbers) == 1 else 0
    also = (number for number in given.also if number in known)
    return tuple(dict.fromkeys([first, *also] if first else also))


def place_case(text: str, form: Form, name: str) -> Probe:
    """Make a probe of a case, with its path and language."""
    script = re.match(r"#!.*\bsh\b", text)
    language, path = (SCRIPT, SCRIPT_PATH) if script else (form.language, form.path)
    return Probe("", path.format(name=name), text, "", language=language)


def select_failing(probes: Sequence[Probe], results: dict[str, ProbeResult]) -> tuple[Probe, ...]:
    return tuple(probe for probe in probes if probe.name in results and results[probe.name].outcome == "failed")


def render_failing_probe(probe: Probe, result: ProbeResult, ruled: str = "") -> str:
    """Render a failing probe with its text and output for the agent that repairs the work."""
    return (
        f"### Probe `{probe.name}`\n\nIt shows: {probe.says}\nWhat demands it: “{probe.quote}”{ruled}\n\n"
        f"{fence_text(probe.text.rstrip())}\n\nWhat it printed:\n\n{fence_text(result.output)}"
    )
