import pytest

from gradegate.assertions.context_faithfulness import statements_form
from gradegate.assertions.judge.verdict_forms import items_form
from gradegate.errors import Unreadable
from support.each import each, table
from support.readers import read

MARK = "Final verdict for each statement in order:"


def read_verdicts(text, count):
    try:
        return "".join("y" if yes else "n" for yes in read(statements_form([str(number) for number in range(count)]), text))
    except Unreadable:
        return None


@each(("text", "expected"), [*table(__file__, "one_yes_or_no_for_each"), (f"One holds.\n{MARK} Yes. No.\n{MARK} Yes. No.", "yn")])
def test_one_yes_or_no_for_each(text, expected):
    assert read_verdicts(text, len(expected)) == expected
    assert read_verdicts(text, len(expected) + 1) is None
    assert len(expected) == 1 or read_verdicts(text, len(expected) - 1) is None


@each("text", [*table(__file__, "no_verdicts_for_two_statements"), f"{MARK} Yes. No.\n{MARK} No. No."])
def test_no_verdicts_for_two_statements(text):
    assert read_verdicts(text, 2) is None


@each(("text", "expected"), table(__file__, "statements"))
def test_statements(text, expected):
    assert list(read(items_form("statements"), text)) == expected


@each("text", ["", " ", "None", "Statements:\n- One.", "- \n- ", "[]", '["a", 1]', '{"statements": ["Cut off.', '{"statements": []}', '{"statements": ["a", ""]}', '{"statements": "a"}'])  # fmt: skip
def test_no_statements(text):
    with pytest.raises(Unreadable):
        read(items_form("statements"), text)
