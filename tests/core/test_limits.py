"""One rule for reached, in fractions of the decimal texts."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.core.numbers import EPSILON, exact_fraction, exact_mean, meets, weighted_mean

HUNDREDTHS = st.integers(0, 100)


def test_a_number_is_what_its_decimal_text_says():
    assert exact_fraction(0.1) == Fraction(1, 10)
    assert exact_fraction(1e-7) == Fraction(1, 10**7)
    assert exact_fraction(3) == 3
    for number in (float("nan"), float("inf")):
        with pytest.raises(ValueError):
            exact_fraction(number)


@given(HUNDREDTHS, HUNDREDTHS)
def test_hundredths_are_compared_as_they_are_written(score, limit):
    assert meets(score / 100, limit / 100) is (score >= limit)


@given(st.lists(HUNDREDTHS, min_size=1, max_size=20))
def test_equal_scores_reach_their_own_mean(scores):
    assert exact_mean(score / 100 for score in scores) == Fraction(sum(scores), 100 * len(scores))
    assert meets(exact_mean([scores[0] / 100] * len(scores)), scores[0] / 100)


def test_only_a_tolerance_lets_the_last_bit_go():
    below = 0.75 - EPSILON / 2
    assert not meets(below, 0.75)
    assert meets(below, 0.75, EPSILON)
    assert not meets(0.75 - 3 * EPSILON, 0.75, EPSILON)


def test_weights_weigh_and_no_weight_is_no_mean():
    assert weighted_mean([(0.1, 3), (0.5, 1)]) == Fraction(1, 5)
    with pytest.raises(ZeroDivisionError):
        weighted_mean([(1.0, 0)])
