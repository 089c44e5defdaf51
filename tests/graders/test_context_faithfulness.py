import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import Unreadable
from gradegate.grading.reading import inorder, lists
from gradegate.grading.reading.answer import parse
from support.graded import Script, config, mistakes

MARK = "Final verdict for each statement in order:"


def read(text, count):
    try:
        return "".join("y" if yes else "n" for yes in inorder.supported(parse(text), count))
    except Unreadable:
        return None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{MARK} Yes. No. Yes.", "yny"),
        (f"**{MARK}** Yes. No.", "yn"),
        (f"{MARK.upper()} YES. NO.", "yn"),
        (f"{MARK} 1. Yes. 2. No.", "yn"),
        (f"{MARK} Yes, No, Yes", "yny"),
        (f"{MARK} Yes Yes No", "yyn"),
        (f"{MARK}\n1. Yes\n2. No", "yn"),
        (f"{MARK}\n- Yes (it says so)\n- No (nothing says so)", "yn"),
        (f"1. ok. Verdict: Yes\n2. wrong. Verdict: No\n{MARK} Yes. No.", "yn"),
        (f"{MARK} Yes. No.\n{MARK} Yes. No.", "yn"),
        ("Final verdicts: Yes, No", "yn"),
        (f"{MARK[:-1]} - Yes. No.", "yn"),
        ("Verdict: Y\nVerdict: N", "yn"),
        ("Y\nN", "yn"),
        ("Verdict: Yes.\nVerdict: No.", "yn"),
        ("1. The sky is blue. **Verdict:** Yes\n2. Snow is black. **Verdict:** No", "yn"),
        ("verdict: no", "n"),
        ("Yes. No. Yes.", "yny"),
        ("1. Yes\n2. No", "yn"),
        ("1: yes\n2: no", "yn"),
        ("Statement 1: Yes\nStatement 2: No", "yn"),
        ("1. Yes, the context says so.\n2. No, it does not.", "yn"),
        ("1. The sky is blue. - Yes\n2. Snow is black. - No", "yn"),
        ("Here are the verdicts:\nYes\nNo", "yn"),
        ("| # | statement | verdict |\n|---|---|---|\n| 1 | The sky | Yes |\n| 2 | Snow | No |", "yn"),
        ("<think>Yes. Yes.</think>Yes. No.", "yn"),
        ('{"verdicts": [{"statement": "s", "reason": "r", "verdict": "yes"}, {"verdict": "No."}]}', "yn"),
        ('[{"verdict": "Yes"}, {"verdict": "no"}]', "yn"),
    ],
)
def test_one_yes_or_no_for_each(text, expected):
    assert read(text, len(expected)) == expected
    assert read(text, len(expected) + 1) is None
    assert len(expected) == 1 or read(text, len(expected) - 1) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "All good.",
        f"{MARK} Yes - stated. No - not stated.",
        f"{MARK} Yes. No.\n\nThe second has no support. No evidence is given.",
        "Yes. No. Hope this helps.",
        "Yes, the context supports them. Yes.",
        '{"verdicts": ["yes", "no"]}',
        '{"verdicts": [true, false]}',
        '["Yes", "No"]',
        f"{MARK} Yes. Maybe.",
        f"{MARK} Yes. No. Yes.",
        f"{MARK} [Yes/No]. [Yes/No].",
        f"{MARK} Yes or No. Yes or No.",
        f"{MARK} Yes. No.\n{MARK} No. No.",
        f"Verdict: No\nVerdict: No\n{MARK} Yes. No.",
        f"{MARK} Supported. Not supported.",
        "Verdict: Yes/No\nVerdict: Yes/No",
        "Verdict: yes or no. Verdict: yes or no.",
        "1. Yes, the context says so.\n2. Unclear.",
        "1. Yes. No.\n2. No.",
        "I should answer Yes or No for each.",
        "Yes, I can do that! No problem.",
        '{"verdicts": []}',
        '{"verdicts": ["yes", "maybe"]}',
        '{"verdicts": [{"statement": "s"}, {"statement": "t"}]}',
    ],
)
def test_no_verdicts_for_two_statements(text):
    assert read(text, 2) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One.\nTwo.", ("One.", "Two.")),
        ("1. One.\n2. Two.", ("One.", "Two.")),
        ("Statements:\n- One.\n* Two.\nThat is all.", ("One.", "Two.")),
        ("Here are the statements:\nOne is one.\nTwo is two.", ("One is one.", "Two is two.")),
        ("**1.** One.\n**2.** Two.", ("One.", "Two.")),
        ("Statement 1: One.\nStatement 2: Two.", ("One.", "Two.")),
        ('{"statements": ["One.", "Two."]}', ("One.", "Two.")),
        ('["One.", "Two."]', ("One.", "Two.")),
        ("No dogs are allowed.", ("No dogs are allowed.",)),
        ("2024 was hot.", ("2024 was hot.",)),
    ],
)
def test_statements(text, expected):
    assert lists.items(parse(text), "statements", marked=False) == expected


