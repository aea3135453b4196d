"""A process to be killed: starts or resumes a run in a folder with a fuse that kills for real.

python -m tests.engine.victim start|resume FOLDER POINT
"""

import asyncio
import sys
from pathlib import Path

from bough.testing import Fuse, ScriptedModel
from tests.engine.story import model_answer
from tests.harness import begin, resume

if __name__ == "__main__":
    verb, folder, point = sys.argv[1:]
    fuse = Fuse(int(point) if point != "-" else None, kill=True)
    model = ScriptedModel(model_answer)
    if verb == "start":
        asyncio.run(begin(Path(folder), model, fuse=fuse))
    else:
        asyncio.run(resume(Path(folder), model, fuse))
