"""Re-asks failing grades, in waves, until no blocking rule can change, so that noise (nearly) never blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain

from gradegate.assertions.grading.conclusion import error
from gradegate.core.numbers import format_count
from gradegate.core.usage import NO_USAGE, Usage
from gradegate.gate.case_runs import with_verdicts
from gradegate.gate.reasks.ballot import doubts, undecided
from gradegate.gate.reasks.needs import RuleNeeds
from gradegate.gate.reasks.stopping import HistoryRule, LeadRule
from gradegate.planning.plan import Plan
from gradegate.reports.view.wording import name
from gradegate.results.accounts import ReaskReport
from gradegate.results.grades import ERROR, PASS, Grade
from gradegate.results.history import PastVotes
from gradegate.results.rows import AnswerId, GradeId, Row, chief
from gradegate.runner.asker import Asker
from gradegate.runner.reasks.base_regrade import BaseRegrade
from gradegate.runner.reasks.eligible import EligibleGrades, mode_of
from gradegate.runner.reasks.histories import Histories
from gradegate.runner.reasks.ledger import AnswerLedger, change_grades
from gradegate.runner.reasks.reask import BallotBox, ReaskTask, ask_until_decided
from gradegate.runner.rounds import Answer, Rounds, by_job
from gradegate.structs import Struct, replace

HIDDEN = "the graded text contained a secret, which is hidden, so no other job can grade it again"
_KNOWN_LEAD = 2  # by so many votes a known failure has to lead, where a rule needs it at all


class Reasks(Struct):
    """The answers of a run while their failing grades are re-asked."""

    ledger: AnswerLedger
    base: BaseRegrade
    rounds: Rounds  # makes further runs of cases
    asker: Asker
    box: BallotBox
    base_answers: Sequence[Answer]  # of a base that is asked in the same run

    @classmethod
    def from_answers(
        cls, plan: Plan, answers: Iterable[Answer], rounds: Rounds, asker: Asker
    ) -> Reasks:
        """Begin with the first answers of a plan, in plan order."""
        own, of_base = list[Answer](), list[Answer]()
        for answer in answers:
            (of_base if answer.job.of_base else own).append(answer)
        histories = Histories(plan)
        base = BaseRegrade.from_plan(plan, histories.eligible, of_base)
        reasks = cls(AnswerLedger(histories), base, rounds, asker, BallotBox(), of_base)
        reasks.add(own)
        return reasks

    def add(self, answers: Collection[Answer]) -> None:
        """Take answers that were just asked for."""
        for answer in answers:
            self.ledger.add(answer)
        self.base.update_statuses(answers)

    def ask(self, tasks: Sequence[ReaskTask], box: BallotBox) -> None:
        """Ask until each task is decided, or as far as this job can."""
        asker = self.asker
        for task in tasks:
            asker.require_keys(task.providers)
        if tasks:
            asker.in_threads(lambda it: ask_until_decided(it, box, asker.reason_to_stop), tasks)

    @property
    def eligible(self) -> EligibleGrades:
        """Which grades may be re-asked."""
        return self.ledger.histories.eligible

    @property
    def grader_usage(self) -> Usage:
        """What graders took for no grade of the run: for asks that were cut off, and for the base's answers."""
        return self.box.lost + self.base.box.grader_usage


def settle_rules(reasks: Reasks) -> None:
    """Re-ask until no blocking rule can change its result, or nothing more may be asked."""
    needs = _rule_needs(reasks)
    while not reasks.asker.reason_to_stop():
        wave = needs.next_wave()
        if not wave:
            # No rule needs these failures, but people who read the report should not fix good answers.
            reask_wave(reasks, needs, needs.last_wave())
            break
        reask_wave(reasks, needs, wave)


