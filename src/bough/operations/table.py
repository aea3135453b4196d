"""The table of operations: the fields of a row, and the call of one by a program."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from inspect import Parameter, iscoroutinefunction, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_type_hints

from msgspec import NODEFAULT, Struct, ValidationError, convert, defstruct
from msgspec.structs import asdict

from bough.core.backlog.entry import GoalEntry
from bough.core.decoding import describe_misfit
from bough.core.errors import UsageError
from bough.core.textual.spelling import shorten_line, suggest_word

if TYPE_CHECKING:
    from bough.app.session import Session

Place = Literal["run", "list", "project"]
F = TypeVar("F", bound=Callable[..., Any])


class OperationResult(Struct, frozen=True, kw_only=True):
    """The facts for a program, and one sentence for people."""

    said: str
    """A sentence; of several things, one a line."""
    next: str = ""
    """The operation that may follow, on the same run."""
    exit_status: int = 0

    @property
    def facts(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in OperationResult.__struct_fields__}


Does = Callable[..., Coroutine[Any, Any, OperationResult]]


class Operation(Struct, frozen=True):
    """One row of the table."""

    does: Does
    examples: tuple[str, ...]
    json: str = "As a JSON object."
    """Help of `--json`; empty: its output is for programs anyway."""
    of: Place = "run"
    begins: bool = False
    """It may be the first operation in a project."""
    person: bool = False
    """It decides in a person's place, or pushes, opens or installs something: there is no tool for it, or one that may
    do less."""
    runs: bool = False
    """It is a run: a page starts it as a process of its own; so does a tool, which waits for it."""
    resumes: bool = False
    """A run without a process, and without further questions, continues with it."""
    group: str = ""
    """The heading under which `bough --help` lists it."""
    command: str = ""
    """The words of the command line, if they are not its name: `backlog drop`."""

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
    def place(self) -> list[Parameter]:
        """Return its target (a run, a list) as parameters of a function."""
        default = {"run": "latest", "list": "backlog"}.get(self.of)
        how = Parameter.POSITIONAL_OR_KEYWORD
        return [Parameter(self.of, how, default=default, annotation=str)] if default else []

    async def find(self, opened: Session, place: str | None) -> list[Any]:
        """Find its target in a project."""
        if self.of == "run":
            return [await opened.find(place)]
        from bough.services.backlog import load_backlog

        return [await load_backlog(opened, place or "backlog")] if self.of == "list" else []

    def read(self, given: Mapping[str, Any], *, texts: bool = False) -> dict[str, Any]:
        """Read the arguments of a call, each as its type; an error is the same sentence for every interface. `texts`:
        all values are texts, as on a command line."""
        kinds = {key: kind for key, kind, *_ in self.arguments}
        for key in given:
            if key not in kinds:
                close = suggest_word(key, kinds)
                known = ", ".join(f"`{one}`" for one in kinds) or "none"
                hint = f"did you mean `{close}`?" if close else f"it takes {known}."
                raise UsageError(f"`{self.name}` has no argument `{shorten_line(key)}`: {hint}")
        for key, _, default, _ in self.arguments:
            if default is Parameter.empty and key not in given:
                raise UsageError(f"`{self.name}` needs `{key}`.")
        return {key: read_value(key, value, kinds[key], texts=texts) for key, value in given.items()}

    async def call(self, folder: Path | str, place: str | None, given: Mapping[str, Any]) -> OperationResult:
        """Perform it in the project around a folder: on that run, or on that list."""
        from bough.app.session import open_session

        arguments = self.read(given)
        async with open_session(folder, create=self.begins) as opened:
            return await self.do(opened, *await self.find(opened, place), **arguments)

    async def do(self, opened: Session, *found: Any, **arguments: Any) -> OperationResult:
        result: object = await self.does(opened, *found, **arguments)
        if not isinstance(result, OperationResult):
            raise TypeError(f"`{self.name}` must return an OperationResult, not {type(result).__name__}")
        return result


def read_value(name: str, value: Any, kind: Any, *, texts: bool = False) -> Any:
    """Convert an argument's value to its type."""
    try:
        return convert(value, kind, strict=not texts)
    except ValidationError as error:
        raise UsageError(f"`{name}` is invalid: {describe_misfit(error)}.") from None


def list_arguments(does: Callable[..., Any]) -> list[tuple[str, Any, Any, str]]:
    """List each argument that is passed by name, with its type, default and meaning."""
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
    """Return the arguments of a function as a body in JSON."""
    own = [
        (name, kind, NODEFAULT if default is Parameter.empty else default)
        for name, kind, default, _ in list_arguments(does)
    ]
    return defstruct(does.__name__, [*more, *own], kw_only=True, forbid_unknown_fields=True)


OPERATIONS: dict[str, Operation] = {}


def operation(*examples: str, **how: Any) -> Callable[[Does], Operation]:
    """Register an operation under its name. Its named parameters are its arguments, each with its meaning; `how`: the
    fields of `Operation`. `bough --help` reads all that from the source, to load nothing."""

    def enter(does: Does) -> Operation:
        name = does.__name__
        if name in OPERATIONS:
            raise TypeError(f"there is an operation `{name}` already, in {OPERATIONS[name].does.__module__}")
        if not iscoroutinefunction(does):
            raise TypeError(f"the operation `{name}` must be an `async def`")
        for key in how:
            if key not in Operation.__struct_fields__[2:]:
                raise TypeError(f"the operation `{name}` says `{key}=`, which is no field of Operation")
        made = OPERATIONS[name] = Operation(does, examples, **how)
        return made

    return enter


def call_operation(name: str) -> Does:
    """Return the operation as a function of the package."""
    made = OPERATIONS[name]

    async def call(*place: str, dir: str = ".", **arguments: Any) -> OperationResult:
        return await made.call(dir, place[0] if place else arguments.pop(made.of, None), arguments)

    call.__name__, call.__doc__ = name, made.about
    own = {key: (kind, default) for key, kind, default, _ in made.arguments}
    return take_arguments(call, [*made.place, signature(call).parameters["dir"]], own)


def take_arguments(does: F, common: Sequence[Parameter], own: Mapping[str, tuple[Any, Any]]) -> F:
    """Give a function these visible parameters: the common ones, and by name those of an operation, each with its type
    and default."""
    named = [Parameter(key, Parameter.KEYWORD_ONLY, default=it, annotation=kind) for key, (kind, it) in own.items()]
    vars(does)["__signature__"] = signature(does).replace(parameters=[*common, *named])
    return does
