"""The text protocol: how a model that cannot call tools does the same work. It writes files, edits and one command in
fenced blocks; they are parsed here into the calls that another model would have made."""

from __future__ import annotations

from bough.core.textual.paths import Known
from bough.core.textual.reading import Reading, read_calls

__all__ = ["Known", "Reading", "read_calls"]
