"""Where a budget's calls end is no chance: the same replies give the same verdicts and votes at any concurrency."""

import hashlib
import json
import random
import time
from collections import Counter
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradegate.core.policy import Limits
from gradegate.errors import ProviderError
from gradegate.http.budget import Budget
from gradegate.planning import planner
from gradegate.runner.rounds import Portions
from support import flips
from support.each import each


def drawn(body: dict, of: int) -> int:
    return hashlib.sha256(json.dumps(body["messages"]).encode()).digest()[0] % of


def unsteady(seed: float = 0.0):
    """Replies that depend on the request alone, after a while that nobody knows: verdicts, nonsense, and hosts that are busy once."""
    seen: Counter[str] = Counter()
    pauses = random.Random(seed)

    def reply(path: str, body: dict):
        time.sleep(pauses.random() * 0.006)
        text = json.dumps(body["messages"])
        seen[text] += 1
        kind = drawn(body, 12)
        if kind == 0 and seen[text] == 1:
            return 503, {"error": "busy"}
        if body["model"] == "target":
            return "an answer"
        return "I cannot say." if kind == 1 else flips.GOOD if kind < 5 else flips.BAD

    return reply


def story(ran) -> object:
    """All that a run decided, what for, and what each part of it took."""
    grades = [
        (grade["outcome"], grade["reason"], [vote["outcome"] for vote in grade["votes"]], grade.get("status")) for grade in ran.grades
    ]
    took = [_took(of["usage"]) for case in ran.cases for of in (case, *case["grades"])]
    summary = ran.results["summary"]
    calls = summary["target"]["calls"] + summary["grader"]["calls"]  # whose the last ones were is chance
    return ran.code, ran.results["reason"], ran.results["budget"]["calls"], calls, grades, took


def _took(usage: dict) -> dict:
    return {name: number for name, number in usage.items() if name != "seconds"}


def stories(gate, llm, written, most: int, *arguments) -> list[object]:
    told = []
    for at_once in ("1", "4", "50"):
        llm.reply = unsteady(most)
        llm.requests.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(planner, "RETRIES", 1)
            ran = gate(written, "--budget", f"{most} calls", "-j", at_once, *arguments, reask="")
        assert len(llm.requests) == ran.results["budget"]["calls"] <= most
        told.append(story(ran))
    return told


def two_of_each(llm) -> dict:
    """Recorded and asked answers, of which several assertions ask a model, one of them inside a set."""
    rubric = {"type": "llm-rubric", "value": "is good"}
    both = [rubric, {"type": "assert-set", "assert": [{**rubric, "value": "is kind"}, {"type": "contains", "value": "a"}]}]
    written = flips.suite(llm.spec("judge"), 6, providers=[llm.spec("target")])
    written["defaultTest"]["assert"] = both
    for test in written["tests"][::2]:
        test["providerOutput"] = f"{test['vars']['q']} is an answer"
    return written


@pytest.mark.parametrize("most", [7, 15, 24, 33, 48])
def test_the_same_verdicts_and_votes_whatever_the_threads_do(gate, llm, most):
    first, *others = stories(gate, llm, two_of_each(llm), most)
    assert all(other == first for other in others)


@pytest.mark.parametrize("most", [14, 23])
def test_also_where_answers_are_asked_for_anew(gate, llm, most):
    first, *others = stories(gate, llm, two_of_each(llm), most, "--reask", "answers")
    assert all(other == first for other in others)


@pytest.mark.parametrize("most", [12, 13, 16])
def test_no_failure_that_is_asked_again_takes_the_calls_of_all_others(gate, llm, most):
    """Eight answers whose grader fails each ask; three votes are needed. The calls are given out in turn, in plan order."""
    for at_once in ("1", "4", "50"):
        llm.reply = lambda path, body: flips.BAD
        ran = gate(flips.suite(llm.spec(), 8), "--budget", f"{most} calls", "-j", at_once, reask="")
        asks = [max(1, len(grade["votes"])) for grade in ran.grades]
        assert sum(asks) == most
        assert asks == sorted(asks, reverse=True)
        assert max(asks) - min(asks) <= 1
        assert ran.code == 3


def test_calls_that_confirm_one_of_them_block(gate, llm):
    for at_once in ("1", "50"):
        llm.reply = lambda path, body: flips.BAD
        ran = gate(flips.suite(llm.spec(), 8), "--budget", "17 calls", "-j", at_once, reask="")
        assert (ran.code, [grade["outcome"] for grade in ran.grades]) == (1, ["fail"] * 8)
        assert "7 cases failed once and were not re-asked" in ran.results["reason"]


@pytest.mark.parametrize("most", [14, 26])
def test_comparisons_and_conversations_too(gate, llm, most):
    prompts = ["{{q}}", "Please: {{q}}", "{% for it in _conversation %}{{ it.output }}{% endfor %}{{q}}"]
    written = flips.suite(llm.spec("judge"), 3, {"type": "select-best", "value": "the kindest"}, prompts=prompts)
    written["providers"] = [llm.spec("target")]
    first, *others = stories(gate, llm, written, most)
    assert all(other == first for other in others)


