"""Runs a plan: first answers, re-asks until the rules are settled, labelled outputs; then everything is counted."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from gradegate.core.usage import NO_USAGE, Usage
from gradegate.gate.decision import decide
from gradegate.http.client import Client
from gradegate.planning.plan import Job, Plan, grading_models
from gradegate.results.accounts import LabelAsk
from gradegate.results.grades import ERROR, PASS
from gradegate.results.rows import AnswerId
from gradegate.results.run_result import RunResult
from gradegate.runner import answers as converse
from gradegate.runner.asker import Asker
from gradegate.runner.conclusion import RunRecord, conclude_run
from gradegate.runner.first_answers import FirstAnswers, Watch
from gradegate.runner.grading import catch_defects, grade_answer
from gradegate.runner.reasks.scheduler import Reasks, settle_rules
from gradegate.runner.rounds import Answer, Rounds
from gradegate.structs import FrozenStruct, Struct


class EarlierJobs(FrozenStruct):
    """What shards leave to the merge: their answers and what they took."""

    answers: Mapping[AnswerId, Answer] = {}
    account: RunRecord = RunRecord()


NO_EARLIER_JOBS = EarlierJobs()


def run_plan(
    plan: Plan,
    client: Client,
    watch: Watch = lambda _: None,
    earlier: EarlierJobs = NO_EARLIER_JOBS,
) -> RunResult:
    """Ask and grade everything that is planned, re-ask what rules still need, and count."""
    return Run(plan, client, watch, earlier).result()


class _LabelRun(Struct):
    """Labelled outputs that are graded, and what that took."""

    asks: list[LabelAsk] = []
    usages: list[Usage] = []

    def grade(self, labelled: tuple[Job, bool]) -> None:
        """Grade an output; the label says whether it is good."""
        job, label = labelled
        answer = catch_defects(
            lambda: converse.ask_target(job, converse.Memory()), lambda error: error
        )
        grades = () if isinstance(answer, Exception) else grade_answer(job, answer)
        outcome = grades[0].outcome if grades else ERROR
        model = next((grade.model for grade in grades if grade.model), "")
        passed = None if outcome is ERROR else outcome is PASS
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
        self._rounds = Rounds(plan, self._first_answers.take)
        self._reasks: Reasks | None = None
        self._labels = _LabelRun()

    def result(self) -> RunResult:
        """Every planned answer, in plan order."""
        self._asker.until_signal(self._ask_all)
        return self._conclude(self._asker.reason_to_stop())

    def first(self, only: Collection[int]) -> tuple[Mapping[AnswerId, Answer], RunRecord]:
        """The answers to the jobs of these indexes, with comparisons; no failure is re-asked.

        Jobs of one conversation, and those that are compared with one another, are all among them or none.
        """
        self._asker.until_signal(lambda: self._rounds.answers(only))
        self._first_answers.leave_uncompared()
        return self._rounds.answers(only), self._account()

    def _ask_all(self) -> None:
        self._rounds.answers()
        self._reasks = self._begin_reasks()
        settle_rules(self._reasks)
        labels = self._plan.labels
        if labels and (labels.always or self._is_in_doubt()):
            self._grade_labels()

    def _begin_reasks(self) -> Reasks:
        self._first_answers.leave_uncompared()
        answers = self._rounds.answers()
        return Reasks.from_answers(self._plan, answers.values(), self._rounds, self._asker)

    def _is_in_doubt(self) -> bool:
        """Whether a blocking rule is missed, or would be without its excuse."""
        rules = decide(self._conclude(""), self._plan.policies).rules
        return any(it.rule.blocking and (it.has_failed or it.excused) for it in rules)

    def _grade_labels(self) -> None:
        """Have the labelled outputs graded, of which the cache knows nothing; where a budget ends meanwhile, none of them counts."""
        jobs = self._plan.labels.jobs if self._plan.labels else ()
        self._labels.asks = [LabelAsk("", label, None, undone=True) for _, label in jobs]
        if any(self._asker.absent_keys(grading_models(job)) for job, _ in jobs):
            return
        labels = _LabelRun(usages=self._labels.usages)
        self._asker.in_threads(labels.grade, jobs)
        if not self._asker.reason_to_stop():
            self._labels = labels

    def _conclude(self, why: str) -> RunResult:
        reasks = self._reasks or self._begin_reasks()
        return conclude_run(self._plan, reasks, why, self._account(), self._labels.asks)

    def _account(self) -> RunRecord:
        client = self._asker.client
        problems = []
        if client.replies:
            problems += [f"the cache: {problem}" for problem in client.replies.problems]
        own = RunRecord(
            started=self._started.isoformat(timespec="seconds"),
            seconds=self._asker.seconds,
            stopped=self._asker.signal,
            lost=sum(self._labels.usages, NO_USAGE),
            budget=client.budget.report(),
            cache=client.replies.report() if client.replies else None,
            problems=(*problems, *client.notes()),
            live_models=tuple(client.live_models),
        )
        return own.after(self._earlier.account)
