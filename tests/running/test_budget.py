"""What a run may take: never a request more, and what is missing is an error that says so."""

import json
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from gradegate.errors import ProviderError
from gradegate.http.budget import Budget, strictest
from gradegate.values.conversation import Usage
from gradegate.values.suite import NO_LIMITS, Limits
from support import flips
from support.each import table
from support.fake_llm import chat
from support.patience import PATIENCE

CONFORMANCE = Path(__file__).parent.parent / "conformance"
RUBRIC = {"type": "llm-rubric", "value": "is polite"}


def config(llm, count: int = 20, **gate) -> dict:
    tests = [{"vars": {"x": f"question {number}"}, "assert": [RUBRIC]} for number in range(count)]
    grader = {"options": {"provider": llm.spec("judge", cost=0.001)}}
    block = {"gate": gate} if gate else {}
    return {"prompts": ["{{x}}"], "providers": [llm.spec(cost=0.001)], "defaultTest": grader, "tests": tests, **block}


def passing(path: str, body: dict) -> str:
    return '{"pass": true, "score": 1, "reason": "polite"}' if body["model"] == "judge" else "hello"


def ended(ran) -> set[str]:
    reasons = [grade["reason"] for grade in ran.grades if grade["outcome"] == "error"]
    return {reason.removeprefix("the target gave no answer: ") for reason in reasons}


@pytest.mark.parametrize("at_once", [1, 7, 50])
def test_exactly_so_many_requests_are_sent_and_the_rest_is_an_error(llm, gate, at_once):
    llm.reply = passing
    ran = gate(config(llm, 60), "--max-calls", "53", "-j", str(at_once))
    assert len(llm.requests) == 53
    assert ran.code == 3
    counts = ran.results["summary"]
    assert counts["failed"] == 0
    assert counts["errored"] == 60 - counts["passed"] > 0
    assert ended(ran) == {"not run: the budget of 53 calls is used up"}
    budget = ran.results["budget"]
    assert (budget["calls"], budget["max_calls"], budget["used_up"]) == (53, 53, "53 calls")
    assert "budget: 53 of 53 calls" in ran.out


def test_every_try_of_a_failed_call_counts(llm, gate):
    llm.reply = lambda path, body: (503, {"error": "busy"})
    ran = gate(config(llm, 5), "--max-calls", "4", "--retries", "9", "-j", "1")
    assert len(llm.requests) == 4
    assert ran.code == 3


def test_dollars_are_counted_and_calls_in_flight_end(llm, gate):
    llm.reply = passing  # 60 tokens at 0.001 USD: 0.06 USD each
    ran = gate(config(llm, 20), "--max-usd", "0.5", "-j", "1")
    assert len(llm.requests) == 9  # 0.48 after eight
    assert ended(ran) == {"not run: the budget of 0.5 USD is used up"}
    assert ran.results["budget"]["usd"] == pytest.approx(0.54)


def test_seconds_run_from_the_start(llm, gate):
    llm.reply = passing
    llm.latency = 0.2
    started = time.monotonic()
    ran = gate(config(llm, 100), "--max-seconds", "0.5", "-j", "1")
    assert 1 <= len(llm.requests) <= 4
    assert time.monotonic() - started < PATIENCE
    assert "not run: the budget of 0.5 seconds is used up" in ran.grades[-1]["reason"]


def test_a_budget_of_the_config_can_only_be_lowered(llm, gate):
    llm.reply = passing
    gate(config(llm, 20, budget={"calls": 3}), "--max-calls", "500")
    assert len(llm.requests) == 3
    gate(config(llm, 20, budget={"calls": 500}), "--max-calls", "2")
    assert len(llm.requests) == 5


def test_what_needs_no_model_is_graded_all_the_same(llm, gate):
    llm.reply = passing
    written = config(llm, 3)
    written["tests"].append({"providerOutput": "fine", "assert": [{"type": "equals", "value": "fine"}]})
    ran = gate(written, "--max-calls", "1", "-j", "1")
    assert [case["outcome"] for case in ran.cases] == ["error", "error", "error", "pass"]


