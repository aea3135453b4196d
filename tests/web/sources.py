"""Which sources the committed pages were built from. `scripts/web` writes it beside them."""

import sys
from hashlib import sha256
from pathlib import Path

WEB = Path(__file__).parents[2] / "web"


def sources() -> str:
    """A line for each file that the build reads: its hash and its name."""
    files = sorted(
        path for path in WEB.rglob("*") if path.is_file() and "node_modules" not in path.relative_to(WEB).parts
    )
    return "".join(f"{sha256(path.read_bytes()).hexdigest()}  {path.relative_to(WEB).as_posix()}\n" for path in files)


if __name__ == "__main__":
    sys.stdout.write(sources())
