"""Make the attempts: `python -m bench.red_team [--only WORD] [--without]`; the exit status is 1 if one succeeds."""

import argparse
import json
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

from . import agents, changes, copied, endpoints, machines, pages, repositories, settings
from .attempts import ATTEMPTS, Attempt
from .scene import BrokenAttempt, Scene

MODULES = (copied, settings, repositories, agents, endpoints, changes, pages, machines)


def judge(attempt: Attempt, without: bool, folder: Path) -> tuple[str, list[str]]:
    """Make one attempt: `succeeded`, `held` or `broken`, and what was found."""
    root = Path(tempfile.mkdtemp(prefix="red-", dir=folder))
    scene = Scene(root, attempt.defence if without else "")
    try:
        attempt.act(scene)
        found = scene.results()
        return ("succeeded", found) if found else ("held", [])
    except BrokenAttempt as error:
        found = scene.results()
        return ("succeeded", found) if found else ("broken", [str(error)])
    except Exception:  # noqa: BLE001 - whatever goes wrong in an attempt is a fault of the attempt
        return "broken", [traceback.format_exc()[-1500:]]
    finally:
        scene.close()


def main() -> int:
    """Make the attempts and print a line for each, then the numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="attempts whose name or module has this in it")
    parser.add_argument("--without", action="store_true", help="switch the defence off that an attempt aims at")
    parser.add_argument("--defence", default="", help="attempts that aim at this defence")
    parser.add_argument("--json", default="", help="write the results to this file; those in it are kept")
    parser.add_argument("--folder", default="/var/tmp", help="where the scenes are made")
    chosen = parser.parse_args()
    if chosen.without and os.getuid() == 0:
        parser.error("without a defence the attempts do what they say: make a user for them, and run them as that one")
    kept = Path(chosen.json) if chosen.json else None
    results: dict[str, dict[str, object]] = json.loads(kept.read_text()) if kept and kept.exists() else {}
    for attempt in ATTEMPTS.values():
        if chosen.defence not in ("", attempt.defence):
            continue
        if attempt.name in results or chosen.only not in f"{attempt.act.__module__}.{attempt.name}":
            continue
        began = time.monotonic()
        verdict, found = judge(attempt, chosen.without, Path(chosen.folder))
        results[attempt.name] = {"verdict": verdict, "found": found, "defence": attempt.defence}
        print(f"{verdict:9}  {time.monotonic() - began:5.1f} s  {attempt.name}: {attempt.act.__doc__}", flush=True)
        for line in found:
            print("             " + line.replace("\n", "\n             "), flush=True)
        if kept:
            kept.write_text(json.dumps(results, indent=1))
    counts = {
        name: sum(result["verdict"] == name for result in results.values()) for name in ("succeeded", "held", "broken")
    }
    who = "root" if os.getuid() == 0 else "an ordinary user"
    print(f"{len(results)} attempts as {who}: " + ", ".join(f"{number} {name}" for name, number in counts.items()))
    return 1 if counts["succeeded"] else 0


if __name__ == "__main__":
    sys.exit(main())
