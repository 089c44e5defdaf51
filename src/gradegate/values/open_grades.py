"""Failures that were asked once and not re-asked to the end, and cases that fail by nothing else."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gradegate.values.result import Grade, Outcome, Row


def unconfirmed(row: Row) -> bool:
    """Whether a row has failures that count, and each of them was left unconfirmed."""
    open_ = left_open(row)
    if not open_:
        return False
    if row.outcome is Outcome.FAIL:
        return bool(open_in_case(row, open_))
    failing = [place for place, grade in enumerate(row.grades) if grade.counts and grade.outcome is Outcome.FAIL]
    return bool(failing) and all(open_in_grade(row.grades, place, open_) for place in failing)


def left_open(row: Row) -> frozenset[int]:
    """The positions of grades that the run left unconfirmed."""
    return frozenset(place for place, grade in enumerate(row.grades) if grade.unconfirmed)


def open_in_case(row: Row, open_: Collection[int]) -> list[int]:
    """The open grades of a case that fails by nothing else; where its own threshold decides, all of them."""
    if row.outcome is not Outcome.FAIL or not open_:
        return []
    if row.threshold is not None:
        return sorted(open_)
    places: list[int] = []
    for position, grade in enumerate(row.grades):
        if grade.counts and grade.outcome is Outcome.FAIL:
            found = open_in_grade(row.grades, position, open_)
            if not found:
                return []
            places += found
    return places


def open_in_grade(grades: Sequence[Grade], position: int, open_: Collection[int]) -> list[int]:
    """A grade itself, or the open members of a set that fails by nothing else."""
    grade = grades[position]
    if grade.outcome is not Outcome.FAIL or not open_:
        return []
    if not grade.assertion.is_set:
        return [position] if position in open_ else []
    failing = [place for place in members(grades, position) if grades[place].outcome is Outcome.FAIL and grades[place].assertion.counts]
    found = [place for place in failing if place in open_]
    return found if grade.threshold is not None or len(found) == len(failing) else []


def members(grades: Sequence[Grade], position: int) -> range:
    """The positions of the members of the set at a position: they follow it."""
    end = position + 1
    while end < len(grades) and grades[end].inner:
        end += 1
    return range(position + 1, end)


def parts(grades: Sequence[Grade], position: int) -> list[Grade]:
    """The grades that the one at a position is made of: the members of a set, else itself."""
    return [grades[place] for place in members(grades, position)] if grades[position].assertion.is_set else [grades[position]]


def chief(grades: Sequence[Grade], position: int) -> int:
    """The position of the set that a member belongs to, of any other grade its own."""
    while grades[position].inner:
        position -= 1
    return position
