"""Sorts the answers of a run by what each does to the check of a pull request: block it, leave it undecided, or only advise.

A *row* is one answer of the target, with the grades of its assertions. A *finding* is a row with its *effect* on the check. All
reports take their cases from here, so that each lists a case under the same effect.
"""

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
from gradegate.results.open_failures import is_unconfirmed, open_in_grade, unconfirmed_positions
from gradegate.results.rows import Row, format_value, runs_by_case, selects_grade
from gradegate.results.run_result import Decision
from gradegate.structs import FrozenStruct, replace


class Effect(enum.Enum):
    """What a row does to the check. Every report lists the row under its effect and nowhere else."""

    BLOCKS = "fail"
    UNCLEAR = "error"
    ONCE = "once"  # failed once, and was not re-asked to the end
    KNOWN = "known"  # failed on the base, too
    ADVISES = "advisory"
    NONE = "pass"


class Finding(FrozenStruct):
    """A row with its effect."""

    row: Row
    effect: Effect = Effect.NONE
    place: int = 0  # of the row among those of the run, from 0
    similar: tuple[Row, ...] = ()  # further rows that did not pass for the same reason

    @property
    def grades(self) -> list[Grade]:
        """Grades that did not pass: first those that decide, then those that don't."""
        return [grade for grade, _ in self._shortfalls()]

    @property
    def decisive(self) -> list[Grade]:
        """Grades that did not pass and take part in deciding: failures, failures of one ask, errors.

        The members of a set follow their set.
        """
        return [grade for grade, leader in self._shortfalls() if _decides(leader)]

    @property
    def is_within_set(self) -> bool:
        """Whether only members of sets did not pass, while their sets did."""
        grades = self.grades
        return bool(grades) and all(grade.inner for grade in grades)

    @property
    def has_other_answers(self) -> bool:
        """Whether a similar row has another answer than this one."""
        return any(row.output != self.row.output for row in self.similar)

    def _shortfalls(self) -> list[tuple[Grade, Grade]]:
        """Grades that did not pass, each with its leader: the set that it belongs to, or the grade itself.

        Grades that decide come first.
        """
        shortfalls = []
        leader: Grade | None = None
        for grade in self.row.grades:
            if leader is None or not grade.inner:  # else a member of the last set
                leader = grade
            if not grade.has_passed:
                shortfalls.append((grade, leader))
        shortfalls.sort(key=lambda shortfall: self._rank(shortfall[1]))
        return shortfalls

    def _rank(self, leader: Grade) -> tuple[bool, ...]:
        """The place of a set or a grade in the order of ``grades``. False sorts before True."""
        return (
            not _decides(leader),
            leader.has_passed,
            leader.has_error,
            has_failed_once(self.row, leader),
        )


def _decides(leader: Grade) -> bool:
    """Whether a set, or a grade without a set, keeps its case from passing. What a set tolerates decides nothing."""
    return leader.counts and not leader.has_passed


# --- the findings of a run ----------------------------------------------------------------------------------------------


def findings_to_read(decision: Decision) -> dict[Effect, list[Finding]]:
    """The findings that people should read, by effect: new failures before known ones, equal errors merged.

    Every effect but NONE is a key.
    """
    groups = group_by_effect(decision)
    del groups[Effect.NONE]
    groups[Effect.BLOCKS].sort(key=lambda finding: _is_known(finding.row))
    # A provider that is down makes every row say the same.
    groups[Effect.UNCLEAR] = merge_similar(groups[Effect.UNCLEAR], failures=False)
    return groups


def group_by_effect(decision: Decision) -> dict[Effect, list[Finding]]:
    """The findings of each effect in plan order. Every effect is a key."""
    groups: dict[Effect, list[Finding]] = {effect: [] for effect in Effect}
    for finding in findings_in_plan_order(decision):
        groups[finding.effect].append(finding)
    return groups


