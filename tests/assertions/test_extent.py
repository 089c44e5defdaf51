"""How long an answer is, how far from a text, and why it ended."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.assertions.length_distance import Levenshtein
from gradegate.errors import NoVerdict


def distance_by_recursion(first: str, second: str) -> int:
    """The distance by the plain recursion."""
    row = list(range(len(second) + 1))
    for line, sign in enumerate(first, 1):
        row, before = [line], row
        for column, other in enumerate(second, 1):
            row.append(min(before[column - 1] + (sign != other), before[column] + 1, row[-1] + 1))
    return row[-1]


@given(st.text(alphabet="abc", max_size=12), st.text(alphabet="abc", max_size=12), st.integers(0, 12))
def test_the_band_gives_the_distance_up_to_the_threshold(first, second, most):
    distance = distance_by_recursion(first, second)
    verdict = Levenshtein(value=second, threshold=most).check(first)
    sentence = f"the distance is {distance if distance <= most else f'more than {most}'},"
    assert (verdict.score, verdict.reason.startswith(sentence)) == (distance <= most, True), verdict


def test_texts_that_are_too_long_are_no_verdict():
    with pytest.raises(NoVerdict):
        Levenshtein(value="b" * 100_000, threshold=50_000).check("a" * 100_000)
    assert Levenshtein(value="x").threshold == 5
