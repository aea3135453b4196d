"""Files of `NAME=VALUE` lines, as `.env` files are written."""

from __future__ import annotations

import re

from bough.core.errors import UsageError
from bough.trust.files import Place

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*$")


def read_variables(path: Place) -> dict[str, str]:
    """The variables of a file. Quotes around a value are removed; nothing is expanded or run."""
    try:
        text = path.read().decode("utf-8")
    except OSError:
        raise UsageError(
            f"[workspace] env_file: {path} cannot be read: it must be a regular file of the project, and no link out "
            "of it."
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"[workspace] env_file: {path} is not a text file in UTF-8.") from None
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.match(line)
        if match is None:
            raise UsageError(f"[workspace] env_file: line {number} of {path} is not NAME=VALUE.")
        found[match[1]] = _parse_value(match[2])
    return found


def _parse_value(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        inner = text[1:-1]
        return inner.replace("\\n", "\n").replace('\\"', '"') if text[0] == '"' else inner
    return re.sub(r"\s+#.*$", "", text)
