"""Loads the settings. Later sources override earlier ones: the person's `~/.config/bough/config.toml`, the repository's
`bough.toml` or `[tool.bough]` in `pyproject.toml`, `BOUGH_*` variables, flags.

A repository's file is untrusted input. Few of its settings apply unasked (`trust/wishes.py`); the others are *wishes*,
which apply only if the person allows them and has not set those keys. Model endpoints, which are sent the person's
API key, and the sandbox of commands are for the person alone: such keys are rejected in a repository's file."""

import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from bough.core.budget.limits import Limits, ModelPrice
from bough.core.errors import UsageError
from bough.core.ladder.escalation import LadderRules
from bough.core.planning.plan import PlanningRules
from bough.core.rules import AcceptanceRules, CheckRules, CompactionRules, Rules
from bough.core.settings import sections
from bough.core.settings.sections import Models as Models
from bough.core.settings.sections import SandboxSettings as SandboxSettings
from bough.core.stuck.signals import StuckRules
from bough.core.textual.spelling import suggest_word
from bough.core.textual.toml_source import parse_toml
from bough.trust.files import Place, read_own
from bough.trust.wishes import LOWERED, applies_unasked


class Config(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    models: Models = field(default_factory=Models)
    limits: Rules = field(default_factory=Rules)
    budget: Limits = field(default_factory=Limits)
    stuck: StuckRules = field(default_factory=StuckRules)
    ladder: LadderRules = field(default_factory=LadderRules)
    planning: PlanningRules = field(default_factory=PlanningRules)
    compaction: CompactionRules = field(default_factory=CompactionRules)
    checks: CheckRules = field(default_factory=CheckRules)
    acceptance: AcceptanceRules = field(default_factory=AcceptanceRules)
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    approve: sections.ApproveSettings = field(default_factory=sections.ApproveSettings)
    check: sections.CheckSettings = field(default_factory=sections.CheckSettings)
    workspace: sections.WorkspaceSettings = field(default_factory=sections.WorkspaceSettings)
    builders: sections.BuilderSettings = field(default_factory=sections.BuilderSettings)
    backlog: sections.BacklogSettings = field(default_factory=sections.BacklogSettings)
    worker: sections.WorkerSettings = field(default_factory=sections.WorkerSettings)
    hooks: sections.HookSettings = field(default_factory=sections.HookSettings)
    agents: dict[str, sections.AgentSettings] = field(default_factory=dict)
    """Outside agents by name: how they are started, and what they may see. Rejected in a repository's file."""
    mcp: dict[str, sections.ToolServer] = field(default_factory=dict)
    """Servers of the Model Context Protocol by name. Agents can use their tools."""
    services: dict[str, sections.Service] = field(default_factory=dict)
    prices: dict[str, ModelPrice] = field(default_factory=dict)
    """Prices by model: `"openai:my-model" = {input = 3, output = 15}`."""


PERSON_ONLY = {
    ("models", "base_url"),
    ("models", "presets"),
    ("approve", "commands"),
    ("approve", "wait"),
    *(("sandbox", key) for key in SandboxSettings.__struct_fields__),
    *(("backlog", key) for key in sections.BacklogSettings.__struct_fields__),
    *(("worker", key) for key in sections.WorkerSettings.__struct_fields__),
    *(("hooks", key) for key in sections.HookSettings.__struct_fields__),
}
REMOVED = {("backlog", "lessons"): " Lessons are gone, because they did not help: remove this setting."}
"""What to tell a person who uses a setting of an earlier release."""
OWN_SECTIONS = ("stuck", "ladder", "planning", "compaction", "checks", "acceptance")
"""Parts of `Rules` that have their own section in the file."""
NAMED = frozenset({"services", "prices", "agents", "mcp"})
"""Sections whose keys are names that the person chooses."""
SECTIONS: dict[str, tuple[str, ...]] = {
    section: tuple(getattr(Config(), section).__struct_fields__)
    for section in Config.__struct_fields__
    if section not in NAMED
}
"""The keys of all sections that are not in `NAMED`."""
SECTIONS["limits"] = tuple(key for key in SECTIONS["limits"] if key not in (*OWN_SECTIONS, "accept_failing", "scout"))
MANY = {("checks", "allow_test_changes")} | {
    (section, key)
    for section, keys in SECTIONS.items()
    for key in keys
    if isinstance(getattr(getattr(Config(), section), key), tuple)
}
"""Keys that hold a list. In an environment variable, colons separate its values: `a:b`."""
LONGEST = 4 << 20
"""The most bytes that a settings file may have. It is generous because other tools also use `pyproject.toml`."""
NOT_SETTINGS = frozenset({"BOUGH_WORKSPACE", "BOUGH_TASK", "BOUGH_STORE", "BOUGH_EVENT", "BOUGH_MESSAGE"})
"""`BOUGH_*` variables that are not settings: they mark processes, locate the journal or inform a hook."""

Table = dict[str, dict[str, Any]]
Allow = Callable[[Mapping[str, str]], Collection[str]]
"""Takes a repository's wishes (`budget.rounds` and its value), and returns the names that the person allows."""


def load_config(folder: Path, env: Mapping[str, str], allow: Allow = lambda wishes: ()) -> Config:
    """Load the settings of a project folder. Wishes that are not allowed are ignored."""
    return load_settings(folder, env, allow)[0]


def load_settings(
    folder: Path, env: Mapping[str, str], allow: Allow = lambda wishes: (), *, outside: bool = False
) -> tuple[Config, dict[str, str]]:
    """Return the settings, and by name those that the repository's file decided. `outside`: no sandbox is used."""
    layers, merged = list_layers(folder, env, allow, outside=outside), Table()
    for _, table in layers:
        for section, values in table.items():
            merged.setdefault(section, {}).update(values)
    _, (_, theirs), (_, own) = layers
    names = [(section, key) for section, values in theirs.items() for key in values if key not in own.get(section, {})]
    return _convert(merged), {f"{section}.{key}": _render(theirs[section][key]) for section, key in names}


def list_layers(
    folder: Path, env: Mapping[str, str], allow: Allow = lambda wishes: (), *, outside: bool = False
) -> list[tuple[str, Table]]:
    """List each source of settings with what it sets, weakest first: the person's file, the repository's, variables."""
    home, mine = _read_person_file(env)
    place, table = _read_repository_file(folder)
    with suppress(UnicodeDecodeError):  # Many tools share .mcp.json, so bough leaves the complaint to them.
        if servers := sections.read_servers(_read_text(folder, ".mcp.json")):
            table = {**table, "mcp": {**servers, **table.get("mcp", {})}}
    own = _read_env(env)
    outside = outside or "none" in (layer.get("sandbox", {}).get("mode") for layer in (mine, own))
    wishes = _find_wishes(table, mine, outside)
    if outside:
        wishes = {name: add_scripts(folder, value) for name, value in wishes.items()}
    asked = {name: value for name, value in wishes.items() if not _is_set(own, name) and not _is_set(mine, name)}
    for name in wishes.keys() - set(allow(asked) if asked else ()):
        section, _, key = name.partition(".")
        del table[section][key]
    # What is left needs no consent. If the person set the same key, their value counts, except that a repository may
    # lower limits (the sections LOWERED).
    for section in table.keys() - LOWERED:
        table[section] = {key: value for key, value in table[section].items() if key not in mine.get(section, {})}
    return [(home, mine), (place, table), ("environment", own)]


def load_hooks(env: Mapping[str, str]) -> sections.HookSettings:
    """Load the person's hooks. A repository cannot set hooks, so its file is not read."""
    (_, mine), own = _read_person_file(env), _read_env(env)
    return _convert({"hooks": {**mine.get("hooks", {}), **own.get("hooks", {})}}).hooks


def find_person_file(env: Mapping[str, str]) -> Path | None:
    """Return the file with a person's settings for all their projects; None without a home folder."""
    base, home = env.get("XDG_CONFIG_HOME", ""), env.get("HOME", "")
    if not base.startswith("/") and not home:
        return None
    return (Path(base) if base.startswith("/") else Path(home) / ".config") / "bough" / "config.toml"


def _read_person_file(env: Mapping[str, str]) -> tuple[str, Table]:
    path = find_person_file(env)
    if path is None:
        return "", {}
    try:
        table = parse_toml(_decode(read_own(path, LONGEST + 1), path))
    except FileNotFoundError:
        return str(path), {}
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}.") from None
    return str(path), _check_table(table, str(path), of_the_person=True)


