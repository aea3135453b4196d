"""Signatures with SSH keys, which people already have, as `ssh-keygen -Y` makes them."""

import os
import tempfile
from pathlib import Path

from bough.core.acceptance.receipt import WrongReceipt
from bough.core.errors import Unavailable, UsageError
from bough.trust.files import Place
from bough.trust.programs import make_environment, run_program

NAMESPACE = "bough-receipt"
"""The purpose that a signature states: a signature for another purpose does not count."""
ENDING = ".sig"


def sign(body: bytes, key: Path, project: Path) -> bytes:
    """Sign with a private key; or with a public key, if the person's SSH agent holds its private key."""
    status, out, said = _run(project, ("sign", "-q", "-f", str(key.absolute()), "-n", NAMESPACE), body)
    if status != 0:
        raise UsageError(f"The receipt is not signed: ssh-keygen does not take the key {key} ({said}).")
    return out


def check(name: str, body: bytes, signature: bytes, signers: Path | None, project: Path) -> str:
    """Return who signed the body of the file `name`, as a phrase. `signers`: a file of the people whose signatures
    count, in git's form; without it only the key is known. Raises for a wrong signature."""
    with tempfile.TemporaryDirectory(prefix="bough-signature-") as aside:
        file = Place(aside, "signature")
        file.write(signature)
        named = ("-n", NAMESPACE, "-s", str(file))
        if signers is None:
            status, out, said = _run(project, ("check-novalidate", *named), body)
            who = " ".join(out.decode(errors="replace").split()).partition(" with ")[2]
        else:
            allowed = ("-f", str(signers.absolute()))
            _, out, _ = _run(project, ("find-principals", "-s", str(file), *allowed), b"")
            who = out.decode(errors="replace").partition("\n")[0].strip()
            status, _, said = _run(project, ("verify", *allowed, "-I", who or "nobody", *named), body)
    if status != 0:
        raise WrongReceipt(f"The signature of {name} is wrong, so nothing of it was run: {said}.")
    return who or "an unknown key"


def _run(project: Path, words: tuple[str, ...], body: bytes) -> tuple[int, bytes, str]:
    env = make_environment(SSH_AUTH_SOCK=os.environ.get("SSH_AUTH_SOCK", ""))
    try:
        done = run_program(("ssh-keygen", "-Y", *words), project=project, env=env, feed=body, timeout=60)
    except FileNotFoundError:
        raise Unavailable("`ssh-keygen` is not on your PATH: install OpenSSH.") from None
    said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return done.returncode, done.stdout, said[-1].strip().rstrip(".") if said else "it gave no reason"
