"""Finds out for `bough doctor` what works on this machine and what is missing."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from select import select

from msgspec import Struct
from msgspec.structs import replace

from bough.adapters.agents.registry import KNOWN, choose_agent
from bough.adapters.models.capabilities import Setting
from bough.adapters.models.prices import find_window
from bough.adapters.models.providers import PROVIDERS, has_price, parse_model_name, probe_model
from bough.adapters.models.wire import Client
from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.network import parse_network
from bough.adapters.sandboxes.process import make_sandbox
from bough.adapters.workspaces import disk
from bough.adapters.workspaces.plain_folder import make_plain_folder
from bough.app import config as settings
from bough.app.choices import Choices, RunObserver
from bough.app.journal import find_project_root
from bough.app.journal_location import find_address, open_store
from bough.app.run_models import Knowledge, choose_base_url, gather_knowledge
from bough.app.session import open_session
from bough.core import events as e
from bough.core.budget.limits import Spend, sum_spends
from bough.core.errors import BoughError, Unavailable
from bough.core.planning.agent_choice import TIERS
from bough.core.planning.plan import build_goal_step
from bough.core.settings.sections import MODEL, OWN, list_answering
from bough.installed import command_for
from bough.ports import Sandbox
from bough.services.permission_store import make_consent
from bough.trust.programs import run_program, start_program


class Diagnosis(Struct, frozen=True):
    """One thing that a run needs or can use, and whether it is there."""

    what: str
    ok: bool
    says: str
    needed: bool = True
    """Whether no run can start without the thing."""
    fails: bool = False
    """Whether the thing exists but fails, like a check with failing tests; a run can start all the same."""


async def diagnose(folder: Path | str, choices: Choices) -> list[Diagnosis]:
    """Report what works here, without writing anything or asking a model."""
    env = dict(os.environ)
    root = find_project_root(folder)
    rg = shutil.which("rg")
    search = rg or "rg is not installed: the search tool works without it, but more slowly"
    ripgrep = Diagnosis("ripgrep", rg is not None, search, needed=False)
    findings = [_diagnose_git(root), ripgrep, await _diagnose_journal(root)]
    ignored: dict[str, str] = {}
    try:
        config = settings.load_config(root, env, make_consent(root, env, tell=ignored.update))
    except BoughError as error:
        return [*findings, Diagnosis("settings", False, str(error))]
    if ignored:
        listed = ", ".join(f"{name} = {value}" for name, value in ignored.items())
        says = f"bough.toml asks for {listed}, which you have not allowed: `bough run --trust-config` allows it"
        findings.append(Diagnosis("settings", False, says, needed=False))
    findings.append(await _diagnose_sandbox(config.sandbox, env))
    findings += _examine_agents(config, env)
    models = await _diagnose_models(config, choices, env)
    if (config.builders.main or OWN) != OWN:  # No model is needed, because the outside agent answers bough, too.
        models = [replace(found, needed=False) for found in models]
    return [*findings, *models]


def _examine_agents(config: settings.Config, env: Mapping[str, str]) -> list[Diagnosis]:
    there, missing = [], []
    answering = list_answering((config.models.main, config.models.examiner, config.models.judge))
    wanted = {*config.agents, *config.builders.named().values(), *answering} - {OWN}
    for name in dict.fromkeys((*KNOWN, *sorted(wanted))):
        program = choose_agent(name, config.agents).argv[0]
        if shutil.which(program, path=env.get("PATH")):
            there.append(name)
        elif name in wanted:
            missing.append(f"{name} needs `{program}`, which is not on your PATH")
    library = "" if find_spec("acp") else f"; they need an extra: {command_for('acp')}"
    says = f"--agent can be {', '.join(there)}{library}"
    found = [Diagnosis("agents", not library, says, needed=False)] if there else []
    return found + [Diagnosis("agents", False, lacking, needed=False) for lacking in missing]


async def _diagnose_sandbox(chosen: settings.SandboxSettings, env: Mapping[str, str]) -> Diagnosis:
    try:
        sandbox = make_sandbox(chosen.mode, make_env(env), network=parse_network(chosen.network, env))
        tried, found = await try_to_break_out(sandbox)
    except BoughError as error:
        return Diagnosis("sandbox", False, str(error))
    level = sandbox.level
    led = f"commands could {', '.join(found)}" if found else "none succeeded"
    tests = f"{tried} escape attempts, {led}"
    if level.name == "namespaces":
        says = f"namespaces, seccomp and Landlock {level.abi or '(none)'}; {sandbox.network.says}; {tests}"
        return Diagnosis("sandbox", not found, says)
    gaps = f"commands can {'; '.join(level.gaps)}. {tests}"
    says = {
        "none": f"switched off: {tests}",
        "seatbelt": f"sandbox-exec: {gaps}",
        "landlock": f"Landlock {level.abi} only, because there are no namespaces ({level.why_not_more}): {gaps}",
    }[level.name]
    return Diagnosis("sandbox", False, says, needed=False)


def _diagnose_git(root: Path) -> Diagnosis:
    try:
        said = run_program(["git", "--version"], project=root, timeout=10)
    except FileNotFoundError:
        return Diagnosis("git", False, "git is not installed: bough needs it for its workspaces")
    except (OSError, subprocess.SubprocessError) as error:
        return Diagnosis("git", False, f"git does not run: {error}")
    return Diagnosis("git", said.returncode == 0, (said.stdout or said.stderr).decode(errors="replace").strip())


async def _diagnose_journal(root: Path) -> Diagnosis:
    home = root / ".bough"
    if not os.access(home if home.exists() else root, os.W_OK):
        return Diagnosis("journal", False, f"bough cannot write in {root}: make it writable, or work in a copy of it")
    if not find_address(root) and not (home / "journal.db").exists():
        return Diagnosis("journal", True, f"none in {root} yet; it can be created")
    try:
        store = open_store(root, home, create=False)
        try:
            runs = await store.runs()
            events = await store.verify()
        finally:
            await store.close()
    except BoughError as error:
        return Diagnosis("journal", False, str(error))
    whole = f"{store.path} opens, runs: {len(runs)}; all {events:,} events and their blobs are intact"
    return Diagnosis("journal", True, whole)


async def _diagnose_models(config: settings.Config, choices: Choices, env: Mapping[str, str]) -> list[Diagnosis]:
    known = dict.fromkeys(name for provider in PROVIDERS.values() for name in provider.keys)
    variables = [name for name in known if env.get(name, "").strip()]
    says = f"in the environment: {', '.join(variables)}" if variables else "none in the environment"
    findings = [Diagnosis("keys", bool(variables), says, needed=False)]
    try:
        names = choices.models(config.models)
    except Unavailable as error:
        return [*findings, Diagnosis("model", False, str(error))]
    client = Client()
    try:
        for name in [name for name in dict.fromkeys(names.values()) if not name.startswith(MODEL)]:
            base_url = choose_base_url(name, names, choices.base_url or config.models.base_url)
            probe = await probe_model(name, base_url=base_url, client=client, env=env)
            role = next(key for key, other in names.items() if other == name)
            title = "model" if role in TIERS else role if "+" not in role else "fallback"
            findings.append(Diagnosis(title, probe.ok, probe.sentence, needed=name == names["main"]))
    finally:
        await client.close()
    if "examiner" not in names:
        says = "the main model examines its own work: name one of another vendor as `examiner` under [models]"
        findings.append(Diagnosis("examiner", True, says, needed=False))
    return findings


async def run_check(folder: Path | str) -> e.BaseChecked:
    """Run the project's check on the files as they are. If the project had no `.bough` folder, none is left behind."""
    home = find_project_root(folder) / ".bough"
    is_new = not home.exists()
    try:
        async with open_session(folder, create=True) as opened:
            found, _ = await opened.check(build_goal_step("Go."), Choices(), RunObserver())
            return found
    finally:
        if is_new:
            disk.remove(bytes(home))


