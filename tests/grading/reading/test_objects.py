"""Which object of a reply is the verdict, and what around it makes it none."""

import pytest

from gradegate.graders.llm_rubric import LlmRubric
from gradegate.errors import Unreadable
from gradegate.grading.metrics import verdicts
from gradegate.grading.reading.answer import parse
from support.readers import OBJECTS, read

YES = '{"verdicts": [{"reason": "r", "verdict": "yes"}]}'
NO = '{"verdicts": [{"reason": "r", "verdict": "no"}]}'


def counted(reply, count=1):
    """The words of the verdicts in a reply; None when it is unreadable."""
    try:
        return [item.verdict for item in verdicts.counted(parse(reply), count)]
    except Unreadable:
        return None


@pytest.mark.parametrize("score", ["NaN", "nan", "Infinity", "-Infinity", "+Infinity", "undefined", "INFINITY", "-NaN"])
def test_a_score_that_is_not_a_number_is_no_verdict_with_a_threshold(score):
    with pytest.raises(Unreadable):
        LlmRubric(value="x", threshold=0.9)._read(parse(f'{{"reason": "r", "pass": true, "score": {score}}}'))


@pytest.mark.parametrize("score", ["null", "None"])
def test_a_score_that_is_null_is_as_good_as_absent(score):
    reply = parse(f'{{"reason": "r", "pass": true, "score": {score}}}')
    assert LlmRubric(value="x", threshold=0.9)._read(reply).score == 1


@pytest.mark.parametrize("score", ["NaN", "undefined", "Infinity"])
def test_a_score_that_is_not_a_number_is_said_without_a_threshold(score):
    verdict = LlmRubric(value="x")._read(parse(f'{{"reason": "r", "pass": true, "score": {score}}}'))
    assert verdict.score == 1
    assert verdict.unread


@pytest.mark.parametrize(
    "between",
    ["```json\n{}\n```\n```json\n{}\n```", "<answer>{}</answer><answer>{}</answer>", "Draft:\n{}\nFinal:\n{}", "```json\n{}\n```\nOn to the second.\n```json\n{}\n```",
     "First pass:\n\n{}\n\nAfter a second look:\n\n{}", "{}\n\n---\n\n{}", "I thought at first: {}\nMy verdicts are these.\n{}", "[{}]\n\n[{}]"],
)  # fmt: skip
def test_two_lists_that_differ_are_no_verdict(between):
    assert counted(between.replace("{}", NO, 1).replace("{}", YES, 1)) is None
    assert counted(between.replace("{}", YES, 1).replace("{}", NO, 1)) is None


@pytest.mark.parametrize("between", ["Draft:\n{}\nFinal:\n{}", "```json\n{}\n```\n```json\n{}\n```", "{}\n{}"])
def test_two_lists_that_agree_whatever_their_reasons_are_one_verdict(between):
    assert counted(between.replace("{}", YES.replace('"r"', '"names it"'), 1).replace("{}", YES, 1)) == ["yes"]


def test_an_object_of_the_graded_text_is_not_another_list():
    assert counted('It answered with JSON:\n{"verdict_of": "no"}\nThat is right.\n' + YES) == ["yes"]


@pytest.mark.parametrize("between", ["[{}]\n\n[{}]", "Draft:\n[{}]\nFinal:\n[{}]", "```\n[{}]\n```\n```\n[{}]\n```"])
def test_two_rows_of_verdicts_that_differ_are_no_verdict(between):
    row = '{"verdict": "no"}, {"verdict": "no"}'
    assert read("in order", between.replace("{}", row, 1).replace("{}", row.replace("no", "yes"), 1)) is None
