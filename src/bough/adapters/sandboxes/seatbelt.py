"""Runs commands on macOS under a `sandbox-exec` profile. The profile is based on public knowledge of its language, and
untested on a Mac so far, as a run's banner says.

Everything is denied except what the profile lists, and of two matching rules the later one counts. A command can read
the system, the toolchains and its workspace, but not the person's home and project; write in its workspace, a private
home and its temporary folder; and signal and see only its own processes.
"""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from bough.adapters.sandboxes.levels import SEATBELT
from bough.adapters.sandboxes.network import Network
from bough.adapters.sandboxes.view import TOOLS, find_private_folder
from bough.core.errors import UsageError
from bough.ports import WorkFolder

_HIDDEN = ("/Users", "/Volumes", "/private/tmp", "/private/var/tmp", "/private/var/folders", "/private/var/root")
_SERVICES = """
    com.apple.system.opendirectoryd.libinfo com.apple.system.opendirectoryd.membership com.apple.system.logger
    com.apple.system.notification_center com.apple.logd com.apple.bsd.dirhelper
""".split()  # noqa: SIM905
"""System services that commands may reach (users, groups, logging); none writes or starts anything for a caller."""
_OF_THE_NETWORK = ("com.apple.trustd.agent", "com.apple.SystemConfiguration.configd", "com.apple.dnssd.service")
_BASE = """\
(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow pseudo-tty)
(allow file-read* (subpath "/"))
(allow file-write-data (literal "/dev/null") (literal "/dev/zero"))
(allow file-ioctl (literal "/dev/null"))"""


class Seatbelt:
    def __init__(
        self,
        env: Mapping[str, str],
        hidden: Sequence[Path] = (),
        readable: Sequence[Path] = (),
        writable: Sequence[Path] = (),
    ) -> None:
        """Set up the profile. `hidden`: folders that commands must not see, such as the project. `readable` and
        `writable`: files and folders that the person opens to commands."""
        home = Path(env.get("HOME") or "/nonexistent")
        tools = [home / name for name in TOOLS]
        on_path = [Path(folder) for folder in env.get("PATH", "").split(os.pathsep) if folder.startswith("/")]
        own = [Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[3]]
        self._hidden = [*map(Path, _HIDDEN), home, *hidden]
        self._readable = [place for place in (*tools, *on_path, *own, *readable) if place not in (home, Path("/"))]
        self._writable = list(writable)

    def wrapped(self, argv: Sequence[str], workspace: WorkFolder, network: Network) -> list[str]:
        return [SEATBELT, "-p", self.profile(workspace, network), *argv]

    def profile(self, workspace: WorkFolder, network: Network) -> str:
        lent = [mount.source for mount in workspace.mounts]
        own = [workspace.root, workspace.scratch, find_private_folder(workspace), *self._writable]
        seen = [*self._readable, *lent, *own]
        above = {str(folder) for place in seen for folder in PurePosixPath(os.path.realpath(place)).parents}
        services = [*_SERVICES, *(_OF_THE_NETWORK if network.mode == "on" else ())]
        lines = [
            _BASE,
            _format_rule("allow", "mach-lookup", (f"(global-name {_quote(name)})" for name in services)),
            _format_rule("deny", "file-read*", _subpath_filters(self._hidden)),
            # Opening a file reads the metadata of every folder above it.
            _format_rule("allow", "file-read-metadata", [f"(literal {_quote(place)})" for place in sorted(above)]),
            _format_rule("allow", "file-read*", _subpath_filters(seen)),
            _format_rule("allow", "file-write*", _subpath_filters(own)),
            "(deny file-write-setugid)",
            *_allow_network(network),
        ]
        return "\n".join(lines) + "\n"


def _allow_network(network: Network) -> list[str]:
    """Return the network rules. macOS has no network namespaces, so commands share localhost with the whole machine."""
    if network.mode == "on":
        return ["(allow network*)", "(allow system-socket)"]
    if network.mode == "loopback":
        ways = ("bind (local", "inbound (local", "outbound (remote")
        return [f'(allow network-{way} ip "localhost:*"))' for way in ways]
    return []


def _format_rule(verdict: str, operation: str, filters: Iterable[str]) -> str:
    return "\n".join([f"({verdict} {operation}", *(f"  {each}" for each in filters)]) + ")"


def _subpath_filters(places: Iterable[Path]) -> list[str]:
    # The kernel compares resolved paths, and on macOS `/tmp`, for example, is a link.
    return [f"(subpath {_quote(os.path.realpath(place))})" for place in dict.fromkeys(places)]


def _quote(text: str) -> str:
    if any(ord(letter) < 32 for letter in text):
        raise UsageError(f"Commands cannot be confined in {text!r}: its name has a control character in it.")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
