"""A case with all that there is to tell of it, for the page in a browser and for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from gradegate.reporting.claims import Claim, claims
from gradegate.reporting.differences import Difference, difference
from gradegate.reporting.failing import Exchange, blamed_turns, effect, exchange, is_fixed, question, why
from gradegate.reporting.findings import Finding, unchecked
from gradegate.reporting.wording import called, expected
from gradegate.values.conversation import NO_USAGE, Turn, Usage
from gradegate.values.figures import figure, spent
from gradegate.values.result import Grade, Outcome, Row

_LINE = 200


@dataclass(frozen=True, slots=True)
class Told:
    """One assertion: ``difference`` of what it expected and what came, None where that says nothing."""

    grade: Grade
    expected: str
    difference: Difference | None
    claims: list[Claim]

    @property
    def kind(self) -> str:
        """``pass``, ``fail``, ``error``, or ``advisory`` for a failure that decides nothing."""
        grade = self.grade
        advises = grade.outcome is Outcome.FAIL and not (grade.counts or grade.inner)
        return "advisory" if advises else grade.outcome.value


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a conversation, with the assertions that failed because of it."""

    number: int
    turn: Turn
    blamed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseView:
    """One answer. ``number`` is its place in results.json, from 1; ``about`` is what it is beside the base and the rules."""

    number: int
    row: Row
    about: str
    why: tuple[str, str]  # the assertion that did not pass first, and its reason in a line
    exchange: Exchange
    asked: str  # in a line
    failing: list[Told]
    passing: list[Told]
    turns: list[Said]  # empty where there is no more than a question and an answer
    grader: Usage

    @property
    def compared(self) -> bool:
        """Whether the answer stands beside what was expected, so that it need not stand apart."""
        return any(told.difference for told in self.failing)

    @property
    def kind(self) -> str:
        """What its line is: ``pass``, ``fail``, ``error``, or ``advisory`` for what fails and decides nothing."""
        return self.failing[0].kind if self.failing else self.row.outcome.value


def view(number: int, finding: Finding, compare: bool = True) -> CaseView:
    """All of a case; ``compare``: say which words differ."""
    row, short = finding.row, finding.grades
    first = short[0] if short else None
    told = exchange(row, first)
    marked = [_told(row, grade, compare) for grade in short]
    passing = [_told(row, grade, compare) for grade in row.grades if not any(grade is other for other in short)]
    spoken = row.outcome is Outcome.PASS and not short
    return CaseView(
        number,
        row,
        "fixed" if is_fixed(row) else "not checked" if unchecked(row) else effect(finding) if not spoken else "",
        ("", "") if spoken else why(finding, _LINE),
        told,
        question(row, told.asked, _LINE),
        marked,
        passing,
        [*_conversation(row)] if len(row.turns) > 2 else [],
        sum((grade.usage for grade in row.grades), NO_USAGE),
    )


def _told(row: Row, grade: Grade, compare: bool) -> Told:
    wanted = expected(grade.assertion)
    compared = compare and grade.outcome is Outcome.FAIL and not grade.assertion.negated
    words = difference(wanted, exchange(row, grade).answered) if compared and wanted else None
    return Told(grade, wanted, words, claims(row, grade))


def _conversation(row: Row) -> Iterator[Said]:
    blamed: dict[int, list[str]] = {}
    for grade in row.grades:
        if grade.outcome is Outcome.FAIL:
            for number in blamed_turns(row, grade):
                blamed.setdefault(number, []).append(called(grade.assertion, grade.metric))
    for number, turn in enumerate(row.turns, 1):
        yield Said(number, turn, tuple(dict.fromkeys(blamed.get(number, ()))))


def took(usage: Usage) -> str:
    """``1 call, 120 tokens, 0.001 USD, 0.5 s``; no time where nobody took it."""
    timed = math.isfinite(usage.seconds) and usage.seconds > 0
    return spent(usage) + (f", {figure(usage.seconds, 2)} s" if timed else "")
