"""Runs the command line for `python -m bough`."""

import os
import sys

# `python -m` puts the current folder on the module path, but modules of a repository must never be loaded.
if not sys.flags.safe_path and sys.path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109 - quicker
    del sys.path[0]

from bough.interfaces.cli import main

if __name__ == "__main__":
    main()
