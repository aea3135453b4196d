"""One piece of work with bugs, carried out by bough itself from beginning to end.

The author is a script that writes the work and its tests; the bug hunter is one that knows the right version, and
contests whatever still fails with it. The examiner and the judge are whoever answers at the endpoint.
"""

import asyncio
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from wire import Document, Wire, calling

from bough import app
from bough.core import events as e
from bough.core.acceptance.probes import Probe
from bough.core.acceptance.verdict import Check
from bough.core.planning.plan import build_goal_step
from bough.core.verdict.case_programs import make_command
from planted.works import Variant, laid_out

_ASKED: dict[Path, threading.Lock] = defaultdict(threading.Lock)
Ask = Callable[[Document], Document]
"""From a request for chat completions to the message that answers it."""
CHECK = f"{sys.executable} -m pytest -q -p no:hypothesispytest"
"""That plugin, where it is installed, takes longer to load than all of the tests take."""
SETTINGS = """\
[acceptance]
examine = "always"

[ladder]
rungs = ["give_up"]

[limits]
model_timeout = 36000.0
"""


def forwarded(base_url: str, model: str, key: str, answers: Path) -> Ask:
    """Somebody at an endpoint answers. What was answered is kept: the same request is not asked twice."""

    def ask(request: Document) -> Document:
        kept = answers / f"{name_of(request)}.json"
        with _ASKED[kept]:  # Variants of one work that are tried at once ask the same.
            if not kept.exists():
                message = over_the_wire(request)
                answers.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(message))
        answer: Document = json.loads(kept.read_text())
        return answer

    def over_the_wire(request: Document) -> Document:
        body = {name: value for name, value in request.items() if name not in ("stream", "stream_options")}
        headers = {"content-type": "application/json", "authorization": f"Bearer {key or 'none'}"}
        data = json.dumps(body | {"model": model}).encode()
        question = urllib.request.Request(f"{base_url.rstrip('/')}/chat/completions", data, headers)
        with urllib.request.urlopen(question, timeout=36_000) as answer:
            message: Document = json.load(answer)["choices"][0]["message"]
            return message

    return ask


