"""The command line. A command's file is loaded on demand."""

import gc
import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line in `sys.argv`, and end the process with its exit status."""
    # Most commands read, print and end: they make no garbage that matters. Garbage collection would take 20
    # of the 244 ms of processor time that `bough show` needs on a loaded machine. Long-running commands turn it back on
    # (`options.enable_gc`).
    gc.disable()

    from bough.interfaces.cli.entry import run_command_line

    # The journal is closed and the output is written, so skip the interpreter's shutdown: 224 ms of processor time
    # instead of 263.
    os._exit(run_command_line(sys.argv[1:]))
