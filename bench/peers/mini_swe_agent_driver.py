"""mini-swe-agent as its command `mini` sets it up: the bundled `mini.yaml`, litellm, the trajectory saved after each
step (it cannot be resumed from). Its environment is replaced by one that answers at once, since starting a shell would
dwarf what is measured. Its interface blocks, so that agents at once are threads, as in its own batch runner."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from harness import GOAL, KEY, MODEL, ROUND, TOOL_RESULT, Entry, main

IMPORTS = (
    "minisweagent.agents.default",
    "minisweagent.config",
    "minisweagent.environments.local",
    "minisweagent.models.litellm_model",
)
SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def agents(count: int, n: int, base_url: str, folder: Path) -> None:
    from minisweagent.agents.default import DefaultAgent  # type: ignore[import-not-found]
    from minisweagent.config import builtin_config_dir, get_config_from_spec  # type: ignore[import-not-found]
    from minisweagent.environments.local import LocalEnvironment  # type: ignore[import-not-found]
    from minisweagent.models.litellm_model import LitellmModel  # type: ignore[import-not-found]

    class Answering(LocalEnvironment):  # type: ignore[misc]
        def execute(self, action: dict[str, Any], cwd: str = "", *, timeout: int | None = None) -> dict[str, Any]:
            text = SUBMIT if SUBMIT in action["command"] else TOOL_RESULT
            output = {"output": text, "returncode": 0, "exception_info": ""}
            self._check_finished(output)
            return output

    config = get_config_from_spec(str(builtin_config_dir / "mini.yaml"))
    config["agent"].pop("mode")
    config["agent"] |= {"cost_limit": 0.0, "step_limit": 0}
    settings = config["model"] | {"model_name": f"openai/{MODEL}"}
    settings["model_kwargs"] |= {"api_base": base_url, "api_key": KEY}

    def one(number: int) -> None:
        environment = Answering(**config["environment"])
        path = folder / f"{number}.traj.json"
        DefaultAgent(LitellmModel(**settings), environment, **config["agent"], output_path=path).run(GOAL)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(one, range(count)))


def rounds(n: int, base_url: str, folder: Path) -> None:
    agents(1, n, base_url, folder)


if __name__ == "__main__":
    call, last = f'{{"command": "look {ROUND}"}}', f'{{"command": "echo {SUBMIT}"}}'
    main(Entry("mini-swe-agent", IMPORTS, rounds, agents, "bash", call, "bash", last))
