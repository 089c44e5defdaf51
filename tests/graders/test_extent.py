"""How long an answer is, how far from a text, and why it ended."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import NoVerdict
from gradegate.graders.extent import Levenshtein, _distance
from support.each import table
from support.fake_llm import chat
from support.graded import mistakes


def outcome(gate, kind, output, **more):
    return gate({"tests": [{"providerOutput": output, "assert": [{"type": kind, **more}]}]}).grades[0]["outcome"]


@pytest.mark.parametrize(("value", "expected"), table(__file__, "words_are_counted"))
def test_words_are_counted(gate, value, expected):
    assert outcome(gate, "word-count", " one  two\nthree ", value=value) == expected
    assert outcome(gate, "not-word-count", " one  two\nthree ", value=value) == {"pass": "fail", "fail": "pass"}[expected]


@pytest.mark.parametrize("value", ["many", {}, {"min": 3, "max": 2}, {"most": 3}, True, [3]])
def test_a_count_that_is_none_is_a_mistake(gate, value):
    assert "word-count" in mistakes(gate({"tests": [{"providerOutput": "x", "assert": [{"type": "word-count", "value": value}]}]}))


@pytest.mark.parametrize(("output", "threshold", "expected"), table(__file__, "the_distance_is_at_most_the_threshold"))
def test_the_distance_is_at_most_the_threshold(gate, output, threshold, expected):
    limit = {} if threshold is None else {"threshold": threshold}
    assert outcome(gate, "levenshtein", output, value="sitting", **limit) == expected


def whole(first: str, second: str) -> int:
    """The distance by the plain recursion."""
    row = list(range(len(second) + 1))
    for line, sign in enumerate(first, 1):
        row, before = [line], row
        for column, other in enumerate(second, 1):
            row.append(min(before[column - 1] + (sign != other), before[column] + 1, row[-1] + 1))
    return row[-1]


@given(st.text(alphabet="abc", max_size=12), st.text(alphabet="abc", max_size=12), st.integers(0, 12))
def test_the_band_gives_the_distance_up_to_the_threshold(first, second, most):
    assert min(_distance(first, second, most), most + 1) == min(whole(first, second), most + 1)


def test_texts_that_are_too_long_are_no_verdict():
    with pytest.raises(NoVerdict):
        _distance("a" * 100_000, "b" * 100_000, 50_000)
    assert Levenshtein(value="x").threshold == 5


def test_why_an_answer_ended(gate, llm):
    llm.reply = lambda path, body: chat("cut", finish_reason="length")
    config = {
        "prompts": ["x"],
        "providers": [llm.spec()],
        "tests": [{"assert": [{"type": "finish-reason", "value": "LENGTH"}, {"type": "finish-reason", "value": "stop"}]}],
    }
    assert [grade["outcome"] for grade in gate(config).grades] == ["pass", "fail"]
    assert outcome(gate, "finish-reason", "x", value="stop") == "error"
