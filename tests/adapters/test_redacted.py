"""No secret reaches a store that is wrapped by `redact_secrets`."""

import asyncio
import base64
import json
import os
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bough.adapters.stores.redacted import SHORTEST, STRUCK, find_in_addresses, find_in_files, redact_secrets
from bough.adapters.stores.sqlite import SqliteStore
from bough.core.acceptance.verdict import Verdict
from bough.core.budget.limits import Limits
from bough.core.events import (
    AnyEvent,
    CheckFinished,
    CheckpointMade,
    ModelAnswered,
    NoteKept,
    RunResumed,
    StateChanged,
    TaskCreated,
    ToolFinished,
    encode,
)
from bough.core.messages import Call
from bough.core.planning.plan import Step
from bough.core.rules import Rules
from bough.core.tree.task_state import State
from bough.testing import MemoryStore

PLAIN = "sk-planted-0123456789"
AWKWARD = 'pa"ss\\wörd\n\t/</x>'


def kept(event: AnyEvent, *secrets: str) -> AnyEvent:
    async def main() -> AnyEvent:
        memory = MemoryStore()
        store = redact_secrets(memory, secrets)
        async with store.claim("run", "goal", "w", 60) as claim:
            (record,) = await store.append(claim, [event], 0)
        posted = await store.post("run", "@control", event)
        assert await memory.read("run") == [record, posted]
        assert record.event == posted.event
        await memory.close()
        return record.event

    return asyncio.run(main())


@pytest.mark.parametrize("secret", [PLAIN, AWKWARD], ids=["plain", "awkward"])
def test_a_secret_is_struck_out_of_every_kind_of_field(secret: str) -> None:
    within = f"<{secret}>"
    clean = f"<{STRUCK}>"
    limits, rules = Limits(rounds=7, cost=0.5), Rules(max_repairs=1)
    pairs: list[tuple[AnyEvent, AnyEvent]] = [
        (ToolFinished("c", True, within, seconds=0.5), ToolFinished("c", True, clean, seconds=0.5)),
        (CheckpointMade("c", "t", ("a", within)), CheckpointMade("c", "t", ("a", clean))),
        (CheckFinished(Verdict("failed", "no", output=within)), CheckFinished(Verdict("failed", "no", output=clean))),
        (RunResumed("w", limits, {"main": within}), RunResumed("w", limits, {"main": clean})),
        (StateChanged(State.BLOCKED, within), StateChanged(State.BLOCKED, clean)),
        (
            TaskCreated(Step("s", within, criteria=(within,)), "t", limits, rules),
            TaskCreated(Step("s", clean, criteria=(clean,)), "t", limits, rules),
        ),
    ]
    for dirty, expected in pairs:
        assert kept(dirty, secret) == expected


@pytest.mark.parametrize("ascii", [True, False])
@pytest.mark.parametrize("secret", [PLAIN, AWKWARD], ids=["plain", "awkward"])
def test_a_secret_is_struck_out_of_json_inside_json(secret: str, ascii: bool) -> None:
    once = json.dumps({"command": f"curl -H {secret}"}, ensure_ascii=ascii)
    twice = json.dumps({"body": once}, ensure_ascii=ascii)
    event = kept(ModelAnswered("", (Call("1", "bash", once), Call("2", "bash", twice))), secret)
    assert isinstance(event, ModelAnswered)
    assert json.loads(event.calls[0].arguments) == {"command": f"curl -H {STRUCK}"}
    assert json.loads(json.loads(event.calls[1].arguments)["body"]) == {"command": f"curl -H {STRUCK}"}


def test_no_byte_of_it_is_in_the_files(tmp_path: Path) -> None:
    async def main() -> None:
        store = redact_secrets(SqliteStore(tmp_path / "journal.db"), [PLAIN])
        async with store.claim("run", "goal", "w", 60) as claim:
            await store.append(claim, [NoteKept("decision", f"the key is {PLAIN}")], 0)
        name = await store.put_blob(b"\xff\0" + PLAIN.encode() + b" " + PLAIN.encode())
        assert await store.get_blob(name) == b"\xff\0[secret] [secret]"
        files = [path for path in tmp_path.iterdir() if PLAIN.encode() in path.read_bytes()]
        await store.close()
        assert files == []
        assert PLAIN.encode() not in (tmp_path / "journal.db").read_bytes()

    asyncio.run(main())