def _rule_needs(reasks: Reasks) -> RuleNeeds:
    ledger = reasks.ledger
    if not any(answer.open for answer in ledger.answers.values()):
        return RuleNeeds((), (), compared=False)
    rules = chain.from_iterable(reasks.eligible.rules.values())
    cases = (ledger.open_case(it) for it in ledger.answers.values() if it.id == it.case_id)
    return RuleNeeds(rules, cases, compared=reasks.base.baseline is not None)


def reask_wave(reasks: Reasks, needs: RuleNeeds, wave: Sequence[GradeId]) -> None:
    """Ask the grades of one wave until each is decided, and tell the rules what changed."""
    ledger, base = reasks.ledger, reasks.base
    reasks.ask(_make_tasks(reasks, wave), reasks.box)
    changed = ledger.apply(reasks.box.ballots, wave)
    _add_missing_runs(reasks)

    # A confirmed failure is new only if the base's answer still passes when it is graded now.
    base.update_statuses(changed)
    failing = [answer for answer in changed if not _passes_by_runs(reasks, answer)]
    reasks.ask([*base.make_tasks(failing)], base.box)
    for answer in changed:
        base.update_statuses(ledger.runs_of(answer))
        needs.update(ledger.open_case(answer))


def _passes_by_runs(reasks: Reasks, answer: Answer) -> bool:
    if not answer.job.needs:
        return False
    rows = [run.row for run in reasks.ledger.runs_of(answer)]
    return reasks.rounds.passes(answer.id.case, rows)


def _make_tasks(reasks: Reasks, wave: Sequence[GradeId]) -> list[ReaskTask]:
    """Begin the ballots of a wave. Grades of one answer are asked together, but those with fresh answers apart."""
    tasks: dict[tuple[AnswerId, bool], ReaskTask] = {}
    for grade_id in wave:
        answer, position = reasks.ledger.answers[grade_id.answer], grade_id.position
        bound = reasks.eligible.of(answer.job)[position]
        asks_target = mode_of(bound, answer.job) == "answers"
        rule = _stopping_rule(reasks, answer, position)
        reasks.box.start(grade_id, answer.row.grades[position], rule)
        if answer.row.hidden and not asks_target:
            reasks.box.fail(grade_id, error(bound, HIDDEN, NO_USAGE))
            continue
        key = answer.id, asks_target
        if key not in tasks:
            transcript = answer.transcript or answer.row.transcript
            tasks[key] = ReaskTask(answer.id, answer.job, transcript, {}, asks_target)
        tasks[key].bounds[position] = bound
    return list(tasks.values())


def _stopping_rule(reasks: Reasks, answer: Answer, position: int) -> LeadRule | HistoryRule:
    row, grade = answer.row, answer.row.grades[position]
    if not row.needs and reasks.base.is_known_failure(row, grade):
        return LeadRule(_KNOWN_LEAD, keeps_failure=True)
    histories = reasks.ledger.histories
    history_rule = histories.rule(answer.id, answer.job, position, grade.model)
    return history_rule or LeadRule(reasks.eligible.lead(row.suite).votes)


def _add_missing_runs(reasks: Reasks) -> None:
    """Make the runs that cases need whose k of n runs an overturned failure left undecided."""
    while True:
        answers = reasks.ledger.answers
        rows = by_job(answer for answer in answers.values() if answer.job.needs)
        # What is asked together with them may have been before.
        missing = [answer_id for answer_id in reasks.rounds.next(rows) if answer_id not in answers]
        if not missing:
            return
        reasks.add(reasks.rounds.take(missing).values())


# --- what came of it ------------------------------------------------------------------------------------------


