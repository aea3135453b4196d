"""A process to be killed while it merges: five steps append to one file, three at a time.

python -m tests.engine.merge_victim start|resume FOLDER POINT
"""

import asyncio
import sys
from pathlib import Path

from bough.core.messages import Answer, Prompt
from bough.testing import Fuse, ScriptedModel, call
from tests.engine.parallel_runs import both, step
from tests.harness import begin, by_progress, resume

NAMES = ("one", "two", "three", "four", "five")
GOAL = both(
    *(step(name, f"grep -qx 'entry {name}' list.txt") for name in NAMES),
    check=" && ".join(f"[ $(grep -cx 'entry {name}' list.txt) = 1 ]" for name in NAMES),
)


def model_answer(prompt: Prompt) -> Answer:
    name = prompt.key.partition("#")[0]
    assert name in NAMES, f"a model was asked for {name}"
    append = call("bash", command=f"grep -qx 'entry {name}' list.txt || echo 'entry {name}' >> list.txt")
    return by_progress(append, call("done", summary=f"Appended {name}."))(prompt)


if __name__ == "__main__":
    verb, folder, point = sys.argv[1:]
    fuse = Fuse(int(point) if point != "-" else None, kill=True)
    model = ScriptedModel(model_answer)
    if verb == "start":
        asyncio.run(begin(Path(folder), model, goal=GOAL, jobs=3, fuse=fuse))
    else:
        asyncio.run(resume(Path(folder), model, fuse))
