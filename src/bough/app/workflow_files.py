"""Finds and reads the workflow files of a project."""

import errno
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from bough.app.journal import find_project_root
from bough.core.errors import NotFound, UsageError
from bough.core.planning.plan import Plan
from bough.core.workflow.loading import Workflow, load
from bough.core.workflow.placeholders import fill_step
from bough.core.workflow.problems import decode_text, suggest_nearest
from bough.trust.files import Place

PLACES = ("workflows", "examples/workflows")
"""Folders of a project in which workflows are looked for."""
SHIPPED = "workflows_shipped"
LARGEST = 2_000_000


def found(root: Path) -> list[Path]:
    """List the workflow files of a project, sorted by name."""
    paths = (path for place in PLACES for path in sorted((root / place).glob("*.toml")))
    return [path for path in paths if Place(root, path.relative_to(root).as_posix(), links=True).is_regular()]


def shipped() -> list[Path]:
    """List the workflow files that come with bough, sorted by name: in the package, or next to its sources."""
    here = Path(__file__).parents[1]
    return next(
        filter(None, (sorted(place.glob("*.toml")) for place in (here / SHIPPED, here.parents[1] / PLACES[1]))), []
    )


def located(said: str, folder: Path, root: Path) -> Path:
    """Find the file that a person means: a path relative to the current folder or to `folder`, or a workflow's name.
    The project's own workflows come before those of bough."""
    for path in (Path(said), folder.resolve() / said):
        if path.is_file():
            return path
    known = {path.stem: path for path in (*shipped(), *reversed(found(root)))}
    if said in known:
        return known[said]
    hint = suggest_nearest(said, known) if known else "`bough workflow --help` says where bough looks for them."
    raise NotFound(f"There is no workflow `{said}` here: {hint}")


def load_file(path: Path, root: Path, inputs: Mapping[str, str] | None) -> Workflow:
    """Load the workflow in a file. The other workflows that it uses must be files of the project, or of its own folder
    if that is outside the project. Links that lead outside are refused."""
    named = Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow the link
    real = named if named.is_relative_to(root) else path.resolve()
    top = root if real.is_relative_to(root) else real.parent
    file = real.relative_to(top).as_posix()
    read = reader(top)
    return load(read(file), file, inputs=inputs, read=read)


def plan_of(said: str | Path, folder: Path, inputs: Mapping[str, str]) -> Plan:
    """Load the plan of a workflow file, with the inputs filled in, ready to run."""
    root = find_project_root(folder)
    path = located(str(said), folder, root)
    try:
        plan = load_file(path, root, inputs).plan
    except UsageError as error:
        if type(error) is UsageError:  # Errors of `reader` say why, but not for which file.
            raise UsageError(f"The workflow {said} cannot be read: {str(error).rstrip('.')}.") from None
        raise
    # A workflow of one step has no results of other steps to fill in, so its placeholders are resolved here.
    return plan if plan.goal.steps else Plan(fill_step(plan.goal, {}))


def reader(root: Path) -> Callable[[str], str]:
    """Return a function that reads text files below `root`. It refuses paths and links that lead outside."""

    def read(file: str) -> str:
        try:
            body = Place(root, file, links=True).read(LARGEST + 1)
            if len(body) > LARGEST:
                raise UsageError(f"it has more than {LARGEST:,} bytes")
            return decode_text(body, file)
        except OSError as error:
            if error.errno == errno.EXDEV:
                raise UsageError("it leads out of the project") from None
            raise UsageError(error.strerror or "it cannot be read") from None

    return read
