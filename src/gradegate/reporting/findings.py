"""Sorts the rows of a run into what failed, what could not be decided and what is only advice."""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from gradegate.results.earlier_run import FIXED, OK, PRE_EXISTING, UNSTEADY, standing
from gradegate.values.result import Decision, Grade, Outcome, Row


class Kind(enum.Enum):
    """The one list that a row with something to read belongs to."""

    FAILED = "failed"
    KNOWN = "failed on the base, too"
    UNCLEAR = "could not tell"
    ADVISORY = "advisory"


@dataclass(frozen=True, slots=True)
class Finding:
    """A row with something to read; ``alike`` are further rows that could not be decided for the same reason.

    ``blocks``: it is a reason why the run is blocked.
    """

    row: Row
    alike: tuple[Row, ...] = ()
    blocks: bool = False

    @property
    def grades(self) -> list[Grade]:
        """What did not pass: failures first, then what could not be decided, then advice."""
        return [*self.decisive, *(grade for grade, decides in self._shortfalls() if not decides)]

    @property
    def decisive(self) -> list[Grade]:
        """What did not pass and takes part in deciding: failures first; a set is followed by its members."""
        return [grade for grade, decides in self._shortfalls() if decides]

    def _shortfalls(self) -> list[tuple[Grade, bool]]:
        shortfalls: list[tuple[bool, Grade, Grade]] = []
        chief: Grade | None = None  # the last grade that is not a member: members follow their set
        for grade in self.row.grades:
            chief = chief if grade.inner and chief else grade
            # What a set tolerates of its members is not a finding.
            if grade.outcome is not Outcome.PASS and chief.outcome is not Outcome.PASS:
                shortfalls.append((chief.outcome is Outcome.ERROR, grade, chief))
        shortfalls.sort(key=lambda item: item[0])
        return [(grade, chief.counts) for _, grade, chief in shortfalls]


@dataclass(frozen=True, slots=True)
class Groups:
    """The findings of a run by what they do to the check, new failures before known ones."""

    blocks: list[Finding]
    unclear: list[Finding]
    advises: list[Finding]


@dataclass(frozen=True, slots=True)
class Findings:
    """All findings of a run, in plan order; like errors are one finding."""

    failed: list[Finding] = field(default_factory=list)
    known: list[Finding] = field(default_factory=list)  # failures that the base shows, too
    unclear: list[Finding] = field(default_factory=list)
    advisory: list[Finding] = field(default_factory=list)

    @property
    def groups(self) -> Groups:
        """Which of them block, could not be decided, and only advise."""
        failing = [*self.failed, *self.known, *self.advisory]
        blocks = [finding for finding in failing if finding.blocks]
        return Groups(blocks, self.unclear, [finding for finding in failing if not finding.blocks])


def unchecked(row: Row) -> bool:
    """Whether nothing was asserted of an answer, so that its passing says nothing."""
    return row.outcome is Outcome.PASS and not row.grades


def kind(row: Row) -> Kind | None:
    """Where a row belongs, None when every assertion passed. The row's outcome decides, then its grades."""
    if row.counts and row.outcome is not Outcome.PASS:
        return _failed(row) if row.outcome is Outcome.FAIL else Kind.UNCLEAR
    # A case passes with a failed assertion when its own threshold allows it; a rule may still look at that assertion.
    grades = Finding(row).grades
    if any(grade.outcome is Outcome.FAIL and grade.counts for grade in grades):
        return _failed(row)
    if any(grade.outcome is Outcome.ERROR for grade in grades):
        return Kind.UNCLEAR
    return Kind.ADVISORY if grades else None


def _failed(row: Row) -> Kind:
    failing = {grade.status for grade in row.grades if grade.counts and grade.outcome is Outcome.FAIL}
    old = failing <= {PRE_EXISTING, UNSTEADY} and standing(row) in (PRE_EXISTING, UNSTEADY, OK, FIXED)
    return Kind.KNOWN if failing and old else Kind.FAILED


def sort(rows: Iterable[Row], blocking: Container[int] = ()) -> Findings:
    """The findings by kind; ``blocking`` are the places of the rows for which the run is blocked."""
    of_kind: dict[Kind, list[Finding]] = {which: [] for which in Kind}
    for place, row in enumerate(rows):
        which = kind(row)
        if which is not None:
            of_kind[which].append(Finding(row, blocks=place in blocking))
    return Findings(
        failed=of_kind[Kind.FAILED],
        known=of_kind[Kind.KNOWN],
        unclear=_merged([finding.row for finding in of_kind[Kind.UNCLEAR]]),
        advisory=of_kind[Kind.ADVISORY],
    )


class Effect(enum.Enum):
    """What a row does to the check, as the lists of a page have it."""

    BLOCKS = "fail"
    UNCLEAR = "error"
    ADVISES = "advisory"
    NONE = "pass"


def effects(rows: Iterable[Row], blocking: Container[int]) -> dict[Effect, list[tuple[int, Finding]]]:
    """Every row under what it does, with its place; the groups of ``sort``, without merging what could not be told."""
    found: dict[Effect, list[tuple[int, Finding]]] = {which: [] for which in Effect}
    for place, row in enumerate(rows):
        finding, which = Finding(row, blocks=place in blocking), kind(row)
        effect = Effect.NONE if which is None else Effect.UNCLEAR if which is Kind.UNCLEAR else Effect.ADVISES
        found[Effect.BLOCKS if finding.blocks and effect is Effect.ADVISES else effect].append((place, finding))
    return found


def _merged(rows: list[Row]) -> list[Finding]:
    """A provider that is down makes every row say the same: one finding says it once."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for number, row in enumerate(rows):
        groups.setdefault(_why(row) or (number,), []).append(row)
    return [Finding(first, tuple(rest)) for first, *rest in groups.values()]


def _why(row: Row) -> tuple[object, ...]:
    if row.error:
        return (row.error,)
    grades = Finding(row).grades
    if any(grade.outcome is Outcome.FAIL for grade in grades):
        return ()  # what failed beside the error belongs to this row alone
    return tuple((grade.assertion.type, grade.reason) for grade in grades)


def fingerprint(decision: Decision) -> str:
    """Hexadecimal digits, equal where the outcome and the failing cases are, with what fails in them and what blocks."""
    groups = sort(decision.run.rows, decision.blocking).groups
    cases = sorted(
        [
            str(effect),
            row.suite,
            row.description,
            str(row.case),
            str(row.repeat),
            row.provider,
            row.prompt_label,
            *sorted(f"{grade.assertion.type} {grade.metric} {grade.outcome.value}" for grade in Finding(row).grades),
        ]
        for effect, found in enumerate((groups.blocks, groups.unclear, groups.advises))
        for finding in found
        for row in (finding.row, *finding.alike)
    )
    weaker = [str(change.origin) + change.text for change in decision.changes.found]
    said = json.dumps([decision.outcome.value, cases, weaker])
    return hashlib.sha256(said.encode("utf-8", "backslashreplace")).hexdigest()[:16]
