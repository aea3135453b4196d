"""Parse TOML that others wrote."""

import re
import tomllib
from typing import Any

_LONG_KEY = re.compile(r"(?:\.[ \t]*[\w\"'-]+[ \t]*){100}")


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a table; raises `ValueError` or `RecursionError`. Keys of many parts are refused: they would take
    minutes."""
    if _LONG_KEY.search(text):
        raise ValueError("a key has more than 100 parts")
    return tomllib.loads(text)
