"""Where a budget's calls end: not one more is sent, what is missing is an error that says so, and only what is certain blocks."""

import hashlib
import json
import random
import time
from collections import Counter

import pytest

from gradegate.planning import planner
from support import flips

AT_ONCE = ("1", "4", "50")


class Unsteady:
    """Replies that depend on the request alone, after a while that nobody knows: verdicts, nonsense, and hosts that are busy once."""

    def __init__(self, seed: int) -> None:
        self.busy = 0
        self._seen: Counter[str] = Counter()
        self._pauses = random.Random(seed)

    def __call__(self, path: str, body: dict):
        time.sleep(self._pauses.random() * 0.006)
        text = json.dumps(body["messages"])
        self._seen[text] += 1
        kind = hashlib.sha256(text.encode()).digest()[0] % 12
        if kind == 0 and self._seen[text] == 1:
            self.busy += 1
            return 503, {"error": "busy"}
        if body["model"] == "target":
            return "an answer"
        return "I cannot say." if kind == 1 else flips.GOOD if kind < 5 else flips.BAD


def check_ends(gate, llm, written, most: int, *arguments) -> None:
    """Run it at several concurrencies: each time all calls are used, and a grade without one is an error that says why."""
    for at_once in AT_ONCE:
        llm.reply = reply = Unsteady(most)
        llm.requests.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(planner, "RETRIES", 1)
            ran = gate(written, "--budget", f"{most} calls", "-j", at_once, *arguments, reask="")
        assert len(llm.requests) - reply.busy == ran.results["budget"]["calls"] == most
        assert ran.code in (1, 3)
        summary = ran.results["summary"]
        assert summary["planned"] == summary["passed"] + summary["failed"] + summary["errored"]
        reasons = [grade["reason"] for grade in ran.grades if grade["outcome"] == "error"]
        assert any(f"the budget of {most} calls is used up" in reason for reason in reasons)


def two_of_each(llm) -> dict:
    """Recorded and asked answers, of which several assertions ask a model, one of them inside a set."""
    rubric = {"type": "llm-rubric", "value": "is good"}
    both = [rubric, {"type": "assert-set", "assert": [{**rubric, "value": "is kind"}, {"type": "contains", "value": "a"}]}]
    written = flips.suite(llm.spec("judge"), 6, providers=[llm.spec("target")])
    written["defaultTest"]["assert"] = both
    for test in written["tests"][::2]:
        test["providerOutput"] = f"{test['vars']['q']} is an answer"
    return written


@pytest.mark.parametrize("most", [7, 11, 15])
def test_first_asks_end(gate, llm, most):
    check_ends(gate, llm, two_of_each(llm), most)


def test_answers_end_that_are_asked_for_anew(gate, llm):
    check_ends(gate, llm, two_of_each(llm), 14, "--reask", "answers")


def test_comparisons_and_conversations_end(gate, llm):
    prompts = ["{{q}}", "Please: {{q}}", "{% for it in _conversation %}{{ it.output }}{% endfor %}{{q}}"]
    written = flips.suite(llm.spec("judge"), 3, {"type": "select-best", "value": "the kindest"}, prompts=prompts)
    written["providers"] = [llm.spec("target")]
    check_ends(gate, llm, written, 12)


@pytest.mark.parametrize("at_once", AT_ONCE)
def test_calls_that_confirm_one_failure_block(gate, llm, at_once):
    """Of eight failures with one vote each, nine more calls give at least one its third."""
    llm.reply = lambda path, body: flips.BAD
    ran = gate(flips.suite(llm.spec(), 8), "--budget", "17 calls", "-j", at_once, reask="")
    assert ran.code == 1


@pytest.mark.parametrize("at_once", AT_ONCE)
def test_calls_that_confirm_no_failure_do_not_block(gate, llm, at_once):
    llm.reply = lambda path, body: flips.BAD
    ran = gate(flips.suite(llm.spec(), 8), "--budget", "9 calls", "-j", at_once, reask="")
    assert ran.code == 3
    assert sum(max(1, len(grade["votes"])) for grade in ran.grades) == 9


@pytest.mark.parametrize("arguments", [["--budget", "3 calls"], ["--budget", "7 calls", "--reask", "answers"]], ids=["graders", "targets"])
def test_each_call_is_on_the_bill(gate, llm, arguments):
    rubric = {"type": "llm-rubric", "value": "is good"}
    written = flips.suite(llm.spec("judge", cost=0.01), 2, providers=[llm.spec("target", cost=0.01)])
    written["defaultTest"]["assert"] = [rubric, {**rubric, "value": "is kind"}]
    llm.reply = lambda path, body: flips.BAD if body["model"] == "judge" else f"case {len(llm.requests)}"
    ran = gate(written, *arguments, reask="")
    summary = ran.results["summary"]
    assert summary["target"]["calls"] + summary["grader"]["calls"] == ran.results["budget"]["calls"] == int(arguments[1].split()[0])
    assert summary["cost_usd"] == pytest.approx(ran.results["budget"]["usd"])
