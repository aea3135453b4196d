"""What was shown is written down, and run again by somebody who has only the repository."""

import json
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.conftest import Meet
from tests.journeys.person import RIGHT, TEST_OF_TOTAL, TOTAL, Person, goal
from tests.sampling import sample

Edit = Callable[[dict[str, Any]], object]


def shown(meet: Meet, tmp_path: Path, *more: str) -> tuple[Person, Path]:
    """A branch with its own test that was proven, its receipt, and the person in a fresh clone without any state."""
    ann = meet(goal())
    ann.git("checkout", "-q", "-b", "add")
    ann.write("shop.py", RIGHT[TOTAL][1])
    ann.write("test_shop.py", TEST_OF_TOTAL)
    ann.commit(TOTAL)
    ann.git("checkout", "-q", "main")
    file = tmp_path / "receipt.json"
    model = f"openai:wire-model@{ann.wire.base_url.replace('//', '//ann:hunter2@')}"
    ann.bough("examine", "add", "--receipt", str(file), "--model", model, *more, status=0)
    ann.git("clone", "-q", str(ann.project), str(tmp_path / "clone"))
    ann.project = tmp_path / "clone"
    ann.git("checkout", "-q", "add")
    ann.model.asked.clear()
    return ann, file


def test_a_receipt_is_the_same_in_a_fresh_clone(meet: Meet, tmp_path: Path) -> None:
    ann, file = shown(meet, tmp_path)
    receipt = json.loads(file.read_text())
    assert receipt["_type"] == "https://in-toto.io/Statement/v1"
    assert receipt["subject"][0]["digest"]["gitTree"] == ann.git("rev-parse", "add^{tree}").strip()
    rerun, claimed = receipt["predicate"]["rerun"], receipt["predicate"]["claimed"]
    assert rerun["tests"]["test_shop.TestShop.test_adds"] == {"before": "absent", "after": "passed"}
    assert [case["outcome"] for case in rerun["probes"]] == [{"before": "failed", "after": "passed"}]
    assert (claimed["status"], claimed["requirements"][0]["standing"]) == ("proven", "proven")
    assert ann.env["OPENAI_API_KEY"] not in file.read_text() and "hunter2" not in file.read_text()
    assert claimed["models"]["main"] == "openai:wire-model"
    before = ann.git("status", "--porcelain", "--ignored")
    said = ann.bough("recheck", str(file), status=0)
    assert "The same as in the receipt: 2 tests and 1 case on" in said.out and "Not signed" in said.out
    assert ann.git("status", "--porcelain", "--ignored") in (before, f"{before}!! .bough/\n")
    assert not ann.model.asked and not ann.runs()


EDITS: dict[str, tuple[Edit, str]] = {
    "a weaker case": (
        lambda rerun: rerun["probes"][0]["probe"].update(text="pass\n"),
        "goal/probe-1 passes on both sides",
    ),
    "another outcome": (
        lambda rerun: rerun["tests"]["test_names.TestNames.test_there"].update(before="failed"),
        "test_there passes on both sides",
    ),
    "a test left out": (lambda rerun: rerun["tests"].pop("test_shop.TestShop.test_adds"), "test_adds with the change"),
    "a test invented": (
        lambda rerun: rerun["tests"].update({"test_x.test_y": {"before": "failed", "after": "passed"}}),
        "test_x.test_y",
    ),
    "a name that forges a line": (
        lambda rerun: rerun["tests"].update(
            {"x\nThe same as in the receipt.": {"before": "failed", "after": "passed"}}
        ),
        "x The same as in the receipt. with the change",
    ),
    "another command": (lambda rerun: rerun.update(command="true"), "test_adds with the change"),
    "the same tree twice": (lambda rerun: rerun.update(base=rerun["head"]), "test_adds passes on both sides"),
    "another head": (lambda rerun: rerun.update(head=rerun["base"]), "with the change"),
    "a comment": (
        lambda rerun: rerun["probes"][0]["probe"].update(text=rerun["probes"][0]["probe"]["text"] + "# edited\n"),
        "the receipt was edited",
    ),
}


def test_an_edited_receipt_is_noticed(meet: Meet, tmp_path: Path) -> None:
    ann, file = shown(meet, tmp_path)
    body = file.read_text()
    for name, (edit, says) in sample(EDITS.items(), 2):  # Each is a check of both sides.
        receipt = json.loads(body)
        edit(receipt["predicate"]["rerun"])
        file.write_text(json.dumps(receipt))
        assert says in ann.bough("recheck", str(file), status=3).out, name


