"""Every row with something to read is in one list, and the row's outcome decides in which."""

from __future__ import annotations

from dataclasses import replace

from gradegate.reporting.findings import Kind, kind, sort
from gradegate.values.result import Outcome, Row
from support.each import each
from support.samples import advised, failing, grade, passing, row, unanswered, unclear

PASS, FAIL, ERROR = Outcome.PASS, Outcome.FAIL, Outcome.ERROR


@each(
    ("of", "where"),
    [
        (passing(), None),
        (failing(), Kind.FAILED),
        (unclear(), Kind.UNCLEAR),
        (unanswered("Alaska"), Kind.UNCLEAR),
        (advised(), Kind.ADVISORY),
        (row("both", FAIL, grade(FAIL), grade(ERROR)), Kind.FAILED),
        (row("both", ERROR, grade(FAIL), grade(ERROR)), Kind.UNCLEAR),
        (row("tolerated by the threshold of the case", PASS, grade(FAIL), grade(PASS)), Kind.FAILED),
        (row("advice that could not be decided", PASS, grade(ERROR, blocking=False)), Kind.UNCLEAR),
        (row("without weight", PASS, grade(FAIL, weight=0)), Kind.ADVISORY),
        (row("without grades", ERROR), Kind.UNCLEAR),
        (row("nothing asserted", PASS), None),
        (row("tolerated by its set", PASS, grade(PASS, "assert-set"), grade(FAIL, inner=True)), None),
        (row("missed by its set", FAIL, grade(FAIL, "assert-set"), grade(FAIL, inner=True)), Kind.FAILED),
    ],
)
def test_a_row_is_in_one_list(of: Row, where: Kind | None) -> None:
    assert kind(of) is where


def test_like_errors_are_one_finding() -> None:
    rows = [unanswered("Alaska"), unclear(), unanswered("Hawaii"), replace(unclear(), description="Utah"), failing()]
    found = sort(rows)
    assert [[finding.row.description, *(row.description for row in finding.alike)] for finding in found.unclear] == [
        ["Alaska", "Hawaii"],
        ["Texas", "Utah"],
    ]
    assert [finding.row.description for finding in found.failed] == ["New York"]
    assert found.advisory == []


def test_errors_beside_failures_and_errors_without_a_word_stay_apart() -> None:
    mixed = row("a", ERROR, grade(FAIL, reason="x"), grade(ERROR, reason="y"))
    assert len(sort([mixed, replace(mixed, description="b"), row("c", ERROR), row("d", ERROR)]).unclear) == 4


def test_what_decides_comes_first() -> None:
    advice, error, failure = grade(FAIL, "a", blocking=False), grade(ERROR, "b"), grade(FAIL, "c")
    (finding,) = sort([row("all", FAIL, advice, grade(PASS), error, failure)]).failed
    assert [told.assertion.type for told in finding.grades] == ["c", "b", "a"]


def test_members_follow_their_set_and_decide_as_it_does() -> None:
    grades = (
        grade(ERROR, "a"),
        grade(FAIL, "assert-set"),
        grade(PASS, "b", inner=True),
        grade(ERROR, "c", inner=True),
        grade(PASS, "assert-set"),
        grade(FAIL, "d", inner=True),
        grade(FAIL, "advisory-set", blocking=False),
        grade(FAIL, "e", inner=True),
    )
    (finding,) = sort([row("sets", FAIL, *grades)]).failed
    assert [told.assertion.type for told in finding.decisive] == ["assert-set", "c", "a"]
    assert [told.assertion.type for told in finding.grades] == ["assert-set", "c", "a", "advisory-set", "e"]
