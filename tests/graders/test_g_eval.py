import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import Unreadable
from gradegate.graders.g_eval import SCORE
from gradegate.grading.metrics.verdicts import items
from support.graded import config
from support.patience import PATIENCE
from support.readers import read
from support.scenes import scenes

test_a_scene = scenes(__file__)


def test_criteria_are_asked_in_parallel(gate, llm):
    meeting = threading.Barrier(3, timeout=PATIENCE)

    def reply(path, body):
        meeting.wait()
        return '{"steps": ["look"]}' if "Which steps" in body["messages"][-1]["content"] else '{"reason": "r", "score": 7}'

    llm.reply = reply
    grade = gate(config(llm, {"type": "g-eval", "value": ["one", "two", "three"]})).grades[0]
    assert (grade["outcome"], grade["score"]) == ("pass", pytest.approx(0.7))


@given(st.text(alphabet=st.characters(blacklist_categories=["Nd"])))
def test_text_without_a_digit_is_no_score(text):
    with pytest.raises(Unreadable):
        read(SCORE, text)


@given(st.text(alphabet=st.characters(categories=["L", "Zs"])))
def test_prose_is_no_list_of_steps(text):
    with pytest.raises(Unreadable):
        read(items("steps"), text)
