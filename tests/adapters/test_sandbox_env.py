"""The environment that commands get."""

from pathlib import Path

import pytest

from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.process import make_sandbox
from bough.adapters.workspaces.plain_folder import make_plain_folder
from tests.adapters.test_sandbox import shell

KEY = "planted-0123456789-key"


def test_what_tools_need_comes_along() -> None:
    source = {
        "PATH": "/bin",
        "HOME": "/home/x",
        "LC_ALL": "C.UTF-8",
        "VIRTUAL_ENV": "/venv",
        "NVM_DIR": "/nvm",
        "https_proxy": "http://proxy:3128",
        "PIP_INDEX_URL": "https://pypi.example/simple",
        "npm_config_registry": "https://npm.example/",
        "CI": "true",
    }
    assert make_env(source).items() >= source.items()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ANTHROPIC_API_KEY", "x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("MY_SETTING", "x"),
        ("SSH_AUTH_SOCK", "/run/agent"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/bus"),
        ("XDG_RUNTIME_DIR", "/run/user/1"),
        ("BASH_ENV", "/evil"),
        ("LD_PRELOAD", "/evil.so"),
        ("NODE_AUTH_TOKEN", "x"),
        ("npm_config__authToken", "x"),
        ("npm_config__password", "x"),
        ("UV_PUBLISH_TOKEN", "x"),
        ("UV_INDEX_PRIVATE_PASSWORD", "x"),
        ("CONDA_API_KEY", "x"),
        ("PIP_INDEX_URL", "https://user:pass@pypi.example/simple"),
        ("PIP_EXTRA_INDEX_URL", "https://token@pypi.example/simple"),
        ("http_proxy", "http://me:secret@proxy:3128"),
        ("HOME", f"/home/{KEY}"),
        ("NODE_OPTIONS", f"--title={KEY}"),
        ("CFLAGS", "-DTOKEN=ghp_0123456789abcdef0123456789"),
        ("BOUGH_MODELS_MAIN", "x"),
    ],
)
def test_what_could_open_a_door_stays(name: str, value: str) -> None:
    assert make_env({"PATH": "/bin", name: value}, secrets=[KEY]).get(name) is None


def test_the_person_can_let_more_through_but_never_a_key_of_bough() -> None:
    source = {"DATABASE_TOKEN": "theirs", "AWS_REGION": "eu", "AWS_PROFILE": "p", "LEAK": f"a{KEY}b", "OTHER": "x"}
    env = make_env(source, secrets=[KEY, "", "eu"], extra=["DATABASE_TOKEN", "AWS_*", "LEAK", "*"])
    assert env["DATABASE_TOKEN"] == "theirs"
    assert env["AWS_REGION"] == "eu" and env["AWS_PROFILE"] == "p"
    assert "LEAK" not in env and "OTHER" not in env


def test_there_is_always_a_path_and_nobody_asks() -> None:
    env = make_env({})
    assert env["PATH"] and env["GIT_TERMINAL_PROMPT"] == "0" and env["PAGER"] == "cat"
    assert "NO_COLOR" not in env, "a project's own tests of colours say here what they say by hand"


def test_a_planted_key_does_not_reach_a_command(tmp_path: Path) -> None:
    source = {"PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": KEY, "HOME": str(tmp_path), "NODE_OPTIONS": KEY}
    sandbox = make_sandbox("auto", make_env(source, [KEY]))
    checkout = make_plain_folder(tmp_path)
    output = shell(
        sandbox, checkout, "env; cat /proc/self/environ /proc/$PPID/environ 2>/dev/null; true"
    ).output.decode()
    assert KEY not in output
    assert "TMPDIR=" in output
    assert f"BOUGH_WORKSPACE={checkout.root}" in output
    assert f"PWD={checkout.folder}" in output
