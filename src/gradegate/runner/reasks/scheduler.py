"""Re-asks failing grades in waves until no blocking rule can change. So noise nearly never blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain

from gradegate.assertions.grading.conclusion import grade_from_error
from gradegate.core.numbers import format_count
from gradegate.core.usage import NO_USAGE, Usage
from gradegate.gate.case_runs import with_verdicts
from gradegate.gate.reasks.ballot import reask_remarks, undecided_grade
from gradegate.gate.reasks.needs import RuleNeeds
from gradegate.gate.reasks.stopping import HistoryRule, LeadRule
from gradegate.planning.plan import Plan
from gradegate.reports.view.wording import visible_name
from gradegate.results.accounts import ReaskReport
from gradegate.results.grades import ERROR, PASS, Grade
from gradegate.results.history import PastVotes
from gradegate.results.rows import GradeId, Row, set_position
from gradegate.runner.asker import Asker
from gradegate.runner.reasks.base_regrade import BaseRegrade
from gradegate.runner.reasks.eligible import EligibleGrades, reask_mode
from gradegate.runner.reasks.histories import Histories
from gradegate.runner.reasks.ledger import AnswerLedger, change_grades
from gradegate.runner.reasks.reask import BallotBox, ReaskTask, ask_until_decided
from gradegate.runner.rounds import Answer, Rounds, rows_by_case
from gradegate.structs import Struct, replace

HIDDEN = "the graded text contained a secret, which is hidden, so no other job can grade it again"
_KNOWN_LEAD = 2  # votes by which failures must lead, if a rule needs a known failure re-asked


class Reasks(Struct):
    """The answers of a run while their failing grades are re-asked."""

    ledger: AnswerLedger
    base: BaseRegrade
    rounds: Rounds  # makes further runs of cases
    asker: Asker
    box: BallotBox  # the votes on grades of this run
    base_answers: Sequence[Answer]  # if the base is asked in the same run

    @classmethod
    def from_answers(
        cls, plan: Plan, answers: Iterable[Answer], rounds: Rounds, asker: Asker
    ) -> Reasks:
        """Begin with the first answers of a plan, in plan order."""
        head_answers = []
        base_answers = []
        for answer in answers:
            if answer.job.of_base:
                base_answers.append(answer)
            else:
                head_answers.append(answer)
        histories = Histories(plan)
        base = BaseRegrade.from_plan(plan, histories.eligible, base_answers)
        reasks = cls(AnswerLedger(histories), base, rounds, asker, BallotBox(), base_answers)
        reasks.add(head_answers)
        return reasks

    def add(self, answers: Collection[Answer]) -> None:
        """Take answers of this run that are new."""
        for answer in answers:
            self.ledger.add(answer)
        self.base.update_statuses(answers)

    def ask(self, tasks: Sequence[ReaskTask], box: BallotBox) -> None:
        """Ask until each task is decided, or until this job may not ask any more."""
        asker = self.asker
        for task in tasks:
            asker.require_keys(task.providers)
        if tasks:
            asker.work_in_threads(
                lambda task: ask_until_decided(task, box, asker.reason_to_stop), tasks
            )

    @property
    def eligible(self) -> EligibleGrades:
        """Which grades may be re-asked."""
        return self.ledger.histories.eligible

    @property
    def usage_without_row(self) -> Usage:
        """What graders took for grades that are in no row: asks that were cut off, and answers of the base."""
        return self.box.cut_usage + self.base.regrade_box.grader_usage


def settle_rules(reasks: Reasks) -> None:
    """Re-ask wave after wave, until no blocking rule can change its result or nothing more may be asked."""
    rule_needs = _find_rule_needs(reasks)
    while not reasks.asker.reason_to_stop():
        wave = rule_needs.next_wave()
        if wave:
            reask_wave(reasks, rule_needs, wave)
            continue

        # Every result is final. Missed rules may still have failures that were asked only once. They are re-asked for
        # people who read the report: nobody should try to fix a good answer.
        reask_wave(reasks, rule_needs, rule_needs.last_wave())
        return


def _find_rule_needs(reasks: Reasks) -> RuleNeeds:
    """What the blocking rules need, by all answers so far."""
    ledger = reasks.ledger
    answers = ledger.answers.values()
    if not any(answer.open for answer in answers):
        # There is nothing to re-ask, so the cases need not be counted.
        return RuleNeeds((), (), compared=False)

    rules = chain.from_iterable(reasks.eligible.rules.values())
    # The first answer of a case stands for all of its runs.
    cases = [ledger.open_case(answer) for answer in answers if answer.id == answer.case_id]
    return RuleNeeds(rules, cases, compared=reasks.base.baseline is not None)


def reask_wave(reasks: Reasks, rule_needs: RuleNeeds, wave: Sequence[GradeId]) -> None:
    """Re-ask the failing grades of one wave, and bring the answers and the rules up to date.

    1. Collect votes, until the ballot of each grade is decided.
    2. Replace the grades in the answers by the results of their ballots.
    3. Make further runs of cases that are undecided without the overturned failures.
    4. Compare the changed answers with the base, and grade answers of the base again where necessary.
    5. Count the changed cases again in each rule.
    """
    ledger = reasks.ledger
    reasks.ask(_start_ballots(reasks, wave), reasks.box)
    changed_answers = ledger.apply(reasks.box.ballots, wave)
    _add_missing_runs(reasks)
    _compare_with_base(reasks, changed_answers)
    for answer in changed_answers:
        rule_needs.update(ledger.open_case(answer))


def _compare_with_base(reasks: Reasks, changed_answers: Sequence[Answer]) -> None:
    """Find the statuses of changed answers: which of their failures are new.

    A confirmed failure is new only if the base's answer still passes when it is graded now.
    """
    base = reasks.base
    base.update_statuses(changed_answers)  # shows which confirmed failures passed on the base

    failing = [answer for answer in changed_answers if not _passes_by_runs(reasks, answer)]
    tasks = list(base.make_tasks(failing))
    reasks.ask(tasks, base.regrade_box)

    # All runs of a case are compared with the same answer of the base.
    for answer in changed_answers:
        base.update_statuses(reasks.ledger.runs_of(answer))


def _passes_by_runs(reasks: Reasks, answer: Answer) -> bool:
    """Whether enough runs of a case pass for every rule, so that a failing run does not matter."""
    if not answer.job.needs:
        return False
    rows = [run.row for run in reasks.ledger.runs_of(answer)]
    return reasks.rounds.passes_all_rules(answer.id.case, rows)


def _start_ballots(reasks: Reasks, wave: Sequence[GradeId]) -> list[ReaskTask]:
    """Start a ballot for each grade of a wave. Gives the tasks that fill the ballots.

    An answer has at most two tasks: one grades the same answer again, the other grades fresh answers of the target.
    """
    tasks = {}  # by answer, and whether the target is asked
    for grade_id in wave:
        answer = reasks.ledger.answers[grade_id.answer]
        position = grade_id.position
        bound = reasks.eligible.bounds_of(answer.job)[position]
        asks_target = reask_mode(bound, answer.job) == "answers"
        rule = _stopping_rule(reasks, answer, position)
        reasks.box.start(grade_id, answer.row.grades[position], rule)

        if answer.row.hidden and not asks_target:
            error = grade_from_error(bound, HIDDEN, NO_USAGE)
            reasks.box.fail(grade_id, error)
            continue

        key = (answer.id, asks_target)
        if key not in tasks:
            transcript = answer.transcript or answer.row.transcript
            tasks[key] = ReaskTask(answer.id, answer.job, transcript, {}, asks_target)
        tasks[key].bounds[position] = bound
    return list(tasks.values())


def _stopping_rule(reasks: Reasks, answer: Answer, position: int) -> LeadRule | HistoryRule:
    """When the votes on a grade are enough: by its history if that says something, else by a lead of one side."""
    row = answer.row
    grade = row.grades[position]
    if not row.needs and reasks.base.is_known_failure(row, grade):
        return LeadRule(_KNOWN_LEAD, keeps_failure=True)
    histories = reasks.ledger.histories
    history_rule = histories.rule(answer.id, answer.job, position, grade.model)
    if history_rule is not None:
        return history_rule
    return LeadRule(reasks.eligible.lead(row.suite).votes)


def _add_missing_runs(reasks: Reasks) -> None:
    """Make more runs of cases that overturned failures left undecided."""
    while True:
        answers = reasks.ledger.answers
        rows = rows_by_case(answer for answer in answers.values() if answer.job.needs)
        # Some answers of a round may exist already.
        missing = [
            answer_id for answer_id in reasks.rounds.next_answers(rows) if answer_id not in answers
        ]
        if not missing:
            return
        new_answers = reasks.rounds.get_answers(missing)
        reasks.add(new_answers.values())


# --- the results of the re-asks --------------------------------------------------------------------------------


def final_rows(reasks: Reasks, why: str) -> list[Row]:
    """The rows in plan order. ``why`` says why asking ended early; it is empty if asking did not."""
    _close_ballots(reasks, ended_early=bool(why))
    if why:
        _mark_needed_grades(reasks, why)

    answers = reasks.ledger.answers.values()
    final_answers = [replace(answer, row=_final_row(reasks, answer)) for answer in answers]
    rows = []
    for case_rows in rows_by_case(final_answers).values():
        rows += with_verdicts(case_rows)
    return rows


def _close_ballots(reasks: Reasks, ended_early: bool) -> None:
    """Bring the answers up to date with all votes. From here on, nothing more is asked."""
    ledger = reasks.ledger
    base = reasks.base
    # If a wave was interrupted, the votes of that wave are not in the answers yet.
    ballots = reasks.box.ballots
    changed_answers = ledger.apply(ballots, list(ballots))
    _add_missing_runs(reasks)
    quarantined_answers = ledger.end_quarantines()

    base.is_over = ended_early
    base.update_statuses(changed_answers)
    # After a complete run, failures in a quarantine keep the status "open": no rule needed a re-ask of them.
    if ended_early:
        base.update_statuses(quarantined_answers)


def _mark_needed_grades(reasks: Reasks, why: str) -> None:
    """Make every open failure an error if a rule still needs a re-ask of it. ``why`` says why there was none."""
    for answer_id, position in _find_rule_needs(reasks).all_needed():
        answer = reasks.ledger.answers[answer_id]
        reason = f"failed, and was not re-asked: {why}"
        error = undecided_grade(answer.row.grades[position], reason, undone=True)
        change_grades(answer, {position: error})
        reasks.base.update_statuses([answer])


def _final_row(reasks: Reasks, answer: Answer) -> Row:
    """The row of an answer, with its unconfirmed failures, the usage of fresh answers, and past votes."""
    row = answer.row
    grades = list(row.grades)
    for position in answer.open:
        grade = grades[position]
        whole = grades[set_position(grades, position)]  # the set of the grade, or the grade itself
        # A failing member does not fail a set that tolerates the failure.
        if grade.has_failed and whole.has_failed:
            grades[position] = replace(grade, unconfirmed=True)
    if answer.open:
        row = replace(row, grades=tuple(grades))

    fresh_usage = reasks.box.target_usage.get(answer.id)
    if fresh_usage is not None:
        row = replace(row, usage=row.usage + fresh_usage)
    return reasks.ledger.histories.with_past_votes(answer.id, answer.job, row)


def summarize_reasks(reasks: Reasks, rows: Sequence[Row]) -> ReaskReport:
    """The re-asks of a run in figures."""
    eligible = reasks.eligible
    policies = eligible.policies.values()
    modes = {policy.reask for policy in policies}
    leads = [eligible.lead(suite).votes for suite in eligible.policies]

    unconfirmed = 0
    known_failures = 0
    for row in rows:
        for grade in row.grades:
            if grade.unconfirmed:
                unconfirmed += 1
                known_failures += reasks.base.is_known_failure(row, grade)

    # The first asks of all eligible grades, and the re-asks. Missing answers and runs have no first asks.
    asks = 0
    for answer in reasks.ledger.answers.values():
        if not answer.row.error:
            asks += len(eligible.bounds_of(answer.job))
    reasked = _reasked_grades(rows)
    asks += sum(len(grade.votes) - 1 for grade in reasked)

    outcomes = [grade.outcome for grade in reasked]
    return ReaskReport(
        mode=", ".join(sorted(modes)) or "off",
        noise=max((policy.noise for policy in policies), default=0.0),
        lead=max(leads, default=0),
        grades=eligible.total,
        asked_again=len(reasked),
        overturned=outcomes.count(PASS),
        confirmed=sum(grade.confirmed is True for grade in reasked),
        undecided=outcomes.count(ERROR),
        not_asked_again=unconfirmed,
        pre_existing=known_failures,
        asks=asks,
    )


def reask_notes(reasks: Reasks, report: ReaskReport, rows: Sequence[Row]) -> Iterator[str]:
    """Sentences on what the votes show: a wrong `noise`, a grader that repeats its reply, a test that is wrongly in quarantine."""
    eligible = reasks.eligible
    are_leads_enough = all(eligible.lead(suite).is_bounded for suite in eligible.policies)
    yield from reask_remarks(report, _reasked_grades(rows), are_leads_enough)
    for row in rows:
        for grade in row.grades:
            if grade.history and grade.history.quarantined:
                problem = _why_not_flaky(grade, grade.history)
                if problem:
                    yield f"`{visible_name(row)}` is in quarantine, but it is {problem}"


def _why_not_flaky(grade: Grade, past: PastVotes) -> str | None:
    """What a test in quarantine is instead of flaky, if its votes show that."""
    asks_before = format_count(past.fails + past.passes, "ask")
    before = f"{past.fails} of {asks_before} failed on the default branch"
    if past.broken:
        return f"broken, not flaky: {before}"
    if past.earlier_votes and grade.confirmed:
        asks_here = format_count(len(grade.votes), "ask")
        return f"broken, not flaky: {grade.failing_votes} of {asks_here} failed here, {past.earlier_votes}"
    if past.earlier_votes and not past.flaky:
        return f"not flaky: {before}: remove the quarantine"
    return None


def _reasked_grades(rows: Sequence[Row]) -> list[Grade]:
    """The grades with re-asks: only these have votes."""
    grades = chain.from_iterable(row.grades for row in rows)
    return [grade for grade in grades if grade.votes]
