import re

import pytest

from gradegate.assertions.select_best import index_form
from gradegate.errors import Unreadable
from support.compared import comparison_config
from support.each import each, table
from support.readers import read


def test_outputs_are_shown_in_every_rotation_of_the_config_order_whatever_finishes_first(gate, llm):
    llm.reply = lambda path, body: "0" if "choose" in (asked := body["messages"][-1]["content"]) else asked
    llm.latency = 0.01
    ran = gate(comparison_config(llm, prompts=[f"text {n}" for n in range(6)], providers=[llm.spec("a"), llm.spec("b")]), "-j", "12")
    shown = [re.findall(r"<output (\d+) \w+>\n(.*)\n", prompt) for prompt in llm.prompts if "choose" in prompt]
    assert [[number for number, _ in order] for order in shown] == [list(map(str, range(12)))] * 12
    outputs = [case["output"] for case in ran.cases]
    rotations = [outputs[start:] + outputs[:start] for start in range(12)]
    assert sorted([text for _, text in order] for order in shown) == sorted(rotations)
    assert [case["provider"] for case in ran.cases] == ["openai:chat:a"] * 6 + ["openai:chat:b"] * 6


@each(("text", "index"), table(__file__, "an_index"))
def test_an_index(text, index):
    assert read(index_form(3), text).verdict == index


@each("text", table(__file__, "no_index"))
def test_no_index(text):
    with pytest.raises(Unreadable):
        read(index_form(3), text)
