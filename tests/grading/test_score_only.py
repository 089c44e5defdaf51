"""`threshold: none` reports a score and holds it to nothing; an empty `threshold:` is a mistake."""

import pytest
import yaml

from support.conversations import Replies, case, config, turns
from support.each import table
from support.graded import Script, mistakes
from support.graded import config as graded

TALK = turns(("q1", "a1", ""), ("q2", "a2", ""))
LOW = Replies(goal_outcome={"reason": "no", "score": 1}, goal_way={"reason": "no", "score": 1})


@pytest.mark.parametrize("word", ["none", "None", "NONE"])
@pytest.mark.parametrize("kind", ["goal-accuracy", "not-goal-accuracy"])
def test_a_score_without_a_threshold_is_reported_and_blocks_nothing(gate, llm, word, kind):
    llm.reply = LOW
    ran = gate(config(llm, case(TALK, kind, threshold=word)))
    (grade,) = ran.grades
    assert (ran.code, grade["outcome"], grade["threshold"], grade["blocking"]) == (0, "pass", None, False)
    assert grade["score"] == (0.1 if kind == "goal-accuracy" else 0.9)


def test_it_may_stand_in_the_options_as_deepeval_has_it(gate, llm):
    llm.reply = LOW
    (grade,) = gate(config(llm, case(TALK, "goal-accuracy", config={"threshold": "none"}))).grades
    assert (grade["outcome"], grade["score"], grade["blocking"]) == ("pass", 0.1, False)


def test_a_grader_s_own_no_is_shown_and_blocks_nothing(gate, llm):
    llm.reply = Script({"reason": "bad", "pass": False, "score": 0.2})
    ran = gate(graded(llm, {"type": "llm-rubric", "value": "good", "threshold": "none"}, {"type": "contains", "value": "a"}))
    assert [(grade["outcome"], grade["blocking"]) for grade in ran.grades] == [("fail", False), ("pass", True)]
    assert ran.code == 0


def test_a_reply_without_a_verdict_stays_an_error(gate, llm):
    llm.reply = Replies(goal_outcome="no idea", goal_way="no idea")
    assert gate(config(llm, case(TALK, "goal-accuracy", threshold="none"))).grades[0]["outcome"] == "error"


def test_a_grader_that_compares_by_itself_reports_its_score(gate, llm):
    llm.reply = Script("", embed=lambda texts: [[1, 0] if text == "x" else [0, 1] for text in texts])
    (grade,) = gate(graded(llm, {"type": "similar", "value": "x", "threshold": "none"})).grades
    assert (grade["outcome"], grade["score"], grade["threshold"], grade["blocking"]) == ("pass", 0, None, False)


BLANK = "tests:\n  - providerOutput: x\n    assert:\n      - type: similar\n        value: x\n        threshold:\n"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        *table(__file__, "what_is_a_mistake_has_its_line_and_its_cure"),
        (BLANK, 6, "`threshold` is empty -> write a number, or `none`: the score is reported and decides nothing"),
        (BLANK.replace("threshold:", "threshold: ~"), 6, "`threshold` is empty"),
        (BLANK.replace("threshold:", "threshold: none\n        blocking: true"), 4, "so it cannot block"),
        (BLANK.replace("similar", "latency").replace("threshold:", "threshold: none"), 4, "`latency` has no `threshold`"),
        (BLANK.replace("threshold:", "threshold: some"), 6, "`threshold`"),
    ],
)
def test_what_is_a_mistake_has_its_line_and_its_cure(gate, text, line, said):
    told = mistakes(gate(text, "--grader", "echo"))
    assert f"promptfooconfig.yaml:{line}: " in told
    assert said in told


def test_a_test_takes_the_mean_of_its_defaults_away(gate):
    lax = {"defaultTest": {"threshold": 0.5}, "prompts": ["x"], "providers": ["echo"]}
    asserts = [{"type": "equals", "value": "x"}, {"type": "equals", "value": "y"}]
    tests = [{"assert": asserts}, {"assert": asserts, "threshold": "none"}]
    ran = gate(yaml.safe_dump({**lax, "tests": tests}))
    assert [item["outcome"] for item in ran.cases] == ["pass", "fail"]