async def _load_knowledge(
    folder: Path | str, choices: Choices, setting: Setting | None = None
) -> tuple[settings.Config, str, Knowledge]:
    env = dict(os.environ)
    root = find_project_root(folder)
    config = settings.load_config(root, env, make_consent(root, env))
    client = Client()
    try:
        name = choices.models(config.models)["main"]
        base_url = choices.base_url or config.models.base_url
        chosen = setting or choices.protocol or config.models.protocol
        return config, name, await gather_knowledge([name], base_url=base_url, client=client, env=env, setting=chosen)
    finally:
        await client.close()


async def diagnose_model(folder: Path | str, choices: Choices) -> list[Diagnosis]:
    """Let the model do three tiny tasks, and report the results, its protocol, window and price."""
    config, name, known = await _load_knowledge(folder, choices)
    env, base_url = dict(os.environ), choices.base_url or config.models.base_url
    found = known.protocols.of(next((at for at in known.said if "@" not in at), name.partition("@")[0]))
    window = known.window(name, config.models.window)
    tried = replace(
        choices, model=name, base_url=base_url, protocol=found.protocol, flat=True, rounds=ROUNDS, minutes=MINUTES
    )
    if found.may_change:  # The tasks themselves show which protocol the model needs.
        tried = replace(tried, protocol="auto")
    solved, protocol, why, spend = await try_model(tried)
    failed = [tiny.name for tiny in TASKS if tiny.name not in solved]
    left = f"; failed: {', '.join(failed)}" if failed else ""
    says = f"{len(solved)} of {len(TASKS)} tiny tasks solved{left} ({spend.rounds} rounds, {spend.tokens:,} tokens)"
    short = name.partition("@")[0]
    window = window or find_window(*parse_model_name(name, base_url, env))
    assumed = config.limits.compaction.unknown_window
    shown = f"{window:,} tokens" if window else f"unknown: conversations are kept below {assumed:,} tokens"
    priced = short in config.prices or has_price(name, base_url, env)
    price = "known" if priced else f'unknown: add [prices] "{short}", or limit runs with --max-tokens'
    return [
        Diagnosis("protocol", bool(solved), f"{protocol} ({why or found.why}); {says}", needed=False),
        Diagnosis("window", bool(window), shown, needed=False),
        Diagnosis("price", priced, price, needed=False),
    ]


