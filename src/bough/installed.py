"""How this installation of bough was made, and the command that adds an extra to it."""

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
    """Return the command that adds this extra to the running installation of bough."""
    wanted, editable = _wanted(extra)
    prefix = Path(sys.prefix)
    if (prefix / "pipx_metadata.json").exists():
        return f"pipx install --force {wanted}"
    if (prefix / "uv-receipt.toml").exists():
        return f"uv tool install --force {wanted}"
    python = shlex.quote(sys.executable)
    # Environments made by uv have no pip.
    pip = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return f"{pip} {'-e ' if editable else ''}{wanted}"


def lacking(who: str, extra: str) -> UsageError:
    """Return an error saying that a feature (`who`) needs an extra, with the command that installs it."""
    return UsageError(f"{who} needs an extra. Install it with: {command_for(extra)}")


@contextmanager
def needing(who: str, extra: str, *libraries: str) -> Iterator[None]:
    """Wrap imports that need these libraries of an extra: if one is missing, raise an error that says how to install
    the extra. `who`: the feature that needs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in libraries:
            raise
        raise lacking(who, extra) from None


def _wanted(extra: str) -> tuple[str, bool]:
    """Return the requirement for an installer (this distribution with the extra), and whether it must be editable."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        recorded = distribution(DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:  # bough runs from its sources, and is not installed
        return shlex.quote(f"{Path(__file__).parents[2]}[{extra}]"), True
    if recorded is None:
        return shlex.quote(f"{DISTRIBUTION}[{extra}]"), False
    origin = msgspec.json.decode(recorded)
    if origin["url"].startswith("file://"):
        folder = origin["url"].removeprefix("file://")
        return shlex.quote(f"{folder}[{extra}]"), origin.get("dir_info", {}).get("editable", False)
    version_control = f"{origin['vcs_info']['vcs']}+" if "vcs_info" in origin else ""
    return shlex.quote(f"{DISTRIBUTION}[{extra}] @ {version_control}{origin['url']}"), False
