"""Grades recorded answers of the base again, if they explain a failure of the head."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from gradegate.core.usage import NO_USAGE
from gradegate.gate.case_runs import fold_cases, with_verdicts
from gradegate.gate.reasks.ballot import ballot_state
from gradegate.gate.reasks.stopping import BallotState, LeadRule
from gradegate.gate.regressions import is_known_failure, measure_increases
from gradegate.planning.plan import BaseSide, Plan
from gradegate.results.accounts import BaselineReport
from gradegate.results.baseline import (
    Baseline,
    fold_base_runs,
    summarize_baseline,
    with_counterparts,
    with_statuses,
)
from gradegate.results.grades import ERROR, FAIL, PASS, Grade, Outcome
from gradegate.results.rows import AnswerId, GradeId, Row
from gradegate.runner.reasks.eligible import EligibleGrades
from gradegate.runner.reasks.reask import BASE_ASKS, BallotBox, ReaskTask
from gradegate.runner.rounds import Answer, rows_by_case
from gradegate.structs import Struct, replace

_OUTCOMES = {
    BallotState.PASSED: PASS,
    BallotState.UNANSWERABLE: ERROR,
}  # any other state is a failure


class BaseRegrade(Struct):
    """What the base says of a run's answers. ``baseline`` is None if there is none."""

    baseline: Baseline | None
    needs_statuses: bool  # there is a baseline, or a rule compares with one
    eligible: EligibleGrades
    regrade_box: BallotBox  # the votes on grades of the base
    is_over: bool = False  # what is not decided now remains unknown

    @classmethod
    def from_plan(
        cls, plan: Plan, eligible: EligibleGrades, base_answers: Iterable[Answer]
    ) -> BaseRegrade:
        """The base of a plan. ``base_answers`` are its answers if the base is asked in the same run."""
        baseline = plan.baseline
        if plan.base is not None:
            baseline = _baseline_of_run(plan.base, base_answers)
        needs_statuses = baseline is not None or any(rule.has_base_limit for rule in plan.rules)
        return cls(baseline, needs_statuses, eligible, BallotBox())

    def _counterpart(self, answer: Answer) -> Row | None:
        return self.baseline.paired.get(answer.case_id) if self.baseline else None

    def update_statuses(self, answers: Iterable[Answer]) -> None:
        """Compare each grade of these answers with the base."""
        if not self.needs_statuses:
            return
        for answer in answers:
            answer.row = with_counterparts(answer.row, self._counterpart(answer))
            answer.row = with_statuses(answer.row, self._regraded(answer), answer.open)

    def _regraded(self, answer: Answer) -> dict[int, Outcome]:
        """The outcomes of regraded passes of the base, by position. A pass that nobody can grade again stays a pass."""
        outcomes: dict[int, Outcome] = {}
        if not any(grade.has_failed for grade in answer.row.grades):
            return outcomes

        # Several runs of the base are as good as re-asks, so they are not graded again.
        base = self._counterpart(answer)
        has_runs = base is not None and base.runs > 0
        eligible = {} if has_runs else self.eligible.bounds_of(answer.job)
        is_hidden = base is not None and base.hidden and not has_runs
        for position, grade in enumerate(answer.row.grades):
            ballot = self.regrade_box.ballots.get(GradeId(answer.case_id, position))
            state = ballot_state(ballot) if ballot else BallotState.OPEN
            if state is not BallotState.OPEN:
                outcomes[position] = _OUTCOMES.get(state, FAIL)
            elif (self.is_over or is_hidden) and _needs_base(grade):
                outcomes[position] = ERROR
            elif position not in eligible:
                outcomes[position] = PASS
        return outcomes

    def is_known_failure(self, row: Row, grade: Grade) -> bool:
        """Whether a failure is known from the base, and only rules that compare with the base need it."""
        has_run_limit = any(rule.has_run_limit for rule in self.eligible.rules.get(row.suite, ()))
        return not has_run_limit and is_known_failure(row, grade)

    def make_tasks(self, answers: Iterable[Answer]) -> Iterator[ReaskTask]:
        """Grade the answers of the base again, to learn whether confirmed failures of these answers are new."""
        for answer in answers:
            base = self._counterpart(answer)
            if base is None or base.runs or base.hidden:
                continue
            bounds = {}
            for position, bound in self.eligible.bounds_of(answer.job).items():
                grade = answer.row.grades[position]
                grade_id = GradeId(answer.case_id, position)
                if _needs_base(grade) and grade_id not in self.regrade_box.ballots:
                    bounds[position] = bound
                    recorded = replace(grade, outcome=PASS, usage=NO_USAGE)
                    lead = self.eligible.lead(answer.job.suite).votes
                    self.regrade_box.start(grade_id, recorded, LeadRule(lead, side=PASS))
            if bounds:
                # The transcript of the base. Its variables are the same, or the answers would not be compared.
                job = answer.job
                transcript = replace(
                    base.transcript, vars=job.vars, usage=NO_USAGE, tools=job.target.tools
                )
                yield ReaskTask(answer.case_id, job, transcript, bounds, asks_before=BASE_ASKS)

    def report(self, rows: Sequence[Row]) -> BaselineReport | None:
        """The comparison with the baseline in figures. None if there is no baseline."""
        if self.baseline is None:
            return None
        cost, latency = measure_increases(rows)
        report = summarize_baseline([*fold_cases(None, rows)], self.baseline, datetime.now(UTC))
        return replace(report, cost=cost, latency=latency)


def _baseline_of_run(base: BaseSide, answers: Iterable[Answer]) -> Baseline:
    """The baseline that answers of this run make."""
    paired = {}  # rows of the base by the ids of the answers of the head
    for index, runs in rows_by_case(answers).items():
        for row in fold_base_runs(with_verdicts(runs)):
            head_id = AnswerId(index - 1, row.repeat)  # the job of the head is the one before
            paired[head_id] = row
    return Baseline(
        (),
        base.commit,
        datetime.now(UTC).isoformat(timespec="seconds"),
        reask="off",
        fresh=True,
        paired=paired,
        removed=base.gone,
    )


def _needs_base(grade: Grade) -> bool:
    """Whether a failure was confirmed, and passed on the base."""
    passed = grade.base is not None and grade.base.has_passed
    return passed and grade.has_failed and grade.confirmed is True
