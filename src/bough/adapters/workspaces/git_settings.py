"""The settings of a checkout's repository, after an agent had it: git runs programs that they name (`fsmonitor` at
every `git status`), and a person who looks around in there, or whose shell shows the branch, would run them.

What is known to be harmless stays. Everything else is removed, since git adds settings with every version.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import suppress

from bough.trust import handles
from bough.trust.files import Place
from bough.trust.handles import open_folder

MOST = 1 << 18
LAST = "[core]\n\thooksPath = /dev/null\n\tfsmonitor = false\n"
"""Overrides earlier settings: of two values git takes the later."""
_ANY = frozenset({"user", "author", "committer", "color", "advice", "init"})
_KEYS = {
    "core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode autocrlf eol safecrlf "
    "symlinks quotepath",
    "gc": "auto",
    "commit": "gpgsign",
    "remote": "url fetch",
    "branch": "remote merge rebase",
    "pull": "rebase ff",
    "push": "default autosetupremote",
    "merge": "ff conflictstyle",
    "rebase": "autostash autosquash",
}
_SECTION = re.compile(r'\s*\[([\w.-]+)(?: "[^"\\\n]*")?\]\s*')
_SETTING = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:=[^\\]*)?")
_ELSEWHERE = (b"commondir", b"config.worktree", b"hooks")
"""What leads git to other settings, or to programs."""

Stamp = tuple[int, ...]


def disarm(top: bytes, known: Stamp | None = None) -> Stamp | None:
    """Make sure that no setting of the repository at `top` runs anything. `known`: the stamp of its settings when they
    were last cleaned. Returns their stamp now; None when there are none."""
    try:
        with open_folder(top, b".git") as handle:
            for name in _ELSEWHERE:
                handles.remove_in(handle, name)
            now = _read_stamp(handle)
            if now is None or now == known:
                return now
            text = Place(os.fsdecode(top), ".git/config").text(MOST)
            if (safe := keep_harmless(text)) != text:
                Place(os.fsdecode(top), ".git/config").write(safe.encode())
            return _read_stamp(handle)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise
        with suppress(FileNotFoundError, NotADirectoryError):
            # A link, or a file that names a repository elsewhere: an agent made it. It is recreated when needed.
            if not stat.S_ISDIR(os.lstat(top + b"/.git").st_mode):
                handles.remove_below(top, b".git")
        return None


def keep_harmless(text: str) -> str:
    """The settings without anything that is not known to be harmless."""
    kept: list[str] = []
    section = ""
    for line in text.removesuffix(LAST).splitlines():
        if found := _SECTION.fullmatch(line):
            section = found[1].lower()
            kept += [line] if section in _ANY or section in _KEYS else []
        elif (found := _SETTING.fullmatch(line)) and section:
            known = section in _ANY or found[1].lower() in _KEYS.get(section, "").split()
            kept += [line] if known else []
    return "".join(f"{line}\n" for line in kept) + LAST


def _read_stamp(handle: int) -> Stamp | None:
    try:
        found = os.stat(b"config", dir_fd=handle, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
