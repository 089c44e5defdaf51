"""From verdicts to grades: what lies on a threshold, which threshold applies, and which of several grades decides."""

import math

import pytest
from msgspec.structs import astuple

from gradegate.assertions.grading.bound import BoundAssertion, BoundSet
from gradegate.assertions.grading.conclusion import error_grades_without_answer, grade_from_error, grade_from_verdict, grade_of_set
from gradegate.assertions.grading.evaluator import Evaluator, Scoring
from gradegate.core.usage import NO_USAGE
from gradegate.errors import NoVerdict, ProviderError, Trouble
from gradegate.results.case_outcome import conclude_case, named_scores, reason_without_mean
from gradegate.results.grades import Grade, GradedAssertion, Outcome, Verdict
from support.each import each

PASS, FAIL, ERROR = Outcome.PASS, Outcome.FAIL, Outcome.ERROR


def grader(**scoring):
    """A grader with this scoring, which is never asked."""

    class Scored(Evaluator):
        pass

    Scored.scoring = Scoring(**scoring)
    return Scored()


def concluded(verdict, kind="is-good", *, threshold=None, **scoring):
    """The grade of a verdict by a grader with this scoring; `kind` is the type of the assertion."""
    bound = BoundAssertion(GradedAssertion(kind), grader(**scoring), threshold)
    return grade_from_verdict(bound, verdict, NO_USAGE)


# --- one grade ----------------------------------------------------------------------------------------------------


@each(
    "kind, score, threshold, scoring, outcome",
    [
        ("is-good", 0.5, 0.5, {}, PASS),
        ("is-good", 0.4999, 0.5, {}, FAIL),
        ("is-good", 0.5001, 0.5, {}, PASS),
        ("not-is-good", 0.5, 0.5, {}, FAIL),
        ("not-is-good", 0.4999, 0.5, {}, PASS),
        ("is-good", 0.0, 0, {}, PASS),
        ("is-good", 0.4, 0.5, {"tolerance": 0.1}, PASS),
        ("is-good", 0.39, 0.5, {"tolerance": 0.1}, FAIL),
        ("is-good", 0.0, None, {"share": False}, FAIL),
        ("is-good", 0.0001, None, {"share": False}, PASS),
        ("is-good", -0.0001, None, {"share": False}, FAIL),
        ("not-is-good", 0.0, None, {"share": False}, PASS),
        ("is-good", 0.0, 0.0, {"share": False}, PASS),
        ("is-good", 0.3, 0.5, {"share": False}, FAIL),
    ],
)
def test_a_score_equal_to_the_threshold_passes(kind, score, threshold, scoring, outcome):
    assert concluded(Verdict(score), kind, threshold=threshold, **scoring).outcome is outcome


@each(
    "threshold, scoring, applied, outcome",
    [
        (None, {"default": 0.6}, 0.6, FAIL),
        (0.4, {"default": 0.6}, 0.4, PASS),
        (0.6, {"default": 0.4}, 0.6, FAIL),
        (0.0, {"default": 0.6}, 0.0, PASS),
        (None, {"default": 0.4}, 0.4, PASS),
    ],
)
def test_the_threshold_of_the_config_wins_over_the_default(threshold, scoring, applied, outcome):
    grade = concluded(Verdict(0.5), threshold=threshold, **scoring)
    assert (grade.threshold, grade.outcome) == (applied, outcome)


@each(
    "passed, score, threshold, scoring, outcome, reason",
    [
        (True, 0.5, 0.5, {}, PASS, "why"),
        (True, 0.4, 0.5, {}, FAIL, "score 0.4 is below the threshold 0.5: why"),
        (None, 0.4, 0.5, {}, FAIL, "score 0.4 is below the threshold 0.5: why"),
        (False, 0.5, 0.5, {}, FAIL, "why"),
        (False, 0.9, 0.5, {}, FAIL, "why"),
        (False, 0.4, 0.5, {}, FAIL, "why"),
        (False, 0.9, None, {}, FAIL, "why"),
        (True, 0.0, None, {}, PASS, "why"),
        (True, 0.0, None, {"share": False}, PASS, "why"),
        (False, 1.0, None, {"share": False}, FAIL, "why"),
        (True, 0.4, 0.5, {"decides": True}, PASS, "why"),
        (False, 0.9, 0.5, {"decides": True}, FAIL, "why"),
        (None, 0.4, 0.5, {"decides": True}, FAIL, "why"),
        (None, 0.4, 0.5, {"scale": 100}, FAIL, "score 40 is below the threshold 50: why"),
    ],
)
def test_the_word_of_a_grader_and_the_threshold_must_both_be_met(passed, score, threshold, scoring, outcome, reason):
    grade = concluded(Verdict(score, passed, "why"), threshold=threshold, **scoring)
    assert (grade.outcome, grade.reason) == (outcome, reason)


