"""When a grader has moved, and what that makes of a rule: every row of the vectors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gradegate.gate import calibration as agreement
from gradegate.results.accounts import SentinelAsk
from gradegate.results.grades import Outcome

VECTORS = json.loads((Path(__file__).parent.parent / "conformance" / "history.json").read_text())
OUTCOMES = {"met": Outcome.PASS, "missed": Outcome.FAIL, "error": Outcome.ERROR}


def test_a_grader_that_agrees_with_too_few_has_moved() -> None:
    for it in VECTORS["sentinel"]:
        asks = [SentinelAsk("m", False, number >= it["agree"]) for number in range(it["verdicts"])]
        found = agreement.report([*asks, SentinelAsk("m", True, None)], it["agreement"])
        assert found is not None
        assert (found.verdicts, found.agree, found.p, found.moved) == (
            it["verdicts"],
            it["agree"],
            pytest.approx(it["p"], rel=1e-5),
            it["moved"],
        ), it
        assert found.graders[0].lenient == it["verdicts"] - it["agree"]


def test_what_a_rule_comes_to_where_a_grader_has_moved() -> None:
    for it in VECTORS["sentinel_rule"]:
        found = agreement.standing(OUTCOMES[it["rule"]], it["moved"], it["fail_labels_passed"])
        assert found is OUTCOMES[it["outcome"]], it
    assert agreement.standing(Outcome.PASS, True, 1) is Outcome.ERROR
    assert agreement.standing(Outcome.PASS, False, 1) is Outcome.PASS


def test_graders_are_tested_apart_and_from_five_verdicts_on() -> None:
    found = agreement.report([SentinelAsk("a", True, False)] * 4 + [SentinelAsk("b", True, True)] * 5, 0.95)
    assert found is not None
    assert [(it.model, it.p, it.moved) for it in found.graders] == [("a", None, False), ("b", 1.0, False)]
