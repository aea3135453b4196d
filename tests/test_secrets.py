"""A key is planted everywhere it could leak from, a whole run is made over the wire, and everything is searched."""

import subprocess
import sys
from pathlib import Path

import pytest

from bough.testing import call
from tests.answers import combine_answers
from tests.harness import QUICK_CHECK, make_project
from tests.shipped import AGENT_ONLY
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

KEY = "sk-planted-7Qm2vXw9ZtR4kLp8"
TOKEN = "planted-token-0a1b2c3d4e5f"


def found_in(folder: Path, secret: str) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return [str(path) for path in files if secret.encode() in path.read_bytes()]


def bough(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bough", *arguments, "--dir", str(project)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)


SCRIPT = [
    combine_answers(call("bash", command="env; cat /proc/self/environ"), call("read", path="settings.py")),
    call("bash", command=f"echo the key is {KEY}; for i in $(seq 20000); do echo {TOKEN}; done"),
    call("note", kind="decision", text=f"the key is {KEY}"),
    call("edit", path="calc.py", old="a - b", new="a + b"),
    call("done", summary=f"used {KEY} and {TOKEN}"),
]


def test_no_key_appears_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, recording = make_project(tmp_path / "p"), tmp_path / "recording.jsonl"
    (project / "settings.py").write_text(f"KEY = '{KEY}'\n")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("DEPLOY_TOKEN", TOKEN)
    with WireModel(SCRIPT) as wire:
        provider = ["--model", "openai:x", "--base-url", wire.base_url]
        options = ["--check", QUICK_CHECK, *provider, "--record", str(recording)]
        done = bough(project, "run", f"Make add add. Not a secret: {KEY}", *options)
        prompts = b"".join(request.body for request in wire.requests)
        headers = str([request.headers for request in wire.requests])
    assert done.returncode == 0, done.stdout + done.stderr
    assert KEY in headers, "the key was really used"
    told = bough(project, "log", "--json").stdout
    assert "[secret]" in told
    for secret in (KEY, TOKEN):
        assert secret not in done.stdout + done.stderr + told
        assert secret.encode() not in prompts
        assert secret not in recording.read_text()
        assert not found_in(project / ".bough", secret)
