"""Pronounceable names, and paths that name tasks."""

import re
import unicodedata

GOAL = "goal"
"""The root task's path. Its children are named without it: `buffer`, `buffer/insert-line`."""

RUN = ""
"""The stream of a run itself: how it started, stopped and ended."""

CONTROL = "@control"
"""The stream of people's requests and messages to a run. Anyone may append; only the run's holder reads and obeys."""

OWN = "@"
"""Prefix of the names of streams that belong to no run."""
BACKLOG = f"{OWN}backlog/"

INSPECTION = "check-"
"""Prefix of the workspaces of a check before any run. No run's name begins with it."""

_COLOURS = """
    amber ash azure birch bronze cedar clay cobalt copper coral crimson dusk ebony elm emerald fern flint frost
    garnet gold green hazel indigo iron ivory jade larch lemon lilac lime linen maple mint moss oak ochre olive onyx
    opal pearl pine plum quartz rose ruby rust sable sage sand scarlet silver slate snow steel teal topaz umber
    violet walnut willow
""".split()  # noqa: SIM905 (a wall of quotes reads worse)
_ANIMALS = """
    badger bear beaver bison bittern buck civet cod condor crane crow curlew deer dove eagle egret eider elk falcon
    finch fox gannet gecko goose grouse gull hare hawk heron hind ibex ibis jay kestrel kite koala lark linnet lynx
    magpie marten mole moose moth newt otter owl panda pike plover puffin quail raven robin seal shrew shrike skua
    snipe sparrow stoat stork swan swift tern thrush tiger toad trout viper vole wolf wren yak
""".split()  # noqa: SIM905 (a wall of quotes reads worse)


def make_run_name(number: int) -> str:
    """Make a short pronounceable name for any number, like `amber-heron`, with a digit group past `RUN_NAMES`."""
    pair, colour = divmod(number, len(_COLOURS))
    rest, animal = divmod(pair, len(_ANIMALS))
    name = f"{_COLOURS[colour]}-{_ANIMALS[animal]}"
    return f"{name}-{rest + 1}" if rest else name


RUN_NAMES = len(_COLOURS) * len(_ANIMALS)


def slug(text: str, limit: int = 40) -> str:
    """Make a path segment from a title: `Insert a line!` → `insert-a-line`."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:limit].strip("-") or "task"


LIFE = "~"
"""Separates a worker's name from the id of its process."""


def worker_name(worker: str) -> str:
    """Return the name of a claim's holder, if it is a worker that leaf tasks are dispatched to; otherwise empty."""
    name, mark, _ = worker.partition(LIFE)
    return name if mark else ""


def child_path(task: str, name: str) -> str:
    return name if task == GOAL else f"{task}/{name}"


def parent_path(task: str) -> str | None:
    """Return the path of the task above; None for the goal."""
    return None if task == GOAL else task.rpartition("/")[0] or GOAL


def depth(task: str) -> int:
    """Return the task's depth: 0 for the goal, 1 for its tasks, 2 and more for subtasks."""
    return 0 if task == GOAL else task.count("/") + 1
