"""Every row with something to read is in one list, and the row's outcome decides in which."""

from dataclasses import replace

from gradegate.reporting.findings import Effect, finding, sort
from gradegate.values.result import GateOutcome, Outcome, Row
from support.each import each
from support.samples import MISSED, advised, decision, failing, grade, passing, row, unanswered, unclear

PASS, FAIL, ERROR = Outcome.PASS, Outcome.FAIL, Outcome.ERROR


@each(
    ("of", "where"),
    [
        (passing(), Effect.NONE),
        (failing(), Effect.ADVISES),
        (unclear(), Effect.UNCLEAR),
        (unanswered("Alaska"), Effect.UNCLEAR),
        (advised(), Effect.ADVISES),
        (row("both", FAIL, grade(FAIL), grade(ERROR)), Effect.ADVISES),
        (row("both", ERROR, grade(FAIL), grade(ERROR)), Effect.UNCLEAR),
        (row("tolerated by the threshold of the case", PASS, grade(FAIL), grade(PASS)), Effect.ADVISES),
        (row("advice with an error", PASS, grade(ERROR, blocking=False)), Effect.UNCLEAR),
        (row("without weight", PASS, grade(FAIL, weight=0)), Effect.ADVISES),
        (row("without grades", ERROR), Effect.UNCLEAR),
        (row("nothing asserted", PASS), Effect.NONE),
        (row("tolerated by its set", PASS, grade(PASS, "assert-set"), grade(FAIL, inner=True)), Effect.NONE),
        (row("missed by its set", FAIL, grade(FAIL, "assert-set"), grade(FAIL, inner=True)), Effect.ADVISES),
    ],
)
def test_a_row_is_in_one_list(of: Row, where: Effect) -> None:
    assert finding(of, blocks=False).effect is where
    assert finding(of, blocks=True).effect is Effect.BLOCKS


def test_like_errors_are_one_finding() -> None:
    rows = [unanswered("Alaska"), unclear(), unanswered("Hawaii"), replace(unclear(), description="Utah"), failing()]
    found = sort(decision(GateOutcome.BLOCKED, "", *rows, rules=(MISSED,)))
    assert [[it.row.description, *(row.description for row in it.alike)] for it in found[Effect.UNCLEAR]] == [
        ["Alaska", "Hawaii"],
        ["Texas", "Utah"],
    ]
    assert [it.row.description for it in found[Effect.BLOCKS]] == ["New York"]
    assert found[Effect.ADVISES] == []


def test_errors_beside_failures_and_errors_without_a_word_stay_apart() -> None:
    mixed = row("a", ERROR, grade(FAIL, reason="x"), grade(ERROR, reason="y"))
    apart = decision(GateOutcome.INCONCLUSIVE, "", mixed, replace(mixed, description="b"), row("c", ERROR), row("d", ERROR))
    assert len(sort(apart)[Effect.UNCLEAR]) == 4


def test_what_decides_comes_first() -> None:
    advice, error, failure = grade(FAIL, "a", blocking=False), grade(ERROR, "b"), grade(FAIL, "c")
    found = finding(row("all", FAIL, advice, grade(PASS), error, failure), blocks=False)
    assert [told.assertion.type for told in found.grades] == ["c", "b", "a"]


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
    found = finding(row("sets", FAIL, *grades), blocks=False)
    assert [told.assertion.type for told in found.decisive] == ["assert-set", "c", "a"]
    assert [told.assertion.type for told in found.grades] == ["assert-set", "c", "a", "advisory-set", "e"]
