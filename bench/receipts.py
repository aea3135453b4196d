"""Receipts, run again in fresh clones: as written, altered in what is run again, and signed and altered anywhere.

    python -m bench.receipts --number 40

Every receipt is of another small project with a branch that `bough examine` proves, with a model at the wire.
"""

import argparse
import json
import random
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.journeys.model import Goal, Model
from tests.journeys.person import Person
from tests.wire import WireModel

OPERATIONS = {"add": "a + b", "take": "a - b", "times": "a * b", "most": "max(a, b)", "least": "min(a, b)"}


def make_project(folder: Path, number: int) -> tuple[Person, WireModel]:
    """A project whose branch `work` adds a function, with a test of its own."""
    name, body = list(OPERATIONS.items())[number % len(OPERATIONS)]
    name, value = f"{name}_{number}", eval(body, {"a": number, "b": 3})
    text = f"Write {name}.py with a function `{name}` of two numbers that returns {body}."
    model = Model(
        [Goal(text, {}, {text: f"from {name} import {name}\nself.assertEqual({name}({number}, 3), {value})"})]
    )
    wire = WireModel(model).__enter__()
    home, project = folder / "home", folder / "project"
    (home / ".config" / "bough").mkdir(parents=True)
    project.mkdir()
    (home / ".gitconfig").write_text("[user]\nname = Ann\nemail = ann@example.org\n[init]\ndefaultBranch = main\n")
    settings = f'[models]\nmain = "openai:wire-model"\nbase_url = "{wire.base_url}"\n'
    (home / ".config/bough/config.toml").write_text(settings)
    ann = Person(home, project, model, wire)
    ann.git("init", "-q")
    ann.write("old.py", "def old():\n    return 1\n")
    head = "import unittest\n\n\nclass TestCase(unittest.TestCase):\n    def test_{0}(self):\n"
    head += "        from {0} import {0}\n"
    ann.write("test_old.py", head.format("old") + "        self.assertEqual(old(), 1)\n")
    ann.commit("Begin.")
    ann.git("checkout", "-q", "-b", "work")
    ann.write(f"{name}.py", f"def {name}(a, b):\n    return {body}\n")
    ann.write(f"test_{name}.py", head.format(name) + f"        self.assertEqual({name}({number}, 3), {value})\n")
    ann.commit(text)
    return ann, wire


def alter(receipt: dict[str, Any], number: int) -> str:
    """One change of what is run again; its kind."""
    rerun = receipt["predicate"]["rerun"]
    test = sorted(rerun["tests"])[number % len(rerun["tests"])]
    kinds = ("outcome", "left out", "invented", "case", "case's outcome", "command", "base", "head")
    kind = kinds[number % len(kinds)]
    if kind == "outcome":
        rerun["tests"][test]["after"] = "failed"
    elif kind == "left out":
        del rerun["tests"][test]
    elif kind == "invented":
        rerun["tests"]["test_x.TestX.test_y"] = {"before": "failed", "after": "passed"}
    elif kind == "case":
        rerun["probes"][0]["probe"]["text"] = "pass\n"
    elif kind == "case's outcome":
        rerun["probes"][0]["outcome"]["before"] = "passed"
    elif kind == "command":
        rerun["command"] = "true"
    else:
        rerun["base"] = rerun["head"] = rerun["head" if kind == "base" else "base"]
    return kind


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=40)
    number = parser.parse_args().number
    found, chance = Counter[str](), random.Random(1)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        key = Path(place) / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        for each in range(number):
            folder = Path(place) / str(each)
            folder.mkdir()
            ann, wire = make_project(folder, each)
            file = folder / "receipt.json"
            found["proven"] += ann.bough("examine", "work", "--receipt", str(file)).status == 0
            signed = folder / "signed.json"
            if each < number // 4:
                ann.bough("receipt", "--output", str(signed), "--sign", str(key), status=0)
            ann.git("clone", "-q", "--branch", "work", str(ann.project), str(folder / "clone"))
            ann.project = folder / "clone"
            found["same"] += ann.bough("recheck", str(file)).status == 0
            receipt = json.loads(file.read_text())
            kind = alter(receipt, each)
            file.write_text(json.dumps(receipt))
            noticed = ann.bough("recheck", str(file)).status == 3
            found["altered, noticed"] += noticed
            if not noticed:
                print("not noticed:", each, kind)
            if each < number // 4:
                body = bytearray(signed.read_bytes())
                place_of = chance.choice([at for at, byte in enumerate(body) if chr(byte).isalnum()])
                body[place_of] = ord("x") if body[place_of] != ord("x") else ord("y")
                signed.write_bytes(body)
                found["signed, noticed"] += ann.bough("recheck", str(signed)).status == 3
            wire.__exit__(None, None, None)
    print(f"{number} receipts in {time.monotonic() - began:.0f} s: {dict(found)}")


if __name__ == "__main__":
    main()
