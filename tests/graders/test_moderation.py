import pytest

from support.each import table
from support.graded import Script, config, mistakes


def graded(gate, llm, flags, kind="moderation", output="the answer", **assertion):
    llm.reply = Script(moderate=lambda text: flags)
    return gate(config(llm, {"type": kind, **assertion}, output=output)).grades[0]


@pytest.mark.parametrize(("flags", "assertion", "outcome", "score"), table(__file__, "flags_fail"))
def test_flags_fail(gate, llm, flags, assertion, outcome, score):
    grade = graded(gate, llm, flags, **assertion)
    assert (grade["outcome"], grade["score"]) == (outcome, score)


def test_the_reason_names_what_counts_and_what_does_not(gate, llm):
    assert graded(gate, llm, ["hate", "violence"], value=["hate"])["reason"] == "flagged: hate (not counted: violence)"


def test_an_empty_answer_that_is_recorded_passes_unasked(gate, llm):
    recorded = config(llm, {"type": "moderation"})
    recorded["tests"][0]["providerOutput"] = " "
    assert gate(recorded).grades[0]["outcome"] == "pass"
    assert llm.requests == []


@pytest.mark.parametrize("kind", ["moderation", "not-moderation"])
def test_a_model_that_is_down_is_an_error(gate, llm, kind):
    assert graded(gate, llm, (500, {"error": {"message": "down"}}), kind)["outcome"] == "error"


def test_mistakes(gate, llm):
    for value in ("hate", [], [1]):
        said = mistakes(gate(config(llm, {"type": "moderation", "value": value})))
        assert ("`value` of `moderation` is empty" if value == [] else "`moderation`: `value") in said
    assert "kind moderation" in mistakes(gate(config(llm, {"type": "moderation", "provider": llm.spec()})))
