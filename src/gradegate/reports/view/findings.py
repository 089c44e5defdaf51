"""What each row of a run does to the check: blocks it, leaves it undecided, failed once, was known, or only advises."""

import enum
import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from gradegate.core.policy import Rule
from gradegate.core.usage import NO_USAGE
from gradegate.reports.format.escape import join_nonempty
from gradegate.results.baseline import FIXED, OK, PRE_EXISTING, UNSTEADY, case_status
from gradegate.results.grades import Grade, Outcome
from gradegate.results.rows import (
    Row,
    format_value,
    is_unconfirmed,
    open_in_grade,
    runs_by_case,
    selects_grade,
    unconfirmed_positions,
)
from gradegate.results.run_result import Decision
from gradegate.structs import FrozenStruct, replace


class Effect(enum.Enum):
    """What a row does to the check: the one list that it belongs to, in every report."""

    BLOCKS = "fail"
    UNCLEAR = "error"
    ONCE = "once"  # failed once, could have been asked again, and was not asked to its end
    KNOWN = "known"  # failed on the base, too
    ADVISES = "advisory"
    NONE = "pass"


class Finding(FrozenStruct):
    """A row with something to read; ``alike`` are further rows with an error for the same reason."""

    row: Row
    effect: Effect = Effect.NONE
    alike: tuple[Row, ...] = ()

    @property
    def is_within_set(self) -> bool:
        """Whether all that did not pass are members of sets that did."""
        grades = self.grades
        return bool(grades) and all(grade.inner for grade in grades)

    @property
    def grades(self) -> list[Grade]:
        """What did not pass: failures first, then what failed once, then errors, then what decides nothing."""
        return [*self.decisive, *(grade for grade, decides in self._shortfalls() if not decides)]

    @property
    def decisive(self) -> list[Grade]:
        """What did not pass and takes part in deciding, in the same order; a set that did not pass is followed by its members."""
        return [grade for grade, decides in self._shortfalls() if decides]

    @property
    def has_other_answers(self) -> bool:
        """Whether the rows that are alike have other answers."""
        return any(other.output != self.row.output for other in self.alike)

    def _shortfalls(self) -> list[tuple[Grade, bool]]:
        shortfalls = []
        chief, once = None, False  # the last grade that is not a member: members follow their set
        for grade in self.row.grades:
            if chief is None or not grade.inner:
                chief, once = grade, failed_once(self.row, grade)
            if not grade.has_passed:
                shortfalls.append(((chief.has_passed, chief.has_error, once), grade, chief))
        shortfalls.sort(key=lambda item: item[0])
        # What a set that passes tolerates of its members decides nothing.
        return [(grade, chief.counts and not chief.has_passed) for _, grade, chief in shortfalls]


def failed_once(row: Row, grade: Grade) -> bool:
    """Whether an assertion failed by nothing but what was not re-asked to the end, so it may well be good."""
    position = next(place for place, it in enumerate(row.grades) if it is grade)
    return bool(open_in_grade(row.grades, position, unconfirmed_positions(row)))


def unchecked(row: Row) -> bool:
    """Whether nothing was asserted of an answer, so that its passing says nothing."""
    return row.has_passed and not row.grades


def finding(row: Row, blocks: bool, rules: Sequence[Rule] = ()) -> Finding:
    """A row with what it does; ``blocks``: it is a reason why the run is blocked. The row's outcome decides, then its grades.

    ``rules`` are those that are doubted: nobody knows what fails in them.
    """
    it = Finding(row)
    if not blocks and row.has_passed and all(grade.has_passed for grade in row.grades):
        return it  # most rows of most runs
    erring = any(grade.has_error and not (grade.quarantine or grade.inner) for grade in row.grades)
    failing = any(grade.has_failed and grade.counts for grade in it.grades)
    # A case passes with a failed assertion when its own threshold allows it; a rule may still look at that assertion.
    fails = failing or (row.counts and row.has_failed)
    if blocks:
        effect = Effect.BLOCKS
    elif (
        (row.counts and row.has_error)
        or (erring and not fails)
        or (
            fails
            and any(
                selects_grade(rule, row, grade)
                for rule in rules
                for grade in row.grades
                if grade.has_failed
            )
        )
    ):
        effect = Effect.UNCLEAR
    elif fails and _known(row):
        effect = Effect.KNOWN
    elif fails and is_unconfirmed(row):
        effect = Effect.ONCE
    else:
        effect = Effect.ADVISES if fails or it.grades else Effect.NONE
    return replace(it, effect=effect)


def _known(row: Row) -> bool:
    failing = {grade.status for grade in row.grades if grade.counts and grade.has_failed}
    return (
        bool(failing)
        and failing <= {PRE_EXISTING, UNSTEADY}
        and case_status(row) in (PRE_EXISTING, UNSTEADY, OK, FIXED)
    )


