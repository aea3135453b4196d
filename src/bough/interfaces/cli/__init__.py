"""The command line. Each command is a file of its own, loaded when it is asked for."""

from __future__ import annotations


def main() -> int:
    """The console script: carries out what `sys.argv` says and returns the exit status."""
    import sys

    from bough.interfaces.cli.entry import enter

    return enter(sys.argv[1:])
