"""Better guidance for a prompt, found by DSPy (GEPA) on examples. Loaded on demand.

The prompt is a DSPy signature: its values are the input fields, its guidance the instructions. The adapter between
signature and model renders bough's own prompt, so that what is measured is what a run would send.
"""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from io import StringIO
from tempfile import gettempdir
from typing import Any, Generic, TypeVar

from msgspec import Struct

from bough.core.errors import UsageError
from bough.core.planning.guidance import guidance_of, places
from bough_optimise.scoring import Score

T = TypeVar("T")
R = TypeVar("R")

NUMBER = "run_number"
TOGETHER = 3
"""Examples that a proposal is made from."""


class Study(Struct, Generic[T], frozen=True):
    """What is optimised, and how."""

    template: str
    examples: Sequence[T]
    values: Callable[[T], Mapping[str, str]]
    """What an example fills the template's placeholders with."""
    ask: Callable[[str, T], str]
    """Guidance and an example → the model's answer. Called from another thread."""
    score: Callable[[str, T], Score]
    """An answer to an example → how good it is."""
    propose: Callable[[str, Sequence[str]], str]
    """Guidance and its results → other guidance."""
    calls: int
    """Answers that may be requested."""


def check_installed() -> None:
    if find_spec("dspy") is None:
        raise UsageError("The search needs DSPy. Install it with: pip install 'dspy>=3.4'")


def optimise(study: Study[T]) -> str:
    """The guidance that did best on the examples; the plain one when none did better."""
    dspy = _load()
    plain = guidance_of(study.template)
    adapter: Any = dspy.Adapter
    model: Any = dspy.BaseLM
    # DSPy takes an error for a bad answer and continues; then nothing more is asked, and the first one is raised.
    failed: list[Exception] = []

    def tried(work: Callable[[], R]) -> R:
        if failed:
            raise failed[0]
        try:
            return work()
        except Exception as error:
            failed.append(error)
            raise

    class Rendered(adapter):  # type: ignore[misc]
        def __call__(self, lm: Any, lm_kwargs: Any, signature: Any, demos: Any, inputs: Any) -> list[dict[str, str]]:
            example = study.examples[int(inputs[NUMBER])]
            return [{"answer": tried(lambda: study.ask(signature.instructions, example))}]

    class Nobody(model):  # type: ignore[misc]
        """DSPy requires a model; the adapter calls ours."""

    def metric(gold: Any, given: Any, trace: Any = None, name: Any = None, part: Any = None) -> Any:
        found = tried(lambda: study.score(given.answer, study.examples[int(gold[NUMBER])]))
        return dspy.Prediction(score=found.value, feedback=found.says)

    def proposer(
        candidate: dict[str, str], reflective_dataset: dict[str, Any], components_to_update: list[str]
    ) -> dict[str, str]:
        (name,) = components_to_update
        seen = [str(each.get("Feedback", "")) for each in reflective_dataset[name]]
        return {name: tried(lambda: study.propose(candidate[name], seen))}

    # The prompt: its placeholders are the input fields, its guidance the instructions.
    fields: dict[str, Any] = {NUMBER: (str, dspy.InputField(desc="which run it is"))}
    fields |= {name: (str, dspy.InputField()) for name in _fields(dict.fromkeys(places(study.template), ""))}
    fields["answer"] = (str, dspy.OutputField(desc="the call that the model made"))
    signature = dspy.Signature(fields, plain)
    examples = [
        dspy.Example({NUMBER: str(number), **_fields(study.values(example))}).with_inputs(*signature.input_fields)
        for number, example in enumerate(study.examples)
    ]
    search = dspy.GEPA(
        metric=metric,
        max_metric_calls=study.calls,
        instruction_proposer=proposer,
        reflection_minibatch_size=min(TOGETHER, len(examples)),
        use_merge=False,
        num_threads=1,
    )
    with dspy.context(lm=Nobody("bough"), adapter=Rendered()), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        best = search.compile(dspy.Predict(signature), trainset=examples, valset=examples)
    if failed:
        raise failed[0]
    return str(best.signature.instructions).strip() or plain


def _fields(values: Mapping[str, str]) -> dict[str, str]:
    """`instructions` is DSPy's own name: there, the goal's are its `goal`."""
    return {"goal" if name == "instructions" else name: value for name, value in values.items()}


def _load() -> Any:
    """DSPy, kept from the network, from caches in the home folder and from the terminal."""
    check_installed()
    for name, value in (
        ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
        ("DSPY_CACHEDIR", os.path.join(gettempdir(), f"bough-dspy-{os.getuid()}")),  # noqa: PTH118
    ):
        os.environ.setdefault(name, value)
    import dspy

    logging.getLogger("dspy").setLevel(logging.ERROR)
    return dspy