def told(rows: Sequence[Row], blocking: Collection[int] = frozenset()) -> Iterator[tuple[int, Row]]:
    """The rows that reports list, with their places: of the runs of a case one that blocks, else one that shows the verdict."""
    first = 0
    for case in runs_by_case(rows):
        telling = [at for at, it in enumerate(case) if it.outcome is it.verdict]
        blocks = [at for at in range(len(case)) if first + at in blocking]
        at = next(iter(blocks or telling), 0)
        if case[at].error:  # a run that was answered says more
            at = next((at for at, it in enumerate(case) if it.has_failed), at)
        row = case[at]
        if row.verdict:
            row = replace(
                row,
                outcome=row.verdict,
                reason=join_nonempty("; ", row.runs_summary, row.reason),
                repeat=0,
                grades=row.grades if row.verdict is Outcome.PASS else _of_all_runs(case, row),
            )
        yield first + at, row
        first += len(case)


def _of_all_runs(case: Sequence[Row], shown: Row) -> tuple[Grade, ...]:
    """The grades of one run of a case; beside those that passed, the first run in which the same assertion failed."""
    grades = []
    for position, grade in enumerate(shown.grades):
        grades.append(grade)
        if grade.has_failed:
            continue
        for run in case:
            if position < len(run.grades) and run.grades[position].has_failed:
                failed = run.grades[position]
                reason = f"in run {run.run}: {failed.reason}"
                grades.append(replace(failed, reason=reason, turns=(), usage=NO_USAGE))
                break
    return tuple(grades)


def doubted(decision: Decision) -> list[Rule]:
    """The rules of which nobody can tell whether they are missed, since their grader has moved."""
    moved = decision.run.labels is not None and decision.run.labels.moved
    return [it.rule for it in decision.rules if moved and it.rule.blocking and it.has_error]


def in_plan_order(decision: Decision) -> Iterator[tuple[int, Finding]]:
    """Every row that reports list with what it does and its place, in plan order."""
    rules = doubted(decision)
    for place, row in told(decision.run.rows, decision.blocking):
        yield place, finding(row, place in decision.blocking, rules)


def effects(decision: Decision) -> dict[Effect, list[tuple[int, Finding]]]:
    """The same, under what they do."""
    found: dict[Effect, list[tuple[int, Finding]]] = {which: [] for which in Effect}
    for place, it in in_plan_order(decision):
        found[it.effect].append((place, it))
    return found


def sort(decision: Decision) -> dict[Effect, list[Finding]]:
    """The rows with something to read under what they do, new failures before known ones; of like errors the first has the others."""
    found = {effect: [it for _, it in placed] for effect, placed in effects(decision).items()}
    del found[Effect.NONE]
    found[Effect.BLOCKS].sort(key=lambda it: _known(it.row))
    # A provider that is down makes every row say the same.
    return found | {Effect.UNCLEAR: merged(found[Effect.UNCLEAR], failures=False)}


def merged(findings: Sequence[Finding], failures: bool = True) -> list[Finding]:
    """Findings of the same assertions (what they expect included), reasons and standing, said once; without ``failures``, errors alone."""
    groups = defaultdict(list)
    for number, it in enumerate(findings):
        grades = it.grades
        key: tuple[object, ...] = (it.row.error,) if it.row.error else ()
        # What failed beside an error belongs to its row alone.
        if not key and (failures or all(not grade.has_failed for grade in grades)):
            key = tuple(
                (
                    of.assertion.type,
                    format_value(of.assertion.value),
                    of.threshold,
                    of.metric,
                    of.status,
                    of.reason,
                )
                for of in grades
            )
        groups[key or (number,)].append(it)
    return [
        replace(first, alike=(*first.alike, *(row for it in rest for row in (it.row, *it.alike))))
        for first, *rest in groups.values()
    ]


def count_cases(findings: Sequence[Finding]) -> int:
    """How many cases they are, with those that are alike."""
    return sum(1 + len(finding.alike) for finding in findings)


def fingerprint(decision: Decision) -> str:
    """Hexadecimal digits, equal where the outcome and the failing cases are, with what fails in them and what blocks."""
    cases = []
    for it in (it for found in sort(decision).values() for it in found):
        for row in (it.row, *it.alike):
            names = (
                row.suite,
                row.description,
                str(row.case),
                str(row.repeat),
                row.provider,
                row.prompt_label,
            )
            fails = sorted(
                f"{grade.assertion.type} {grade.metric} {grade.outcome.value}"
                for grade in Finding(row).grades
            )
            cases.append([it.effect.value, *names, *fails])
    weaker = [str(change.origin) + change.text for change in decision.changes.found]
    said = json.dumps([decision.outcome.value, sorted(cases), weaker])
    return hashlib.sha256(said.encode("utf-8", "backslashreplace")).hexdigest()[:16]