@each("score, reversed_score", [(0.0, 1.0), (0.1, 0.9), (0.3, 0.7), (1.0, 0.0), (1.5, 0.0), (-0.5, 1.0)])
def test_a_negated_score_is_what_is_left_to_one(score, reversed_score):
    assert concluded(Verdict(score), "not-is-good", threshold=0.5).score == reversed_score


def test_a_negated_failure_says_why_in_place_of_the_threshold():
    grade = concluded(Verdict(0.9, None, "why"), "not-is-good", threshold=0.5)
    assert (grade.outcome, grade.reason) == (FAIL, "must not be true, but is (not-is-good): why")
    grade = concluded(Verdict(0.1, None, "why"), "not-is-good", threshold=0.5)
    assert (grade.outcome, grade.reason) == (PASS, "why")


def test_only_a_negated_assertion_takes_the_other_verdict():
    verdict = Verdict(1.0, True, "all", reverse=Verdict(0.25, False, "any"))
    plain, negated = concluded(verdict), concluded(verdict, "not-is-good")
    assert (plain.outcome, plain.score, plain.reason) == (PASS, 1.0, "all")
    assert (negated.outcome, negated.score, negated.reason) == (PASS, 0.75, "any")


@each("kind", ["is-good", "not-is-good"])
def test_broken_code_fails_whichever_way_the_assertion_is_read(kind):
    grade = concluded(Verdict(0.0, False, "it threw", broken=True), kind)
    assert (grade.outcome, grade.score, grade.reason) == (FAIL, 0.0, "it threw")


@each("kind, score, turns", [("is-good", 0.4, (2,)), ("is-good", 0.5, ()), ("not-is-good", 0.4, ()), ("not-is-good", 0.9, ())])
def test_only_a_failure_that_is_not_negated_names_its_turns(kind, score, turns):
    assert concluded(Verdict(score, turns=(2,)), kind, threshold=0.5).turns == turns


