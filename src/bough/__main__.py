"""`python -m bough`"""

from __future__ import annotations

import sys

from bough.interfaces.cli import main

if __name__ == "__main__":
    sys.exit(main())
