"""Attacks by links, pipes and endless files, on what bough reads and lends."""

import contextlib
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bough.core.errors import BoughError
from tests.escape.place import Place, attack, finished, read, run

LOOK = "cat {0}/.ssh/id_ed25519 {0}/.aws/credentials {0}/notes/diary.txt {0}/diary.txt {0} 2>&1 | head -c 9000"


def lent(place: Place, settings: str, name: str = "data", **given: Any) -> list[str]:
    place.write("bough.toml", settings)
    place.git("add", "-A", "-f")
    place.git("commit", "-qm", "x")
    told, _, said = run(place, LOOK.format(name), "env", trust=True, **given)
    return [*read(told), *finished(said, "failed", "budget")]


@attack("critical")
def a_lent_folder_is_a_link_to_the_home(place: Place) -> list[str]:
    place.link("data", place.home)
    return lent(place, '[workspace]\nlink = ["data"]\n')


@attack("critical")
def a_lent_folder_lies_behind_a_link(place: Place) -> list[str]:
    place.link("a", place.home.parent)
    return lent(place, '[workspace]\nlink = ["a/home"]\n', "a/home")


@attack("critical")
def a_copied_folder_is_a_link_to_the_home(place: Place) -> list[str]:
    place.link("data", place.home)
    place.link("b", place.home.parent)
    return lent(place, '[workspace]\ncopy = ["data", "b/home"]\n')


@attack("critical")
def a_lent_folder_is_relative_through_links(place: Place) -> list[str]:
    place.link("up", "..")
    place.link("data", "up/../home")
    return lent(place, '[workspace]\nlink = ["data"]\n')


@attack("critical")
def a_folder_of_packages_is_a_link_to_the_home(place: Place) -> list[str]:
    place.link("node_modules", place.home)
    place.link("vendor", place.home)
    place.write(".git/info/exclude", "node_modules\nvendor\n")
    told, _, said = run(place, LOOK.format("node_modules"), LOOK.format("vendor"))
    return [*read(told), *finished(said)]


@attack("high")
def variables_come_from_a_file_of_the_home(place: Place) -> list[str]:
    place.link(".env.local", place.home / ".ssh" / "id_ed25519")
    return lent(place, '[workspace]\nenv_file = ".env.local"\n')


@attack("high")
def variables_come_through_a_folder_that_is_a_link(place: Place) -> list[str]:
    place.link("conf", place.home / ".ssh")
    return lent(place, '[workspace]\nenv_file = "conf/id_ed25519"\n')


@attack("high")
def rules_to_ignore_are_a_file_of_the_home(place: Place) -> list[str]:
    place.git("config", "core.excludesFile", str(place.home / "notes" / "diary.txt"))
    told, _, said = run(place, "cat .git/info/exclude; grep -r SECRET .git")
    return [*read(told), *finished(said)]


@attack("high")
def the_archives_exclude_is_a_link_to_the_home(place: Place) -> list[str]:
    (place.project / ".git/info").mkdir(exist_ok=True)
    (place.project / ".git/info/exclude").unlink(missing_ok=True)
    place.link(".git/info/exclude", place.home / "notes" / "diary.txt")
    told, _, said = run(place, "cat .git/info/exclude; grep -r SECRET .git")
    return [*read(told), *finished(said)]


def environment(place: Place, python: Path | str) -> None:
    place.write(".venv/pyvenv.cfg", "home = /usr/bin\n")
    place.link(".venv/bin/python", python)


@attack("high")
def an_environment_names_an_interpreter_in_the_home(place: Place) -> list[str]:
    place.write(place.home / "notes" / "deep" / "python", '#!/bin/sh\nexec python3 "$@"\n', 0o755)
    environment(place, place.home / "notes" / "deep" / "python")
    place.write(".git/info/exclude", ".venv\n")
    told, _, said = run(place, LOOK.format(place.home))
    return [*read(told), *finished(said)]


@attack("high")
def a_compiled_module_is_a_link_to_the_home(place: Place) -> list[str]:
    place.write(".git/info/exclude", "*.so\n.venv\n")
    place.write("x.c", "int x;\n")
    place.commit()
    place.link("x.so", place.home / ".ssh" / "id_ed25519")
    environment(place, "/usr/bin/python3")
    told, _, said = run(place, "cat x.so")
    return [*read(told), *finished(said)]


@attack("high")
def an_environment_elsewhere_is_named_by_the_repository(place: Place) -> list[str]:
    """`.pdm-python` names any folder that looks like an environment, which is then lent."""
    place.write(place.home / "notes" / "pyvenv.cfg", "home = /usr/bin\n")
    place.write(place.home / "notes" / "bin" / "python", "#!/bin/sh\n", 0o755)
    place.write(".pdm-python", f"{place.home}/notes/bin/python")
    told, _, said = run(place, LOOK.format(place.home))
    return [*read(told), *finished(said)]


