"""Makes links to single questions. Whoever has a link can read that question and answer it once, and nothing else.

A link contains the run, the number of the event that asks, and an expiry time, signed with a key in the person's state
folder, so that a journal or a repository cannot make one. All of it stands after `#` in the address: that part browsers
do not send to servers or proxies. Opening a link changes nothing."""

import base64
import hmac
import os
import secrets
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from bough.adapters.stores.liveness import is_alive, worker_id
from bough.app.config import load_hooks
from bough.app.journal import Journal
from bough.app.session import Session
from bough.core import events as e
from bough.core.errors import NotFound, UsageError
from bough.core.ids import GOAL
from bough.core.textual.spelling import UNREADABLE
from bough.services.hooks import Outbox
from bough.services.notices import Link, describe_waiting
from bough.services.run_messages import answer_once, clean_words, find_person, refuse_second
from bough.trust.files import Place
from bough.views.formatting import format_moment
from bough.views.waiting import KINDS, Waiting, WaitingView

KEY, SERVER = "links.key", "serve.json"
YES = frozenset({"yes", "y"})
NO = frozenset({"no", "n"})


def name_project(root: Path) -> str:
    """Return the name by which addresses refer to a project."""
    return sha256(str(root).encode()).hexdigest()[:8]


class LinkedQuestion(Struct, frozen=True):
    run: str
    goal: str
    question: str
    answers: tuple[str, ...]
    command: str
    open: bool
    said: str = ""
    """A sentence that says how the question was settled; empty if it still waits."""


def make_token(root: Path, run: str, seq: int, until: float) -> str:
    named = f"{name_project(root)}.{run}.{seq}.{int(until)}"
    return f"{named}.{_seal(root, named)}"


def open_token(root: Path, token: str) -> tuple[str, int]:
    """Return the run and the number of the event that asks. Raises `NotFound` for a token that is not from here, and
    `UsageError` for one that has expired."""
    named, _, seal = token.rpartition(".")
    if not token.isascii() or len(token) > 500 or not hmac.compare_digest(seal, _seal(root, named)):
        raise NotFound(
            "This link is not valid: it was changed, or made on another machine. Answer there with `bough answer`."
        )
    _, run, seq, until = named.split(".")
    if time.time() >= int(until):
        raise UsageError(f"This link expired at {format_moment(int(until))}: answer at a terminal (see `bough runs`).")
    return run, int(seq)


def _seal(root: Path, named: str) -> str:
    outbox = Outbox(root)
    place = Place(outbox.folder, KEY)
    try:
        key = place.read(64)
    except FileNotFoundError:
        with outbox.lock(KEY):
            if not place.is_regular():
                place.write(secrets.token_bytes(32), 0o600)
            key = place.read(64)
    return base64.urlsafe_b64encode(hmac.digest(key, named.encode(), "sha256")[:24]).decode()


def announce_server(root: Path, url: str) -> None:
    """Store the address of this dashboard, so that later notices can link to it."""
    outbox = Outbox(root)
    with suppress(OSError), outbox.lock(SERVER):  # Without a home folder, notices have no links.
        Place(outbox.folder, SERVER).write(msgspec.json.encode({"url": url, "worker": worker_id()}), 0o600)


def make_links(root: Path) -> Link:
    """Return the function that makes links. While no dashboard of the project runs, it returns empty ones."""

    def link(run: str, waiting: Waiting) -> str:
        with suppress(OSError, KeyError, *UNREADABLE):
            known = msgspec.json.decode(Place(Outbox(root).folder, SERVER).read(4_000), type=dict[str, str])
            if is_alive(known["worker"]):
                until = time.time() + load_hooks(os.environ).link_hours * 3600
                return f"{known['url']}/question#{make_token(root, run, waiting.seq, until)}"
        return ""

    return link


async def _find(journal: Journal, run: str, seq: int) -> tuple[Waiting, WaitingView, bool]:
    """Return the question that an event asks, all questions and answers of the run, and whether it is still open."""
    seen, asked = WaitingView(), None
    for record in await journal.store.read(run, kinds=KINDS):
        seen.see(record)
        if record.seq == seq:
            asked = next((each for each in seen.open(live=True) if each.seq == seq), None)
    if asked is None:
        raise NotFound("This question no longer exists: its run was removed or rewound. There is nothing to answer.")
    return asked, seen, any(each.seq == seq for each in seen.open(await journal.holder(run) is not None))


async def read_question(journal: Journal, token: str) -> LinkedQuestion:
    run, seq = open_token(journal.root, token)
    waiting, seen, is_open = await _find(journal, run, seq)
    question, answers, command = describe_waiting(run, waiting)
    said = "" if is_open else "It was withdrawn: nobody has to answer it any more."
    for each in () if is_open else seen.answered:
        if (each.kind, each.task, each.id, each.question) == (waiting.kind, waiting.task, waiting.id, waiting.question):
            said = f"{each.by or 'Somebody'} answered it: {each.says}"
            break
    return LinkedQuestion(run, (await journal.view(run)).goal, question, answers, command, is_open, said)


async def answer_by_link(session: Session, token: str, text: str) -> str:
    """Answer the question of a link; return its run. If it was answered before, from anywhere, raise `UsageError`."""
    run, seq = open_token(session.root, token)
    waiting, seen, is_open = await _find(session, run, seq)
    if not is_open:
        late = f"{run} no longer waits for an answer to this question."
        refuse_second(run, seen, waiting.kind, waiting.task, late, waiting.id)
    words, person = clean_words(text), find_person()
    yes, no = words.lower() in YES, words.lower() in NO
    instead = "" if yes or no else words
    if waiting.kind == "tests":
        await session.rule_on_changes(run, allow=yes, say=instead, task=waiting.task)
        return run
    says: Literal["yes", "no", "change"] = "yes" if yes else "no" if no else "change"
    answers: dict[str, e.PersonSaid | e.PlanRuled | e.CommandRuled] = {
        "question": e.PersonSaid(words, person, "" if waiting.task == GOAL else waiting.task, seq),
        "plan": e.PlanRuled(waiting.task, says, instead, by=person),
        "command": e.CommandRuled(waiting.id, yes, instead, person),
    }
    await answer_once(session, run, waiting, answers[waiting.kind])
    return run
