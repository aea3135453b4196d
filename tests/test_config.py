import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from bough.app import config
from bough.core.errors import UsageError


def load(tmp_path: Path, text: str = "", file: str = "bough.toml", **env: str) -> config.Config:
    if text:
        (tmp_path / file).write_text(text)
    return config.load_config(tmp_path, env, allow=lambda wishes: wishes)


def test_defaults(tmp_path: Path) -> None:
    loaded = load(tmp_path)
    assert (loaded.budget.rounds, loaded.limits.max_repairs, loaded.sandbox.mode) == (40, 3, "auto")


def test_file_then_environment(tmp_path: Path) -> None:
    text = '[models]\nmain = "openai:a"\n[budget]\nrounds = 7\ncost = 1.5\n[limits]\nstrict = true\n'
    loaded = load(tmp_path, text, BOUGH_BUDGET_ROUNDS="9", BOUGH_SANDBOX_WRITABLE="/a:/b", HOME="/x")
    assert (loaded.models.main, loaded.budget.rounds, loaded.budget.cost) == ("openai:a", 9, 1.5)
    assert loaded.limits.strict
    assert loaded.sandbox.writable == ("/a", "/b")


@pytest.mark.parametrize(
    ("text", "wishes"),
    [
        ("[budget]\nrounds = 7\ntokens = 9\ncost = 1.0\nminutes = 1\n", {}),
        ("[budget]\nrounds = 1_000_000\n", {"budget.rounds": "1000000"}),
        ('[budget]\nrounds = "1000000"\n', {"budget.rounds": "1000000"}),  # a number all the same
        ("[limits]\nmax_repairs = 2\ncheck_timeout = 900.0\nstrict = true\n", {}),
        (
            "[limits]\nmax_repairs = 99\n[ladder]\nattempts = 50\n",
            {"limits.max_repairs": "99", "ladder.attempts": "50"},
        ),
        ("[check]\ntimeout = 900.0\ncommand = 'make test'\n", {}),
        (
            "[check]\ntimeout = 90000.0\n[models]\nwindow = 16000\n",
            {"check.timeout": "90000.0", "models.window": "16000"},
        ),
        ("[budget]\ntokens = 0\n", {"budget.tokens": "0"}),  # no limit at all
        ("[stuck]\nidle = 3\n", {}),
        ("[stuck]\nidle = 30\n", {"stuck.idle": "30"}),
        ('[models]\nfast = "openai:x"\n', {"models.fast": "openai:x"}),
    ],
)
def test_a_repository_may_lower_limits_and_wish_for_the_rest(tmp_path: Path, text: str, wishes: dict[str, str]) -> None:
    (tmp_path / "bough.toml").write_text(text)
    asked: list[Mapping[str, str]] = []

    def refuse(wishes: Mapping[str, str]) -> tuple[str, ...]:
        asked.append(wishes)
        return ()

    refused = config.load_config(tmp_path, {}, refuse)
    assert asked == ([wishes] if wishes else [])
    for name in wishes:
        section, _, key = name.partition(".")
        assert str(getattr(getattr(refused, section), key)) == config.find_default(name).replace("none", "None")
    assert (refused != load(tmp_path)) == bool(wishes)


def test_what_the_person_wants_to_see_first_is_said_by_the_person_alone(tmp_path: Path) -> None:
    own = tmp_path / "home" / ".config" / "bough"
    own.mkdir(parents=True)
    (own / "config.toml").write_text('[approve]\ncommands = ["git push", "*deploy*"]\n')
    env = {"HOME": str(tmp_path / "home")}
    assert config.load_config(tmp_path, env).approve.commands == ("git push", "*deploy*")
    assert config.load_config(tmp_path, {**env, "XDG_CONFIG_HOME": str(tmp_path)}).approve.commands == ()
    assert config.load_config(tmp_path, {**env, "BOUGH_APPROVE_COMMANDS": "a:b"}).approve.commands == ("a", "b")
    (tmp_path / "bough.toml").write_text("[approve]\ncommands = []\n")
    with pytest.raises(UsageError, match=r"`approve\.commands` cannot be set in a repository"):
        config.load_config(tmp_path, env)
    (tmp_path / "bough.toml").unlink()
    (own / "config.toml").write_text("[approve]\ncommand = 1\n")
    with pytest.raises(UsageError, match=r"config\.toml: \[approve\] has no key `command`"):
        config.load_config(tmp_path, env)


def test_what_the_person_sets_is_not_a_wish(tmp_path: Path) -> None:
    (tmp_path / "bough.toml").write_text('[models]\nmain = "openai:x"\n[budget]\nrounds = 99\n')
    loaded = config.load_config(tmp_path, {"BOUGH_BUDGET_ROUNDS": "500", "BOUGH_MODELS_MAIN": "ollama:y"})
    assert (loaded.budget.rounds, loaded.models.main) == (500, "ollama:y")


