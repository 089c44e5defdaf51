import json
import threading

import pytest

from support.each import table
from support.graded import Script, config, mistakes
from support.patience import PATIENCE

DIRECTIONS = {"What is it?": [1.0, 0.0], "Same": [1.0, 0.0], "Half": [0.6, 0.8], "Off": [0.0, 1.0], "Opposite": [-1.0, 0.0]}


def embed(texts):
    return [DIRECTIONS[text] for text in texts]


def asks(question, evades=False):
    """A reply to our prompt."""
    return {"question": question, "evades": evades}


SAME = asks("Same")


def graded(gate, llm, *replies, kind="answer-relevance", **more):
    llm.reply = Script(*replies, embed=embed)
    variables = {"query": "What is it?"} | more.pop("variables", {})
    return gate(config(llm, {"type": kind, **more}, **variables)).grades[0]


@pytest.mark.parametrize(("questions", "score"), table(__file__, "the_mean_similarity_of_three_questions"))
def test_the_mean_similarity_of_three_questions(gate, llm, questions, score):
    grade = graded(gate, llm, *map(asks, questions))
    assert grade["score"] == pytest.approx(score)
    assert (grade["outcome"], grade["threshold"]) == ("pass" if score >= 0.5 else "fail", 0.5)


@pytest.mark.parametrize("replies", table(__file__, "a_question_alone_is_for_a_prompt_of_the_user"))
def test_a_question_alone_is_for_a_prompt_of_the_user(gate, llm, replies):
    assert graded(gate, llm, *replies, rubricPrompt="Ask! {{ answer }}")["score"] == pytest.approx(0.6)
    assert graded(gate, llm, *replies)["outcome"] == "error"


@pytest.mark.parametrize("reply", ["\u3164", '["\u3164"]', '{"question": "\u3164"}'])
def test_what_shows_nothing_is_no_question(gate, llm, reply):
    grade = graded(gate, llm, SAME, SAME, reply, reply, rubricPrompt="Ask! {{ answer }}")
    assert grade["outcome"] == "error"
    assert "no verdict" in grade["reason"]


@pytest.mark.parametrize("structured", ["none", "enforced"])
def test_an_answer_that_evades_scores_0(gate, llm, structured):
    rows = (([True, True, True], 0, "fail"), ([False, True, False], 2 / 3, "pass"), ([False, False, False], 1, "pass"))
    for evasions, score, outcome in rows:
        llm.reply = Script(*(asks("Same", evades) for evades in evasions), embed=embed)
        written = config(llm, {"type": "answer-relevance"}, output="I do not know.", query="What is it?")
        written["tests"][0]["options"]["provider"]["text"] = llm.spec(structured=structured)
        grade = gate(written).grades[0]
        assert (grade["score"], grade["outcome"]) == (pytest.approx(score), outcome)
        assert "say whether the answer\nevades" in llm.prompts[0]


@pytest.mark.parametrize("reply", [{"question": "Same"}, {"question": "Same", "evades": None}, {"question": "Same", "evades": "perhaps"}])
def test_whether_it_evades_must_be_said(gate, llm, reply):
    assert graded(gate, llm, SAME, reply)["outcome"] == "error"
    of_user = graded(gate, llm, SAME, reply, rubricPrompt="Ask! {{ answer }}")
    assert of_user["outcome"] == ("error" if "evades" in reply else "pass")


def test_the_query_and_the_exact_questions_are_embedded_at_once(gate, llm):
    graded(gate, llm, *map(asks, ["Same", "Half", "Off"]))
    inputs = [body["input"] for body in llm.bodies if "input" in body]
    assert len(inputs) == 1
    assert inputs[0][0] == "What is it?"
    assert sorted(inputs[0][1:]) == ["Half", "Off", "Same"]


def test_the_questions_are_asked_in_parallel(gate, llm):
    meeting = threading.Barrier(3, timeout=PATIENCE)  # passes only when three requests are there at once

    def reply(path, body):
        if path.endswith("/embed"):
            return {"result": embed(body["input"])}
        meeting.wait()
        return json.dumps(SAME)

    llm.reply = reply
    assert gate(config(llm, {"type": "answer-relevance"}, query="What is it?")).grades[0]["outcome"] == "pass"


def test_without_a_query_the_prompt_is_taken(gate, llm):
    llm.reply = Script(SAME, embed=embed)
    grade = gate(config(llm, {"type": "answer-relevance"}, output="What is it?")).grades[0]
    assert (grade["score"], grade["evidence"]["query"]) == (1.0, "What is it?")


def test_not_turns_the_score_round(gate, llm):
    grade = graded(gate, llm, asks("Off"), kind="not-answer-relevance")
    assert (grade["outcome"], grade["score"]) == ("pass", 1.0)
    grade = graded(gate, llm, asks("Opposite"), kind="not-answer-relevance")
    assert (grade["outcome"], grade["score"]) == ("pass", 1.0)


@pytest.mark.parametrize("reply", table(__file__, "a_blank_question_is_no_verdict"))
@pytest.mark.parametrize("kind", ["answer-relevance", "not-answer-relevance"])
@pytest.mark.parametrize("own", [{}, {"rubricPrompt": "Ask! {{ answer }}"}])
def test_a_blank_question_is_no_verdict(gate, llm, own, kind, reply):
    grade = graded(gate, llm, SAME, reply, kind=kind, **own)
    assert (grade["outcome"], grade["score"]) == ("error", None)


def test_vectors_that_say_nothing_and_a_dead_model_are_errors(gate, llm):
    for answer in ([[0.0, 0.0]] * 4, [[1.0, 0.0]] * 3, [[1.0]] + [[1.0, 0.0]] * 3, (503, {"error": "down"})):
        llm.reply = Script(SAME, embed=lambda texts, answer=answer: answer)
        assert gate(config(llm, {"type": "answer-relevance"}, query="x")).grades[0]["outcome"] == "error"


def test_mistakes_before_any_call(gate, llm):
    llm.reply = Script(SAME, embed=embed)
    assert "`query` is empty" in mistakes(gate(config(llm, {"type": "answer-relevance"}, query=" ")))
    assert "no `value`" in mistakes(gate(config(llm, {"type": "answer-relevance", "value": 0.7}, query="q")))
    only_chat = config(llm, {"type": "answer-relevance", "provider": llm.spec()}, query="q")
    text = mistakes(gate(only_chat))
    assert "`answer-relevance` needs a model of the kind embedding, and `openai:chat:fake` is not one" in text
    assert "promptfooconfig.yaml:" in text
    assert llm.requests == []
