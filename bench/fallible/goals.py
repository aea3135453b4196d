"""Generated goals: a small repository of unfinished modules with real tests, and what is asked for."""

from dataclasses import dataclass
from pathlib import Path
from random import Random

from fallible.catalogue import ITEMS, MODULES, Item

HANDBOOK_LINES = 600
WORDS = "the rule house style says when a name is chosen prefer plain short words and keep order of old lists"


@dataclass(frozen=True)
class Goal:
    """A repository with unfinished functions, and the words that ask for them."""

    number: int
    items: tuple[Item, ...]

    @property
    def modules(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(item.module for item in self.items))

    @property
    def instructions(self) -> str:
        lines = "\n".join(item.line for item in self.items)
        return f"Finish toolkit {self.number}. These functions raise NotImplementedError so far:\n\n{lines}"

    @property
    def criteria(self) -> tuple[str, ...]:
        return tuple(f"`{check(module)}` passes" for module in self.modules)

    @property
    def check(self) -> str:
        return check(*self.modules)

    def write(self, folder: Path) -> None:
        """The repository, with every function still missing."""
        (folder / "HANDBOOK.txt").write_text(handbook(self.number))
        for module in self.modules:
            (folder / path_of(module)).write_text(source({item: item.stub for item in self._of(module)}))
        self.write_tests(folder)

    def write_tests(self, folder: Path) -> None:
        (folder / "tests").mkdir(exist_ok=True)
        (folder / "tests" / "__init__.py").write_text("")
        for module in self.modules:
            (folder / "tests" / f"test_{module}.py").write_text(tests(self._of(module)))

    def _of(self, module: str) -> list[Item]:
        return [item for item in self.items if item.module == module]


def goal(seed: int, number: int, modules: tuple[int, int] = (2, 4), functions: tuple[int, int] = (2, 4)) -> Goal:
    """The goal with this number: how many modules, and functions in each, is drawn from the bounds."""
    random = Random(f"goal {seed} {number}")
    chosen = random.sample(MODULES, random.randint(*modules))
    items: list[Item] = []
    for module in chosen:
        own = [item for item in ITEMS if item.module == module]
        items += sorted(random.sample(own, random.randint(*functions)), key=own.index)
    return Goal(number, tuple(items))


def path_of(module: str) -> str:
    return f"{module}.py"


def check(*names: str) -> str:
    """The command that tests modules, or single functions given as `module.function`."""
    return f"python3 -m unittest -q {' '.join(_dotted(name) for name in names)}"


def _dotted(name: str) -> str:
    module, _, function = name.partition(".")
    return f"tests.test_{module}" + (f".Cases.test_{function}" if function else "")


def source(bodies: dict[Item, str]) -> str:
    """A module with these functions."""
    parts = []
    for item, body in bodies.items():
        indented = "\n".join(f"    {line}" for line in body.splitlines())
        parts.append(f'def {item.name}({item.arguments}):\n    """{item.spec}"""\n{indented}\n')
    return "\n\n".join(parts)


def tests(items: list[Item]) -> str:
    module = items[0].module
    head = f"import unittest\n\nimport {module}\n\n\nclass Cases(unittest.TestCase):\n"
    methods = []
    for item in items:
        lines = [f"        self.assertEqual({item.key}({given}), {wanted})" for given, wanted in item.cases]
        methods.append(f"    def test_{item.name}(self):\n" + "\n".join(lines) + "\n")
    return head + "\n".join(methods)


def handbook(number: int) -> str:
    """Something long to read that does not matter."""
    random = Random(f"handbook {number}")
    words = WORDS.split()
    return "".join(
        f"{line:04d} {' '.join(random.choice(words) for _ in range(9))}.\n" for line in range(1, HANDBOOK_LINES + 1)
    )
