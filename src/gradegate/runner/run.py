"""Runs a plan: first answers, re-asks until the rules are settled, labelled outputs; then everything is counted."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from gradegate.core.usage import NO_USAGE, Usage
from gradegate.gate.decision import decide
from gradegate.http.client import Client
from gradegate.planning.plan import Job, Plan, grading_models
from gradegate.results.accounts import LabelAsk
from gradegate.results.grades import ERROR
from gradegate.results.rows import AnswerId
from gradegate.results.run_result import RunResult
from gradegate.runner.answers import Memory, ask_target
from gradegate.runner.asker import Asker
from gradegate.runner.conclusion import RunRecord, conclude_run
from gradegate.runner.first_answers import FirstAnswers, Watch
from gradegate.runner.grading import catch_defects, grade_answer
from gradegate.runner.reasks.scheduler import Reasks, settle_rules
from gradegate.runner.rounds import Answer, Rounds
from gradegate.structs import FrozenStruct, Struct


class EarlierJobs(FrozenStruct):
    """What the shards leave to the merge: their answers and what they took."""

    answers: Mapping[AnswerId, Answer] = {}
    record: RunRecord = RunRecord()


NO_EARLIER_JOBS = EarlierJobs()


def run_plan(
    plan: Plan,
    client: Client,
    watch: Watch = lambda _: None,
    earlier: EarlierJobs = NO_EARLIER_JOBS,
) -> RunResult:
    """Ask and grade everything that is planned, re-ask what rules still need, and count."""
    return Run(plan, client, watch, earlier).finish()


class _LabelGrades(Struct):
    """The grades of labelled outputs, and what they took."""

    asks: list[LabelAsk] = []
    usages: list[Usage] = []

    def grade(self, labelled_job: tuple[Job, bool]) -> None:
        """Grade an output. Its job comes with whether it should pass by its label."""
        job, label = labelled_job
        answer = catch_defects(lambda: ask_target(job, Memory()))
        grades = () if isinstance(answer, Exception) else grade_answer(job, answer)
        passed = None  # no verdict
        if grades and grades[0].outcome is not ERROR:
            passed = grades[0].has_passed
        model = next((grade.model for grade in grades if grade.model), "")
        self.asks.append(LabelAsk(model, label, passed))
        self.usages.extend(grade.usage for grade in grades)


class Run:
    """One run of a plan. Ctrl-C and SIGTERM stop calls at once; what is missing becomes ERROR."""

    def __init__(
        self,
        plan: Plan,
        client: Client,
        watch: Watch = lambda _: None,
        earlier: EarlierJobs = NO_EARLIER_JOBS,
    ) -> None:
        self._plan = plan
        self._earlier = earlier
        self._started = datetime.now(UTC)
        self._asker = Asker(client, plan.concurrency, plan.missing_keys)
        self._first_answers = FirstAnswers(plan, self._asker, watch, dict(earlier.answers))
        self._rounds = Rounds(plan, self._first_answers.get_answers)
        self._reasks: Reasks | None = None
        self._labels = _LabelGrades()

    def finish(self) -> RunResult:
        """Ask everything. The result has every planned answer, in plan order."""
        self._asker.run_until_signal(self._ask_all)
        return self._conclude(self._asker.reason_to_stop())

    def ask_share(
        self, job_indexes: Collection[int]
    ) -> tuple[Mapping[AnswerId, Answer], RunRecord]:
        """Ask for the answers to some jobs, with comparisons. No failure is re-asked.

        The share contains all jobs of a conversation or comparison, or none of them.
        """
        self._asker.run_until_signal(lambda: self._rounds.ask_all(job_indexes))
        self._first_answers.mark_missing_comparisons()
        return self._rounds.ask_all(job_indexes), self._record()

    def _ask_all(self) -> None:
        self._rounds.ask_all()
        self._reasks = self._begin_reasks()
        settle_rules(self._reasks)
        labels = self._plan.labels
        if labels and (labels.always or self._is_in_doubt()):
            self._grade_labels()

    def _begin_reasks(self) -> Reasks:
        self._first_answers.mark_missing_comparisons()
        answers = self._rounds.ask_all()
        return Reasks.from_answers(self._plan, answers.values(), self._rounds, self._asker)

    def _is_in_doubt(self) -> bool:
        """Whether a blocking rule is missed, or would be without its excuse."""
        for result in decide(self._conclude(""), self._plan.policies).rules:
            if result.rule.blocking and (result.has_failed or result.excused):
                return True
        return False

    def _grade_labels(self) -> None:
        """Grade the labelled outputs. If a budget or signal ends this, none of the grades counts."""
        jobs = self._plan.labels.jobs if self._plan.labels else ()
        self._labels.asks = [LabelAsk("", label, None, undone=True) for _, label in jobs]
        if any(self._asker.find_missing_keys(grading_models(job)) for job, _ in jobs):
            return
        labels = _LabelGrades(usages=self._labels.usages)  # the usage counts in any case
        self._asker.work_in_threads(labels.grade, jobs)
        if not self._asker.reason_to_stop():
            self._labels = labels

    def _conclude(self, why: str) -> RunResult:
        reasks = self._reasks or self._begin_reasks()
        return conclude_run(self._plan, reasks, why, self._record(), self._labels.asks)

    def _record(self) -> RunRecord:
        client = self._asker.client
        cache = None
        problems = []
        if client.replies:
            cache = client.replies.report()
            problems += [f"the cache: {problem}" for problem in client.replies.problems]
        record = RunRecord(
            started=self._started.isoformat(timespec="seconds"),
            seconds=self._asker.seconds,
            stopped=self._asker.signal,
            usage_without_row=sum(self._labels.usages, NO_USAGE),
            budget=client.budget.report(),
            cache=cache,
            problems=(*problems, *client.notes()),
            live_models=tuple(client.live_models),
        )
        return record.after(self._earlier.record)