def test_a_secret_that_holds_another_is_struck_out_whole() -> None:
    event = kept(NoteKept("decision", f"{PLAIN}-long and {PLAIN}"), PLAIN, f"{PLAIN}-long")
    assert event == NoteKept("decision", f"{STRUCK} and {STRUCK}")


def test_placeholders_are_not_secrets() -> None:
    event = RunResumed("w", Limits(), {"main": "ollama:llama3"})
    for value in ("", " ", "ollama", "x" * (SHORTEST - 1)):
        assert kept(event, value) is event


def test_what_holds_no_secret_is_passed_on_as_it_is() -> None:
    event = NoteKept("dead_end", "\nabcdefgh")  # in JSON: \nabcdefgh
    assert kept(event, PLAIN) is event
    assert kept(event, "nabcdefgh") == event


def test_halves_of_characters_do_not_hide_a_secret() -> None:
    assert kept(NoteKept("decision", f"\udcff{PLAIN}\ud800"), PLAIN) == NoteKept("decision", f"\ufffd{STRUCK}\ufffd")
    assert kept(NoteKept("decision", "\udcff-secret-\ud800"), "\udcff-secret-\ud800") == NoteKept("decision", STRUCK)


text = st.text(st.characters(exclude_categories=["Cs"]))


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=SHORTEST, max_size=20), text, text)
def test_any_secret_anywhere_is_struck_out(secret: str, before: str, after: str) -> None:
    assume(secret not in before + STRUCK + after)
    event = kept(NoteKept("decision", before + secret + after), secret)
    assert isinstance(event, NoteKept)
    assert secret not in event.text
    assert STRUCK in event.text
    assert json.dumps(secret)[1:-1].encode() not in encode(event).replace(b'"NoteKept"', b"")  # its kind, no secret


# ── more than what the environment calls a secret ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("before", ["", "x", "xy", "xyz", "user:"])
@pytest.mark.parametrize("after", ["", "1", "12", "\n"])
def test_base64_is_struck_out_however_it_is_aligned(before: str, after: str) -> None:
    async def kept() -> bytes:
        memory = MemoryStore()
        store = redact_secrets(memory, ["correct-horse-battery"])
        coded = base64.b64encode(f"{before}correct-horse-battery{after}".encode())
        body = await memory.get_blob(await store.put_blob(b"Basic " + coded + b"\n"))
        await memory.close()
        return body

    body = asyncio.run(kept())
    assert STRUCK.encode() in body
    longest = max(body.split(STRUCK.encode()), key=len).removeprefix(b"Basic ").strip()
    assert b"horse" not in base64.b64decode(longest + b"=" * (-len(longest) % 4), validate=False)


def test_keys_are_known_by_their_shape() -> None:
    async def kept(text: str) -> bytes:
        memory = MemoryStore()
        body = await memory.get_blob(await redact_secrets(memory, []).put_blob(text.encode()))
        await memory.close()
        return body

    for key in ("AKIA" + "A" * 16, "ghp_" + "a" * 36, "sk-ant-" + "a" * 60, "AIza" + "b" * 35):
        assert asyncio.run(kept(f"key={key}.")) == b"key=[secret]."
    for word in ("sk-learn", "AKIA", "ghp_short", "task-12345678901234567890"):
        assert asyncio.run(kept(word)) == word.encode()


def test_env_files_and_addresses(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "export API_TOKEN='from-a-file-1'\nDEBUG=1\nDB=postgres://me:pass-word-2@h/x\nPORT=80801234\n"
    )
    (tmp_path / ".env.example").write_text("API_TOKEN=change-me-please\n")
    os.mkfifo(tmp_path / ".env.local")
    (tmp_path / ".env.link").symlink_to("/etc/passwd")
    assert list(find_in_files(tmp_path)) == ["from-a-file-1", "pass-word-2"]
    for name in ("apps/web/.env", "node_modules/x/.env", "a/b/c/.env", "settings/local"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"API_TOKEN=of-{name}\n")
    found = list(find_in_files(tmp_path, "settings/local"))
    assert found == ["from-a-file-1", "pass-word-2", "of-apps/web/.env", "of-settings/local"]
    assert set(find_in_addresses({"DATABASE_URL": "mysql://u:p%40ss-word@h/d", "HOME": "/h"})) == {
        "p%40ss-word",
        "p@ss-word",
    }
