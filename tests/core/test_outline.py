"""What a planner is shown of a large repository is chosen by the goal."""

from bough.core.planning.prompt_values import outlined
from tests.sampling import in_turn

MANY = [f"services/part{n // 100:03}/unit{n % 100:02}/module{n:05}.py" for n in range(20_000)]
PAYMENTS = [
    "services/billing/pyproject.toml",
    "services/billing/invoices/rounding.py",
    "services/billing/invoices/test_rounding.py",
    "services/billing/README.md",
]
PATHS = [*MANY, *PAYMENTS, "Makefile", "README.md"]


def test_few_files_are_all_listed() -> None:
    assert outlined(["b/c.py", "a.py"], "whatever", 1_000) == "a.py\nb/c.py"


def test_what_the_goal_names_comes_first() -> None:
    shown = outlined(PATHS, "Invoices are rounded wrongly: see the rounding of invoices in billing.", 12_000)
    about = shown.partition("What the goal seems to be about:\n")[2].splitlines()
    assert about[:2] == ["services/billing/invoices/rounding.py", "services/billing/invoices/test_rounding.py"]
    assert "services/billing/ (4 files)" in shown
    assert "Makefile" in shown.partition("What the goal")[0]
    assert "services/part000/ (100)" in shown
    assert f"There are {len(PATHS):,}" in shown


def test_a_path_in_the_goal_counts_more_than_words() -> None:
    shown = outlined(PATHS, "Change module00077.py and services/part002 as the module in billing says.", 12_000)
    about = shown.partition("What the goal seems to be about:\n")[2].splitlines()
    assert about[0] == "services/part000/unit77/module00077.py"
    assert "services/part002/unit00/module00200.py" in about[:60]


@in_turn
def test_there_is_always_room() -> None:
    for goal in ("", "the", "module", "billing"):
        for limit in (500, 12_000):
            assert len(outlined(PATHS, goal, limit)) <= limit
