import threading

import pytest

from support.graded import config
from support.patience import PATIENCE


def test_criteria_are_asked_in_parallel(gate, llm):
    meeting = threading.Barrier(3, timeout=PATIENCE)

    def reply(path, body):
        meeting.wait()
        return '{"steps": ["look"]}' if "Which steps" in body["messages"][-1]["content"] else '{"reason": "r", "score": 7}'

    llm.reply = reply
    grade = gate(config(llm, {"type": "g-eval", "value": ["one", "two", "three"]})).grades[0]
    assert (grade["outcome"], grade["score"]) == ("pass", pytest.approx(0.7))
