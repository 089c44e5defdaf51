import pytest

from support.graded import Script, config, mistakes


@pytest.mark.parametrize(
    ("reply", "outcome", "score"),
    [("French.\nYes", "pass", 1), ("German.\nNo", "fail", 0), ("Hard to say.", "error", None)],
)
def test_the_last_yes_or_no_decides(gate, llm, reply, outcome, score):
    llm.reply = Script(reply)
    grade = gate(config(llm, {"type": "in-language", "value": "French"}, output="Oui")).grades[0]
    assert (grade["outcome"], grade["score"]) == (outcome, score)
    assert "French" in llm.prompts[0]
    assert "Oui" in llm.prompts[0]


def test_without_a_language_it_is_a_mistake(gate, llm):
    assert "`value`" in mistakes(gate(config(llm, {"type": "in-language"})))