def test_dollars_need_known_prices(llm, gate):
    written = config(llm)
    written["providers"] = [llm.spec("nobody-knows")]
    ran = gate(written, "--max-usd", "5")
    assert "what `openai:chat:nobody-knows` costs is not known" in ran.mistakes
    assert "promptfooconfig.yaml:" in ran.err
    assert llm.requests == []


def test_a_model_that_is_never_asked_needs_no_price(llm, gate):
    written = config(llm, 2)
    written["providers"] = [llm.spec("nobody-knows")]
    for test in written["tests"]:
        test["providerOutput"] = "fine"
    llm.reply = passing
    assert gate(written, "--max-usd", "5").code == 0
    written["defaultTest"]["options"]["provider"] = llm.spec("nobody-knows-either")
    assert gate(written, "--max-usd", "5").code == 2


@pytest.mark.parametrize(
    ("budget", "place"), [({"calls": 0}, "calls"), ({"usd": -1}, "usd"), ({"seconds": "x"}, "seconds"), ({"x": 1}, "x")]
)
def test_a_mistaken_budget_is_a_mistake_at_its_line(llm, gate, budget, place):
    assert place in gate(config(llm, 1, budget=budget)).mistakes
    assert llm.requests == []


@pytest.mark.parametrize("argument", ["--max-calls=0", "--max-usd=-1", "--max-usd=nan", "--max-seconds=1e9"])
def test_a_mistaken_argument_is_one_too(llm, gate, argument):
    assert gate(config(llm, 1), argument).code == 2
    assert llm.requests == []


@pytest.mark.parametrize("number", ["1e-9", "0", "-1", "two"])
def test_what_is_no_amount_is_told_how_one_is_written(llm, gate, number):
    ran = gate(config(llm, 1), f"--max-usd={number}")
    assert f"'{number}' is not a number above 0 in plain digits, such as 2 or 0.5" in ran.mistakes


def test_the_strictest_limit_holds():
    assert strictest([Limits(3, None, 5.0), Limits(None, 0.5), Limits(2, 1.0, 9.0)]) == Limits(2, 0.5, 5.0)
    assert strictest([]) == Limits()


def take(budget: Budget, sent: threading.Event) -> None:
    with suppress(ProviderError):  # the end of the test
        budget.take()
        sent.set()


def test_the_next_request_is_sent_waits_or_is_one_too_many():
    """The vectors of money: what is known, the dearest so far, and how many are in flight."""
    wrong = []
    for row in json.loads((CONFORMANCE / "history.json").read_text())["money"]:
        budget = Budget(Limits(usd=100.0))
        if row["dearest_usd"] is not None:
            budget.take()
            budget.spend(Usage(1, cost=row["dearest_usd"]))
            budget.spend(Usage(cost=row["known_usd"] - row["dearest_usd"]), 0)
        budget.limits = NO_LIMITS
        for _ in range(row["in_flight"]):
            budget.take()
        budget.limits = Limits(usd=row["budget_usd"])
        sent = threading.Event()
        threading.Thread(target=take, args=(budget, sent), daemon=True).start()
        if sent.wait(5 if row["next"] == "send" else 0.1) != (row["next"] == "send"):
            wrong.append(row)
        budget.stop()
    assert wrong == []


@pytest.mark.parametrize("at_once", [1, 50])
def test_dollars_are_overshot_by_one_call_at_most(llm, gate, at_once):
    llm.reply = passing
    llm.latency = 0.02
    ran = gate(config(llm, 60), "--max-usd", "0.5", "-j", str(at_once))
    assert (ran.code, len(llm.requests)) == (3, 9)
    assert ended(ran) == {"not run: the budget of 0.5 USD is used up"}


