import math

import pytest

from support.each import table
from support.graded import Script, config, mistakes, vectors

A, B, C = [1.0, 0.0], [0.6, 0.8], [0.0, 1.0]  # cosines with A: 1, 0.6, 0


def graded(gate, llm, assertion, embed):
    llm.reply = Script(embed=embed)
    return gate(config(llm, assertion, output="a")).grades[0]


@pytest.mark.parametrize(("kind", "value", "threshold", "outcome", "score"), table(__file__, "the_measures_and_their_thresholds"))
def test_the_measures_and_their_thresholds(gate, llm, kind, value, threshold, outcome, score):
    known = vectors(a=A, a2=A, b=B, c=C, long=[2.0, 0.0], opposite=[-1.0, 0.0])
    limit = {} if threshold is None else {"threshold": threshold}
    grade = graded(gate, llm, {"type": kind, "value": value, **limit}, known)
    assert (grade["outcome"], grade["score"]) == (outcome, pytest.approx(score))
    assert grade["threshold"] == (0.75 if threshold is None else threshold)


@pytest.mark.parametrize(
    ("embed", "words"),
    [
        *table(__file__, "vectors_that_say_nothing_are_errors_also_under_not"),
        ([[1.0, 0.0], [math.nan, 1.0]], "not a finite number"),
        ((500, {"error": {"message": "out of order"}}), "out of order"),
    ],
)
@pytest.mark.parametrize("kind", ["similar", "not-similar", "similar:dot", "similar:euclidean", "not-similar:euclidean"])
def test_vectors_that_say_nothing_are_errors_also_under_not(gate, llm, kind, embed, words):
    grade = graded(gate, llm, {"type": kind, "value": "b"}, lambda texts: embed)
    assert (grade["outcome"], grade["score"]) == ("error", None)
    assert words in grade["reason"]


def test_tiny_and_huge_vectors_have_a_direction_too(gate, llm):
    for scale in (1e-200, 1e200):
        grade = graded(gate, llm, {"type": "similar", "value": "b"}, lambda texts, s=scale: [[s, 0.0], [s, s]])
        assert grade["score"] == pytest.approx(math.sqrt(0.5))


def test_one_call_for_all_texts(gate, llm):
    graded(gate, llm, {"type": "similar", "value": ["b", "c"]}, vectors(a=A, b=B, c=C))
    assert [body["input"] for body in llm.bodies] == [["a", "b", "c"]]


@pytest.mark.parametrize(("assertion", "words"), table(__file__, "mistakes_are_said_before_any_call"))
def test_mistakes_are_said_before_any_call(gate, llm, monkeypatch, assertion, words):
    monkeypatch.setattr(llm, "reply", Script(embed=[]))
    text = mistakes(gate({**config(llm, assertion), "env": {"OPENAI_API_KEY": "k"}}))
    assert words in text
    assert "promptfooconfig.yaml:" in text
    assert llm.requests == []
