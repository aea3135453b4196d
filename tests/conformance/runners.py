"""One small suite for each test runner, in `recorded/NAME.toml`: one test that passes, one that fails, one that is left
out, and what each runner has besides. What it says is recorded there too, by `BOUGH_RECORD=1 pytest
tests/conformance/test_runners.py -k for_real`; what was recorded is read in the next run."""

import re
from functools import partial
from pathlib import Path

import msgspec

ROOT = "/w"
"""Stands for the folder of a suite in what is recorded."""
RECORDED = Path(__file__).parent / "recorded"


class Suite(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    runner: str = ""
    """The name of the file."""
    command: str
    files: dict[str, str] = {}
    outcomes: dict[str, str]
    """Every test by its id."""
    failing: str
    """One that fails and can be run alone."""
    programs: list[str]
    """That have to be installed, so that it can be run for real; `python -m x` for a module."""
    message: str = ""
    """What is said of that one."""
    packages: list[str] = []
    """From npm's index."""
    real: bool = True
    """It can be had for nothing on Linux: what is recorded was recorded from it."""
    env: dict[str, str] = {}
    output: str = ""
    report: str | None = None
    """What it wrote where `instrument` told it to; None: nothing."""

    def record(self, output: str, report: str | None) -> None:
        """Put what it says now in place of what it said."""
        path = RECORDED / f"{self.runner}.toml"
        text = path.read_text()
        for key, said in (("output", output), ("report", report)):
            if said is not None:
                assert "'''" not in said
                text, found = re.subn(rf"(?ms)^{key} = (?:'''.*?'''|'')$", partial(_put, key, said), text)
                assert found, f"add a line {key} = '' to recorded/{self.runner}.toml"
        path.write_text(text)


def _put(key: str, said: str, _: re.Match[str]) -> str:
    return f"{key} = '''\n{said}'''"


def _load(path: Path) -> Suite:
    suite = msgspec.toml.decode(path.read_bytes(), type=Suite)
    suite.runner = path.stem
    return suite


SUITES = tuple(_load(path) for path in sorted(RECORDED.glob("*.toml")))