@attack("high")
def history_is_borrowed_from_the_home(place: Place) -> list[str]:
    place.write(".git/objects/info/alternates", f"{place.home}/.ssh\n")
    told, _, said = run(place, LOOK.format(place.home), "cat .git/objects/info/alternates")
    return [*read(told), *finished(said)]


def blocked(place: Place, names: Sequence[str], plant: Callable[[str], None]) -> list[str]:
    place.write(".git/info/exclude", "node_modules\n.venv\n")
    place.write("package.json", '{"scripts": {"test": "node t.js"}, "dependencies": {"x": "1"}}')
    place.commit()
    for name in names:
        (place.project / name).unlink(missing_ok=True)
        plant(name)
    _, _, said = run(place, "false", check=None)
    # And by an agent, in its checkout.
    for name in names:
        (place.project / name).unlink(missing_ok=True)
    agent = "rm -f {0}; mkdir -p $(dirname {0}); " + ("mkfifo {0}" if plant == place.pipe else "ln -s /dev/zero {0}")
    planted = "; ".join(agent.format(name) for name in names)
    _, _, also = run(place, planted, check="python3 -m unittest -q test_calc")
    return [*finished(said, "failed", "halted", "stuck"), *finished(also, "failed", "halted", "stuck")]


ENDLESS = (
    *("node_modules/.package-lock.json", "node_modules/x/package.json", "package-lock.json", "Makefile", "tox.ini"),
    *(".pdm-python", "environment.yml", "hatch.toml", "conftest.py", "pytest.ini", "Cargo.toml", "go.mod", ".env"),
)


@attack("high")
def files_that_bough_reads_are_endless(place: Place) -> list[str]:
    return blocked(place, ENDLESS, lambda name: place.link(name, "/dev/zero"))


@attack("high")
def files_that_bough_reads_are_pipes(place: Place) -> list[str]:
    return blocked(place, ENDLESS, place.pipe)


@attack("high")
def the_rules_to_ignore_are_a_pipe(place: Place) -> list[str]:
    return blocked(place, [".gitignore", ".gitattributes"], place.pipe)


@attack("high")
def the_settings_are_endless(place: Place) -> list[str]:
    found = []
    for plant in (lambda name: place.link(name, "/dev/zero"), place.pipe):
        for name in ("bough.toml", "pyproject.toml", ".mcp.json"):
            plant(name)
        _, _, said = run(place)
        found += finished(said)
        for name in ("bough.toml", "pyproject.toml", ".mcp.json"):
            (place.project / name).unlink()
    return found


@attack("high")
def the_settings_are_a_file_of_the_home(place: Place) -> list[str]:
    """An error must not quote it."""
    for name in ("bough.toml", ".mcp.json"):
        place.link(name, place.home / "notes" / "diary.txt")
    told, _, said = run(place)
    return read(told + said)


@attack("medium")
def a_planted_folder_of_boughs_is_written_through(place: Place) -> list[str]:
    run(place)
    found = []
    victim = place.home / "victim"
    victim.mkdir()
    for name in ("serve.json", "models.json", "repo.git/refs/bough", "repo.git/log/x", "spare", "trash", "desk"):
        spot = place.project / ".bough" / name
        if spot.is_dir() and not spot.is_symlink():
            shutil.rmtree(spot)
        spot.unlink(missing_ok=True)
        spot.parent.mkdir(exist_ok=True, parents=True)
        spot.symlink_to(victim / Path(name).name if "." in name else victim)
    run(place, "true")
    with contextlib.suppress(BoughError, OSError):
        from bough.interfaces.web.startup import find_address

        find_address(place.project, everything=False, host="127.0.0.1", port=None).listening.close()
    found += [f"written: {path.relative_to(place.home)}" for path in sorted(victim.rglob("*"))][:3]
    return found


@attack("low")
def a_manifest_is_deeply_nested(place: Place) -> list[str]:
    deep = '{"a":' * 5_000 + "1" + "}" * 5_000
    for name in ("package.json", "node_modules/.package-lock.json", "composer.json", "tsconfig.json", ".mcp.json"):
        place.write(name, deep)
    place.write("pyproject.toml", "a = " + "[" * 5_000 + "]" * 5_000)
    place.git("add", "-A", "-f")
    place.git("commit", "-qm", "x")
    _, _, said = run(place, "false", check=None)
    return finished(said, "failed", "budget", "not_verified", "halted", "stuck")


@attack("low")
def other_top_folders_are_readable(place: Place) -> list[str]:
    """Folders at the top of the disk that are not the system's."""
    from bough.adapters.sandboxes.view import FileSystemView
    from bough.adapters.workspaces.plain_folder import PlainFolder

    inside = place.project / ".bough/w"
    inside.mkdir(parents=True)
    folder = PlainFolder(inside, inside, place.project / ".bough/s", ())
    lines, _ = FileSystemView(dict(os.environ), hidden=[place.project]).of(folder, False)
    system = {"usr", "etc", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix", "gnu", "sys", "opt"}
    tops = [line[1] for line in lines if line[0] in ("read", "lent") and line[1].count("/") == 1]
    return [f"readable: {name}" for name in tops if name[1:] not in system]
