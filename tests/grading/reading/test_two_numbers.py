"""Two numbers that differ are no score and no index; numbers that count or head something are read over."""

import pytest

from support.readers import read


@pytest.mark.parametrize(
    "reply", ["1/10\n9/10", "2/10\n\nScore: 9/10", "**3**\n\nScore: 9", "1 out of 10\n10/10", "Score: 2\nScore: 9"]
)
def test_two_scores_that_differ_are_none(reply):
    assert read("score", reply) is None


@pytest.mark.parametrize(
    "reply",
    ["1\n0", "Best output: 1\n\n0", "The winner is 2.\n\nOutput 1", "(1)\n\nAnswer: 2", "I choose 1.\nOutput 0"],
)
def test_two_indexes_that_differ_are_none(reply):
    assert read("index", reply) is None


@pytest.mark.parametrize(
    ("form", "reply", "number"),
    [
        ("score", "9/10\n9/10", 9),
        ("score", "9\n\nScore: 9/10", 9),
        ("score", "Clarity: 7/10\nTone: 9/10\n\nScore: 8/10", 8),
        ("score", "1.\nThe tone is fine.\n\nScore: 8", 8),
        ("index", "Output 0\nIt is short.\n\nOutput 1\nIt is whole.\n\n1", 1),
        ("index", "1\n1", 1),
        ("index", "Best output: 2\n\n2", 2),
    ],
)
def test_numbers_that_agree_count_or_head_something_are_read_over(form, reply, number):
    assert read(form, reply).verdict == number
