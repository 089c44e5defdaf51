import pytest

from gradegate.errors import Unreadable
from gradegate.graders.context_faithfulness import _form
from gradegate.grading.metrics.verdicts import items
from support.each import table
from support.graded import Script, config, mistakes
from support.readers import read

MARK = "Final verdict for each statement in order:"


def said(text, count):
    try:
        return "".join("y" if yes else "n" for yes in read(_form(count), text))
    except Unreadable:
        return None


@pytest.mark.parametrize(
    ("text", "expected"), [*table(__file__, "one_yes_or_no_for_each"), (f"One holds.\n{MARK} Yes. No.\n{MARK} Yes. No.", "yn")]
)
def test_one_yes_or_no_for_each(text, expected):
    assert said(text, len(expected)) == expected
    assert said(text, len(expected) + 1) is None
    assert len(expected) == 1 or said(text, len(expected) - 1) is None


@pytest.mark.parametrize("text", [*table(__file__, "no_verdicts_for_two_statements"), f"{MARK} Yes. No.\n{MARK} No. No."])
def test_no_verdicts_for_two_statements(text):
    assert said(text, 2) is None


@pytest.mark.parametrize(("text", "expected"), table(__file__, "statements"))
def test_statements(text, expected):
    assert list(read(items("statements"), text)) == expected


@pytest.mark.parametrize("text", ["", " ", "None", "Statements:\n- One.", "- \n- ", "[]", '["a", 1]', '{"statements": ["Cut off.', '{"statements": []}', '{"statements": ["a", ""]}', '{"statements": "a"}'])  # fmt: skip
def test_no_statements(text):
    with pytest.raises(Unreadable):
        read(items("statements"), text)


# --- through the command --------------------------------------------------------------------------------------


def graded(gate, llm, *replies, kind="context-faithfulness", **more):
    llm.reply = Script(*replies)
    return gate(config(llm, {"type": kind, **more}, context="The sky is blue.", query="colours?")).grades[0]


def test_supported_over_statements(gate, llm):
    grade = graded(gate, llm, "One.\nTwo.\nThree.", f"{MARK} Yes. No. Yes.")
    assert (grade["outcome"], grade["score"]) == ("pass", pytest.approx(2 / 3))
    assert grade["reason"] == "the context supports 2 of 3 statements; not: Two."
    assert [row["supported"] for row in grade["evidence"]["statements"]] == [True, False, True]
    assert "1. One.\n2. Two.\n3. Three." in llm.prompts[1]


def test_not_and_threshold(gate, llm):
    grade = graded(gate, llm, "One.\nTwo.\nThree.", f"{MARK} Yes. No. Yes.", kind="not-context-faithfulness", threshold=0.7)
    assert (grade["outcome"], grade["score"]) == ("pass", pytest.approx(1 / 3))


@pytest.mark.parametrize("kind", ["context-faithfulness", "not-context-faithfulness"])
@pytest.mark.parametrize("replies", [("", "Yes"), ("One.", "Yes\nYes"), ("One.\nTwo.", "Yes"), ((500, {"error": "x"}), "Yes.")])
def test_errors(gate, llm, kind, replies):
    assert graded(gate, llm, *replies, kind=kind)["outcome"] == "error"


def test_an_unreadable_step_is_asked_again_by_itself(gate, llm):
    llm.reply = Script("One.", "All good.", "Yes")
    ran = gate(config(llm, {"type": "context-faithfulness"}, context="c", query="q"), "--reask", "1")
    assert ran.grades[0]["score"] == 1
    assert len(llm.requests) == 3


def test_mistakes(gate, llm):
    assert "`query` is missing" in mistakes(gate(config(llm, {"type": "context-faithfulness"}, context="c")))
    assert "`context` is missing" in mistakes(gate(config(llm, {"type": "context-faithfulness"}, query="q")))
