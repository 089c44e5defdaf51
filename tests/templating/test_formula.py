"""Expressions of derived metrics: those of mathjs give what mathjs gives, all else is told by name."""

from pathlib import Path

import pytest
import yaml

from gradegate.templating.formulas import working
from gradegate.templating.script import CodeFile, ScriptError
from support.each import each, table

SCORES = {"hits": 3, "share": 0.8, "$x": 7, "_y": 8, "größe": 9, "e": 5, "__count": 2}
MEASURED = yaml.safe_load((Path(__file__).parent / "formulas.yaml").read_text("utf-8"))


def value(code, scores=SCORES):
    return working(code).value(scores, {"prompt": {"label": "p"}})


def test_arithmetic_is_that_of_mathjs():
    given_here = [[text, value(text)] for text, _ in MEASURED]
    assert given_here == [[text, pytest.approx(float(number), rel=1e-15)] for text, number in MEASURED]


@each(
    ("text", "what", "cure"),
    [
        *table(__file__, "what_is_no_arithmetic_is_told_by_name"),
        ("1^" * 900 + "1", "nested too deeply", "split"),
        ("1+" * 300 + "1", "nested too deeply", "split"),
        ("(" * 300 + "1" + ")" * 300, "is missing", "JavaScript"),
        ("-" * 900 + "1", "nested too deeply", "split"),
        ("1" * 2001, "more than 2,000 characters", "less"),
    ],
)
def test_what_is_no_arithmetic_is_told_by_name(text, what, cure):
    with pytest.raises(ScriptError) as told:
        working(text)
    assert what in told.value.what
    assert cure in told.value.cure


@each(("text", "words"), table(__file__, "what_is_no_number_is_an_error"))
def test_what_is_no_number_is_an_error(text, words):
    with pytest.raises(ScriptError, match=words):
        value(text)


def test_the_names_that_it_reads_are_known():
    read = working("a * (b + pass) / __count - sqrt(c) + namedScores.d % namedScores['e f']").names
    assert read == {"a", "b", "c", "d", "e f", "pass", "__count"}


def test_named_scores_may_be_spelled_out():
    assert value("namedScores.hits * 2") == 6
    assert value('namedScores["hits"] + namedScores["a b"]', {"hits": 1, "a b": 2}) == 3


@each(
    ("code", "number"),
    [
        *table(__file__, "a_function_is_called_with_the_scores"),
        (CodeFile(file="m.js", function="", code="module.exports = (scores) => scores.hits * 10"), 30),
        (CodeFile(file="m.js", function="f", code="export const f = (scores) => scores.hits * 100"), 300),
    ],
)
def test_a_function_is_called_with_the_scores(code, number):
    assert working(code).names is None
    assert value(code) == number


@each(("code", "words"), table(__file__, "a_function_that_gives_no_number_is_an_error"))
def test_a_function_that_gives_no_number_is_an_error(code, words):
    with pytest.raises(ScriptError, match=words):
        value(code)


@each(("code", "words"), [("(s) => {", "not JavaScript"), ("(s) => require('fs').x", "require"), ("(s: number) => s", "not JavaScript")])
def test_a_function_that_cannot_run_is_a_mistake(code, words):
    with pytest.raises(ScriptError, match=words):
        working(code)
