import math

import pytest

from support.each import table
from support.graded import Script, config, mistakes

LABELS = {"friendly": 0.75, "rude": 0.2, "other": 0.05}


def graded(gate, llm, labels=LABELS, kind="classifier", **assertion):
    llm.reply = Script(classify=lambda text: labels)
    return gate(config(llm, {"type": kind, **assertion})).grades[0]


@pytest.mark.parametrize(("assertion", "outcome", "score"), table(__file__, "the_score_of_a_label"))
def test_the_score_of_a_label(gate, llm, assertion, outcome, score):
    grade = graded(gate, llm, **assertion)
    assert (grade["outcome"], grade["score"]) == (outcome, pytest.approx(score))


def test_a_label_that_the_model_does_not_know_is_said(gate, llm):
    assert "no label 'Friendly' (the model says: friendly 0.75, rude 0.2" in graded(gate, llm, value="Friendly")["reason"]


@pytest.mark.parametrize(
    "labels", [*table(__file__, "no_labels_is_an_error_also_under_not"), {"friendly": math.nan}, (401, {"error": "bad key"})]
)
@pytest.mark.parametrize("kind", ["classifier", "not-classifier"])
def test_no_labels_is_an_error_also_under_not(gate, llm, kind, labels):
    assert graded(gate, llm, labels, kind, value="friendly")["outcome"] == "error"


def test_the_model_gets_the_answer_and_must_be_a_classifier(gate, llm):
    graded(gate, llm, value="friendly")
    assert [body["input"] for body in llm.bodies] == ["the answer"]
    assert "kind classification" in mistakes(gate(config(llm, {"type": "classifier", "provider": llm.spec()})))
