"""Two numbers that differ are no score and no index; numbers that count or head something are read over."""

import json

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


@pytest.mark.parametrize(
    "beside",
    [
        {"pass": False},
        {"Pass": "no"},
        {"verdict": "fail"},
        {"passed": "false"},
        {"success": False},
        {"error": "content filter"},
        {"error": {"code": 429}},
        {"error": True},
    ],
)
def test_a_score_beside_a_word_that_contradicts_it_is_none(beside):
    assert read("score", json.dumps({"reason": "r", "score": 9, **beside})) is None


@pytest.mark.parametrize(
    ("score", "beside"),
    [(9, {"pass": True}), (2, {"pass": False}), (9, {"verdict": "good"}), (9, {"error": None}), (9, {"error": "none"}), (5, {"pass": False})],
)  # fmt: skip
def test_a_score_beside_a_word_that_agrees_is_one(score, beside):
    assert read("score", json.dumps({"reason": "r", "score": score, **beside})).verdict == score


def test_a_low_score_beside_a_pass_is_none():
    assert read("score", '{"score": 1, "pass": true}') is None
