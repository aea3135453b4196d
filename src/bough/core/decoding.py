"""What decoding raises for bytes that somebody else wrote."""

from __future__ import annotations

import msgspec

UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
"""Malformed, no text, or nested too deeply."""
