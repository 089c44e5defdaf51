"""Expressions of derived metrics: those of mathjs give what mathjs gives, all else is told by name."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gradegate.texts.formulas import working
from gradegate.texts.script import CodeFile, ScriptError
from support.each import each

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
        ("", "empty", "expression"),
        ("hits +", "is missing", "JavaScript"),
        ("(hits", "is missing", "JavaScript"),
        ("hits)", "one too many", "JavaScript"),
        ("hits / misses misses", "is missing", "JavaScript"),
        ("2 (hits + 1)", "bracket", "JavaScript"),
        ("hits && share", "`&` is not supported", "JavaScript"),
        ("1 < 2", "`<` is not supported", "JavaScript"),
        ("not hits", "is missing", "JavaScript"),
        ("hits ** 2", "is missing", "JavaScript"),
        ("hits // 2", "is missing", "JavaScript"),
        ("hits, share", "comma", "JavaScript"),
        ("hits & 2", "`&` is not supported", "JavaScript"),
        ("hits ? 1 : 2", "`?` is not supported", "JavaScript"),
        ("1^" * 900 + "1", "nested too deeply", "split"),
        ("1+" * 300 + "1", "nested too deeply", "split"),
        ("hits; share", "`;` is not supported", "JavaScript"),
        ("hits.length", "`.` is not supported", "JavaScript"),
        ("[hits, share]", "bracket", "JavaScript"),
        ("mean([[hits]])", "bracket", "JavaScript"),
        ("abs([hits])", "bracket", "JavaScript"),
        ("mean()", "`mean` takes 1 or more arguments, not 0", "correct"),
        ("'abc'", "`'` is not supported", "JavaScript"),
        ("ln(hits)", "function `ln`", "sqrt"),
        ("squrt(hits)", "function `squrt`", 'did you mean "sqrt"?'),
        ("pow(hits)", "`pow` takes 2 arguments, not 1", "correct"),
        ("round(1, 2, 3)", "`round` takes 1 or 2 arguments, not 3", "correct"),
        ("namedScores[hits]", "bracket", "JavaScript"),
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


@each(
    ("text", "words"),
    [
        ("0 / 0", "gives NaN"),
        ("hits / (hits - hits)", "gives Infinity"),
        ("pow(10, 400)", "gives Infinity"),
        ("sqrt(-1)", "gives NaN"),
        ("nothing + 1", "no value of the metric `nothing`"),
        ("constructor", "no value of the metric `constructor`"),
        ("__proto__ + 1", "no value of the metric `__proto__`"),
        ("round(hits, 16)", "from 0 to 15"),
    ],
)
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
        ("function (namedScores) { return namedScores.hits / namedScores.__count; }", 1.5),
        ("function f({ hits = 0, none = 2 }) {\n  return hits * none;\n}\n", 6),
        ("(scores, evalStep) => scores.hits + evalStep.prompt.label.length", 4),
        ("scores => scores.hits > 2", 1),
        ("async (scores) => scores.share;", 0.8),
        (CodeFile(file="m.js", function="", code="module.exports = (scores) => scores.hits * 10"), 30),
        (CodeFile(file="m.js", function="f", code="export const f = (scores) => scores.hits * 100"), 300),
    ],
)
def test_a_function_is_called_with_the_scores(code, number):
    assert working(code).names is None
    assert value(code) == number


@each(
    ("code", "words"),
    [
        ("(s) => {}", "gives nothing, and a metric is a number"),
        ("(s) => null", "gives nothing"),
        ("(s) => 'a'", "gives a text"),
        ("(s) => [1]", "gives an object"),
        ("(s) => NaN", "gives NaN"),
        ("(s) => s.none.x", "throws TypeError"),
        ("(s) => { while (true); }", "more than 0.5 s"),
        ("(s) => new Promise(() => {})", "never comes"),
    ],
)
def test_a_function_that_gives_no_number_is_an_error(code, words):
    with pytest.raises(ScriptError, match=words):
        value(code)


@each(("code", "words"), [("(s) => {", "no JavaScript"), ("(s) => require('fs').x", "require"), ("(s: number) => s", "no JavaScript")])
def test_a_function_that_cannot_run_is_a_mistake(code, words):
    with pytest.raises(ScriptError, match=words):
        working(code)


@given(st.text("hits()+-*/^%,.[]?:&|<>=! \n#1\"'$_né", max_size=40))
def test_any_text_is_an_expression_or_told(text):
    try:
        made = working(text)
        assert isinstance(made.value({"hits": 1.0}, {}), float)
    except ScriptError:
        return
