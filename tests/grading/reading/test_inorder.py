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
