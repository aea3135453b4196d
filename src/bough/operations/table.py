"""The table of operations: what each row is, and how a program calls one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Literal, TypeVar, get_type_hints

from msgspec import NODEFAULT, Struct, defstruct
from msgspec.structs import asdict

from bough.core.backlog.entry import GoalEntry
from bough.core.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


class OperationResult(Struct, frozen=True, kw_only=True):
    """The facts for a program, and one sentence for people."""

    said: str
    next: str = ""
    """The operation that may follow, on the same run."""

    @property
    def facts(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in ("said", "next")}


class Operation(Struct, frozen=True):
    """One row of the table."""

    does: Callable[..., Awaitable[OperationResult]]
    examples: tuple[str, ...]
    json: str
    """What `--json` prints."""
    of: Literal["run", "list"]
    begins: bool
    """It may be the first thing that is done in a project."""

    @property
    def name(self) -> str:
        return self.does.__name__

    @property
    def about(self) -> str:
        return self.does.__doc__ or ""

    @property
    def arguments(self) -> list[tuple[str, Any, Any, str]]:
        return list_arguments(self.does)

    @property
    def request(self) -> type[Struct]:
        return make_request(self.does, *([] if self.of == "run" else [("list", str, "backlog")]))

    async def call(self, folder: Path | str, place: str | None, **arguments: Any) -> OperationResult:
        """Do it in the project around a folder: to that run, or to that list."""
        from bough.app.session import open_session

        async with open_session(folder, create=self.begins) as opened:
            if self.of == "run":
                return await self.does(opened, await opened.find(place), **arguments)
            from bough.services.backlog import load_backlog

            return await self.does(opened, await load_backlog(opened, place or "backlog"), **arguments)


def list_arguments(does: Callable[..., Any]) -> list[tuple[str, Any, Any, str]]:
    """The name, type and default of each argument that is passed by name, and its meaning, where that is said."""
    known = {"Session": object, "Backlog": object, "GoalEntry": GoalEntry}
    types = get_type_hints(does, localns=known, include_extras=True)
    named = [one for one in signature(does).parameters.values() if one.kind is Parameter.KEYWORD_ONLY]
    found = []
    for one in named:
        kind = types[one.name]
        said = getattr(kind, "__metadata__", ("",))[0]
        plain = isinstance(said, str) and said
        found.append((one.name, kind.__origin__ if plain else kind, one.default, said if plain else ""))
    return found


def make_request(does: Callable[..., Any], *more: tuple[str, Any, Any]) -> type[Struct]:
    """The arguments of a function as a body in JSON."""
    own = [
        (name, kind, NODEFAULT if default is Parameter.empty else default)
        for name, kind, default, _ in list_arguments(does)
    ]
    return defstruct(does.__name__, [*more, *own], kw_only=True, forbid_unknown_fields=True)


OPERATIONS: dict[str, Operation] = {}


def operation(
    *examples: str, json: str = "", of: Literal["run", "list"] = "run", begins: bool = False
) -> Callable[[Callable[..., Awaitable[OperationResult]]], Operation]:
    """Enter an operation under its name. Its named parameters are its arguments, each with what it means."""

    def enter(does: Callable[..., Awaitable[OperationResult]]) -> Operation:
        return OPERATIONS.setdefault(does.__name__, Operation(does, examples, json, of, begins))

    return enter


def call_operation(name: str) -> Callable[..., Awaitable[OperationResult]]:
    """The operation as a function of the package."""
    made = OPERATIONS[name]

    async def call(run: str = "latest", *, dir: str = ".", **arguments: Any) -> OperationResult:
        if unknown := sorted(set(arguments) - {key for key, *_ in made.arguments}):
            raise UsageError(f"`{name}` has no argument `{unknown[0]}`.")
        return await made.call(dir, run, **arguments)

    call.__name__, call.__doc__ = name, made.about
    own = {key: (kind, default) for key, kind, default, _ in made.arguments}
    return take_arguments(call, list(signature(call).parameters.values())[:2], own)


def take_arguments(does: F, common: Sequence[Parameter], own: Mapping[str, tuple[Any, Any]]) -> F:
    """Give a function these parameters, as others see them: those in common, and by name those of an operation, each
    with its type and default."""
    named = [Parameter(key, Parameter.KEYWORD_ONLY, default=it, annotation=kind) for key, (kind, it) in own.items()]
    vars(does)["__signature__"] = signature(does).replace(parameters=[*common, *named])
    return does
