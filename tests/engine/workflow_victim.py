"""A process to be killed in the middle of a parallel loop: starts or resumes a written plan in a folder.

python -m tests.engine.workflow_victim start|resume FOLDER POINT
"""

import asyncio
import sys
from pathlib import Path

from bough import app
from bough.app.workflow_files import plan_of
from bough.core import events as e
from bough.core.budget.limits import Limits
from bough.engine import run_loop
from bough.testing import Fuse, ScriptedModel, call
from bough.views.run_view import Outcome
from tests.engine.workflow_runs import Script, by_task, done
from tests.harness import ports_in, resume

TOML = """
requires_testing = false
[[steps]]
name = "loop"
requires_testing = false
repeat = 2
[[steps.steps]]
name = "fork"
requires_testing = false
parallel = true
[[steps.steps.steps]]
name = "a"
action = "Write a."
test_command = "test -e a1"
[[steps.steps.steps]]
name = "b"
action = "Write b."
test_command = "test -e b1"
[[steps.steps.steps]]
name = "c"
action = "Write c."
requires_testing = false
[[steps.steps]]
name = "count"
condition = "fork.success"
action = "Count: {steps.loop/fork/a.result}"
requires_testing = false
"""
PASSES = 2


def model() -> ScriptedModel:
    scripts: dict[str, Script] = {}
    for number in range(1, PASSES + 1):
        fork = "loop/fork" if number == 1 else f"loop/fork@{number}"
        for name in "abc":
            file = f"{name}{number}"
            scripts[f"{fork}/{name}"] = [call("write", path=file, content=file), done(f"{file} is there")]
        count = "loop/count" if number == 1 else f"loop/count@{number}"
        said = f"a{number} is there"
        scripts[count] = [call("bash", command=f"echo '{said}' >> counts"), done("counted")]
    return by_task(scripts)


async def start(folder: Path, fuse: Fuse | None = None) -> str:
    file = folder.parent / "loop.toml"
    file.write_text(TOML)
    with_model = model()
    async with app.open_session(folder, create=True) as session, ports_in(session, with_model, fuse) as ports:
        first = e.RunStarted(
            plan=plan_of(file, folder, {}),
            base=await session.workspaces.take(),
            folder="",
            models=dict.fromkeys(("fast", "main", "strong"), with_model.name),
            limits=Limits(rounds=200),
            rules=session.config.limits,
            version="test",
            jobs=3,
        )
        run = await run_loop.start_run("test-run", first, ports)
        assert run is not None
        return run.name


def go_on(folder: Path) -> Outcome:
    return asyncio.run(resume(folder, model()))


if __name__ == "__main__":
    verb, where, point = sys.argv[1:]
    blows = Fuse(int(point) if point != "-" else None, kill=True)
    if verb == "start":
        asyncio.run(start(Path(where), blows))
    else:
        asyncio.run(resume(Path(where), model(), blows))