def name_of(request: Document) -> str:
    """The same for the same question."""
    asked = json.dumps([request["messages"], request.get("tools")], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()[:24]


class Stage:
    """Whom bough talks to: it plays the engineers and hands examiners and judges on."""

    def __init__(self, variant: Variant, ask: Ask) -> None:
        self._variant = variant
        self._ask = ask
        self._repaired = False

    def answer(self, request: Document) -> Document:
        tools = [tool["function"]["name"] for tool in request.get("tools", [])]
        if "probe" in tools or "rule" in tools:
            return self._ask(request)
        messages = request["messages"]
        brief = next(str(message["content"]) for message in messages if message["role"] == "user")
        done = sum(message["role"] == "tool" for message in messages)
        return self._hunter(brief, messages) if "make the work do what was asked" in brief else self._author(done)

    def _author(self, done: int) -> Document:
        work = self._variant.work
        text = work.planted(*self._variant.bugs)
        tests = f"tests/test_{work.module}.py"
        acts = [
            calling("list", path="."),
            calling("write", path=f"{work.module}.py", content=text),
            calling("write", path=tests, content=work.tests),
            calling("bash", command=CHECK),
            calling("done", summary=f"Wrote {work.module}.py and {tests}; the tests pass."),
        ]
        return acts[min(done, len(acts) - 1)]

    def _hunter(self, brief: str, messages: list[Document]) -> Document:
        """The first one repairs everything; whatever still fails is contested by the next."""
        work = self._variant.work
        called = [call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()]
        if not self._repaired:
            self._repaired = True
            return calling("write", path=f"{work.module}.py", content=work.text)
        names = re.findall(r"(?m)^### Probe `([^`]+)`", brief)
        if "write" not in called and len(called) < len(names):
            probe = names[len(called)]
            return calling("dispute", test=probe, evidence="The work does what the goal says; this is not in it.")
        return calling("done", summary="It is repaired.")


async def trial(variant: Variant, ask: Ask) -> Document:
    """What came of it, as one line of the results."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "project"
        folder.mkdir()
        (folder / "bough.toml").write_text(SETTINGS)
        os.environ["XDG_STATE_HOME"] = f"{name}/state"  # where it is kept that they are trusted
        (folder / "conftest.py").write_text("")
        with Wire(Stage(variant, ask).answer) as stage:
            choices = app.Choices(model="openai:planted", base_url=stage.base_url, protocol="tools", flat=True)
            async with app.open_session(folder, create=True, choices=app.Choices(trust_config=True)) as session:
                goal = build_goal_step(variant.work.goal, check=CHECK)
                outcome = await session.start(goal, choices, app.RunObserver())
                records = await session.store.read(outcome.run)
    told = await asyncio.to_thread(judged, variant, [record.event for record in records])
    return told | {"status": outcome.status, "seconds": round(time.monotonic() - began, 1)}


def judged(variant: Variant, events: list[e.AnyEvent]) -> Document:
    """What the probes found. A bug is found when a probe fails with it alone and passes without any; a finding is wrong
    when it fails without any, and counts as upheld unless a judge has dropped it."""
    examined = [event for event in events if isinstance(event, e.Examined)]
    probes = {probe.name: probe for event in examined for probe in event.probes}
    runs = [event for event in events if isinstance(event, e.ProbesFinished)]
    outcome = {result.name: result.outcome for result in runs[0].results} if runs else {}
    failing = [name for name, said in outcome.items() if said == "failed"]
    dropped = {event.probe for event in events if isinstance(event, e.ProbeRuled) and not event.ruling.demanded}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shown = [probes[name] for name in failing]
        fine = _passing(variant, shown, folder)
        wrong = [name for name in failing if name not in fine]
        right = [probe for probe in shown if probe.name in fine]
        found = [bug.id for bug in variant.bugs if len(_passing(variant, right, folder, bug.id)) < len(right)]
    skipped = [event.why for event in events if isinstance(event, e.ExaminationSkipped)]
    return {
        "variant": variant.id,
        "bugs": {bug.id: bug.kind for bug in variant.bugs},
        "found": found,
        "probes": len(probes),
        "broken": sum(said == "broken" for said in outcome.values()),
        "left_out": sum(len(event.left_out) for event in examined),
        "findings": len(failing),
        "wrong": {name: probes[name].says for name in wrong},
        "upheld": len([name for name in failing if name not in dropped]),
        "wrong_upheld": [name for name in wrong if name not in dropped],
        **_tokens(events),
        **({"not_examined": skipped[0]} if skipped else {}),
    }


def _passing(variant: Variant, chosen: list[Probe], folder: Path, bug: str = "") -> set[str]:
    """Those that pass with one bug alone, or without any."""
    laid_out(variant.work, variant.work.planted(*(each for each in variant.bugs if each.id == bug)), folder)
    for probe in chosen:
        place = folder / probe.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(probe.text)
    return {probe.name for probe in chosen if _passes(probe, folder)}


def _passes(probe: Probe, folder: Path) -> bool:
    command = make_command(probe, Check(CHECK, "", "pytest"))
    return subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, check=False).returncode == 0


def _tokens(events: list[e.AnyEvent]) -> Document:
    """Of the author, as few as an author can need; and of examiners and judges."""
    first = next((at for at, event in enumerate(events) if isinstance(event, e.Examined)), len(events))
    built = [event.usage for event in events[:first] if isinstance(event, e.ModelAnswered)]
    asked = [event.usage for event in events if isinstance(event, e.HelperAnswered)]
    total = [sum(usage.input + usage.output for usage in usages) for usages in (built, asked)]
    return {"tokens_building": total[0], "tokens_examining": total[1], "questions": len(asked)}