def findings_in_plan_order(decision: Decision) -> Iterator[Finding]:
    """Yield a finding for each case, passed ones included."""
    doubtful = doubtful_rules(decision)
    for place, row in iterate_cases(decision.run.rows, decision.blocking):
        yield classify_row(row, place in decision.blocking, doubtful, place)


def doubtful_rules(decision: Decision) -> list[Rule]:
    """Blocking rules of which nobody can tell whether they are met, because their grader has moved."""
    labels = decision.run.labels
    if labels is None or not labels.moved:
        return []
    return [result.rule for result in decision.rules if result.rule.blocking and result.has_error]


def count_cases(findings: Sequence[Finding]) -> int:
    """How many cases there are, with the similar ones."""
    return sum(1 + len(finding.similar) for finding in findings)


def fingerprint(decision: Decision) -> str:
    """16 hexadecimal digits of the outcome, the failing cases with what fails in them, and the weaker gate.

    Equal digits mean that a report says nothing new.
    """
    cases = []
    for effect, findings in findings_to_read(decision).items():
        for finding in findings:
            rows = (finding.row, *finding.similar)
            cases += [[effect.value, *_identify_failure(row)] for row in rows]
    weaker = [str(change.origin) + change.text for change in decision.changes.found]
    content = json.dumps([decision.outcome.value, sorted(cases), weaker])
    return hashlib.sha256(content.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _identify_failure(row: Row) -> list[str]:
    """The case of a row, and the assertions that did not pass with their outcomes."""
    shortfalls = [
        f"{grade.assertion.type} {grade.metric} {grade.outcome.value}"
        for grade in Finding(row).grades
    ]
    return [
        row.suite,
        row.description,
        str(row.case),
        str(row.repeat),
        row.provider,
        row.prompt_label,
        *sorted(shortfalls),
    ]


# --- the effect of a row ------------------------------------------------------------------------------------------------


def classify_row(row: Row, blocks: bool, doubtful: Sequence[Rule] = (), place: int = 0) -> Finding:
    """Find out what a row does to the check.

    ``blocks``: the row is a reason why the run is blocked. ``doubtful``: rules of which nobody can tell whether they are met.
    """
    finding = Finding(row, place=place)
    if not blocks and row.has_passed and all(grade.has_passed for grade in row.grades):
        return finding  # most rows of most runs
    effect = Effect.BLOCKS if blocks else _effect_without_blocking(finding, doubtful)
    return replace(finding, effect=effect)


def _effect_without_blocking(finding: Finding, doubtful: Sequence[Rule]) -> Effect:
    """The effect of a row that is no reason why the run is blocked."""
    row = finding.row
    if row.counts and row.has_error:
        return Effect.UNCLEAR

    # A case can pass with a failed assertion if its threshold allows that. A rule may still select the assertion.
    failures = [grade for grade in row.grades if grade.has_failed]
    fails = row.counts and row.has_failed
    if not fails and not any(grade.counts for grade in failures):
        if any(grade.has_error and not (grade.quarantine or grade.inner) for grade in row.grades):
            return Effect.UNCLEAR
        return Effect.ADVISES if finding.grades else Effect.NONE

    for rule in doubtful:
        if any(selects_grade(rule, row, grade) for grade in failures):
            return Effect.UNCLEAR
    if _is_known(row):
        return Effect.KNOWN
    return Effect.ONCE if is_unconfirmed(row) else Effect.ADVISES


def _is_known(row: Row) -> bool:
    """Whether all failures that count failed on the base, too."""
    statuses = {grade.status for grade in row.grades if grade.counts and grade.has_failed}
    if not statuses or not statuses <= {PRE_EXISTING, UNSTEADY}:
        return False
    return case_status(row) in (PRE_EXISTING, UNSTEADY, OK, FIXED)


def has_failed_once(row: Row, grade: Grade) -> bool:
    """Whether a grade failed only by asks that were not repeated to the end, so that it may be good."""
    position = next(place for place, member in enumerate(row.grades) if member is grade)
    return bool(open_in_grade(row.grades, position, unconfirmed_positions(row)))


def selects_row(rule: Rule, row: Row) -> bool:
    """Whether a rule looks at a grade of a row."""
    return any(selects_grade(rule, row, grade) for grade in row.grades)


def is_unchecked(row: Row) -> bool:
    """Whether a row passed because nothing was asserted of its answer."""
    return row.has_passed and not row.grades


# --- similar findings ---------------------------------------------------------------------------------------------------


def merge_similar(findings: Sequence[Finding], failures: bool = True) -> list[Finding]:
    """Merge findings that say the same: the same error, or the same assertions with the same statuses and reasons.

    The first of them stays and gets the rows of the others as ``similar``. ``failures=False``: a finding with a failure stays alone.
    """
    groups = defaultdict(list)
    for finding in findings:
        # A finding that stays alone is a group of its own.
        groups[_likeness(finding, failures) or id(finding)].append(finding)

    merged = []
    for first, *others in groups.values():
        similar = list(first.similar)
        for finding in others:
            similar += [finding.row, *finding.similar]
        merged.append(replace(first, similar=tuple(similar)))
    return merged


def _likeness(finding: Finding, failures: bool) -> tuple[object, ...]:
    """What similar findings have in common. Empty for a finding that stays alone."""
    if finding.row.error:
        return (finding.row.error,)
    if not failures and any(grade.has_failed for grade in finding.grades):
        return ()

    likeness: list[object] = []
    for grade in finding.grades:
        likeness += [
            grade.assertion.type,
            format_value(grade.assertion.value),
            grade.threshold,
            grade.metric,
            grade.status,
            grade.reason,
        ]
    return tuple(likeness)


# --- a row for each case ------------------------------------------------------------------------------------------------


def iterate_cases(
    rows: Sequence[Row], blocking: Collection[int] = frozenset()
) -> Iterator[tuple[int, Row]]:
    """Yield one row for each case, with its place among the rows of the run.

    The runs of a case become one row: a run that blocks, else one with the outcome of the whole case.
    """
    start = 0
    for runs in runs_by_case(rows):
        places = range(start, start + len(runs))
        place = _place_to_show(places, rows, blocking)
        yield place, _with_case_outcome(rows[place], runs)
        start += len(runs)


def _place_to_show(places: range, rows: Sequence[Row], blocking: Collection[int]) -> int:
    """The place of the run that stands for its case. ``places`` are those of all runs of the case."""
    blocking_places = [place for place in places if place in blocking]
    agreeing_places = [place for place in places if rows[place].outcome is rows[place].verdict]
    candidates = blocking_places or agreeing_places or places
    if not rows[candidates[0]].error:
        return candidates[0]

    # A failing run has an answer, which says more than an error.
    for place in places:
        if rows[place].has_failed:
            return place
    return candidates[0]


def _with_case_outcome(row: Row, runs: Sequence[Row]) -> Row:
    """Give a row the outcome of all runs of its case. A case with a single run has no verdict, and its row stays."""
    if not row.verdict:
        return row
    return replace(
        row,
        outcome=row.verdict,
        reason=join_nonempty("; ", row.runs_summary, row.reason),
        repeat=0,
        grades=row.grades if row.verdict is Outcome.PASS else _with_failures(row, runs),
    )


def _with_failures(row: Row, runs: Sequence[Row]) -> tuple[Grade, ...]:
    """The grades of a row. A grade without a failure is followed by the first failure of the same assertion in another run."""
    grades = []
    for position, grade in enumerate(row.grades):
        grades.append(grade)
        if grade.has_failed:
            continue
        for run in runs:
            if position < len(run.grades) and run.grades[position].has_failed:
                failure = run.grades[position]
                reason = f"in run {run.run}: {failure.reason}"
                grades.append(replace(failure, reason=reason, turns=(), usage=NO_USAGE))
                break
    return tuple(grades)