def test_each_model_has_a_price_of_its_own(llm, gate):
    """A cheap target (0.0001 USD a call) says nothing of a dear grader (0.10 USD)."""
    llm.reply = passing
    llm.latency = 0.02
    for grader in (0.1, 0.0001):  # and the other way round: a dear target and a cheap grader
        llm.requests.clear()
        written = config(llm, 60)
        written["providers"] = [llm.spec(cost=(0.1001 - grader) / 60)]
        written["defaultTest"] = {"options": {"provider": llm.spec("judge", cost=grader / 60)}}
        ran = gate(written, "--max-usd", "0.5", "-j", "50")
        assert (ran.code, ran.results["budget"]["usd"] <= 0.61) == (3, True), ran.results["budget"]
        assert 4 <= sum((body["model"] == "judge") == (grader == 0.1) for body in llm.bodies) <= 6


COUNTS = [*table(__file__, "COUNTS"), {"prompt_tokens": 10**400, "completion_tokens": 2}]  # fmt: skip


@pytest.mark.parametrize("usage", COUNTS, ids=range(len(COUNTS)))
def test_tokens_that_are_no_numbers_have_no_price(llm, gate, usage):
    llm.reply = lambda path, body: {**chat("hello"), "usage": usage}
    written = {"prompts": ["{{x}}"], "providers": [llm.spec(cost=0.001)]}
    written["tests"] = [{"vars": {"x": x}, "assert": [{"type": "cost", "threshold": 1}]} for x in "abc"]
    ran = gate(written, "-j", "1")
    assert (ran.code, [grade["outcome"] for grade in ran.grades]) == (3, ["error"] * 3)
    assert "the price of this answer is not known" in ran.grades[0]["reason"]
    asked = len(llm.requests)
    ran = gate(written, "--max-usd", "1", "-j", "1")
    assert (ran.code, len(llm.requests) - asked) == (3, 1)
    assert "not run: the budget of 1 USD (the price of a reply is unknown) is used up" in ran.grades[-1]["reason"]
    assert "the price of a reply is unknown" in ran.out


def test_a_reply_without_an_answer_costs_what_it_says(llm, gate):
    llm.reply = lambda path, body: {**chat("x"), "choices": []}  # 60 tokens at 0.001 USD
    ran = gate(config(llm, 20), "--max-usd", "0.5", "-j", "1")
    assert (ran.code, len(llm.requests)) == (3, 9)
    llm.reply = lambda path, body: b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\noops"
    ran = gate(config(llm, 20), "--max-usd", "0.5", "-j", "1")
    assert (ran.code, len(llm.requests)) == (3, 10)


# --- asking again ---------------------------------------------------------------------------------------------


def test_a_budget_never_makes_a_pass_or_a_failure_of_what_was_not_asked_again(llm, gate):
    """20 first asks, of which two fail; the budget ends while they are asked again."""
    llm.reply = flips.scripted({3: "FPP", 11: "FFFFFFF"})
    written = flips.suite(llm.spec(), 20)
    for most in range(20, 25):
        llm.requests.clear()
        llm.reply = flips.scripted({3: "FPP", 11: "FFFFFFF"})
        ran = gate(written, "--max-calls", str(most), "-j", "1", confirm="")
        assert len(llm.requests) == most
        assert ran.results["summary"]["failed"] == 0
        assert ran.code == 3
        said = ran.grades[11]["reason"]
        assert (ran.grades[11]["outcome"], said) == ("error", f"failed, and was not asked again: the budget of {most} calls is used up")
    llm.requests.clear()
    llm.reply = flips.scripted({3: "FPP", 11: "FFFFFFF"})
    ran = gate(written, "--max-calls", "25", confirm="")
    assert (ran.code, ran.results["confirm"]["overturned"], ran.results["confirm"]["confirmed"]) == (1, 1, 1)


@pytest.mark.parametrize("at_once", ["1", "50"])
def test_all_first_asks_go_before_any_second(llm, gate, at_once):
    llm.reply = flips.flipping(0.3, 4)
    ran = gate(flips.suite(llm.spec(), 60), "--max-calls", "60", "-j", at_once, confirm="")
    assert len({flips.case_in(body) for body in llm.bodies}) == 60 == len(llm.requests)
    assert {grade["outcome"] for grade in ran.grades} == {"pass", "error"}
