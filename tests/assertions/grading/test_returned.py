import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.assertions.grading.code_result import (
    MAX_COMPONENTS,
    describe_value,
    script_context,
    verdict_from_script_value,
    verdict_from_value,
)
from gradegate.core.conversation import Transcript, Turn
from gradegate.core.usage import Usage
from gradegate.errors import NoVerdict
from gradegate.results.grades import Verdict
from support.each import table


def graded(**more):
    return {"pass": True, "score": 0.5, "reason": "half", **more}


def test_a_boolean_is_a_verdict_and_its_score():
    assert verdict_from_value(True) == Verdict(1.0, True, "returned true")
    assert verdict_from_value(False) == Verdict(0.0, False, "returned false")


@pytest.mark.parametrize("number", [0, 0.25, 1, 7, -3])
def test_a_number_is_a_score_that_decides_nothing_itself(number):
    assert (verdict_from_value(number).score, verdict_from_value(number).passed) == (float(number), None)


def test_a_result_says_pass_score_and_reason():
    assert verdict_from_value(graded()) == Verdict(0.5, True, "half")
    assert verdict_from_value(graded(**{"pass": False, "reason": ""})).passed is False


def test_its_parts_and_named_scores_are_evidence():
    parts = [{"pass": False, "score": 0, "reason": "no", "more": 1}, {"pass": True, "score": 1}]
    assert verdict_from_value(graded(componentResults=parts, namedScores={"a": 1})).evidence == {
        "components": [{"pass": False, "score": 0.0, "reason": "no"}, {"pass": True, "score": 1.0, "reason": ""}],
        "named_scores": {"a": 1.0},
    }


def test_of_many_parts_the_first_are_kept():
    evidence = verdict_from_value(graded(componentResults=[graded()] * 1000)).evidence
    assert len(evidence["components"]) == MAX_COMPONENTS


def test_exactly_a_hundred_parts_and_named_scores_are_kept():
    parts = [graded(score=number) for number in range(101)]
    names = {f"n{number}": number for number in range(101)}
    evidence = verdict_from_value(graded(componentResults=parts, namedScores=names)).evidence
    assert [part["score"] for part in evidence["components"]] == [float(number) for number in range(100)]
    assert evidence["named_scores"] == {f"n{number}": float(number) for number in range(100)}


def test_a_reason_of_two_thousand_characters_is_kept_whole():
    assert verdict_from_value(graded(reason="x" * 2000)).reason == "x" * 2000
    assert verdict_from_value(graded(reason="x" * 2001)).reason == "x" * 2000 + "…"


def test_the_name_in_camel_case_wins_over_the_one_in_snake_case():
    part = {"pass": True, "pass_": False, "score": 1, "reason": ""}
    for keys in (("namedScores", "named_scores"), ("named_scores", "namedScores")):
        values = {"namedScores": {"a": 1}, "named_scores": {"b": 2}}
        found = verdict_from_script_value(graded(**{key: values[key] for key in keys}, component_results=[part]))
        assert found.evidence["named_scores"] == {"a": 1.0}
        assert found.evidence["components"] == [{"pass": True, "score": 1.0, "reason": ""}]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("x" * 60, 'the text "' + "x" * 60 + '"'),
        ("x" * 61, "a text that starts with"),
        ([1], "a list"),
        ((1,), "a list"),
        (None, "nothing"),
        (True, "true"),
        (False, "false"),
        (0, "a number"),
        (1.5, "a number"),
        ({}, "an object"),
        (b"", "a bytes"),
    ],
)
def test_a_message_names_the_kind_of_a_value(value, said):
    assert describe_value(value).startswith(said)


@pytest.mark.parametrize(
    ("cached", "cost", "unpriced", "expected"),
    [(0, 0.5, 0, {"cached": False, "cost": 0.5}), (1, 0.0, 0, {"cached": True, "cost": 0.0}), (0, 0.0, 1, {"cached": False})],
)
def test_code_is_told_what_the_answer_took(cached, cost, unpriced, expected):
    usage = Usage(calls=1, prompt_tokens=3, completion_tokens=4, cached=cached, cost=cost, unpriced=unpriced, seconds=1.5)
    turns = (Turn("user", "q"), Turn("assistant", "a"))
    seen = Transcript("q", turns, {"q": 1}, usage, {"finish_reason": "stop"}, target="app")
    told = script_context(seen, {"description": "case", "vars": "not these"}, {})
    assert told["test"] == {"description": "case", "vars": {"q": 1}}
    assert told["providerResponse"] == {
        "output": "a",
        "raw": "a",
        "metadata": {"finish_reason": "stop"},
        "tokenUsage": {"total": 7, "prompt": 3, "completion": 4},
        "latencyMs": 1500,
        **expected,
    }
    assert "config" not in told
    assert script_context(seen, {}, {"a": 1})["config"] == {"a": 1}


@pytest.mark.parametrize(
    "value",
    [
        *table(__file__, "what_else_is_returned_is_no_verdict"),
        graded(componentResults={}),
        graded(componentResults=[True]),
        graded(componentResults=[{"pass": True}]),
        graded(namedScores=[1]),
        graded(namedScores={"a": "1"}),
        graded(namedScores={"a": math.inf}),
        graded(score=math.nan),
        math.nan,
        math.inf,
        -math.inf,
        10**400,
    ],
)
def test_what_else_is_returned_is_no_verdict(value):
    with pytest.raises(NoVerdict):
        verdict_from_value(value)


def test_nothing_is_said_to_be_nothing():
    with pytest.raises(NoVerdict, match="add `return`"):
        verdict_from_value(None)


@pytest.mark.parametrize(("value", "score", "passed"), table(__file__, "a_script_may_print_its_verdict"))
def test_a_script_may_print_its_verdict(value, score, passed):
    found = verdict_from_script_value(value)
    assert (found.score, found.passed) == (score, passed)


def test_a_script_may_write_snake_case():
    parts = [{"pass_": True, "score": 1, "reason": ""}]
    found = verdict_from_script_value({"pass": True, "score": 1, "reason": "", "component_results": parts, "named_scores": {"a": 1}})
    assert found.evidence == {"components": [{"pass": True, "score": 1.0, "reason": ""}], "named_scores": {"a": 1.0}}


@pytest.mark.parametrize("value", ["", "yes", "[true]", "nan", "0.8 of 1", "{", '"true"', None, b"true"])
def test_and_what_it_prints_otherwise_is_none(value):
    with pytest.raises(NoVerdict):
        verdict_from_script_value(value)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["pass", "score", "reason", "componentResults", "namedScores"]), inner, max_size=5)
    ),
    max_leaves=12,
)


@given(plain)
def test_whatever_is_returned_is_a_finite_verdict_or_none(value):
    for read in (verdict_from_value, verdict_from_script_value):
        try:
            found = read(value)
        except NoVerdict:
            continue
        assert math.isfinite(found.score)
        assert isinstance(found.passed, bool | None)
