"""The profile for macOS, as text: there is no Mac here to try it on."""

import sys
from pathlib import Path

import pytest

from bough.adapters.sandboxes import levels
from bough.adapters.sandboxes.levels import SandboxLevel, find_level
from bough.adapters.sandboxes.network import OFF, Network, describe_confinement
from bough.adapters.sandboxes.process import make_sandbox
from bough.adapters.sandboxes.seatbelt import Seatbelt
from bough.adapters.workspaces.plain_folder import PlainFolder, make_plain_folder
from bough.core.errors import UsageError
from bough.ports import Mount

Rule = tuple[str, str, tuple[str, ...]]


def rules(profile: str) -> list[Rule]:
    """What a profile says, in order. Parentheses that do not match, or text outside of them, fail."""
    found: list[Rule] = []
    depth, start, quoted = 0, 0, False
    for at, letter in enumerate(profile):
        if quoted:
            quoted = letter != '"' or profile[at - 1] == "\\"
        elif letter == '"':
            quoted = True
        elif letter == "(":
            start = at if depth == 0 else start
            depth += 1
        elif letter == ")":
            depth -= 1
            if depth == 0:
                verdict, operation, *filters = profile[start + 1 : at].split(None, 2)
                found.append((verdict, operation, tuple(line.strip() for line in "".join(filters).splitlines())))
        else:
            assert depth or letter == "\n", f"stray {letter!r}"
        assert depth >= 0
    assert depth == 0 and not quoted
    return found


def decides(profile: str, operation: str, path: str) -> str:
    """What comes of it: of the rules that fit, the last one counts."""
    verdict = "deny"
    for said, of, filters in rules(profile):
        if said not in ("allow", "deny") or not (
            of == operation or (of.endswith("*") and operation.startswith(of[:-1]))
        ):
            continue
        places = [each.split('"')[1] for each in " ".join(filters).replace(") (", ")\n(").splitlines() if '"' in each]
        kinds = [each.lstrip("(").split()[0] for each in " ".join(filters).replace(") (", ")\n(").splitlines()]
        fits = [
            path == place or (kind == "subpath" and f"{path}/".startswith(f"{place.rstrip('/')}/"))
            for kind, place in zip(kinds, places, strict=True)
        ]
        if not filters or any(fits):
            verdict = said
    return verdict


@pytest.fixture
def checkout(tmp_path: Path) -> PlainFolder:
    made = make_plain_folder(tmp_path)
    made.mounts = (Mount(tmp_path / "home" / "project" / ".venv"),)
    return made


def profile(tmp_path: Path, checkout: PlainFolder, network: Network = OFF) -> str:
    env = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/opt/homebrew/bin"}
    return Seatbelt(env, hidden=[tmp_path / "home" / "project"]).profile(checkout, network)


@pytest.mark.parametrize(
    ("path", "reads", "writes"),
    [
        ("/usr/lib/libSystem.dylib", "allow", "deny"),
        ("/etc/hosts", "allow", "deny"),
        ("{top}/home/.ssh/id_ed25519", "deny", "deny"),
        ("{top}/home/project/file.txt", "deny", "deny"),
        ("{top}/home/project/.venv/bin/python", "allow", "deny"),
        ("{top}/home/.cargo/bin/cargo", "allow", "deny"),
        ("{top}/home/.cargo/credentials.toml", "deny", "deny"),
        ("{top}/workspace/a.py", "allow", "allow"),
        ("{top}/scratch/a", "allow", "allow"),
        ("{top}/scratch.private/home/.config", "allow", "allow"),
        ("/Users/somebody/else", "deny", "deny"),
        ("/private/tmp/tmux-501/default", "deny", "deny"),
        ("/dev/ttys001", "allow", "deny"),
        ("/Library/LaunchAgents/x.plist", "allow", "deny"),
    ],
)
def test_what_can_be_read_and_written(
    tmp_path: Path, checkout: PlainFolder, path: str, reads: str, writes: str
) -> None:
    said = profile(tmp_path, checkout)
    place = path.format(top=tmp_path)
    assert decides(said, "file-read-data", place) == reads
    assert decides(said, "file-write-data", place) == writes


def test_folders_on_the_way_can_be_looked_at_and_not_listed(tmp_path: Path, checkout: PlainFolder) -> None:
    said = profile(tmp_path, checkout)
    for folder in (tmp_path / "home", tmp_path / "home" / "project"):
        assert decides(said, "file-read-metadata", str(folder)) == "allow"
        assert decides(said, "file-read-data", str(folder)) == "deny"


def test_everything_is_denied_first_and_set_user_id_last(tmp_path: Path, checkout: PlainFolder) -> None:
    said = rules(profile(tmp_path, checkout))
    assert said[0][:2] == ("version", "1") and said[1][:2] == ("deny", "default")
    assert said[-1] == ("deny", "file-write-setugid", ())
    assert ("allow", "signal", ("(target same-sandbox)",)) in said


@pytest.mark.parametrize(
    ("mode", "allowed"), [("off", set()), ("loopback", {"bind", "inbound", "outbound"}), ("on", {"*"})]
)
def test_the_network(tmp_path: Path, checkout: PlainFolder, mode: str, allowed: set[str]) -> None:
    said = rules(profile(tmp_path, checkout, Network(mode)))  # type: ignore[arg-type]
    found = {
        of.removeprefix("network").removeprefix("-"): filters for _, of, filters in said if of.startswith("network")
    }
    assert set(found) == allowed
    assert all("localhost:*" in " ".join(filters) for filters in found.values()) or mode == "on"


def test_names_cannot_break_out_of_the_profile(tmp_path: Path) -> None:
    odd = tmp_path / 'a") (allow default) ("'
    odd.mkdir()
    said = rules(profile(tmp_path, make_plain_folder(odd)))
    assert not [rule for rule in said if rule[:2] == ("allow", "default")]
    broken = tmp_path / "a\nb"
    broken.mkdir()
    with pytest.raises(UsageError, match="control character"):
        profile(tmp_path, make_plain_folder(broken))


def test_on_a_mac_it_is_taken_and_said_to_be_untried(
    tmp_path: Path, checkout: PlainFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(levels.os, "access", lambda path, mode: path == "/usr/bin/sandbox-exec")  # type: ignore[attr-defined]
    level = find_level("auto")
    assert level == SandboxLevel("seatbelt", why_not_more="macOS has no namespaces")
    assert "untested on a Mac" in describe_confinement(level, Network("off"))
    sandbox = make_sandbox("auto", {"HOME": str(tmp_path), "PATH": "/usr/bin"})
    request = sandbox._request(["true"], checkout, {}, ())
    assert request["argv"][:2] == ["/usr/bin/sandbox-exec", "-p"] and request["argv"][3:] == ["true"]
    assert request["env"]["HOME"].endswith("scratch.private/home")
    with pytest.raises(UsageError, match="--network off or loopback or on"):
        make_sandbox("auto", {}, network=Network("allow", ("example.org",)))
