"""Finds how far commands can be confined on this system, and lists what each level does not stop. The banner of a run,
`bough doctor` and the docs show this, and tests assert it."""

import os
import sys
from typing import Literal

from msgspec import Struct

from bough.adapters.sandboxes import filter
from bough.adapters.sandboxes.kernel import landlock_abi
from bough.adapters.sandboxes.supervisors import SLOW, probe
from bough.core.errors import UsageError

Mode = Literal["auto", "namespaces", "landlock", "none"]

SEATBELT = "/usr/bin/sandbox-exec"
"""The full path, because a program of the same name on PATH might be a different one."""
LEAST_ABI = 3
"""The first version of Landlock that keeps commands from truncating files outside the workspace."""


class SandboxLevel(Struct, frozen=True):
    """How commands are confined on this system."""

    name: Literal["namespaces", "landlock", "seatbelt", "none"]
    abi: int = 0
    why_not_more: str = ""
    """Why commands have no namespaces of their own."""

    @property
    def confines(self) -> bool:
        return self.name != "none"

    @property
    def gaps(self) -> tuple[str, ...]:
        """List what commands can do that they should not."""
        if self.name == "none":
            return ("read, change and send everything that you can",)
        if self.name == "namespaces":
            return ()
        if self.name == "seatbelt":
            return (
                "perhaps do more than they should: the profile for macOS is untested on a Mac so far",
                "read what is outside your home and project, and see which processes run",
                "exhaust memory and processes",
            )
        gaps = [
            "read what is outside your home (even the project, if it is there)",
            "see which processes run and change their priorities",
            "change modes, owners and times of your files, and what is in /dev/shm",
        ]
        if self.abi < 5:
            gaps.append("control devices that you can open")
        if self.abi < 6:
            gaps.append("kill and stop your processes")
        return tuple(gaps)


def find_level(mode: Mode) -> SandboxLevel:
    """Return the strongest level that the mode allows here. Raises `UsageError`, which says what is missing."""
    if mode == "none":
        return SandboxLevel("none")
    if sys.platform == "darwin" and mode == "auto" and os.access(SEATBELT, os.X_OK):
        return SandboxLevel("seatbelt", why_not_more="macOS has no namespaces")
    abi = landlock_abi() if filter.is_supported() else 0
    why = probe() if mode != "landlock" else "the sandbox's mode is landlock"
    if not why:
        return SandboxLevel("namespaces", abi)
    if why == SLOW and mode == "auto":
        # A busy machine must not weaken the sandbox without the person's consent.
        raise UsageError(
            f"How well commands can be confined here is unknown: {SLOW}, twice. Run bough again when the machine is "
            "less busy, or pass --sandbox landlock: then they are confined less."
        )
    if mode != "namespaces" and abi >= LEAST_ABI:
        return SandboxLevel("landlock", abi, why)
    landlock = f"Landlock is version {abi}, and {LEAST_ABI} is needed (Linux 6.2)" if abi else "there is no Landlock"
    missing = why if mode == "namespaces" else f"no namespaces ({why}), and {landlock}"
    raise UsageError(
        f"Commands cannot be confined on this system: {missing}. Allow user namespaces, use a newer kernel, or run "
        "bough in a container or virtual machine of its own with --sandbox none: then they have all your rights."
    )
