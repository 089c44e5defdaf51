"""Scores in bins beside their thresholds, and rules as shares."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.reporting.browser import BAR, HEIGHT, WIDTH, Spread, histogram, shares, spreads
from gradegate.values.result import Outcome, RuleResult
from gradegate.values.suite import Rule
from support import samples


def spread(*pairs: tuple[float | None, Outcome], **options: object) -> Spread:
    grades = [samples.grade(outcome, "similar", score=score, **options) for score, outcome in pairs]
    (found,) = spreads([samples.row("x", Outcome.PASS, grade) for grade in grades])
    return found


def test_scores_lie_in_ten_bins_from_0_to_1() -> None:
    found = spread((0.05, Outcome.FAIL), (0.7, Outcome.PASS), (0.75, Outcome.PASS), (1.0, Outcome.PASS), (None, Outcome.ERROR))
    assert [(it.passed, it.failed) for it in found.bins] == [(0, 1), *[(0, 0)] * 6, (2, 0), (0, 0), (1, 0)]
    assert (found.counts.passed, found.counts.failed, found.counts.errored) == (3, 1, 1)
    assert found.average == 0.625


def test_a_threshold_has_its_place_and_its_words() -> None:
    found = spread((0.2, Outcome.FAIL), (0.9, Outcome.PASS), threshold=0.8)
    assert found.marks == (0.8,)
    assert found.said == "2 scores: 1 from 0.2 to 0.3, 1 from 0.9 to 1; threshold 0.8"


def test_scores_beyond_1_make_the_scale_longer() -> None:
    found = spread((4.0, Outcome.PASS), (-1.0, Outcome.FAIL), threshold=1.5)
    assert (found.bins[0].low, found.bins[-1].high, found.marks) == (-1.0, 4.0, (0.5,))


def test_a_limit_from_above_on_what_was_measured_is_no_threshold_of_the_score() -> None:
    assert spread((0.0, Outcome.FAIL), threshold=500.0, most=True).thresholds == ()


def test_what_has_no_score_has_no_bins() -> None:
    found = spread((None, Outcome.ERROR), (float("nan"), Outcome.FAIL), (1e300, Outcome.PASS))
    assert (found.bins, found.average) == ((), None)


def test_a_metric_is_counted_under_its_name_and_members_of_a_set_are_not() -> None:
    named = samples.grade(Outcome.PASS, score=1.0)
    member = samples.grade(Outcome.PASS, "equals", score=1.0, inner=True)
    assert [it.name for it in spreads([samples.row("x", Outcome.PASS, named, member)])] == ["factuality"]


SCORES = st.lists(st.tuples(st.floats(-1e13, 1e13), st.sampled_from([Outcome.PASS, Outcome.FAIL])), min_size=1)


@given(SCORES)
def test_every_score_is_in_one_bin_and_drawn_inside_the_chart(pairs: list[tuple[float, Outcome]]) -> None:
    found = spread(*pairs)
    assert sum(it.passed + it.failed for it in found.bins) == sum(abs(score) < 1e12 for score, _ in pairs)
    for box in histogram(found).boxes:
        assert 0 <= box.x <= box.x + box.width <= WIDTH
        assert 0 <= box.y <= box.y + box.height <= HEIGHT + 0.2


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.none() | st.floats(0, 1))
def test_the_shares_of_a_rule_fill_its_bar(passed: int, failed: int, errored: int, least: float | None) -> None:
    drawn = shares(RuleResult(Rule("x", min_pass_rate=least), Outcome.PASS, "", passed, failed, errored))
    assert sum(box.width for box in drawn.boxes) == pytest.approx(BAR if drawn.boxes else 0, abs=0.2)
    assert all(0 <= x <= BAR for x in drawn.lines)
