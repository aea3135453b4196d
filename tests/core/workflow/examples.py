"""The workflows that come with bough."""

from pathlib import Path

from bough.core.errors import UsageError
from bough.core.workflow.loading import Workflow, load

FOLDER = Path(__file__).parents[3] / "examples" / "workflows"
EXAMPLES = sorted(path.name for path in FOLDER.glob("*.toml"))


def read(file: str) -> str:
    try:
        return (FOLDER / file).read_text()
    except OSError as error:
        raise UsageError(str(error.strerror)) from None


def example(name: str, *, open_inputs: bool = True) -> Workflow:
    workflow = load(read(name), name, read=read)
    if open_inputs:
        return workflow
    given = {spec.name: f"some-{spec.name}" for spec in workflow.inputs if spec.default is None}
    return load(read(name), name, read=read, inputs=given)