@each("score", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_not_finite_is_no_verdict(score):
    with pytest.raises(NoVerdict, match="not a finite number"):
        concluded(Verdict(score, True))


def test_a_bare_score_without_any_threshold_is_no_verdict():
    with pytest.raises(NoVerdict, match="has no threshold"):
        concluded(Verdict(0.5))


# --- errors -------------------------------------------------------------------------------------------------------


@each(
    "trouble, setup, undone, unheard, withheld",
    [
        (Trouble.SETUP, True, False, False, True),
        (Trouble.WITHHELD, True, False, False, True),
        (Trouble.UNREACHABLE, False, False, True, False),
        (Trouble.INCOMPLETE, False, False, True, False),
        (Trouble.STATUS, False, False, True, False),
        (Trouble.DEADLINE, False, False, True, False),
        (Trouble.REFUSED, False, False, False, True),
        (Trouble.TRUNCATED, False, False, False, True),
        (Trouble.MALFORMED, False, False, False, True),
        (Trouble.STOPPED, False, True, False, False),
    ],
)
def test_an_error_knows_what_trouble_is_behind_it(trouble, setup, undone, unheard, withheld):
    bound = BoundAssertion(GradedAssertion("is-good"), grader(default=0.5), 0.7)
    for grade in (grade_from_error(bound, ProviderError("down", trouble), NO_USAGE), *error_grades_without_answer(bound, "down", trouble)):
        assert (grade.outcome, grade.score, grade.threshold) == (ERROR, None, 0.7)
        assert (grade.setup, grade.undone, grade.unheard, grade.withheld) == (setup, undone, unheard, withheld)


@each(
    "cause, reason, evidence",
    [
        (NoVerdict("none", ["I cannot say."]), "none", {"replies": ["I cannot say."]}),
        (NoVerdict("none"), "none", {}),
        (ProviderError("down"), "down", {}),
        ("not run", "not run", {}),
        (ValueError("odd"), "ValueError: odd", {}),
    ],
)
def test_only_a_defect_is_named_by_its_kind(cause, reason, evidence):
    grade = grade_from_error(BoundAssertion(GradedAssertion("is-good"), grader()), cause, NO_USAGE)
    assert (grade.reason, grade.evidence, grade.withheld) == (reason, evidence, isinstance(cause, ProviderError))


# --- sets and cases -----------------------------------------------------------------------------------------------


def grade(outcome, score=None, *, weight=1.0, blocking=True, kind="is-good", **more):
    return Grade(GradedAssertion(kind, weight=weight, blocking=blocking), outcome, score, **more)


GOOD, BAD, LOST = grade(PASS, 1.0), grade(FAIL, 0.0), grade(ERROR)


@each(
    "grades, threshold, outcome, score",
    [
        ([GOOD, BAD, LOST], None, FAIL, 0.5),
        ([GOOD, LOST], None, ERROR, 1.0),
        ([GOOD, grade(FAIL, 0.0, blocking=False)], None, PASS, 1.0),
        ([GOOD, grade(FAIL, 0.0, weight=0)], None, PASS, 1.0),
        ([GOOD, grade(FAIL, 0.0, inner=True)], None, PASS, 1.0),
        ([GOOD, grade(FAIL, 0.0, quarantine="2099-01-01")], None, PASS, 1.0),
        ([grade(FAIL, 0.25, blocking=False), grade(PASS, 0.75, blocking=False)], None, FAIL, 0.5),
        ([grade(FAIL, 0.0, blocking=False), grade(FAIL, 1.0, blocking=False, inner=True)], None, FAIL, 0.0),
        ([grade(FAIL, 0.2, weight=0)], None, FAIL, None),
        ([grade(PASS, 0.2, weight=0)], 0.5, PASS, None),
        ([grade(FAIL, 0.2, weight=0)], 0.1, FAIL, None),
        ([GOOD, BAD], 0.5, PASS, 0.5),
        ([GOOD, BAD], 0.5001, FAIL, 0.5),
        ([GOOD, BAD], 0.0, PASS, 0.5),
        ([BAD], 0.0, PASS, 0.0),
        ([grade(PASS, 0.1), grade(PASS, 0.2), grade(PASS, 0.3)], 0.2, PASS, 0.2),
        ([grade(PASS, 1.0, weight=3), BAD], 0.75, PASS, 0.75),
        ([grade(PASS, 1.0, weight=3), BAD], 0.76, FAIL, 0.75),
        ([BAD, LOST], 0.5, ERROR, 0.0),
        ([BAD, LOST], 0.51, FAIL, 0.0),
        ([GOOD, LOST], 0.5, ERROR, 1.0),
        ([LOST], 0.5, ERROR, None),
        ([LOST], 1.0, ERROR, None),
        ([grade(PASS, 1.2)], 0.5, ERROR, 1.2),
        ([grade(PASS, 1.2)], None, PASS, 1.2),
    ],
)
def test_the_worst_grade_that_counts_or_the_mean_decides_a_case(grades, threshold, outcome, score):
    found = conclude_case(grades, threshold)
    assert (found.outcome, found.score) == (outcome, score)


@each(
    "score, unread, why",
    [
        (None, "", ""),
        (0.0, "", ""),
        (1.0, "", ""),
        (-0.0001, "", "the score -0.0001 of is-good is outside 0 to 1, so no mean can be taken"),
        (1.001, "", "the score 1.001 of is-good is outside 0 to 1, so no mean can be taken"),
        (0.5, "high", "the score high of is-good is not a number, so no mean can be taken"),
        (7.0, "high", "the score high of is-good is not a number, so no mean can be taken"),
    ],
)
def test_a_mean_is_taken_of_scores_from_zero_to_one(score, unread, why):
    assert reason_without_mean(grade(PASS, score, unread=unread)) == why


@each(
    "grades, threshold, reason",
    [
        ([BAD], 0.5, "the weighted mean 0 is below the threshold 0.5 of the test"),
        ([BAD, LOST], 0.6, "the weighted mean 0 is below the threshold 0.6 of the test, and 0.5 at most, whatever the errors would give"),
        ([BAD, LOST], 0.5, ""),
        ([GOOD], 0.5, ""),
        ([BAD], None, ""),
    ],
)
def test_a_case_gives_a_reason_where_its_threshold_failed_it(grades, threshold, reason):
    assert conclude_case(grades, threshold).reason == reason


def concluded_set(kind, members, threshold=None):
    bounds = tuple(BoundAssertion(member.assertion, grader()) for member in members)
    return grade_of_set(BoundSet(GradedAssertion(kind, is_set=True), bounds, threshold), members)


@each(
    "kind, members, threshold, outcome, score, reason",
    [
        ("assert-set", [GOOD, BAD], 0.5, PASS, 0.5, ""),
        ("assert-set", [GOOD, grade(FAIL, 0.0, reason="no")], None, FAIL, 0.5, "is-good: no"),
        (
            "assert-set",
            [GOOD, grade(FAIL, 0.0, reason="no")],
            0.6,
            FAIL,
            0.5,
            "the weighted mean 0.5 is below the threshold 0.6 of the set; is-good: no",
        ),
        ("assert-set", [grade(FAIL, 0.0, reason="no"), grade(ERROR, reason="lost")], None, FAIL, 0.0, "is-good: no"),
        ("assert-set", [GOOD, grade(ERROR, reason="lost")], None, ERROR, 1.0, "is-good: lost"),
        ("not-assert-set", [GOOD, BAD], 0.5, FAIL, 0.5, "must not be true, but is (not-assert-set)"),
        ("not-assert-set", [grade(PASS, 0.3), grade(FAIL, 0.3)], 0.31, PASS, 0.7, ""),
        ("not-assert-set", [BAD, grade(ERROR, reason="lost")], None, ERROR, None, "is-good: lost"),
        ("not-assert-set", [BAD, grade(ERROR, weight=0)], None, PASS, 1.0, ""),
        ("not-assert-set", [GOOD, grade(ERROR, blocking=False)], None, FAIL, 0.0, "must not be true, but is (not-assert-set)"),
        ("not-assert-set", [grade(FAIL, weight=0)], None, PASS, None, ""),
    ],
)
def test_a_set_is_decided_like_a_case_and_then_turned_round(kind, members, threshold, outcome, score, reason):
    found = concluded_set(kind, members, threshold)
    assert (found.outcome, found.score, found.threshold, found.reason) == (outcome, score, threshold, reason)


UNHEARD, WITHHELD, UNDONE = grade(ERROR, unheard=True), grade(ERROR, withheld=True), grade(ERROR, undone=True)


@each(
    "members, undone, unheard, withheld",
    [
        ([UNHEARD], False, True, False),
        ([UNHEARD, UNHEARD], False, True, False),
        ([UNHEARD, LOST], False, False, True),
        ([UNHEARD, WITHHELD], False, False, True),
        ([WITHHELD], False, False, True),
        ([LOST], False, False, False),
        ([UNDONE], True, False, False),
        ([UNDONE, LOST], True, False, False),
        ([UNDONE, UNHEARD], True, False, True),
        ([UNHEARD, BAD], False, False, False),
        ([UNDONE, BAD], False, False, False),
        ([GOOD, grade(ERROR, weight=0, unheard=True)], False, False, False),
        ([LOST, grade(ERROR, weight=0, undone=True)], False, False, False),
        ([UNHEARD, grade(ERROR, weight=0)], False, True, False),
        ([GOOD], False, False, False),
    ],
)
def test_a_set_is_in_the_trouble_of_the_errors_that_count(members, undone, unheard, withheld):
    found = concluded_set("assert-set", members)
    assert (found.undone, found.unheard, found.withheld) == (undone, unheard, withheld)


# --- named scores -------------------------------------------------------------------------------------------------


def named_grade(kind, score, *, metric="", weight=1.0, is_set=False, scores=None, outcome=PASS, **more):
    asserted = GradedAssertion(kind, weight=weight, metric=metric, is_set=is_set)
    return Grade(asserted, outcome, score, evidence={} if scores is None else {"named_scores": scores}, **more)


@each(
    "grades, expected",
    [
        ([named_grade("contains", 0.5, metric="a", weight=2)], [("a", 0.5, 2.0)]),
        ([named_grade("contains", 0.5)], []),
        ([named_grade("contains", 0.5, metric="a", outcome=ERROR)], []),
        ([named_grade("contains", 0.5, metric="a", unread="high")], []),
        ([named_grade("contains", None, metric="a")], []),
        ([named_grade("python", 0.5, metric="a", scores={"a": 0.1, "b": 0.2})], [("a", 0.5, 1.0), ("b", 0.2, 1.0)]),
        ([named_grade("not-javascript", 0.5, scores={"a": 0.1})], [("a", 0.1, 1.0)]),
        ([named_grade("contains", 0.5, scores={"a": 0.1})], []),
        (
            [
                named_grade("contains", 0.5, metric="before", weight=5),
                named_grade("assert-set", 0.9, metric="whole", weight=3, is_set=True),
                named_grade("contains", 0.4, metric="part", weight=2, inner=True),
                named_grade("contains", 0.3, metric="last", weight=2, inner=True),
                named_grade("contains", 0.2, metric="after", weight=2),
                named_grade("assert-set", 0.9, weight=7, is_set=True),
                named_grade("contains", 0.1, metric="other", inner=True),
            ],
            [("before", 0.5, 5.0), ("whole", 0.9, 3.0), ("part", 0.4, 6.0), ("last", 0.3, 6.0), ("after", 0.2, 2.0), ("other", 0.1, 7.0)],
        ),
    ],
)
def test_a_member_has_the_weight_of_its_set_and_a_metric_wins_over_a_returned_name(grades, expected):
    assert [astuple(it) for it in named_scores(grades)] == expected
