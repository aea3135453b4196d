"""A fuse that blows at a chosen point of the engine, to see that nothing is lost when the process dies there."""

import os
import signal
from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from msgspec.structs import replace

from bough.ports import Model, Ports, Store, Tools, Workspaces
from bough.ports.verifier import Verifier

WORKSPACES, WORKSPACE = ("open", "discard", "merge"), ("snapshot", "restore", "checkpoint")


class FuseBlown(BaseException):
    """Raised where the process would die. It is not an `Exception`, so that no code catches it and continues."""


class Fuse:
    """Counts the points that the engine passes, and blows at number `at` (from 0); with None it only counts.

    There is a point before and after every append and every action: `before append ToolStarted`, `after ask`, `before
    snapshot` … With `kill` the process gets a real SIGKILL; otherwise `FuseBlown` is raised.
    """

    def __init__(self, at: int | None = None, *, kill: bool = False) -> None:
        self.at = at
        self.kill = kill
        self.points: list[str] = []

    def pass_by(self, name: str) -> None:
        number = len(self.points)
        self.points.append(name)
        if self.at is not None and number >= self.at:  # Concurrent work must not continue after the fuse has blown.
            if self.kill:
                os.kill(os.getpid(), signal.SIGKILL)
            raise FuseBlown(name)

    def wrap(self, ports: Ports) -> Ports:
        """Return the same ports, with the fuse around every call."""

        def name_append(claim: Any, events: Any, expected: int) -> str:
            return "append " + "+".join(type(event).__name__ for event in events)

        return replace(
            ports,
            store=cast(Store, _FusedPort(ports.store, self, {"append": name_append, "put_blob": None})),
            models={tier: cast(Model, _FusedPort(model, self, {"ask": None})) for tier, model in ports.models.items()},
            tools=cast(Tools, _FusedPort(ports.tools, self, {"run": lambda call, *rest: f"tool {call.name}"})),
            workspaces=cast(Workspaces, _FusedPort(ports.workspaces, self, dict.fromkeys(WORKSPACES))),
            verifier=cast(Verifier, _FusedPort(ports.verifier, self, {"judge": None, "probe": None})),
        )


Naming = Callable[..., str] | None


class _FusedPort:
    """Passes calls on to the target. The fuse may blow before and after the named methods, and likewise for the
    workspaces that `open` returns."""

    def __init__(self, target: Any, fuse: Fuse, methods: dict[str, Naming]) -> None:
        self._target, self._fuse, self._methods = target, fuse, methods

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._target, name)
        if name not in self._methods:
            return method

        @wraps(method)
        async def wired(*args: Any, **kwargs: Any) -> Any:
            naming = self._methods[name]
            point = naming(*args, **kwargs) if naming else name
            self._fuse.pass_by(f"before {point}")
            result = await method(*args, **kwargs)
            self._fuse.pass_by(f"after {point}")
            return _FusedPort(result, self._fuse, dict.fromkeys(WORKSPACE)) if name == "open" else result

        return wired
