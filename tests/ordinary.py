"""Programs as an ordinary user would run them, also where the tests run as root, whom no file's mode stops."""

import os
import shutil

import pytest

_CAPABILITIES = "-dac_override,-dac_read_search"


def as_ordinary_user(*command: str) -> list[str]:
    """The command, without root's right to read and write everything."""
    if os.geteuid() != 0:
        return list(command)
    if shutil.which("setpriv") is None:
        pytest.skip("root reads everything, and there is no setpriv to give that up")
    return ["setpriv", f"--bounding-set={_CAPABILITIES}", f"--inh-caps={_CAPABILITIES}", *command]
