"""A wrapper that lets an effect (a model call, a command, file changes) start only while the process holds the run.

Promise: a process that was away (stopped, suspended, cut off) while another took its run over does nothing more in the
run's name: it calls no model, starts no command, touches no file of a workspace.
"""

from functools import wraps
from typing import Any, TypeVar, cast

from bough.ports.steering import Fence

T = TypeVar("T")

_OF_WORKSPACES = ("open", "reserve", "discard", "sweep", "merge", "snapshot", "restore", "checkpoint")
EFFECTS = frozenset({"ask", "run", "serve", *_OF_WORKSPACES})
"""The methods of models, tools, sandboxes and workspaces that act in the run's name."""


def fence_port(port: T, fence: Fence) -> T:
    return cast(T, _FencedPort(port, fence))


class _FencedPort:
    """Passes every call through, but first checks, for one of EFFECTS, that this process still holds the run. This also
    applies to the workspaces that it opens."""

    def __init__(self, target: Any, fence: Fence) -> None:
        self._target, self._fence = target, fence

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._target, name)
        if name not in EFFECTS:
            return method

        @wraps(method)
        async def fenced(*args: Any, **kwargs: Any) -> Any:
            await self._fence.cross()
            done = await method(*args, **kwargs)
            return _FencedPort(done, self._fence) if name == "open" else done

        return fenced
