"""The scanner against the standard library's reader, on documents of every shape."""

import json
import tomllib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bough.core.workflow.problems import KeyPath, Problems, Source, find_offsets

KEYS = st.sampled_from(["a", "b", "steps", "x-1", "with space", "a.b", "é", '"', "1"])
COMMENT = st.sampled_from(["", " # a = [1", ' # """', "   ", "\t# ]] }} '''"])


def key(name: str) -> str:
    return name if name.replace("-", "").isalnum() and name.isascii() else json.dumps(name, ensure_ascii=False)


SCALARS = st.sampled_from(
    [
        *("1", "-0x1f", "1_000", "3.5e2", "nan", "true", "1979-05-27T07:32:00Z", "1979-05-27 07:32:00", "07:32:00"),
        *('"a"', '"a # b"', "'it = [x]'", '"\\"]\\u00e9"', '""', "''", '"{x}"'),
        *('"""\nfirst\n"second" \\"""\nkey = 1\n[steps]\n"""', "'''\n''a''\n[[b]]'''", '"""x""""', "''''x'''''"),
    ]
)
GAPS = st.sampled_from(["", " ", "\n", "\n  # ], } \n"])


def arrays(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def write(items: list[tuple[str, str, str]], last: bool) -> str:
        inner = ",".join(f"{before}{value}{after}" for before, value, after in items)
        return f"[{inner}{',' if last and items else ''}]"

    return st.builds(write, st.lists(st.tuples(GAPS, values, GAPS), max_size=3), st.booleans())


def tables(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def write(items: dict[str, str]) -> str:
        return "{" + ", ".join(f"{key(name)} = {value}" for name, value in items.items()) + "}"

    return st.builds(write, st.dictionaries(KEYS, values, max_size=3))


VALUES = st.recursive(SCALARS, lambda inner: arrays(inner) | tables(inner), max_leaves=6)
PAIR = st.builds(
    lambda names, value, comment: ".".join(map(key, names)) + f" = {value}{comment}",
    st.lists(KEYS, min_size=1, max_size=3),
    VALUES,
    COMMENT,
)
HEADER = st.builds(
    lambda names, several, comment: ("[[{}]]" if several else "[ {} ]").format(" . ".join(map(key, names))) + comment,
    st.lists(KEYS, min_size=1, max_size=3),
    st.booleans(),
    COMMENT,
)
LINES = st.lists(PAIR | HEADER | st.sampled_from(["", "  # [a]", "\t"]), max_size=12)


def accepted(lines: list[str], newline: str) -> str:
    """As many of the lines as make a document: one that would break it is left out."""
    kept: list[str] = []
    for line in lines:
        try:
            tomllib.loads("\n".join([*kept, line]))
        except tomllib.TOMLDecodeError:
            continue
        kept.append(line)
    return newline.join(kept)


def paths(value: Any, at: KeyPath = ()) -> set[KeyPath]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {at, *(path for name, each in inner for path in paths(each, (*at, name)))}


@settings(max_examples=100, deadline=None)
@given(LINES, st.sampled_from(["\n", "\r\n"]))
def test_it_finds_the_keys_that_the_reader_finds(lines: list[str], newline: str) -> None:
    text = accepted(lines, newline)
    offsets = find_offsets(text)
    assert set(offsets) == paths(tomllib.loads(text))
    for path, offset in offsets.items():
        assert offset == 0 or text[offset - 1] == "\n"
        if path and isinstance(path[-1], str):
            assert key(path[-1]) in text[offset:], path


def find_line(text: str, path: KeyPath, needle: str = "") -> int:
    problems: Problems = {}
    Source("w.toml", text, problems).wrong(path, "It is wrong.", needle)
    (problem,) = problems
    return problem.line


def test_lines() -> None:
    text = '''\
name = "x"

[inputs]
issue = { type = "string" }

[[steps]]
name = "a"
action = """
One
{two}
"""
needs = [
    "b",
    "c",
]
[[steps]]
[[steps.steps]]
name = "d"
[steps.steps.action]
run = "x"
'''
    for path, line in {
        ("name",): 1,
        ("inputs",): 3,
        ("inputs", "issue", "type"): 4,
        ("steps", 0): 6,
        ("steps", 0, "action"): 8,
        ("steps", 0, "needs", 1): 12,
        ("steps", 1): 16,
        ("steps", 1, "steps", 0, "name"): 18,
        ("steps", 1, "steps", 0, "action", "run"): 20,
        ("steps", 1, "steps", 0, "nowhere", "at all"): 17,
        ("nothing",): 1,
    }.items():
        assert find_line(text, path) == line, path
    assert find_line(text, ("steps", 0, "action"), "{two}") == 10
    assert find_line(text, ("steps", 0, "action"), "{nowhere}") == 8
    assert find_line('steps = [\n  { name = "a" },\n  { naem = "b" },\n]', ("steps", 1, "naem")) == 3


@settings(max_examples=80, deadline=None)
@given(st.text(st.sampled_from("ab=.[]{}\"'#,\\\n 1"), max_size=60))
def test_whatever_the_reader_takes_has_a_place(text: str) -> None:
    assert find_line(accepted(text.split("\n"), "\n"), ("a", 0, "b")) >= 1
