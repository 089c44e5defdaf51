"""Which failing grades of a row are open: they may still be re-asked, and so may turn out to be good.

An open failure matters only if nothing else fails. If a case or a set fails by another grade too, a re-ask of the open grade
changes nothing. With a threshold, the mean decides, so a re-ask of any open grade may change the outcome.

Positions are those of ``Row.grades``.
"""

from collections.abc import Collection, Sequence

from gradegate.results.grades import Grade
from gradegate.results.rows import Row, member_positions


def is_unconfirmed(row: Row) -> bool:
    """Whether a row has failures that count, and the run left each of them unconfirmed.

    A row can have such failures although it did not fail: its threshold allows them, or an error decides.
    """
    unconfirmed = unconfirmed_positions(row)
    if row.has_failed:
        return bool(open_in_case(row, unconfirmed))
    return bool(_open_in_counting_failures(row.grades, unconfirmed))


def unconfirmed_positions(row: Row) -> frozenset[int]:
    """The positions of grades that the run left unconfirmed: they were open at its end."""
    return frozenset(position for position, grade in enumerate(row.grades) if grade.unconfirmed)


def open_in_case(row: Row, open_positions: Collection[int]) -> list[int]:
    """The positions of open grades whose re-asks may let a failed case pass. Empty if it fails by another grade, too."""
    if not row.has_failed:
        return []
    if row.threshold is not None:
        return sorted(open_positions)
    return _open_in_counting_failures(row.grades, open_positions)


def open_in_grade(
    grades: Sequence[Grade], position: int, open_positions: Collection[int]
) -> list[int]:
    """The positions of open grades whose re-asks may let the failed grade at ``position`` pass.

    That is the position itself, or those of members if the grade is of a set. Empty if the set fails by another member, too.
    """
    grade = grades[position]
    if not grade.has_failed:
        return []
    if not grade.assertion.is_set:
        return [position] if position in open_positions else []

    open_members = []
    has_final_failure = False
    for member in member_positions(grades, position):
        if not (grades[member].has_failed and grades[member].assertion.counts):
            continue
        if member in open_positions:
            open_members.append(member)
        else:
            has_final_failure = True

    is_mean = grade.threshold is not None
    if has_final_failure and not is_mean:
        return []
    return open_members


def _open_in_counting_failures(
    grades: Sequence[Grade], open_positions: Collection[int]
) -> list[int]:
    """The positions of open grades in all failures that count. Empty if one of these failures is final."""
    positions = []
    for position, grade in enumerate(grades):
        if not (grade.counts and grade.has_failed):
            continue
        open_here = open_in_grade(grades, position, open_positions)
        if not open_here:
            return []
        positions += open_here
    return positions
