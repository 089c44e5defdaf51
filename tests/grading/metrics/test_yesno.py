"""Yes and no to several statements: each way of writing them, in order, and what is no such list."""

import pytest

from gradegate.errors import Unreadable
from gradegate.grading.metrics.yesno import in_order

Y, N = True, False
FINAL = "Final verdict for each statement in order: "


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (f"1. It is said.\n2. It is not.\n{FINAL}Yes. No.", [Y, N]),
        (f"{FINAL}No. Yes. Yes.", [N, Y, Y]),
        (f"{FINAL}y, n", [Y, N]),
        (f"{FINAL}\nYes, it is said.\nNo, it is not.", [Y, N]),
        (f"{FINAL}\nNo.\nYes, because of line 2.", [N, Y]),
        (f"{FINAL}Yes. It is said. No. It is not.", [Y, N]),
        (f"{FINAL}Yes. No.\nOnce more. {FINAL}Yes. No.", [Y, N]),
        (f"1. Verdict: Yes\n2. Verdict: No\n{FINAL}Yes. No.", [Y, N]),
        ("1. Said in line 1. Verdict: Yes.\n2. Nowhere. Verdict: no\n3. Verdict = y", [Y, N, Y]),
        ("Verdict: n\nVerdict: y", [N, Y]),
        ("Yes\nNo", [Y, N]),
        ("n\ny\ny", [N, Y, Y]),
        ("1. Yes 2. No", [Y, N]),
        ('["No", "Yes"]', [N, Y]),
        ("1. Yes, it is said.\n2. No, it is not.", [Y, N]),
        ("- It is said: yes\n- It is not: no", [Y, N]),
        ("| statement | verdict |\n|---|---|\n| Lions roar | Yes |\n| Cats bark | No |", [Y, N]),
        ("No. Yes. The first is said nowhere.", [N, Y]),
        ("Yes, the context says so.", [Y]),
        ("No, the statement is not supported.", [N]),
    ],
)
def test_verdicts_are_read_in_order(reply, expected):
    assert in_order(reply, len(expected)) == tuple(expected)


@pytest.mark.parametrize("count", [1, 3])
def test_another_number_of_verdicts_is_none(count):
    for reply in (f"{FINAL}Yes. No.", "Verdict: yes\nVerdict: no", "Yes\nNo", "1. Yes, so.\n2. No, not so."):
        with pytest.raises(Unreadable, match=f"it holds 2 verdicts where {count} were asked for"):
            in_order(reply, count)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (f"{FINAL}Yes. No.\nOnce more. {FINAL}No. Yes.", "several lists of verdicts that differ"),
        (f"1. Verdict: No\n2. Verdict: No\n{FINAL}Yes. No.", "its final verdicts differ from those before them"),
        (f"{FINAL}yes/no yes/no", "yes and no as alternatives"),
        ("1. Yes, it is said.\n2. Perhaps.", "not every item of its list holds a yes or no"),
        ("1. Yes, it is said: no\n2. No, it is not.", "both yes and no"),
        ("Yes! Happy to help.\nNo problem at all.", "it holds 0 verdicts"),
        ("Yes, of course, here I go: No, never.", "it holds 0 verdicts"),
        ("", "it holds 0 verdicts"),
    ],
)
def test_what_holds_no_such_list(reply, words):
    with pytest.raises(Unreadable, match=words):
        in_order(reply, 2)


@pytest.mark.parametrize(
    "reply", ["Yes, happy to help.", "Yes, the context says so. No doubt.", "No evidence in the context"]
)
def test_a_greeting_is_no_verdict_on_one_statement(reply):
    with pytest.raises(Unreadable, match="it holds 0 verdicts where 1 were asked for"):
        in_order(reply, 1)
