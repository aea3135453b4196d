"""How soon, and how rightly, does bough see that an agent is stuck?

    python bench/stuck.py CORPUS.jsonl[.xz] --out FIRES.jsonl

Runs the detector of the engine (`bough.core.stuck.patterns.observe_round`) over recorded runs of real agents and writes
the steps at which
it raises a signal, one object a line: {"id": run, "fires": [step, …]}. It reads the steps in order and starts afresh
after a signal, as the engine does. A line of the corpus is one run: `id` and `steps`, each with `turn` (steps of one
turn were issued together), `thought`, `tool`, `args`, `args_sha`, `observation`, `obs_sha`, `error`.
"""

import argparse
import json
import lzma
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from bough.core.stuck.patterns import StuckMemory, observe_round, reset_memory
from bough.core.stuck.signals import Act, StuckRules, Turn

Run = dict[str, Any]
Step = dict[str, Any]

SHELLS = {"bash", "execute_bash", "shell", "run_in_terminal"}
PEOPLE = {"message", "user_turn"}
"""A person answered: whatever was going on, the agent knows something new."""
WRITES = re.compile(r"(?i)edit|write|create|insert|replace|delete|patch|append")
LOOKS = re.compile(r"(?i)^(view|todowrite|read)")
SHELL_WRITES = re.compile(
    r"sed -i|perl -\S*i|>\s*[\w./~\"'$]|<<|\b(rm|mv|cp|mkdir|touch|tee|patch|ln|chmod|unzip|tar|make)\b"
    r"|git (checkout|apply|stash|reset|commit|add|restore|revert)|(pip|npm|apt|apt-get|conda|yarn) (i|install|add)"
)


def act(step: Step) -> Act:
    """A recorded step as the engine would show it. No tree is known, so writes are told from the names of things."""
    shell = step["tool"].lower() in SHELLS
    arguments = _text(step["args"])
    command = step["args"].get("command") if isinstance(step["args"], dict) else None
    writes = _shell_writes(command) if shell else _tool_writes(step["tool"], command)
    return Act(
        tool="bash" if shell else step["tool"],
        arguments=arguments + (step["args_sha"] if _is_cut(arguments) else ""),
        result=_result(step, shell),
        ok=not step["error"],
        writes=writes,
    )


def _text(args: object) -> str:
    return args if isinstance(args, str) else json.dumps(args, ensure_ascii=False, sort_keys=True)


def _is_cut(text: str) -> bool:
    return " cut]…" in text


def _result(step: Step, shell: bool) -> str:
    """A long result has no middle in the corpus: its hash stands for it, unless it is a program's volatile output."""
    result: str = step["observation"] or ""
    runs = shell or step["tool"] in ("validate", "run_tests")
    return result if runs or not _is_cut(result) else f"{result}\n[{step['obs_sha']}]"


def _shell_writes(command: object) -> bool:
    return isinstance(command, str) and SHELL_WRITES.search(command) is not None


def _tool_writes(tool: str, command: object) -> bool:
    if isinstance(command, str) and LOOKS.match(command):
        return False
    return WRITES.search(tool) is not None and not LOOKS.match(tool)


def turns(run: Run) -> Iterator[tuple[int, Turn | None]]:
    """The rounds of a run with the step at which each ends; None where a person spoke."""
    end = -1
    for _, group in groupby(run["steps"], key=lambda step: step["turn"]):
        steps = list(group)
        end += len(steps)
        if any(step["tool"] in PEOPLE for step in steps):
            yield end, None
            continue
        acts = tuple(act(step) for step in steps if step["tool"] != "none")
        yield end, Turn(" ".join(step["thought"] or "" for step in steps), acts)


def fires(run: Run, rules: StuckRules, patterns: Counter[str]) -> list[int]:
    """The steps at which a signal is raised."""
    memory, raised = StuckMemory(), []
    for end, turn in turns(run):
        if turn is None:
            memory = reset_memory(memory)
            continue
        memory, signal = observe_round(memory, turn, rules)
        if signal is not None:
            patterns[signal.pattern] += 1
            raised.append(end)
            memory = reset_memory(memory)
    return raised


def read(path: Path) -> Iterator[Run]:
    with lzma.open(path, "rt") if path.suffix == ".xz" else path.open() as lines:
        yield from map(json.loads, lines)


def measure(runs: Iterable[Run], out: Path, rules: StuckRules) -> str:
    patterns: Counter[str] = Counter()
    steps, count, seconds = 0, 0, 0.0
    with out.open("w") as file:
        for run in runs:
            started = time.perf_counter()
            raised = fires(run, rules, patterns)
            seconds += time.perf_counter() - started
            steps, count = steps + len(run["steps"]), count + 1
            if raised:
                file.write(json.dumps({"id": run["id"], "fires": raised}) + "\n")
    found = ", ".join(f"{pattern} {number}" for pattern, number in patterns.most_common()) or "none"
    return f"{count} runs, {steps} steps, {1e6 * seconds / max(steps, 1):.0f} µs a step; signals: {found}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Run bough's stuck detector over recorded runs.")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="where the fires go, one run a line")
    options = parser.parse_args()
    print(measure(read(options.corpus), options.out, StuckRules()))


if __name__ == "__main__":
    main()