async def forget_model(folder: Path | str, choices: Choices) -> bool:
    """Forget what earlier runs learned about the model; return whether there was anything."""
    _, name, known = await _load_knowledge(folder, choices, "auto")
    return known.protocols.forget(name.partition("@")[0])


ROUNDS = 6
MINUTES = 5.0


class TrialTask(Struct, frozen=True):
    """A task in one file, and the test that judges it."""

    name: str
    goal: str
    before: str
    test: str


TASKS = (
    TrialTask(
        "repair a line",
        "Make add in calc.py add, so that the test in test_calc.py passes.",
        "def add(a, b):\n    return a - b\n",
        "self.assertEqual(calc.add(2, 3), 5)",
    ),
    TrialTask(
        "write a function",
        "Write the function initials in calc.py, so that the test in test_calc.py passes.",
        'def initials(name):\n    """The first letter of each word, in capitals."""\n    raise NotImplementedError\n',
        "self.assertEqual(calc.initials('ada king lovelace'), 'AKL')",
    ),
    TrialTask(
        "change what a function does",
        "Make shorten in calc.py end a text that it cuts with '...', so that the test in test_calc.py passes.",
        "def shorten(text, limit):\n    return text[:limit]\n",
        "self.assertEqual((calc.shorten('abcdefgh', 6), calc.shorten('abc', 6)), ('abc...', 'abc'))",
    ),
)
TEST = "import unittest\n\nimport calc\n\n\nclass Test(unittest.TestCase):\n    def test_it(self):\n        {test}\n"