def _find_wishes(table: Table, mine: Table, outside: bool) -> dict[str, str]:
    """Return the settings of a repository that need the person's consent, with their values. The parsed values are
    compared with the defaults, not the texts in the file: `"1000"` is a number, too."""
    if not table:
        return {}
    understood, defaults = _convert(table), _convert(mine)
    found = {}
    for section, values in table.items():
        for key in values:
            if section in NAMED:
                found[f"{section}.{key}"] = (
                    sections.describe_server(values[key]) if section == "mcp" else _render(values[key])
                )
                continue
            value, default = (getattr(getattr(each, section), key) for each in (understood, defaults))
            if not applies_unasked(section, key, value, default, outside=outside):
                found[f"{section}.{key}"] = _render(value)
    return found


def add_scripts(folder: Path, value: str) -> str:
    """Add to a wish the checksums of the files that it names. Without a sandbox these files run with all of the
    person's rights, so consent holds only for their present content."""
    words = dict.fromkeys(re.findall(r"[\w./@+-]+", value))
    bodies = {word: place.read() for word in words if (place := Place(folder, word, links=True)).is_regular()}
    marks = [f"{word} {hashlib.sha256(body).hexdigest()[:16]}" for word, body in bodies.items()]
    return f"{value} [{', '.join(marks)}]" if marks else value