def test_settings_are_read_from_plain_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "bough.toml")
    with pytest.raises(UsageError, match="cannot be used as a settings file"):
        config.load_config(tmp_path, {})
    (tmp_path / "bough.toml").unlink()
    (tmp_path / "bough.toml").symlink_to("/dev/zero")
    with pytest.raises(UsageError, match="cannot be used as a settings file"):
        config.load_config(tmp_path, {})


def test_pyproject(tmp_path: Path) -> None:
    assert load(tmp_path, "[tool.bough.budget]\nrounds = 5\n", "pyproject.toml").budget.rounds == 5
    assert load(tmp_path, "[tool.other]\nx = 1\n", "pyproject.toml").budget.rounds == 40


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[budgt]\nrounds = 1\n", r"no section \[budgt\]. Did you mean `budget`\?"),
        ("[backlog]\nlessons = true\n", r"\[backlog\] has no key `lessons`. Lessons are gone"),
        ("[budget]\nround = 1\n", r"\[budget\] has no key `round`. Did you mean `rounds`\?"),
        ("budget = 1\n", r"`budget` is a section"),
        ("[budget]\nrounds = 'many'\n", "wrong type.*rounds"),
        ("[budget\n", "not valid TOML"),
        ("[models]\nbase_url = 'http://elsewhere'\n", "cannot be set in a repository: set BOUGH_MODELS_BASE_URL"),
        ("[sandbox]\nmode = 'none'\n", "cannot be set in a repository: set BOUGH_SANDBOX_MODE"),
    ],
)
def test_mistakes_are_named_with_the_way_out(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load(tmp_path, text)


def test_a_mistyped_variable_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"BOUGH_BUDGET_ROUND is not a setting. Did you mean `BOUGH_BUDGET_ROUNDS`"):
        load(tmp_path, BOUGH_BUDGET_ROUND="1")


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "+nan"])
def test_numbers_must_be_numbers(tmp_path: Path, number: str) -> None:
    with pytest.raises(UsageError, match=r"`budget\.minutes` is"):
        load(tmp_path, f"[budget]\nminutes = {number}\n")
    with pytest.raises(UsageError, match=r"`budget\.minutes` is"):
        load(tmp_path, "[budget]\n", BOUGH_BUDGET_MINUTES=number)


def test_the_servers_of_a_repository_start_only_when_the_person_allows_them(tmp_path: Path) -> None:
    env = {"XDG_CONFIG_HOME": str(tmp_path / "home")}
    project = tmp_path / "p"
    project.mkdir()
    given = {"command": "npx", "args": ["-y", "evil"], "env": {"T": "${GITHUB_TOKEN}"}}
    servers = {"a": given, "b": {"type": "sse", "url": "http://x"}, "c": {"command": 7}, "d": "no"}
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    (project / "bough.toml").write_text('[mcp.e]\nurl = "https://example.org/mcp"\nnetwork = "on"\n')
    asked: dict[str, str] = {}

    def deny(wishes: Mapping[str, str]) -> tuple[str, ...]:
        asked.update(wishes)
        return ()

    assert not config.load_config(project, env, deny).mcp
    assert asked == {
        "mcp.a": 'npx -y evil {"env": {"T": "${GITHUB_TOKEN}"}}',
        "mcp.e": 'https://example.org/mcp {"network": "on"}',
    }
    allowed = config.load_config(project, env, lambda wishes: wishes.keys()).mcp
    assert allowed["a"].args == ("-y", "evil") and allowed["e"].network == "on"
    (tmp_path / "home" / "bough").mkdir(parents=True)
    (tmp_path / "home" / "bough" / "config.toml").write_text('[mcp.a]\ncommand = "mine"\n')
    assert config.load_config(project, env, deny).mcp["a"].command == "mine", "what the person has set stays"
    (project / ".mcp.json").write_text("[" * 100_000)
    assert set(config.load_config(project, env, deny).mcp) == {"a"}
    assert config.find_default("mcp.a") == "none"


def test_a_repository_gives_no_agent_a_key(tmp_path: Path) -> None:
    (tmp_path / "bough.toml").write_text('[agents.claude]\nenv = ["AWS_SECRET_ACCESS_KEY"]\n')
    with pytest.raises(UsageError, match="cannot be set in a repository"):
        config.load_config(tmp_path, {})
    (tmp_path / "bough.toml").write_text('[builders]\nmain = "claude"\n')
    assert config.load_config(tmp_path, {}).builders.main is None, "who is paid is for the person to say"
    assert config.load_config(tmp_path, {}, lambda wishes: wishes.keys()).builders.main == "claude"
