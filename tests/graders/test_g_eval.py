import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import Unreadable
from gradegate.graders.g_eval import SCORE
from gradegate.grading.metrics.verdicts import items
from support.each import each, table
from support.graded import Script, config, mistakes
from support.patience import PATIENCE
from support.readers import read

STEPS = {"steps": ["Check facts", "Check tone"]}


def graded(gate, llm, *replies, kind="g-eval", options=None, **more):
    llm.reply = Script(*replies)
    return gate(config(llm, {"type": kind, "value": "Is coherent", **more}, options=options)).grades[0]


@each(("reply", "score"), table(__file__, "the_score_is_a_share_of_ten"))
def test_the_score_is_a_share_of_ten(gate, llm, reply, score):
    grade = graded(gate, llm, STEPS, reply)
    assert (grade["outcome"], grade["score"]) == ("pass" if score >= 0.7 else "fail", pytest.approx(score))


@each("kind", ["g-eval", "not-g-eval"])
@each(
    "reply",
    table(__file__, "no_score_is_no_verdict"),
)  # fmt: skip
def test_no_score_is_no_verdict(gate, llm, kind, reply):
    assert graded(gate, llm, STEPS, reply, kind=kind)["outcome"] == "error"


@pytest.mark.parametrize(("reply", "steps"), table(__file__, "steps_are_shown_to_the_second_call"))
def test_steps_are_shown_to_the_second_call(gate, llm, reply, steps):
    grade = graded(gate, llm, reply, {"score": 8})
    assert grade["outcome"] == "pass"
    assert all(f"- {step}" in llm.prompts[1] for step in steps)
    assert "the answer" not in llm.prompts[0]


@pytest.mark.parametrize("reply", ["no json", "", {"steps": []}, {"steps": [" "]}, {"steps": "a"}, {"steps": [1]}, "[]"])
def test_no_steps_is_no_verdict(gate, llm, reply):
    assert graded(gate, llm, reply, {"score": 8})["outcome"] == "error"
    assert len(llm.requests) == 1


def by_criterion(**scores):
    """Scores by a word of the criterion, steps for whoever asks for steps."""

    def reply(path, body):
        asked = body["messages"][-1]["content"]
        if "Which steps" in asked:
            return '{"steps": ["look"]}'
        return next(f'{{"reason": "{word}", "score": {score}}}' for word, score in scores.items() if word in asked)

    return reply


def test_several_criteria_give_their_mean(gate, llm):
    llm.reply = by_criterion(polite=10, short=5)
    grade = gate(config(llm, {"type": "g-eval", "value": ["is polite", "is short"]})).grades[0]
    assert (grade["outcome"], grade["score"], grade["reason"]) == ("pass", 0.75, "polite; short")
    assert len(llm.requests) == 4


def test_criteria_are_asked_in_parallel(gate, llm):
    meeting, scripted = threading.Barrier(3, timeout=PATIENCE), by_criterion(one=7, two=7, three=7)

    def reply(path, body):
        meeting.wait()
        return scripted(path, body)

    llm.reply = reply
    grade = gate(config(llm, {"type": "g-eval", "value": ["one", "two", "three"]})).grades[0]
    assert (grade["outcome"], grade["score"]) == ("pass", pytest.approx(0.7))


def test_one_criterion_without_a_score_makes_an_error_that_names_it(gate, llm):
    llm.reply = by_criterion(polite=10, short=11)
    grade = gate(config(llm, {"type": "g-eval", "value": ["is polite", "is short"]})).grades[0]
    assert grade["outcome"] == "error"
    assert grade["reason"].startswith("criterion 2 of 2: ")


def test_not_and_threshold(gate, llm):
    grade = graded(gate, llm, STEPS, {"score": 8}, kind="not-g-eval", threshold=0.9)
    assert (grade["outcome"], grade["score"]) == ("pass", pytest.approx(0.2))


def test_a_prompt_that_the_test_sets_for_its_other_assertions_is_not_for_g_eval(gate, llm):
    assert graded(gate, llm, STEPS, {"score": 8}, options={"rubricPrompt": "Mine: {{output}}"})["score"] == 0.8
    assert "Mine" not in "".join(llm.prompts)
    text = mistakes(gate(config(llm, {"type": "g-eval", "value": "x", "rubricPrompt": "Mine"})))
    assert "rubricPrompt must be a mapping or a list of 2 prompts: steps, evaluate" in text


def test_mistakes(gate, llm):
    for value in ([], "", [" "], 7):
        assert "`g-eval`" in mistakes(gate(config(llm, {"type": "g-eval", "value": value})))
    assert "no step `evaluation`" in mistakes(gate(config(llm, {"type": "g-eval", "value": "x", "rubricPrompt": {"evaluation": "y"}})))


@given(st.text(alphabet=st.characters(blacklist_categories=["Nd"])))
def test_text_without_a_digit_is_no_score(text):
    with pytest.raises(Unreadable):
        read(SCORE, text)


@given(st.text(alphabet=st.characters(categories=["L", "Zs"])))
def test_prose_is_no_list_of_steps(text):
    with pytest.raises(Unreadable):
        read(items("steps"), text)