async def try_model(choices: Choices) -> tuple[list[str], str, str, Spend]:
    """Run three tiny tasks with a model in a temporary folder. Return the solved ones, the last protocol and why it was
    chosen, and the spend. What is learned about the model is remembered, as with any run."""
    solved: list[str] = []
    protocol, why, spent = "tools", "", list[Spend]()
    with tempfile.TemporaryDirectory(prefix="bough-doctor-") as place:
        folder = Path(place)
        (folder / "calc.py").write_text("")
        for tiny in TASKS:
            (folder / "calc.py").write_text(tiny.before)
            (folder / "test_calc.py").write_text(TEST.format(test=tiny.test))
            async with open_session(folder, create=True) as opened:
                goal = build_goal_step(tiny.goal, check="python3 -m unittest -q test_calc")
                outcome = await opened.start(goal, choices, RunObserver())
                records = await opened.store.read(outcome.run, kinds=("AttemptStarted",))
            begun = [record.event for record in records if isinstance(record.event, e.AttemptStarted)]
            protocol, why = (begun[-1].protocol, begun[-1].why) if begun else (protocol, why)
            spent.append(outcome.spend)
            if outcome.completed:
                solved.append(tiny.name)
    return solved, protocol, why, sum_spends(spent)


_SECRET = "bough-doctor-canary"


async def try_to_break_out(sandbox: Sandbox) -> tuple[int, list[str]]:
    """Try to escape from the sandbox. Return the number of attempts, and what the successful ones could do."""
    with (
        tempfile.TemporaryDirectory(prefix="bough-doctor-") as top,
        closing(socket.create_server(("127.0.0.1", 0))) as server,
        start_program([sys.executable, "-Ic", "input()"], project=None, env={}, stdin=subprocess.PIPE) as bystander,
    ):
        workspace, mine, token = make_plain_folder(Path(top)), Path(top) / "mine.txt", f"7{os.getpid()}"
        mine.write_text(_SECRET)
        mine.chmod(0o600)
        port, reached = server.getsockname()[1], partial(select, [server], [], [], 0.1)
        attempts: list[tuple[str, str, Callable[[bytes], object]]] = [
            ("read your files", f"cat {mine}", lambda said: _SECRET.encode() in said),
            ("write outside of the workspace", f"echo x > {mine}", lambda said: mine.read_text() != _SECRET),
            ("change modes of your files", f"chmod 666 {mine}", lambda said: mine.stat().st_mode & 0o777 != 0o600),
            ("reach services on this machine", f"exec 3<>/dev/tcp/127.0.0.1/{port}", lambda said: reached()[0]),
            ("kill your processes", f"kill -9 {bystander.pid}", lambda said: bystander.poll() is not None),
            ("see your processes", f"cat /proc/{bystander.pid}/cmdline", lambda said: b"sleep" in said),
            ("outlive their call", f"setsid sleep {token} & exit 0", lambda said: _is_alive(token)),
            ("be root in a namespace of their own", "unshare -Ur cat /proc/self/uid_map", lambda said: b" 0 " in said),
            ("leave set-user-ID files", "cp /bin/true t; chmod u+s t", lambda said: _is_special(workspace.root / "t")),
        ]  # fmt: skip
        found = []
        try:
            for can, line, succeeded in attempts:
                finished = await sandbox.run(["bash", "-c", line], workspace=workspace, timeout=20, limit=100_000)
                if succeeded(finished.output):
                    found.append(can)
        finally:
            bystander.kill()
        return len(attempts), found


def _is_alive(token: str) -> bool:
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if token.encode() in place.read_bytes().split(b"\0"):
                return True
        except OSError:
            continue
    return False


def _is_special(path: Path) -> bool:
    return path.is_file() and bool(path.stat().st_mode & 0o4000)
