"""`python -m bough`"""

from __future__ import annotations

from bough.interfaces.cli import main

if __name__ == "__main__":
    main()
