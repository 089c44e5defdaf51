import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import Unreadable
from gradegate.graders.llm_rubric import SCHEMA, LlmRubric
from gradegate.grading import scalars
from gradegate.grading.reading.form import Form
from support.each import table
from support.graded import Script, config, mistakes
from support.readers import read


def graded(gate, llm, reply, kind="llm-rubric", value="is polite", **more):
    llm.reply = Script(reply)
    return gate(config(llm, {"type": kind, "value": value, **more})).grades[0]


@pytest.mark.parametrize(("reply", "keys", "outcome", "score"), table(__file__, "pass_score_and_threshold"))
def test_pass_score_and_threshold(gate, llm, reply, keys, outcome, score):
    grade = graded(gate, llm, reply, **keys)
    assert (grade["outcome"], grade["score"]) == (outcome, pytest.approx(score))


@pytest.mark.parametrize("kind", ["llm-rubric", "not-llm-rubric"])
@pytest.mark.parametrize("reply", table(__file__, "no_verdict"))
def test_no_verdict(gate, llm, kind, reply):
    grade = graded(gate, llm, reply, kind)
    assert (grade["outcome"], grade["score"]) == ("error", None)


def test_an_object_as_rubric_is_shown_as_json_and_a_rubric_may_use_variables(gate, llm):
    graded(gate, llm, {"pass": True}, value={"points": [1, "ä"]})
    assert '{"points": [1, "ä"]}' in llm.prompts[0]
    graded(gate, llm, {"pass": True}, value="mentions {{said}}")
    assert "mentions the answer" in llm.prompts[1]


def test_the_language_of_the_reason(gate, llm):
    graded(gate, llm, {"pass": True}, config={"language": "German"})
    assert "written in German" in llm.prompts[0]


def test_a_reason_comes_before_the_verdict_in_what_is_asked_for(gate, llm):
    graded(gate, llm, {"pass": True})
    schema = llm.bodies[0]["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == ["reason", "pass", "score"]


def test_an_unreadable_reply_is_asked_for_once_more_with_what_was_missing(gate, llm):
    llm.reply = Script("It is polite.", {"pass": True})
    ran = gate(config(llm, {"type": "llm-rubric", "value": "is polite"}), "--reask", "1")
    assert ran.grades[0]["outcome"] == "pass"
    again = llm.bodies[1]["messages"]
    assert again[-2] == {"role": "assistant", "content": "It is polite."}
    assert "it is not one JSON object alone, or after prose that ends and a blank line" in again[-1]["content"]
    literal = "with the keys `reason`, `pass`, `score`; its first character is { and its last is }"
    assert f"Reply with the JSON object alone, {literal}" in again[-1]["content"]


def test_mistakes(gate, llm):
    assert "`llm-rubric` has no `value`" in mistakes(gate(config(llm, {"type": "llm-rubric"})))
    assert "no option `langage`" in mistakes(gate(config(llm, {"type": "llm-rubric", "value": "v", "config": {"langage": "x"}})))


OBJECTS = st.dictionaries(
    st.sampled_from(["pass", "score", "reason", "result", "passed", "confidence"]),
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5) | st.sampled_from(["true", "no", "PASS", "maybe"]),
)
BEFORE = {"": True, "It is fine, not great.\n\n": True, "<think>{'pass': false}</think>": True, "My verdict: ": False, "```json\n": False}


@given(st.sampled_from(sorted(BEFORE)), OBJECTS, st.sampled_from([None, 0.5]))
def test_there_is_a_verdict_exactly_where_the_rules_say(before, verdict, threshold):
    reply = before + json.dumps(verdict)
    says = scalars.truth(verdict.get("pass"))
    score = scalars.number(verdict.get("score"))
    unread = score is None and "score" in verdict
    decided = says is not None or ("pass" not in verdict and score is not None and threshold is not None)
    readable = BEFORE[before] and decided and not (unread and threshold is not None)
    readable &= not verdict.keys() & {"result", "passed"}
    form = Form(SCHEMA, LlmRubric(value="v", threshold=threshold)._read)
    if readable:
        assert read(form, reply).passed is says
    else:
        with pytest.raises(Unreadable):
            read(form, reply)
