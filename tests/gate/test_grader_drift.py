"""When a grader has moved, and what that makes of a rule: every row of the vectors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gradegate.core.policy import Rule, Select
from gradegate.core.usage import Usage
from gradegate.gate import grader_drift
from gradegate.results.accounts import GraderCheck, LabelAsk, LabelsReport
from gradegate.results.grades import Outcome
from support.decided import E, F, P, decide_rows, grade, row
from support.each import each

VECTORS = json.loads((Path(__file__).parent.parent / "conformance" / "history.json").read_text())
OUTCOMES = {"met": Outcome.PASS, "missed": Outcome.FAIL, "error": Outcome.ERROR}


def test_a_grader_that_agrees_with_too_few_has_moved() -> None:
    for it in VECTORS["sentinel"]:
        asks = [LabelAsk("m", False, number >= it["agree"]) for number in range(it["verdicts"])]
        found = grader_drift.summarize_labels([*asks, LabelAsk("m", True, None)], it["agreement"])
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
        found = grader_drift.outcome_under_drift(OUTCOMES[it["rule"]], it["moved"], it["fail_labels_passed"])
        assert found is OUTCOMES[it["outcome"]], it
    assert grader_drift.outcome_under_drift(Outcome.PASS, True, 1) is Outcome.ERROR
    assert grader_drift.outcome_under_drift(Outcome.PASS, False, 1) is Outcome.PASS


def test_graders_are_tested_apart_and_from_five_verdicts_on() -> None:
    found = grader_drift.summarize_labels([LabelAsk("a", True, False)] * 4 + [LabelAsk("b", True, True)] * 5, 0.95)
    assert found is not None
    assert [(it.model, it.p, it.moved) for it in found.graders] == [("a", None, False), ("b", 1.0, False)]


def asks(model: str, agree: int, differ: int, label: bool = True) -> list[LabelAsk]:
    """What a grader said of outputs of one label."""
    return [LabelAsk(model, label, label)] * agree + [LabelAsk(model, label, not label)] * differ


def test_nobody_agrees_always_and_nobody_less_than_a_coin() -> None:
    for measured, held in ((0.2, 0.5), (0.5, 0.5), (0.9, 0.9), (0.99, 0.99), (1.0, 0.99)):
        found = grader_drift.summarize_labels(asks("m", 5, 0), measured)
        assert found is not None
        assert found.agreement == held, measured


def test_the_least_likely_of_several_graders_is_the_figure_of_all() -> None:
    found = grader_drift.summarize_labels([*asks("few", 0, 4), *asks("moved", 0, 5), *asks("same", 5, 0, label=False)], 0.9)
    assert found is not None
    assert [(it.model, it.moved, it.lenient) for it in found.graders] == [("few", False, 0), ("moved", True, 0), ("same", False, 0)]
    assert (found.verdicts, found.agree, found.p, found.moved) == (14, 5, pytest.approx(1e-5), True)
    none = grader_drift.summarize_labels(asks("few", 0, 4), 0.9)
    assert none is not None
    assert (none.p, none.moved) == (None, False)
    assert grader_drift.summarize_labels([], 0.9) is None


def test_only_failures_that_pass_are_lenient_and_an_ask_without_a_verdict_counts_for_nothing() -> None:
    found = grader_drift.summarize_labels([*asks("m", 1, 2), *asks("m", 1, 3, label=False), LabelAsk("m", False, None, undone=True)], 0.9)
    assert found is not None
    assert (found.graders[0].lenient, found.verdicts, found.undone) == (3, 7, True)


def test_what_a_report_says_of_labels() -> None:
    moved = GraderCheck("m", 10, 6, 0.001, moved=True)
    still, few = GraderCheck("n", 10, 10, 1.0), GraderCheck("o", 4, 4)
    said = "the grader m moved: it agrees with 6 of 10 labels, 9.5 expected (p = 0.001)"
    for found, begins in (
        (None, []),
        (LabelsReport(graders=(still,)), []),
        (LabelsReport(agreement=0.95, graders=(still, moved, few)), [said]),
        (LabelsReport(agreement=0.95, graders=(moved,), undone=True), ["the run ended before the labelled outputs were graded"]),
        (LabelsReport(4, graders=(few,)), ["the labelled outputs got 4 verdicts, but a check takes at least 5 of one grader"]),
        (LabelsReport(0), ["the labelled outputs got 0 verdicts, but a check takes at least 5 of one grader"]),
    ):
        lines = grader_drift.drift_remarks(found)
        assert [line[: len(begin)] for line, begin in zip(lines, begins, strict=True)] == begins


def graded(outcome: Outcome, model: str = "m", **more: object) -> object:
    return row(grade(outcome, model=model, **more))


RATE = Rule("rate", min_pass_rate=1.0, suite="s")
HALF = Rule("rate", min_pass_rate=0.5, suite="s")


@each(
    ("rows", "rule", "lenient", "undone", "expected"),
    [
        ([graded(P)], RATE, 0, False, P),
        ([graded(P)], RATE, 1, False, E),  # it let failures pass
        ([graded(F)], RATE, 0, False, E),
        ([graded(F)], RATE, 1, False, E),
        ([graded(F), graded(F, "n")], RATE, 0, False, F),  # missed by another grader, too
        ([graded(F), graded(F, "")], RATE, 0, False, F),  # by code
        ([graded(F, "n")], RATE, 9, False, F),
        ([graded(P, "n")], RATE, 9, False, P),
        ([graded(F), graded(P, "n")], HALF, 0, False, P),
        ([graded(F), graded(P, "n")], HALF, 1, False, E),
        ([graded(F)], Rule("rate", min_pass_rate=1.0, blocking=False, suite="s"), 9, False, F),
        ([graded(F, metric="a")], Rule("rate", Select(metric="b"), 1.0, suite="s"), 9, False, E),  # it looks at nothing
        ([graded(F)], RATE, 0, True, E),
        ([graded(F, "n")], RATE, 0, True, E),  # no grader was tested
        ([graded(F, "")], RATE, 0, True, F),
        ([graded(F, "", usage=Usage(calls=1))], RATE, 0, True, E),  # a model that names itself nowhere
        ([graded(F, "", usage=Usage(cached=1))], RATE, 0, True, E),
        ([graded(P)], RATE, 0, True, P),
        ([row(grade(F, is_set=True), grade(F, model="m", inner=True))], RATE, 0, False, E),
        ([row(grade(F, is_set=True), grade(F, model="n", inner=True))], RATE, 0, False, F),
    ],
)
def test_a_grader_that_moved_decides_no_blocking_rule(
    rows: list[object], rule: Rule, lenient: int, undone: bool, expected: Outcome
) -> None:
    checks = () if undone else (GraderCheck("m", 10, 5, 0.001, moved=True, lenient=lenient), GraderCheck("n", 10, 10, 1.0))
    found = decide_rows(rows, rule, labels=LabelsReport(moved=not undone, graders=checks, undone=undone, agreement=0.95)).rules[0]
    assert found.outcome is expected


def test_a_rule_names_the_first_grader_that_leaves_it_undecided() -> None:
    checks = (
        GraderCheck("m", 10, 5, 0.001, moved=True),
        GraderCheck("n", 10, 5, 0.001, moved=True, lenient=1),
        GraderCheck("o", 10, 5, 0.001, moved=True, lenient=2),
    )
    report = LabelsReport(moved=True, graders=checks, agreement=0.95)
    found = decide_rows([graded(P), graded(P, "n"), graded(P, "o")], RATE, labels=report).rules[0]
    assert found.reason.startswith("the grader n moved")
    ended = decide_rows([graded(F)], RATE, labels=LabelsReport(undone=True)).rules[0]
    assert ended.reason.startswith("the run ended before the labelled outputs were graded")


def test_a_moved_grader_is_forgiven_by_the_threshold_of_a_case() -> None:
    """With a PASS in place of what it failed, the mean of the case is 0.5."""
    for threshold, expected in ((0.5, E), (0.51, F)):
        case = row(grade(F, model="m"), grade(F, model="n"), threshold=threshold)
        report = LabelsReport(moved=True, graders=(GraderCheck("m", 10, 5, 0.001, moved=True),), agreement=0.95)
        assert decide_rows([case], Rule("every", every_case=True, suite="s"), labels=report).rules[0].outcome is expected, threshold
