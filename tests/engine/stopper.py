"""A process that stops itself: carries the story out in a folder and sends itself SIGSTOP at a named point.

python -m tests.engine.stopper FOLDER POINT
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from bough.testing import Fuse, ScriptedModel
from tests.engine.story import model_answer
from tests.harness import begin


class Stopper(Fuse):
    """Stops the process the first time that it passes the point."""

    def __init__(self, point: str) -> None:
        super().__init__()
        self.point = point

    def pass_by(self, name: str) -> None:
        first = name not in self.points
        self.points.append(name)
        if first and name == self.point:
            os.kill(os.getpid(), signal.SIGSTOP)


if __name__ == "__main__":
    folder, point = sys.argv[1:]
    asyncio.run(begin(Path(folder), ScriptedModel(model_answer), fuse=Stopper(point)))