def test_what_was_paid_and_came_to_nothing_is_on_the_bill(gate, llm):
    """One call is left for the two grades of the last answer."""
    rubric = {"type": "llm-rubric", "value": "is good"}
    written = flips.suite(llm.spec("judge", cost=0.01), 2)
    written["defaultTest"]["assert"] = [rubric, {**rubric, "value": "is kind"}]
    llm.reply = lambda path, body: flips.GOOD
    ran = gate(written, "--budget", "3 calls", reask="")
    assert [grade["outcome"] for grade in ran.grades] == ["pass", "pass", "error", "error"]
    assert {grade["reason"] for grade in ran.grades[2:]} == {"not run: the budget of 3 calls is used up"}
    assert [grade["usage"]["calls"] for grade in ran.grades] == [1, 1, 0, 0]  # whose the last one was is chance
    assert ran.results["summary"]["grader"]["calls"] == 3
    assert ran.results["summary"]["cost_usd"] == pytest.approx(ran.results["budget"]["usd"])


@pytest.mark.parametrize("most", [2, 4, 7])
def test_what_a_target_took_for_an_answer_that_came_to_nothing_is_too(gate, llm, most):
    """Two answers, and then new ones for failures; the last call is for an answer whose graders are not asked."""
    rubric = {"type": "llm-rubric", "value": "is good"}
    written = flips.suite(llm.spec("judge", cost=0.01), 2, providers=[llm.spec("target", cost=0.01)])
    written["defaultTest"]["assert"] = [rubric, {**rubric, "value": "is kind"}]
    llm.reply = lambda path, body: flips.BAD if body["model"] == "judge" else f"case {len(llm.requests)}"
    ran = gate(written, "--budget", f"{most} calls", "-j", "1", "--reask", "answers", reask="")
    summary = ran.results["summary"]
    assert summary["target"]["calls"] + summary["grader"]["calls"] == most
    assert summary["cost_usd"] == pytest.approx(ran.results["budget"]["usd"])
    assert sum(case["usage"]["calls"] for case in ran.cases) < summary["target"]["calls"]


# --- portions -------------------------------------------------------------------------------------------------


def spent(limit: int, needs: list[int], expected: int, order: random.Random) -> tuple[list[int], int]:
    """What is done of items that need so many calls, when threads take them in some order; and the calls that were sent."""
    budget = Budget(Limits(calls=limit))
    done: dict[int, bool] = {}

    def work(number: int) -> None:
        try:
            for _ in range(needs[number]):
                budget.take()
        except ProviderError:
            done[number] = False
        else:
            done[number] = True

    def mixed(do, items) -> None:
        for item in order.sample(list(items), len(list(items))):
            do(item)

    def take_back(items) -> None:
        done.update((item, False) for item in items if needs[item])

    Portions(budget, mixed).work(work, range(len(needs)), lambda _: expected, take_back)
    assert sorted(done) == list(range(len(needs)))
    return [number for number, whole in done.items() if whole and needs[number]], budget.report().calls


@given(
    limit=st.integers(1, 40),
    needs=st.lists(st.integers(0, 6), max_size=20),
    expected=st.integers(0, 3),
    seeds=st.tuples(st.integers(), st.integers()),
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_what_is_done_depends_on_no_order(limit, needs, expected, seeds):
    one, other = (spent(limit, needs, expected, random.Random(seed)) for seed in seeds)
    assert (sorted(one[0]), one[1]) == (sorted(other[0]), other[1])
    assert one[1] == min(limit, sum(needs))
    if sum(needs) <= limit:
        assert len(one[0]) == sum(map(bool, needs))


@each(
    "limit, expected, count, portions, taken_back",
    [
        (None, 1, 5, [[0, 1, 2, 3, 4]], []),
        (4, 1, 4, [[0, 1], [2], [3]], []),
        (5, 1, 4, [[0, 1], [2], [3]], []),
        (6, 1, 4, [[0, 1, 2], [3]], []),
        (8, 1, 4, [[0, 1, 2, 3]], []),
        (2, 1, 4, [[0], [1], [2], [3]], [[2]]),
        (1, 0, 3, [[0, 1, 2]], [[0, 1, 2]]),
        (3, 2, 3, [[0], [1], [2]], []),
        (4, 2, 3, [[0], [1], [2]], []),
        (8, 2, 3, [[0, 1], [2]], []),
        (0, 1, 2, [[0], [1]], [[0]]),
    ],
)
def test_a_portion_is_as_large_as_twice_its_calls_are_left(limit, expected, count, portions, taken_back):
    budget, begun, back = Budget(Limits(calls=limit)), [], []

    def work(number: int) -> None:
        with suppress(ProviderError):
            budget.take()

    def in_threads(do, items) -> None:
        begun.append([*items])
        for item in items:
            do(item)

    Portions(budget, in_threads).work(work, range(count), lambda _: expected, lambda items: back.append([*items]))
    assert (begun, back) == (portions, taken_back)
