"""The command line. Each command is a file of its own, loaded when it is asked for."""

from __future__ import annotations


def main() -> int:
    """The console script: carries out what `sys.argv` says and returns the exit status."""
    import os
    import sys

    from bough.interfaces.cli.entry import enter

    wishes: dict[str, bool] = {}
    status = enter(sys.argv[1:], wishes)
    if wishes.get("hurry"):
        # The journal is closed and the output is written. All that is left is to free some hundred thousand objects one
        # by one, which the system does better.
        os._exit(status)
    return status
