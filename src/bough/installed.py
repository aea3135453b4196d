"""How this copy of bough was installed, and the command that adds an extra to it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import msgspec

from bough.core.errors import UsageError

DISTRIBUTION = "bough-agent"
"""The name on the package index, where `bough` is another project. The command and the import are `bough`."""


def command_for(extra: str) -> str:
    """Return the command that adds this extra to the running copy, however it was installed."""
    wanted, editable = _wanted(extra)
    prefix = Path(sys.prefix)
    if (prefix / "pipx_metadata.json").exists():
        return f"pipx install --force {wanted}"
    if (prefix / "uv-receipt.toml").exists():
        return f"uv tool install --force {wanted}"
    python = shlex.quote(sys.executable)
    # An environment that uv made has no pip.
    pip = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return f"{pip} {'-e ' if editable else ''}{wanted}"


def lacking(who: str, extra: str) -> UsageError:
    """Return the error for a missing library of an extra."""
    return UsageError(f"{who} needs an extra. Install it with: {command_for(extra)}")


@contextmanager
def needing(who: str, extra: str, *libraries: str) -> Iterator[None]:
    """Import modules that need these libraries of an extra; if one is missing, say how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in libraries:
            raise
        raise lacking(who, extra) from None


def _wanted(extra: str) -> tuple[str, bool]:
    """Return this distribution with the extra, as an installer takes it, and whether it is installed as editable."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        recorded = distribution(DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:  # run from its files, without an installation
        return shlex.quote(f"{Path(__file__).parents[2]}[{extra}]"), True
    if recorded is None:
        return shlex.quote(f"{DISTRIBUTION}[{extra}]"), False
    origin = msgspec.json.decode(recorded)
    if origin["url"].startswith("file://"):
        folder = origin["url"].removeprefix("file://")
        return shlex.quote(f"{folder}[{extra}]"), origin.get("dir_info", {}).get("editable", False)
    version_control = f"{origin['vcs_info']['vcs']}+" if "vcs_info" in origin else ""
    return shlex.quote(f"{DISTRIBUTION}[{extra}] @ {version_control}{origin['url']}"), False
