"""Yes and no to several statements: each way of writing them, in order, and what is not such a list."""

import pytest

from gradegate.errors import Unreadable
from gradegate.grading.reading.answer import parse
from gradegate.grading.reading.inorder import supported

Y, N = True, False
FINAL = "Final verdict for each statement in order: "


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (f"1. It is said.\n2. It is not.\n{FINAL}Yes. No.", [Y, N]),
        (f"{FINAL}No. Yes. Yes.", [N, Y, Y]),
        (f"{FINAL}y, n", [Y, N]),
        (f"1. Verdict: Yes\n2. Verdict: No\n{FINAL}Yes. No.", [Y, N]),
        ("1. Said in line 1. Verdict: Yes.\n2. Nowhere. Verdict: no\n3. Verdict = y", [Y, N, Y]),
        ("Verdict: n\nVerdict: y", [N, Y]),
        ("Yes\nNo", [Y, N]),
        ("n\ny\ny", [N, Y, Y]),
        ("1. Yes 2. No", [Y, N]),
        ("1. Yes, it is said.\n2. No, it is not.", [Y, N]),
        ("| statement | verdict |\n|---|---|\n| Lions roar | Yes |\n| Cats bark | No |", [Y, N]),
    ],
)
def test_verdicts_are_read_in_order(reply, expected):
    assert supported(parse(reply), len(expected)) == tuple(expected)


@pytest.mark.parametrize("count", [1, 3])
def test_another_number_of_verdicts_is_none(count):
    for reply in (f"{FINAL}Yes. No.", "Verdict: yes\nVerdict: no", "Yes\nNo", "1. Yes, so.\n2. No, not so."):
        with pytest.raises(Unreadable):
            supported(parse(reply), count)


@pytest.mark.parametrize(
    "reply",
    [
        f"{FINAL}Yes. No.\nOnce more. {FINAL}No. Yes.",
        f"1. Verdict: No\n2. Verdict: No\n{FINAL}Yes. No.",
        f"{FINAL}yes/no yes/no",
        "1. Yes, it is said.\n2. Perhaps.",
        "1. Yes, it is said: no\n2. No, it is not.",
        "Yes! Happy to help.\nNo problem at all.",
        "Yes, of course, here I go: No, never.",
        "",
    ],
)
def test_what_is_no_list_of_two_verdicts(reply):
    with pytest.raises(Unreadable):
        supported(parse(reply), 2)


@pytest.mark.parametrize(
    "reply",
    [
        "1. no\n2. no\n\nFinal verdict for each statement in order: Yes. Yes.",
        "Statement 1: No\nStatement 2: No\nFinal verdict for each statement in order: Yes. Yes.",
        "- No\n- No\n\nFinal verdict for each statement in order: Yes. Yes.",
        "| 1 | No |\n| 2 | No |\n\nFinal verdict for each statement in order: Yes. Yes.",
        "2. Lyon is the capital: no\n\nFinal answers: Yes. Yes.",
        "1. Said in line 1. Yes.\n2. Nowhere. No.\n\nFinal verdicts: Yes, Yes",
        "no\nno\nFinal verdicts: yes, yes",
    ],
)
def test_a_final_list_that_differs_from_the_list_before_it_is_not_read(reply):
    with pytest.raises(Unreadable, match="differ"):
        supported(parse(reply), 2)


@pytest.mark.parametrize(
    "reply",
    ["1. yes\n1. yes", "7. yes\n9. yes", "Statement 3: yes\nStatement 4: yes", "| 1 | yes |\n| 1 | yes |", "2. yes, 1. yes", "1. Said. Verdict: yes\n3. Said. Verdict: yes",
     "Final verdicts: 2. yes 3. yes", "2. It is in France: yes\n1. Lyon is the capital: yes"],
)  # fmt: skip
def test_verdicts_that_are_numbered_otherwise_than_the_statements_are_not_read(reply):
    with pytest.raises(Unreadable, match="numbered"):
        supported(parse(reply), 2)


@pytest.mark.parametrize(
    "reply",
    [
        "1. Contradicted: yes\n2. Contradicted: yes",
        "1. Refuted? Yes.\n2. Refuted? Yes.",
        "- unsupported: yes\n- unsupported: yes",
        "| Statement | Unsupported |\n|---|---|\n| 1 | Yes |\n| 2 | Yes |",
        "1. Lyon is the capital: contradicts the context? Yes.\n2. It is in France: contradicts the context? Yes.",
        "- Not in the context: yes\n- Not in the context: yes",
        "1. Hallucinated - yes\n2. Hallucinated - yes",
        "Which statements are contradicted:\n1. yes\n2. yes",
        "1. Yes, it contradicts the context.\n2. Yes, it contradicts the context.",
    ],
)
def test_yes_to_the_opposite_question_is_not_read(reply):
    with pytest.raises(Unreadable):
        supported(parse(reply), 2)


@pytest.mark.parametrize(
    "reply",
    ["Lyon is the capital: yes\nIt is in France: no", "Verdicts: Yes, No", "1. Lyon is the capital: yes\n2. It is in France: no", "1) yes 2) no", "The verdicts: yes, no",
     "1. Lyon is the capital. Yes.\n2. It is in France. No.\n\nFinal verdicts: 1. yes 2. no"],
)  # fmt: skip
def test_verdicts_after_their_statements_and_in_one_line_are_read(reply):
    assert supported(parse(reply), 2) == (True, False)
