"""The table of operations, from which all interfaces are made: what is known about each, and how programs call it."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from inspect import Parameter, iscoroutinefunction, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_type_hints

from msgspec import NODEFAULT, Struct, ValidationError, convert, defstruct
from msgspec.structs import asdict

from bough.core.backlog.entry import GoalEntry
from bough.core.errors import UsageError
from bough.core.textual.spelling import describe_misfit, shorten_line, suggest_word

if TYPE_CHECKING:
    from bough.app.session import Session

Place = Literal["run", "list", "project"]
F = TypeVar("F", bound=Callable[..., Any])


class OperationResult(Struct, frozen=True, kw_only=True):
    """The result of an operation: facts for programs (the fields of subclasses), and a text for people."""

    said: str
    """A sentence for people, or several, one per line."""
    next: str = ""
    """The operation to suggest next, on the same run; empty: none."""
    exit_status: int = 0

    @property
    def facts(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in OperationResult.__struct_fields__}


Does = Callable[..., Coroutine[Any, Any, OperationResult]]


class Operation(Struct, frozen=True):
    """One row of the table: a function, and how interfaces offer it."""

    does: Does
    examples: tuple[str, ...]
    json: str = "As a JSON object."
    """The help text of `--json`; empty: there is no such option, because the output is for programs anyway."""
    of: Place = "run"
    """What the operation acts on: a run, a backlog (`list`) or the whole project."""
    begins: bool = False
    """Whether the operation may be the first one in a project, and create `.bough`."""
    person: bool = False
    """Whether only a person may do it, because it decides, pushes, opens or installs something. Agents get no tool for
    it, or one that may do less."""
    runs: bool = False
    """Whether the operation takes as long as a run: the dashboard and the tools for agents start it as a separate
    process."""
    resumes: bool = False
    """Whether the run is resumed afterwards, if no process works on it and it has no further questions."""
    group: str = ""
    """The heading under which `bough --help` lists the operation."""
    command: str = ""
    """The words on the command line, such as `backlog drop`, if they differ from the operation's name."""

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
        """Return the parameter by which a function takes the operation's target (a run or a backlog), if it has one."""
        default = {"run": "latest", "list": "backlog"}.get(self.of)
        return [Parameter(self.of, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=str)] if default else []

    async def find(self, opened: "Session", place: str | None) -> list[Any]:
        """Find the operation's target, the run or the backlog called `place`; empty if it is the project itself."""
        if self.of == "run":
            return [await opened.find(place)]
        from bough.services.backlog import load_backlog

        return [await load_backlog(opened, place or "backlog")] if self.of == "list" else []

    def read(self, given: Mapping[str, Any], *, texts: bool = False) -> dict[str, Any]:
        """Convert the arguments of a call to their types. Wrong ones raise the same error for every interface. `texts`:
        all values are strings, as on a command line."""
        kinds = {key: kind for key, kind, *_ in self.arguments}
        for key in given:
            if key not in kinds:
                close = suggest_word(key, kinds)
                known = ", ".join(f"`{one}`" for one in kinds) or "none"
                hint = f"did you mean `{close}`?" if close else f"it takes {known}."
                raise UsageError(f"`{self.name}` has no argument `{shorten_line(key)}`: {hint}")
        for key, _, default, _ in self.arguments:
            if default is Parameter.empty and key not in given:
                raise UsageError(f"`{self.name}` needs the argument `{key}`: add it.")
        return {key: read_value(key, value, kinds[key], texts=texts) for key, value in given.items()}

    async def call(self, folder: Path | str, place: str | None, given: Mapping[str, Any]) -> OperationResult:
        """Perform the operation in the project that contains a folder, on the run or backlog called `place`."""
        from bough.app.session import open_session

        arguments = self.read(given)
        async with open_session(folder, create=self.begins) as opened:
            return await self.do(opened, *await self.find(opened, place), **arguments)

    async def do(self, opened: "Session", *found: Any, **arguments: Any) -> OperationResult:
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
    """Make the type of a JSON body with the arguments of a function."""
    own = [
        (name, kind, NODEFAULT if default is Parameter.empty else default)
        for name, kind, default, _ in list_arguments(does)
    ]
    return defstruct(does.__name__, [*more, *own], kw_only=True, forbid_unknown_fields=True)


OPERATIONS: dict[str, Operation] = {}


def operation(*examples: str, **how: Any) -> Callable[[Does], Operation]:
    """Register the function below as an operation. Its keyword-only parameters are the operation's arguments; `how`:
    fields of `Operation`. `bough --help` reads these decorators from the source, without importing the modules."""

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
    """Return the function by which the Python package performs this operation."""
    made = OPERATIONS[name]

    async def call(*place: str, dir: str = ".", **arguments: Any) -> OperationResult:
        return await made.call(dir, place[0] if place else arguments.pop(made.of, None), arguments)

    call.__name__, call.__doc__ = name, made.about
    own = {key: (kind, default) for key, kind, default, _ in made.arguments}
    return take_arguments(call, [*made.place, signature(call).parameters["dir"]], own)


def take_arguments(does: F, common: Sequence[Parameter], own: Mapping[str, tuple[Any, Any]]) -> F:
    """Set the signature that a function shows: the common parameters, and an operation's own (`own`: type and default
    by name) as keywords."""
    named = [Parameter(key, Parameter.KEYWORD_ONLY, default=it, annotation=kind) for key, (kind, it) in own.items()]
    vars(does)["__signature__"] = signature(does).replace(parameters=[*common, *named])
    return does
