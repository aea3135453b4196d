"""How often the model fails and in which ways: all that a setting is."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Rates:
    """Probabilities for one round, unless said otherwise. `_fog` is what a full head adds, `_load` a big task.

    The fog is 0 up to `clear` tokens of conversation and 1 from `full` tokens on. The load is 0 for a task of
    `few` functions and 1 for one of `many`.
    """

    clear: int = 2_500
    full: int = 9_000
    few: int = 3
    many: int = 10

    wrong: float = 0.12
    """A function that it writes is wrong."""
    wrong_fog: float = 0.0
    wrong_load: float = 0.0
    breaks: float = 0.02
    """It spoils another function of the module that it writes; for each one."""
    breaks_fog: float = 0.0
    early: float = 0.02
    """It says that it is done although it does not believe so."""
    early_fog: float = 0.0
    stuck: float = 0.03
    """A spell begins: of repeating one call, of edits that are refused, of paging, of words without a call."""
    stuck_fog: float = 0.0
    stays: float = 0.93
    """A spell goes on."""
    heeds: float = 0.5
    """A spell ends when somebody names it."""
    blind: float = 0.0
    """Of a goal's functions: it does not understand them, and gets them wrong …"""
    blind_wrong: float = 0.9
    """… so often in a big task …"""
    blind_focused: float = 0.9
    """… and so often in a task of at most two functions."""
    bad_plan: float = 0.15
    """A plan that it makes is bad: the task again, a part forgotten, a check that cannot pass, or hardly cut at all."""
    bad_extract: float = 0.15
    """What it writes as a pruner is of no use."""


def stronger(rates: Rates) -> Rates:
    """The same kind of model, three times as careful, which understands what the other does not."""
    third = 1 / 3
    return replace(
        rates,
        wrong=rates.wrong * third,
        wrong_fog=rates.wrong_fog * third,
        wrong_load=rates.wrong_load * third,
        breaks=rates.breaks * third,
        breaks_fog=rates.breaks_fog * third,
        early=rates.early * third,
        early_fog=rates.early_fog * third,
        stuck=rates.stuck * third,
        stuck_fog=rates.stuck_fog * third,
        blind=0.0,
        bad_plan=rates.bad_plan * third,
    )


FOGGY = Rates(
    wrong=0.1, wrong_fog=0.5, wrong_load=0.15, breaks_fog=0.12, early_fog=0.05, stuck=0.02, stuck_fog=0.12, heeds=0.4
)

SETTINGS: dict[str, tuple[Rates, str]] = {
    "foggy": (FOGGY, "fails more the more it is shown and the bigger the task is; heeds 4 of 10 nudges"),
    "loops": (
        replace(FOGGY, stuck=0.08, stuck_fog=0.1, heeds=0.3, stays=0.95),
        "as foggy, and falls into long loops often; heeds 3 of 10 nudges",
    ),
    "steady": (
        Rates(wrong=0.25, breaks=0.04, early=0.05, stuck=0.06, heeds=1.0),
        "fails as often whatever it is shown; heeds every nudge: a fresh or smaller context should not help",
    ),
    "careless": (
        Rates(wrong=0.4, breaks=0.08, early=0.12, stuck=0.0),
        "never stuck, only wrong, whatever it is shown: neither signals nor pruning should help",
    ),
    "muddled": (
        replace(FOGGY, bad_plan=0.8, bad_extract=0.8),
        "as foggy, but 8 of 10 of its plans and extracts are bad: splitting should help less",
    ),
    "blind": (
        Rates(wrong=0.1, stuck=0.02, blind=0.2, blind_wrong=0.92, blind_focused=0.6),
        "does not understand a fifth of the functions; sees them better when a task has at most two",
    ),
}
"""By name: the rates, and what to expect of them."""
