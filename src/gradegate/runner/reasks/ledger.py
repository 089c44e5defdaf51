"""The answers of a run while their failing grades are re-asked: sets, cases and quarantines are concluded again here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import partial

from gradegate.assertions.grading.bound import BoundSet
from gradegate.assertions.grading.conclusion import grade_of_set
from gradegate.gate.case_runs import OpenRow
from gradegate.gate.reasks.ballot import Ballot, final_grade, is_contradicted
from gradegate.results.case_outcome import conclude_case
from gradegate.results.grades import FAIL, Grade
from gradegate.results.rows import AnswerId, GradeId, chief, members
from gradegate.runner.reasks.eligible import quarantine_of
from gradegate.runner.reasks.histories import Histories
from gradegate.runner.rounds import Answer
from gradegate.runner.rows import with_grades
from gradegate.structs import Struct, replace


class AnswerLedger(Struct):
    """The answers of a run by their ids."""

    histories: Histories
    answers: dict[AnswerId, Answer] = {}

    def add(self, answer: Answer) -> None:
        """Take a new answer, and find out which of its grades may be re-asked."""
        self.answers[answer.id] = answer
        grades = answer.row.grades
        if any(grade.has_failed for grade in grades):
            positions = self.histories.eligible.of(answer.job)
            answer.open = {position for position in positions if grades[position].has_failed}
        if quarantine_of(answer.job):
            # Only grades with a history are re-asked: it tells a break from flaking, for the report.
            rule_of = partial(self.histories.rule, answer.id, answer.job)
            answer.open = {it for it in answer.open if rule_of(it, grades[it].model)}
        _forgive(answer)

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
        """Let what is still open in a quarantine only advise. Gives the answers that changed."""
        changed = [it for it in self.answers.values() if it.open and quarantine_of(it.job)]
        for answer in changed:
            answer.open.clear()
            _forgive(answer)
        return changed

    def runs_of(self, answer: Answer) -> list[Answer]:
        """All runs of the case that an answer is one of, or the answer alone."""
        if not answer.job.needs:
            return [answer]
        ids = (AnswerId(answer.id.case, repeat) for repeat in range(answer.job.repeats))
        return [self.answers[it] for it in ids if it in self.answers]

    def open_case(self, answer: Answer) -> list[OpenRow]:
        """All runs of an answer's case, as rules see them."""
        return [OpenRow(it.id, it.row, frozenset(it.open)) for it in self.runs_of(answer)]


def change_grades(answer: Answer, grades: Mapping[int, Grade]) -> None:
    """Put other grades at these positions, and conclude sets and the case again."""
    changed = list(answer.row.grades)
    for position, grade in grades.items():
        changed[position] = grade

    position = 0
    for binding in answer.job.assertions:
        if isinstance(binding, BoundSet):
            places = members(changed, position)
            inside = [replace(changed[place], inner=False) for place in places]
            changed[position] = grade_of_set(binding, inside)
            position += len(inside)
        position += 1
    answer.row = with_grades(answer.job.case, answer.row, changed)
    _forgive(answer)


def _forgive(answer: Answer) -> None:
    """Let failing grades of a test in quarantine only advise, and conclude the case without them."""
    case = answer.job.case
    quarantine = quarantine_of(answer.job)
    if quarantine is None:
        return

    grades = [replace(grade, quarantine=None) for grade in answer.row.grades]
    kept = {position for position in range(len(grades)) if not _is_forgivable(answer, position)}
    is_open = any(grades[position].has_failed for position in kept)
    kept |= {chief(grades, position) for position in kept}
    fails = True
    if case.threshold is not None:
        # The whole test has one score: all of it is forgiven but for errors, or none.
        fails = not is_open and conclude_case(grades, case.threshold).outcome is FAIL

    for position, grade in enumerate(grades):
        is_failure = not grade.has_passed and grade.assertion.counts
        is_forgiven = fails and (is_failure or case.threshold is not None)
        if is_forgiven and position not in kept and not grade.inner:
            grades[position] = replace(grade, quarantine=quarantine.until)
    if answer.job.needs:  # a run that fails is no run that passes
        answer.row = replace(answer.row, grades=tuple(grades))
    else:
        answer.row = with_grades(case, answer.row, grades)


def _is_forgivable(answer: Answer, position: int) -> bool:
    """Whether a grade passes or may only advise: a failure that is not re-asked now, or votes that decide nothing."""
    grade = answer.row.grades[position]
    # The members of a set say whether it is.
    if grade.has_passed or not grade.assertion.counts or grade.assertion.is_set:
        return True
    if position in answer.open:
        return False
    return grade.has_failed or is_contradicted(grade)