def final_rows(reasks: Reasks, why: str) -> list[Row]:
    """The rows in plan order. Where ``why`` says that asking ended early, an open grade that a rule still needs is an ERROR."""
    ledger, base, box = reasks.ledger, reasks.base, reasks.box
    changed = ledger.apply(box.ballots, list(box.ballots))  # those of a wave that ended early, too
    _add_missing_runs(reasks)
    ended = ledger.end_quarantines()
    base.is_over = bool(why)
    base.update_statuses([*changed, *ended] if why else changed)
    if why:
        for answer_id, position in _rule_needs(reasks).all_needed():
            answer = ledger.answers[answer_id]
            reason = f"failed, and was not re-asked: {why}"
            grade = undecided(answer.row.grades[position], reason, undone=True)
            change_grades(answer, {position: grade})
            base.update_statuses([answer])

    rows = by_job(
        replace(answer, row=_final_row(reasks, answer)) for answer in ledger.answers.values()
    )
    return [row for case in rows.values() for row in with_verdicts(case)]


def _final_row(reasks: Reasks, answer: Answer) -> Row:
    row = answer.row
    grades = list(row.grades)
    for position in answer.open:
        # What a set tolerates of its members does not fail.
        if grades[position].has_failed and grades[chief(grades, position)].has_failed:
            grades[position] = replace(grades[position], unconfirmed=True)
    if answer.open:
        row = replace(row, grades=tuple(grades))
    usage = reasks.box.target_usage.get(answer.id)
    if usage is not None:
        row = replace(row, usage=row.usage + usage)
    return reasks.ledger.histories.with_past_votes(answer.id, answer.job, row)


def summarize_reasks(reasks: Reasks, rows: Sequence[Row]) -> ReaskReport:
    """What re-asking came to, in figures."""
    eligible = reasks.eligible
    unconfirmed = known_failures = 0
    for row in rows:
        for grade in row.grades:
            if grade.unconfirmed:
                unconfirmed += 1
                known_failures += reasks.base.is_known_failure(row, grade)

    # Answers and runs that are not there have no first asks.
    asks = 0
    for answer in reasks.ledger.answers.values():
        if not answer.row.error:
            asks += len(eligible.of(answer.job))

    reasked = _reasked_grades(rows)
    outcomes = [grade.outcome for grade in reasked]
    policies = eligible.policies.values()
    return ReaskReport(
        mode=", ".join(sorted({policy.reask for policy in policies})) or "off",
        noise=max((policy.noise for policy in policies), default=0.0),
        lead=max((eligible.lead(suite).votes for suite in eligible.policies), default=0),
        grades=eligible.total,
        asked_again=len(reasked),
        overturned=outcomes.count(PASS),
        confirmed=sum(grade.confirmed is True for grade in reasked),
        undecided=outcomes.count(ERROR),
        not_asked_again=unconfirmed,
        pre_existing=known_failures,
        asks=asks + sum(len(grade.votes) - 1 for grade in reasked),
    )


def reask_notes(reasks: Reasks, report: ReaskReport, rows: Sequence[Row]) -> Iterator[str]:
    """What the votes say against `noise`, against asking the same grader again, and against a quarantine."""
    eligible = reasks.eligible
    is_bounded = all(eligible.lead(suite).held for suite in eligible.policies)
    yield from doubts(report, _reasked_grades(rows), is_bounded)
    for row in rows:
        for grade in row.grades:
            if grade.history and grade.history.quarantined:
                yield from _quarantine_note(name(row), grade, grade.history)


def _quarantine_note(case: str, grade: Grade, past: PastVotes) -> Iterator[str]:
    before = f"{past.fails} of {format_count(past.fails + past.passes, 'ask')} failed on the default branch"
    what = f"`{case}` is in quarantine, but it is"
    if past.broken:
        yield f"{what} broken, not flaky: {before}"
    elif past.before and grade.confirmed:
        here = f"{grade.failing_votes} of {format_count(len(grade.votes), 'ask')} failed here"
        yield f"{what} broken, not flaky: {here}, {past.before}"
    elif past.before and not past.flaky:
        yield f"{what} not flaky: {before}: remove the quarantine"


def _reasked_grades(rows: Sequence[Row]) -> list[Grade]:
    return [grade for row in rows for grade in row.grades if grade.votes]
