"""What a run may take: never a request more, and what is missing is an error that says so."""

import json
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from gradegate.core.policy import NO_LIMITS, Limits, strictest_budget
from gradegate.core.usage import Usage
from gradegate.errors import ProviderError
from gradegate.http.budget import Budget
from support.kept import config, passing
from support.patience import PATIENCE

CONFORMANCE = Path(__file__).parent.parent / "conformance"


def test_seconds_run_from_the_start(llm, gate):
    llm.reply = passing
    llm.latency = 0.2
    started = time.monotonic()
    ran = gate(config(llm, 100), "--budget", "0.5 s", "-j", "1")
    assert 1 <= len(llm.requests) <= 4
    assert time.monotonic() - started < PATIENCE
    assert "not run: the budget of 0.5 seconds is used up" in ran.grades[-1]["reason"]


def test_the_strictest_limit_holds():
    assert strictest_budget([Limits(3, None, 5.0), Limits(None, 0.5), Limits(2, 1.0, 9.0)]) == Limits(2, 0.5, 5.0)
    assert strictest_budget([]) == Limits()


def take(budget: Budget, sent: threading.Event) -> None:
    with suppress(ProviderError):  # the end of the test
        budget.reserve_call()
        sent.set()


def test_the_next_request_is_sent_waits_or_is_one_too_many():
    """The vectors of money: what is known, the dearest so far, and how many are in flight."""
    wrong = []
    for row in json.loads((CONFORMANCE / "history.json").read_text())["money"]:
        budget = Budget(Limits(usd=100.0))
        if row["dearest_usd"] is not None:
            budget.reserve_call()
            budget.spend(Usage(1, cost=row["dearest_usd"]))
            budget.spend(Usage(cost=row["known_usd"] - row["dearest_usd"]), 0)
        budget.limits = NO_LIMITS
        for _ in range(row["in_flight"]):
            budget.reserve_call()
        budget.limits = Limits(usd=row["budget_usd"])
        sent = threading.Event()
        threading.Thread(target=take, args=(budget, sent), daemon=True).start()
        if sent.wait(5 if row["next"] == "send" else 0.1) != (row["next"] == "send"):
            wrong.append(row)
        budget.stop()
    assert wrong == []


@pytest.mark.parametrize("vector", json.loads((CONFORMANCE / "history.json").read_text())["calls"])
def test_the_next_call_is_sent_or_is_one_too_many(vector):
    budget = Budget(Limits(calls=vector["budget"]))
    budget.count_earlier(Usage(calls=vector["made"]))
    budget.start()
    if vector["next"] == "send":
        budget.reserve_call()
        return
    with pytest.raises(ProviderError, match=f"the budget of {vector['budget']} call"):
        budget.reserve_call()
