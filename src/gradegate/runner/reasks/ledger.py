"""The answers of a run while their failing grades are re-asked. Concludes sets, cases and quarantines again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from gradegate.assertions.grading.bound import BoundSet
from gradegate.assertions.grading.conclusion import grade_of_set
from gradegate.gate.case_runs import OpenRow
from gradegate.gate.reasks.ballot import Ballot, final_grade, is_contradicted
from gradegate.results.case_outcome import conclude_case
from gradegate.results.grades import FAIL, Grade
from gradegate.results.rows import AnswerId, GradeId, member_positions, set_position
from gradegate.runner.reasks.eligible import active_quarantine
from gradegate.runner.reasks.histories import Histories
from gradegate.runner.rounds import Answer
from gradegate.runner.rows import with_grades
from gradegate.structs import Struct, replace


class AnswerLedger(Struct):
    """The answers of a run by their ids."""

    histories: Histories
    answers: dict[AnswerId, Answer] = {}

    def add(self, answer: Answer) -> None:
        """Take a new answer and find which of its grades may be re-asked."""
        self.answers[answer.id] = answer
        grades = answer.row.grades
        if any(grade.has_failed for grade in grades):
            positions = self.histories.eligible.bounds_of(answer.job)
            answer.open = {position for position in positions if grades[position].has_failed}
        if active_quarantine(answer.job):
            # Only grades with a history are re-asked: the report then tells a broken test from a flaky one.
            for position in sorted(answer.open):
                model = grades[position].model
                if self.histories.rule(answer.id, answer.job, position, model) is None:
                    answer.open.remove(position)
        _apply_quarantine(answer)

    def apply(self, ballots: Mapping[GradeId, Ballot], wave: Iterable[GradeId]) -> list[Answer]:
        """Put the final grades of re-asked ballots into their answers. Gives the answers that changed."""
        changes = defaultdict[AnswerId, dict[int, Grade]](dict)
        for answer_id, position in wave:
            ballot = ballots[GradeId(answer_id, position)]
            if len(ballot.asks) > 1:
                changes[answer_id][position] = final_grade(ballot)

        for answer_id, grades in changes.items():
            answer = self.answers[answer_id]
            for position, grade in grades.items():
                if grade.confirmed is not None:
                    answer.open.discard(position)
            change_grades(answer, grades)
        return [self.answers[answer_id] for answer_id in changes]

    def end_quarantines(self) -> list[Answer]:
        """Let open failures in a quarantine only advise. Gives the answers that changed."""
        changed = [
            answer
            for answer in self.answers.values()
            if answer.open and active_quarantine(answer.job)
        ]
        for answer in changed:
            answer.open.clear()
            _apply_quarantine(answer)
        return changed

    def runs_of(self, answer: Answer) -> list[Answer]:
        """All runs of the case that an answer is one of, or the answer alone."""
        if not answer.job.needs:
            return [answer]
        ids = (AnswerId(answer.id.case, repeat) for repeat in range(answer.job.repeats))
        return [self.answers[run_id] for run_id in ids if run_id in self.answers]

    def open_case(self, answer: Answer) -> list[OpenRow]:
        """All runs of an answer's case, as rules see them."""
        return [OpenRow(run.id, run.row, frozenset(run.open)) for run in self.runs_of(answer)]


def change_grades(answer: Answer, grades: Mapping[int, Grade]) -> None:
    """Replace the grades at these positions, and conclude sets and the case again."""
    changed = list(answer.row.grades)
    for position, grade in grades.items():
        changed[position] = grade

    for position, binding in enumerate(answer.job.graded_bindings):
        if isinstance(binding, BoundSet):
            places = member_positions(changed, position)
            members = [replace(changed[place], inner=False) for place in places]
            changed[position] = grade_of_set(binding, members)
    answer.row = with_grades(answer.job.case, answer.row, changed)
    _apply_quarantine(answer)


def _apply_quarantine(answer: Answer) -> None:
    """Let failing grades of a test in quarantine only advise. Conclude the case without them."""
    case = answer.job.case
    quarantine = active_quarantine(answer.job)
    if quarantine is None:
        return

    grades = [replace(grade, quarantine=None) for grade in answer.row.grades]
    for position in _find_forgiven(answer, grades):
        grades[position] = replace(grades[position], quarantine=quarantine.until)
    if answer.job.needs:  # a forgiven run still does not count as passed
        answer.row = replace(answer.row, grades=tuple(grades))
    else:
        answer.row = with_grades(case, answer.row, grades)


def _find_forgiven(answer: Answer, grades: Sequence[Grade]) -> list[int]:
    """The positions of the grades that only advise during a quarantine. ``grades`` are those without a quarantine."""
    # Errors and failures that are re-asked now still count, and so do their sets.
    counting = set()
    is_open = False
    for position, grade in enumerate(grades):
        if not _may_advise(answer, position):
            counting.add(position)
            counting.add(set_position(grades, position))
            is_open = is_open or grade.has_failed
    candidates = [
        position
        for position, grade in enumerate(grades)
        if position not in counting and not grade.inner
    ]

    threshold = answer.job.case.threshold
    if threshold is None:
        return [position for position in candidates if _is_counted_failure(grades[position])]
    # All grades of the test make one score: all of them only advise, except for errors, or none.
    if is_open or conclude_case(grades, threshold).outcome is not FAIL:
        return []
    return candidates


def _is_counted_failure(grade: Grade) -> bool:
    """Whether a grade counts and did not pass."""
    return grade.assertion.counts and not grade.has_passed


def _may_advise(answer: Answer, position: int) -> bool:
    """Whether a grade passes or may only advise: a failure that is not re-asked now, or contradictory votes."""
    grade = answer.row.grades[position]
    # A set depends on its members.
    if grade.has_passed or not grade.assertion.counts or grade.assertion.is_set:
        return True
    if position in answer.open:
        return False
    return grade.has_failed or is_contradicted(grade)
