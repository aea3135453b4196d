"""Find the steps that a step can refer to: names among siblings, needs, and whose results exist when it starts."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from bough.core.workflow.nodes import Node
from bough.core.workflow.problems import suggest_nearest


class Level:
    """The steps of one compound step, in order, and the levels around them."""

    def __init__(
        self,
        nodes: list[Node],
        prefix: str = "",
        *,
        parallel: bool = False,
        loops: bool = False,
        above: Level | None = None,
        inside: int = 0,
        own: bool = True,
    ) -> None:
        self.nodes = nodes
        self.prefix = prefix
        """The prefix of its tasks' paths: empty at the top, otherwise `path/`."""
        self.parallel = parallel
        self.loops = loops
        """Its steps may run again, so each of them may use any other's last result."""
        self.above = above
        self.inside = inside
        """The number of the step, in the level above, that has these steps."""
        self.own = own
        """It is the top of a file: names beyond it are not visible from here."""
        self.number: dict[str, int] = {}
        for number, node in enumerate(nodes):
            self.number.setdefault(node.name, number)
        self.needs = [
            [self.number[name] for name in node.table.get("needs", ()) if name in self.number] for node in nodes
        ]

    @property
    def again(self) -> bool:
        """Whether any enclosing step runs more than once."""
        return self.loops or (self.above is not None and self.above.again)

    def waits(self, number: int, other: int) -> bool:
        """Whether one step begins only after the other has ended."""
        if not self.parallel:
            return other < number
        seen: set[int] = set()
        ahead = list(self.needs[number])
        while ahead:
            if (this := ahead.pop()) not in seen:
                seen.add(this)
                ahead += self.needs[this]
        return other in seen


def check_siblings(level: Level) -> None:
    """Duplicate names, and needs that are unknown, impossible or cyclic."""
    for number, node in enumerate(level.nodes):
        if node.name and level.number[node.name] != number:
            node.wrong("name", f"Two steps here are called `{node.name}`: give each a name of its own.")
        for name in node.table.get("needs", ()):
            if name == node.name:
                node.wrong("needs", f"`{name}` needs itself.", name)
            elif name not in level.number:
                others = [other.name for other in level.nodes if other.name and other is not node]
                said = (
                    f"`{node.name}` needs `{name}`, but no sibling step is called that: {suggest_nearest(name, others)}"
                )
                node.wrong("needs", said, name)
            elif not level.parallel and level.number[name] > number:
                node.wrong(
                    "needs",
                    f"`{node.name}` needs `{name}`, which is written after it: "
                    "write it before, or let the steps run in `parallel`.",
                    name,
                )
    if level.parallel:
        _check_circles(level)


def _check_circles(level: Level) -> None:
    """Report the cycles of needs, each once: a step of one that was found is left out of the next search."""
    waiting = {at: [need for need in needs if need != at] for at, needs in enumerate(level.needs)}
    while True:
        try:
            TopologicalSorter(waiting).prepare()
            return
        except CycleError as error:
            circle = error.args[1][:0:-1]
        first = circle.index(min(circle))
        names = [level.nodes[at].name for at in (*circle[first:], *circle[: first + 1])]
        level.nodes[circle[first]].wrong("needs", f"These steps need each other: {' → '.join(names)}.")
        waiting[circle[first]] = []


def resolve_result(level: Level, number: int, name: str) -> tuple[str, str]:
    """The path of the task whose result `name` means, for a step of a level, or why there is none."""
    chain = [(level, number)]
    """The path from the top of the file down to the step: each level, and which of its steps is on the path."""
    while not (top := chain[0][0]).own and top.above is not None:
        chain.insert(0, (top.above, top.inside))
    if "/" in name:
        segments = name.strip("/").split("/")
    else:
        found = next((depth for depth in reversed(range(len(chain))) if name in chain[depth][0].number), None)
        if found is None:
            known = [node.name for each, _ in chain for node in each.nodes if node.name]
            return "", f"There is no step `{name}` whose result can be used: {suggest_nearest(name, known)}"
        segments = [each.nodes[at].name for each, at in chain[:found]] + [name]
    nodes = top.nodes
    for segment in segments:
        node = next((node for node in nodes if node.name == segment), None)
        if node is None:
            return (
                "",
                f"There is no step `{name}`: {suggest_nearest(segment, [node.name for node in nodes if node.name])}",
            )
        nodes = node.body.nodes
    return top.prefix + "/".join(segments), _explain_too_early(chain, segments)


def _explain_too_early(chain: list[tuple[Level, int]], segments: list[str]) -> str:
    """Why the result of the step at `segments` does not exist yet; empty if it does."""
    same = 0
    while same < min(len(segments), len(chain)) and chain[same][0].nodes[chain[same][1]].name == segments[same]:
        same += 1
    name = "/".join(segments)
    if same == len(chain) == len(segments):
        return "" if chain[-1][0].again else f"`{name}` cannot use its own result before it has run."
    if same in (len(chain), len(segments)):
        return f"`{name}` has not ended when this starts: one is a part of the other."
    level, mine = chain[same]
    other = level.number[segments[same]]
    if level.waits(mine, other) or level.again:
        return ""
    if level.parallel:
        return f'`{name}` runs at the same time: give `{level.nodes[mine].name}` needs = ["{segments[same]}"].'
    return f"`{name}` comes later: only results of earlier steps can be used."
