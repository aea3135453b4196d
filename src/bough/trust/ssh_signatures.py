"""Signatures with SSH keys, which people already have, as `ssh-keygen -Y` makes them."""

import os
import re
import tempfile
from pathlib import Path

from bough.core.errors import Unavailable, UsageError
from bough.trust.files import Place
from bough.trust.programs import make_environment, run_program

NAMESPACE = "bough-receipt"
"""The purpose that a signature states: a signature for another purpose does not count."""
ENDING = ".sig"


class WrongReceipt(UsageError):
    """Somebody else signed the receipt, its signature is of another text, or it is about another change."""

    exit_status = 3


def sign(body: bytes, key: Path, project: Path) -> bytes:
    """Sign with a private key; or with a public key, if the person's SSH agent holds its private key."""
    fails, out = _run(project, body, "sign", "-q", "-f", str(key.absolute()), "-n", NAMESPACE)
    if fails:
        raise UsageError(f"The receipt is not signed: ssh-keygen does not take the key {key} ({fails}).")
    return out.encode()


def check(name: str, body: bytes, signature: bytes, signers: Path | None, project: Path) -> str:
    """Return who signed the body of the file `name`, as a phrase. `signers`: a file of the people whose signatures
    count, in git's form; without it only the key is known. Raises for a wrong signature."""
    with tempfile.TemporaryDirectory(prefix="bough-signature-") as aside:
        file, how = Place(aside, "signature"), ["check-novalidate"]
        file.write(signature)
        if signers is not None:
            allowed = ("-f", str(signers.absolute()))
            _, found = _run(project, b"", "find-principals", "-s", str(file), *allowed)
            how = ["verify", *allowed, "-I", found.partition("\n")[0].strip() or "nobody"]
        fails, out = _run(project, body, *how, "-n", NAMESPACE, "-s", str(file))
    if fails:
        fault = f"of nobody in {signers}" if how[-1] == "nobody" else "wrong"
        raise WrongReceipt(f"The signature of {name} is {fault}, so nothing of it was run: {fails}.")
    by = re.search(r"signature (?:for (.+) )?with (.+)", out)
    return (by[1] or by[2]) if by else "an unknown key"


def _run(project: Path, body: bytes, *words: str) -> tuple[str, str]:
    """Return why `ssh-keygen` failed, which is empty if it did not, and its output."""
    env = make_environment(SSH_AUTH_SOCK=os.environ.get("SSH_AUTH_SOCK", ""))
    try:
        done = run_program(("ssh-keygen", "-Y", *words), project=project, env=env, feed=body, timeout=60)
    except FileNotFoundError:
        raise Unavailable("`ssh-keygen` is not on your PATH: install OpenSSH.") from None
    out, said = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
    why = (said or out).strip().rpartition("\n")[2].strip(" .\r") or "it gave no reason"
    return why if done.returncode else "", out