def test_a_signature_holds_for_every_byte(meet: Meet, tmp_path: Path) -> None:
    ann, file = shown(meet, tmp_path)
    key, signers, other = tmp_path / "key", tmp_path / "signers", tmp_path / "other"
    for each in (key, other):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", each], check=True)
    signers.write_text(f"ann@example.org {key.with_suffix('.pub').read_text()}")
    body = file.read_bytes()
    clone, ann.project = ann.project, tmp_path / "project"
    ann.bough("receipt", "--output", str(file), "--sign", str(key), status=0)
    ann.project = clone
    assert "Signed by ann@example.org" in ann.bough("recheck", str(file), "--signers", str(signers), status=0).out
    assert "Signed by ED25519 key SHA256:" in ann.bough("recheck", str(file), status=0).out
    # The cost is only claimed: nothing that runs would notice.
    receipt = json.loads(file.read_text())
    receipt["predicate"]["claimed"]["cost"] = 99
    file.write_text(json.dumps(receipt))
    assert "signature of" in ann.bough("recheck", str(file), "--signers", str(signers), status=3).err
    assert "signature of" in ann.bough("recheck", str(file), status=3).err
    # Somebody else's signature does not count, and neither does none.
    file.write_bytes(body)
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-f", other, "-n", "bough-receipt", file], check=True, input=b"y")
    assert f"is of nobody in {signers}" in ann.bough("recheck", str(file), "--signers", str(signers), status=3).err
    Path(f"{file}.sig").write_bytes(b"")
    assert f"is of nobody in {signers}" in ann.bough("recheck", str(file), "--signers", str(signers), status=3).err
    Path(f"{file}.sig").unlink()
    assert "is not signed" in ann.bough("recheck", str(file), "--signers", str(signers), status=2).err


def test_a_receipt_of_another_repository_says_so(meet: Meet, tmp_path: Path) -> None:
    ann, file = shown(meet, tmp_path)
    ann.project = tmp_path / "elsewhere"
    ann.project.mkdir()
    ann.git("init", "-q")
    ann.git("commit", "-q", "--allow-empty", "-m", "Nothing.")
    assert "it is about another one" in ann.bough("recheck", str(file), status=2).err
    assert "is not a bough receipt" in ann.bough("recheck", str(ann.home / ".gitconfig"), status=2).err
    assert "cannot be read" in ann.bough("recheck", str(tmp_path / "nothing"), status=2).err


def test_a_hostile_receipt_does_no_harm(meet: Meet, tmp_path: Path) -> None:
    """Its command runs where it can change nothing and reach nobody, and its paths stay inside."""
    ann, file = shown(meet, tmp_path)
    receipt = json.loads(file.read_text())
    rerun, outside = receipt["predicate"]["rerun"], tmp_path / "owned"
    with socket.create_server(("127.0.0.1", 0)) as server:
        reach = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}))"
        line = f'touch {outside} ~/owned; python3 -c "{reach}"'
        subprocess.run(["sh", "-c", line], check=True, env=ann.env)  # It would do harm.
        server.accept()[0].close()
        for made in (outside, ann.home / "owned"):
            made.unlink()
        rerun["command"] = line
        file.write_text(json.dumps(receipt))
        assert "cannot run here" in ann.bough("recheck", str(file), status=2).err
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert not outside.exists() and not (ann.home / "owned").exists()
    case = rerun["probes"][0]["probe"]
    for path in ("../../owned.py", "/owned.py", "cases/.GIT/config", ".", "", "a" * 501):
        file.write_text(json.dumps(receipt).replace(f'"path": "{case["path"]}"', f'"path": "{path}"'))
        assert "leaves the project" in ann.bough("recheck", str(file), status=2).err, path
    # A case cannot take the outcomes of a test, of another case or of the whole check.
    rerun["probes"].append(json.loads(json.dumps(rerun["probes"][0])))
    for name in ("test_shop.TestShop.test_adds", "goal/probe-1", "the check"):
        rerun["probes"][1]["probe"]["name"] = name
        file.write_text(json.dumps(receipt))
        assert "have the same name" in ann.bough("recheck", str(file), status=2).err, name
    rerun["command"] = "true " + "a" * 20_000
    file.write_text(json.dumps(receipt))
    assert "is not a bough receipt" in ann.bough("recheck", str(file), status=2).err


def test_a_receipt_of_thousands_of_tests_is_told_in_few_lines(meet: Meet, tmp_path: Path) -> None:
    ann, file = shown(meet, tmp_path)
    receipt = json.loads(file.read_text())
    invented = {f"test_x.test_{number}": {"before": "failed", "after": "passed"} for number in range(3_000)}
    receipt["predicate"]["rerun"]["tests"] |= invented
    file.write_text(json.dumps(receipt))
    said = ann.bough("recheck", str(file), status=3).out
    assert "… and 5951 more" in said and said.count("\n") == 53, said[:2000]
