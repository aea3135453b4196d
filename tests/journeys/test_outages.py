"""A team's PostgreSQL goes away in the middle of a run with a worker: for less than it is waited for, for as long, and
for longer. Times are a twentieth of what ships (a lease of 15 s, a patience of 60 s)."""

import time
from collections.abc import Iterator
from itertools import product

import pytest

from tests.journeys.conftest import Meet
from tests.journeys.model import Hold
from tests.journeys.person import CHECK, RIGHT, TOTAL, goal
from tests.postgres import OwnServer
from tests.sampling import sample

SCALE = 1 / 20


@pytest.fixture
def server() -> Iterator[OwnServer]:
    made = OwnServer()
    yield made
    made.close()


@pytest.mark.parametrize(("away", "how"), sample(product([10, 60, 120], ["stopped", "frozen"]), 3))
def test_a_store_that_goes_away_and_comes_back_loses_nothing(
    meet: Meet, server: OwnServer, away: int, how: str
) -> None:
    hold = Hold()
    ann = meet(goal(author=hold))
    patience, lease = 60 * SCALE, max(1.0, 15 * SCALE)
    ann.extra["BOUGH_STORE"] = f"{server.url}&schema=team&patience={patience:g}"
    ann.extra["BOUGH_WORKER_ENDPOINTS"] = "*"
    worker = ann.start("worker", "--lease", f"{lease:g}", "--name", "one")
    assert worker.stdout is not None and "1 slot" in worker.stdout.readline()
    run = ann.start("run", TOTAL, "--check", CHECK, "--workers")
    ann.wait(hold.reached.is_set, "the worker asks the model")
    (server.freeze if how == "frozen" else server.stop)()
    hold.free.set()
    time.sleep(away * SCALE)  # This long it is away: nothing that the test waits for.
    (server.thaw if how == "frozen" else server.start)()
    said = ann.end(run)
    (known,) = ann.runs()
    if said.status:  # It waited for no longer, and says how to go on.
        assert f"bough resume {known['run']}" in said.out, said.out
        ann.bough("resume", known["run"], "--workers", status=0)
    assert ann.runs()[0]["status"] == "completed"
    assert RIGHT[TOTAL][1].splitlines()[1] in ann.bough("diff", known["run"], status=0).out
    assert ann.kinds(known["run"]).count("RunFinished") == 1
    assert worker.poll() is None, "it serves the next run, too"
    ann.bough("worker", "--drain", "--name", "one", status=0)
    assert ann.end(worker).status == 0
