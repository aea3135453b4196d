"""Recorded models, and recordings that act as models.

A recording is a text file: a header, then one JSON line for each answer, durable before the answer is returned. It
holds answers, never prompts or keys. A replayed answer is found by the name of its call within the run, so a recording
belongs to one goal, one repository and one version of the prompts.
"""

import asyncio
import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from bough.core.errors import RequestRefused, UsageError
from bough.core.messages import Answer, Prompt
from bough.core.textual.spelling import UNREADABLE
from bough.ports import Model

LONGEST_PAUSE = 0.6
PIECES = 12
"""Number of pieces in which a paced answer's text arrives."""
STRUCK = "[struck out]"


class Header(Struct, frozen=True, forbid_unknown_fields=True, rename={"version": "bough-recording"}):
    version: int
    model: str
    note: str = ""


class RecordedAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    key: str
    model: str
    answer: Answer
    seconds: float
    prompt: str = ""
    """A hash of the prompt, in older recordings."""


class RecordingModel:
    """Wraps a model and appends its answers to a file."""

    def __init__(self, model: Model, path: Path, note: str = "", secrets: Iterable[str] = ()) -> None:
        """`secrets` are redacted from what is written, should a model repeat one."""
        self.name = model.name
        self._model = model
        self._path = path
        self._secrets = [(msgspec.json.encode(secret)[1:-1], STRUCK.encode()) for secret in secrets]
        self._writing = asyncio.Lock()
        # Start a recording, or continue one. Any other file is left alone.
        try:
            if path.exists() and path.stat().st_size:
                content = path.read_bytes()
                _parse_header(path, content.partition(b"\n")[0])
                if not content.endswith(b"\n"):
                    os.truncate(path, content.rfind(b"\n") + 1)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                _append_line(path, msgspec.json.encode(Header(1, model.name, note)) + b"\n")
        except OSError as error:
            raise UsageError(f"The recording {path} cannot be written: {error.strerror or error}.") from None

    @property
    def window(self) -> int:
        return self._model.window

    async def ask(self, prompt: Prompt, progress: Callable[[str], None]) -> Answer:
        began = time.monotonic()
        answer = await self._model.ask(prompt, progress)
        encoded = msgspec.json.encode(RecordedAnswer(prompt.key, self.name, answer, round(time.monotonic() - began, 3)))
        for secret, struck in self._secrets:
            encoded = encoded.replace(secret, struck)
        async with self._writing:
            await asyncio.to_thread(_append_line, self._path, encoded + b"\n")
        return answer

    async def close(self) -> None:
        await self._model.close()


class ReplayModel:
    """Answers from a recording. Each recorded answer is given once, in recorded order."""

    window = 0
    """A recording ignores its prompts, so their size does not matter."""

    def __init__(self, path: Path, pace: float = 0.0) -> None:
        """`pace` is the fraction of the original time that an answer takes, up to a short pause; 0: at once."""
        self.name = f"replay:{path}"
        self._path = path
        self._pace = pace
        _, lines = read_recording(path)
        self._answers: dict[str, deque[RecordedAnswer]] = {}
        for line in lines:
            self._answers.setdefault(line.key, deque()).append(line)

    async def ask(self, prompt: Prompt, progress: Callable[[str], None]) -> Answer:
        line = self._take(prompt.key)
        if line is None:
            used = "no further answer" if prompt.key in self._answers else "no answer"
            raise RequestRefused(
                f"The recording {self._path} has {used} for the call {prompt.key}: it belongs to another goal or to "
                "another version of bough; record it again with --record, or run with a model."
            )
        pause, text = min(line.seconds * self._pace, LONGEST_PAUSE), line.answer.text
        size = max(1, -(-len(text) // (PIECES if pause > 0 else 1)))
        pieces = [text[start : start + size] for start in range(0, len(text), size)] or [""]
        for piece in pieces:
            if pause > 0:
                await asyncio.sleep(pause / len(pieces))
            if piece:
                progress(piece)
        return line.answer

    def _take(self, key: str) -> RecordedAnswer | None:
        """Take the answer to this call, or else to the call of the same round or helper with the nearest number: a
        rewound run asks again under later numbers, and a trial question to the model shifts the numbers, too."""
        if exact := self._answers.get(key):
            return exact.popleft()
        task, who, number = [*key.split("#"), "", ""][:3]
        agent = who.isdigit()
        counted, same = (who, rf"(\d+)#{number}") if agent else (number, rf"{re.escape(who)}#(\d+)")
        if not counted.isdigit() or (agent and key in self._answers):
            return None
        found = (re.fullmatch(f"{re.escape(task)}#{same}", other) for other, left in self._answers.items() if left)
        apart = {match[0]: int(counted) - int(match[1]) for match in found if match}
        fits = [other for other, by in apart.items() if by > 0 or not agent]
        nearest = min(fits, key=lambda other: (abs(apart[other]), -apart[other]), default="")
        return self._answers[nearest].popleft() if nearest else None

    async def close(self) -> None:
        self._answers.clear()


def read_recording(path: Path) -> tuple[Header, list[RecordedAnswer]]:
    """Read the whole recording, except a last line that was cut off in mid-write."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"The recording {path} cannot be read: {error.strerror or error}.") from None
    first, *rest = content[: content.rfind(b"\n") + 1].split(b"\n")
    header = _parse_header(path, first)
    lines = []
    for number, line in enumerate(rest, 2):
        if not line:
            continue
        try:
            lines.append(msgspec.json.decode(line, type=RecordedAnswer))
        except UNREADABLE as error:
            raise UsageError(f"Line {number} of the recording {path} is not an answer: {error}.") from None
    return header, lines


def _parse_header(path: Path, line: bytes) -> Header:
    try:
        header = msgspec.json.decode(line, type=Header)
    except UNREADABLE:
        raise UsageError(f"{path} is not a recording of bough: its first line is not a header.") from None
    if header.version != 1:
        raise UsageError(f"{path} is a recording of a newer bough (format {header.version}); this one reads format 1.")
    return header


def _append_line(path: Path, line: bytes) -> None:
    # Unbuffered, so that a line is one write: the models of several tiers may share a recording.
    with path.open("ab", buffering=0) as file:
        file.write(line)
        os.fsync(file.fileno())