@pytest.mark.parametrize("text", ["", " ", "None.", "There are no statements in the answer.", "I cannot do that.", "- \n- ", '{"statements": []}', '{"statements": ["a", ""]}', '{"statements": "a"}'])  # fmt: skip
def test_no_statements(text):
    with pytest.raises(Unreadable):
        lists.items(parse(text), "statements", marked=False)


@given(st.text(st.characters(codec="utf-8", exclude_characters="yYnN")), st.integers(1, 4))
def test_text_without_yes_or_no_says_nothing(text, count):
    with pytest.raises(Unreadable):
        inorder.supported(parse(text), count)


# --- through the command --------------------------------------------------------------------------------------


def graded(gate, llm, *replies, kind="context-faithfulness", **more):
    llm.reply = Script(*replies)
    return gate(config(llm, {"type": kind, **more}, context="The sky is blue.", query="colours?")).grades[0]


def test_supported_over_statements(gate, llm):
    grade = graded(gate, llm, "One.\nTwo.\nThree.", "Yes. No. Yes.")
    assert (grade["outcome"], grade["score"]) == ("pass", pytest.approx(2 / 3))
    assert grade["reason"] == "the context supports 2 of 3 statements; not: Two."
    assert [row["supported"] for row in grade["evidence"]["statements"]] == [True, False, True]
    assert "1. One.\n2. Two.\n3. Three." in llm.prompts[1]


def test_not_and_threshold(gate, llm):
    grade = graded(gate, llm, "One.\nTwo.\nThree.", "Yes. No. Yes.", kind="not-context-faithfulness", threshold=0.7)
    assert (grade["outcome"], grade["score"]) == ("pass", pytest.approx(1 / 3))


@pytest.mark.parametrize("kind", ["context-faithfulness", "not-context-faithfulness"])
@pytest.mark.parametrize(
    "replies", [("", "Yes."), ("One.", "Yes. Yes."), ("One.\nTwo.", "Yes."), ((500, {"error": "x"}), "Yes.")]
)
def test_errors(gate, llm, kind, replies):
    assert graded(gate, llm, *replies, kind=kind)["outcome"] == "error"


def test_an_unreadable_step_is_asked_again_by_itself(gate, llm):
    llm.reply = Script("One.", "All good.", "Yes.")
    ran = gate(config(llm, {"type": "context-faithfulness"}, context="c", query="q"), "--reask", "1")
    assert ran.grades[0]["score"] == 1
    assert len(llm.requests) == 3


def test_mistakes(gate, llm):
    assert "`query` is missing" in mistakes(gate(config(llm, {"type": "context-faithfulness"}, context="c")))
    assert "`context` is missing" in mistakes(gate(config(llm, {"type": "context-faithfulness"}, query="q")))


@pytest.mark.parametrize("text", ["*", '"', "[", "1. ", "yes ", "final verdict ", "{", ". "])
def test_a_reply_without_end_is_read_in_time(text):
    started = time.thread_time()
    read(text * 20000, 2)
    assert time.thread_time() - started < 10