def _render(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def find_default(name: str) -> str:
    """Return the default of a setting, as text."""
    section, _, key = name.partition(".")
    if section in NAMED:
        return "none"
    value = getattr(getattr(Config(), section), key)
    return "none" if value is None else str(value)


def _is_set(table: Table, name: str) -> bool:
    section, _, key = name.partition(".")
    return key in table.get(section, {})


def _convert(table: Table) -> Config:
    _check_numbers(table)
    try:
        loaded = msgspec.convert(table, Config, strict=False)
        rules: dict[str, Any] = {name: getattr(loaded, name) for name in OWN_SECTIONS}
        if loaded.check.timeout is not None:
            rules["check_timeout"] = loaded.check.timeout
        rules |= {"accept_failing": loaded.check.accept_failing, "scout": loaded.check.scout}
        _refuse_outside(loaded.workspace)
        return replace(loaded, limits=replace(loaded.limits, **rules))
    except msgspec.ValidationError as error:
        raise UsageError(
            f"A setting has the wrong type: {error}. See docs/reference/configuration.md for what it takes."
        ) from None


def _check_numbers(table: Table) -> None:
    """Refuse numbers that TOML and msgspec accept but bough cannot use: a budget of `nan` would never be spent, and a
    journal cannot store it."""
    for section, values in table.items():
        for key, value in values.items():
            if isinstance(value, float | str) and str(value).strip().lower().lstrip("+-") in ("nan", "inf", "infinity"):
                raise UsageError(f"`{section}.{key}` is {value}: give a number, or leave it out for the default.")


def _refuse_outside(chosen: sections.WorkspaceSettings) -> None:
    """Refuse paths outside the project, so that a repository's file cannot reach the person's private files."""
    named = [("link", name) for name in chosen.link] + [("copy", name) for name in chosen.copy]
    for key, name in [*named, *([("env_file", chosen.env_file)] if chosen.env_file else [])]:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts or path.parts[0] in (".git", ".bough"):
            raise UsageError(f"[workspace] {key}: `{name}` is not a path within the project: use a relative path.")


def _read_repository_file(folder: Path) -> tuple[str, Table]:
    for name, within in (("bough.toml", ()), ("pyproject.toml", ("tool", "bough"))):
        path = folder / name
        try:
            text = _read_text(folder, name)
            if within and within[-1] not in text:
                continue
            table: Any = parse_toml(text)
        except (ValueError, RecursionError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
            if within:  # Other tools use pyproject.toml too, and report its faults.
                continue
            raise UsageError(f"{path} is not valid TOML: {error}.") from None
        for key in within:
            table = table.get(key, {}) if isinstance(table, dict) else {}
        if table:
            return str(path), _check_table(table, str(path))
    return str(folder / "bough.toml"), {}


def _read_text(folder: Path, name: str) -> str:
    place = Place(folder, name, links=True)
    if place.kind in ("", "folder") and Place(folder, name).kind != "link":
        return ""
    try:
        return _decode(place.read(LONGEST + 1), folder / name)
    except OSError as error:
        raise _make_settings_error(folder / name) from error


def _decode(body: bytes, path: Path) -> str:
    if len(body) > LONGEST:
        raise _make_settings_error(path)
    return body.decode()


def _make_settings_error(path: Path) -> UsageError:
    return UsageError(
        f"{path} cannot be used as a settings file: replace it with a plain file inside the project of at most "
        f"{LONGEST >> 20} MB."
    )


def _check_table(table: Any, place: str, *, of_the_person: bool = False) -> Table:
    if "notify" in table and isinstance(hooks := table.get("hooks", {}), dict):
        table = {key: value for key, value in table.items() if key != "notify"} | {
            "hooks": {**hooks, "notify": table["notify"]}
        }
    for section, values in table.items():
        if section not in SECTIONS and section not in NAMED:
            raise UsageError(f"{place}: there is no section [{section}].{_find_nearest(section, [*SECTIONS, *NAMED])}")
        if not isinstance(values, dict):
            raise UsageError(f"{place}: `{section}` is a section: write [{section}] and its keys below it.")
        if section == "agents" and not of_the_person:
            raise UsageError(
                f"{place}: [agents] cannot be set in a repository, because agents get keys and a network: "
                "put it in your own file (`bough config`)."
            )
        for key in () if section in NAMED else values:
            if key not in SECTIONS[section]:
                said = REMOVED.get((section, key)) or _find_nearest(key, SECTIONS[section])
                raise UsageError(f"{place}: [{section}] has no key `{key}`.{said}")
            if of_the_person:
                continue
            if (section, key) in PERSON_ONLY:
                raise UsageError(
                    f"{place}: `{section}.{key}` cannot be set in a repository: "
                    f"set {make_variable_name(section, key)} in your environment, or put it in your "
                    f"own file (`bough config`)."
                )
            if section == "models" and "@http" in str(values[key]):
                raise UsageError(
                    f"{place}: an address after a model's name cannot be set in a repository: "
                    f"set {make_variable_name(section, key)} in your environment."
                )
    return {section: dict(values) for section, values in table.items()}


def _read_env(env: Mapping[str, str]) -> Table:
    known = {make_variable_name(section, key): (section, key) for section, keys in SECTIONS.items() for key in keys}
    del known[make_variable_name("models", "presets")]
    table: Table = {}
    for name, value in env.items():
        if not name.startswith("BOUGH_") or name in NOT_SETTINGS:
            continue
        if name not in known:
            gone = {make_variable_name(*old): said for old, said in REMOVED.items()}
            said = gone.get(name) or _find_nearest(name, list(known))
            raise UsageError(f"The environment variable {name} is not a setting.{said}")
        section, key = known[name]
        many = [part for part in value.split("," if (section, key) == ("models", "fallback") else ":") if part]
        table.setdefault(section, {})[key] = many if (section, key) in MANY else value
    return table


def make_variable_name(section: str, key: str) -> str:
    return f"BOUGH_{section}_{key}".upper()


def _find_nearest(word: str, words: list[str] | tuple[str, ...]) -> str:
    close = suggest_word(word, words)
    return f" Did you mean `{close}`?" if close else f" Known: {', '.join(words)}."
