"""Runs a plan in threads: asks the targets, has the answers graded, and turns whatever goes wrong into an ERROR."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeVar

from gradegate.core.usage import NO_USAGE, Usage
from gradegate.errors import Terminated, Trouble
from gradegate.gate.decision import decide
from gradegate.http.client import Client
from gradegate.http.crew import Crew
from gradegate.planning.plan import Job, Plan, grading_models
from gradegate.providers.api.provider import Provider
from gradegate.providers.cache.call import at
from gradegate.results.accounts import LabelAsk
from gradegate.results.grades import Outcome
from gradegate.results.rows import Row
from gradegate.results.run_result import RunResult
from gradegate.runner import answers as converse
from gradegate.runner import rows
from gradegate.runner.conclusion import Account, Gathered
from gradegate.runner.estimate import answer_calls
from gradegate.runner.grading import Answered, Occasions, compared, grades_of, guarded
from gradegate.runner.reasks.base_regrade import Regrading
from gradegate.runner.reasks.eligible import Askable
from gradegate.runner.reasks.reask import Asking, Stopped
from gradegate.runner.rounds import Asked, Place, Rounds
from gradegate.sandbox import repository_code as programs
from gradegate.structs import FrozenStruct, replace

T = TypeVar("T")
_GLANCE, _SWIFT = (
    0.005,
    10,
)  # seconds in which one thread has so many items done that wait for nothing
LAST_WORDS = 3.0  # seconds that calls in flight get to notice that they were cut
HIDDEN = "the graded text contained a secret, which is hidden, so no other job can grade it again"

Watch = Callable[[Row], None]


class EarlierJobs(FrozenStruct):
    """What shards leave to the merge: their answers and what they took."""

    answers: Mapping[Place, Asked] = {}
    account: Account = Account()


NO_EARLIER_JOBS = EarlierJobs()


def run_plan(
    plan: Plan,
    client: Client,
    watch: Watch = lambda _: None,
    earlier: EarlierJobs = NO_EARLIER_JOBS,
) -> RunResult:
    """Ask and grade everything that is planned, re-ask what rules still need, and count."""
    return Run(plan, client, watch, earlier).result()


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
        self._client = client
        self._occasions = Occasions(plan.jobs, client.replies)
        self._watch = watch
        self._earlier = earlier
        self._answers: dict[Place, Asked] = dict(earlier.answers)
        self._crew = Crew[Any](lambda _: None, ())
        self._stopped = ""
        self._missing_keys: frozenset[str] = frozenset()  # of what would have to be asked now
        self._askable = Askable(plan)
        self._rounds = Rounds(plan, self._take)
        self._labels: list[LabelAsk] = []
        self._label_usages: list[Usage] = []
        self._gathered: Gathered | None = None
        self._started, self._clock = datetime.now(UTC), time.monotonic()
        groups = defaultdict(list)
        for index, job in enumerate(plan.jobs):
            for repeat in (
                range(job.repeats) if any(binding.compares for binding in job.assertions) else ()
            ):
                groups[job.suite, job.number, repeat].append((index, repeat))
        self._groups = list(groups.values())  # of answers that are to be compared with one another
        # The first answer of each comparison that was made.
        self._compared = {group[0] for group in self._groups if group[0] in earlier.answers}

    def result(self) -> RunResult:
        """Every planned answer, in plan order."""

        def ask() -> None:
            self._rounds.answers()
            self._gathered = self._gather()
            self._gathered.scheduler.run(self._no_more)
            rules = (
                decide(self._gathered.result("", self._account()), self._plan.policies).rules
                if self._plan.labels
                else ()
            )
            in_doubt = any(
                result.rule.blocking and (result.has_failed or result.excused) for result in rules
            )
            if self._plan.labels and (self._plan.labels.always or in_doubt):
                self._grade_labels()

        self._until_stopped(ask)
        gathered = self._gathered or self._gather()
        return gathered.result(self._no_more(), self._account())

    def first(self, only: Collection[int]) -> tuple[Mapping[Place, Asked], Account]:
        """The answers to the jobs of these indexes, with comparisons; no failure is asked again.

        Jobs of one conversation, and those that are compared with one another, are all among them or none.
        """
        self._until_stopped(lambda: self._rounds.answers(only))
        self._leave_uncompared()
        return self._rounds.answers(only), self._account()

    def _grade_labels(self) -> None:
        """Have the labelled outputs graded, of which the cache knows nothing; where a budget ends meanwhile, none of them counts."""
        jobs = self._plan.labels.jobs if self._plan.labels else ()
        self._labels = [LabelAsk("", label, None, undone=True) for _, label in jobs]
        if any(self._missing_keys_of(grading_models(job)) for job, _ in jobs):
            return
        asks = []

        def ask(labelled: tuple[Job, bool]) -> None:
            job, label = labelled
            answer = guarded(
                lambda: converse.transcript(job, converse.Memory()), lambda error: error
            )
            grades = () if isinstance(answer, Exception) else grades_of(job, answer)
            outcome = grades[0].outcome if grades else Outcome.ERROR
            model = next((grade.model for grade in grades if grade.model), "")
            asks.append(
                LabelAsk(
                    model, label, None if outcome is Outcome.ERROR else outcome is Outcome.PASS
                )
            )
            self._label_usages.extend(grade.usage for grade in grades)

        self._in_threads(ask, jobs)
        self._labels = self._labels if self._no_more() else asks

    def _take(self, places: Sequence[Place]) -> Mapping[Place, Asked]:
        """The answers, which are asked for if they were not before and the run goes on."""
        jobs, answers = self._plan.jobs, self._answers
        left = [place for place in places if place not in answers and not self._stopped]
        for job in (jobs[index] for index, _ in left):
            self._missing_keys |= self._missing_keys_of((job.target, *grading_models(job)))
        if left and not self._missing_keys:

            def count_calls(chain: Sequence[Place]) -> int:
                return sum(answer_calls(jobs[index]) for index, _ in chain)

            chains = converse.chains(jobs, left)
            # The longest first, so that no thread is left alone with one
            if self._plan.concurrency > 1:
                chains.sort(key=count_calls, reverse=True)
            self._in_threads(
                self._answer_chain, chains, lambda chain: jobs[chain[0][0]].target.host
            )
            # Nothing is compared where an answer is missing.
            groups = [group for group in self._groups if group[0] not in self._compared]
            whole = [
                group
                for group in groups
                if all((it := answers.get(place)) and it.transcript for place in group)
            ]
            self._in_threads(self._compare, whole)
        why = (
            f"not run: the run was {self._stopped}"
            if self._stopped
            else f"not re-asked: {self._no_more()}"
        )
        return {
            it: answers.get(it) or Asked(rows.missing_row(jobs[it[0]], it[1], why, Trouble.STOPPED))
            for it in places
        }

    def _until_stopped(self, work: Callable[[], object]) -> None:
        """Do it to its end, or until a signal."""
        self._started, self._clock = datetime.now(UTC), time.monotonic()
        self._client.budget.start()
        try:
            work()
        except KeyboardInterrupt as e:
            self._stopped = "terminated" if isinstance(e, Terminated) else "interrupted"
            self._client.stop()
            programs.end()
            self._crew.dismiss()
            until = time.monotonic() + LAST_WORDS
            while self._crew.busy and time.monotonic() < until:
                time.sleep(_GLANCE)

    def _account(self) -> Account:
        replies = self._client.replies
        own = Account(
            started=self._started.isoformat(timespec="seconds"),
            seconds=time.monotonic() - self._clock,
            stopped=self._stopped,
            lost=sum(self._label_usages, NO_USAGE),
            budget=self._client.budget.report(),
            cache=replies.report() if replies else None,
            problems=(
                *(f"the cache: {problem}" for problem in (replies.problems if replies else ())),
                *self._client.notes(),
            ),
            labels=tuple(sorted(self._labels, key=lambda it: it.model)),
            live_models=tuple(self._client.live_models),
        )
        return own.after(self._earlier.account)

    def _no_more(self) -> str:
        """Why nothing more is asked; an empty string as long as something may be."""
        if self._stopped:
            return f"the run was {self._stopped}"
        if self._missing_keys:
            return f"no {' and '.join(sorted(self._missing_keys))} in the merge job"
        used_up = self._client.budget.report().used_up
        return f"the budget of {used_up} is used up" if used_up else ""

    def _gather(self) -> Gathered:
        self._leave_uncompared()
        answers = self._rounds.answers()
        return Gathered.of(self._plan, self._askable, answers, self._rounds, self._pursue)

    def _pursue(self, askings: Sequence[Asking], stopped: Stopped) -> None:
        """Re-ask, except for what this job cannot re-ask: it lacks the key, or a secret of the text is hidden."""
        possible = []
        for asking in askings:
            earlier = self._earlier.answers.get(asking.place)
            same_text = not asking.anew and not isinstance(asking, Regrading)
            if earlier and earlier.row.hidden and same_text:
                asking.fail(HIDDEN)
            else:
                self._missing_keys |= self._missing_keys_of(asking.providers)
                possible.append(asking)
        self._in_threads(lambda asking: asking.pursue(stopped), possible)

    def _missing_keys_of(self, providers: Iterable[Provider]) -> frozenset[str]:
        """The variables that these providers need and this job does not have: nothing is asked without them."""
        missing = self._plan.missing_keys
        lacking = set[str]()
        for provider in providers if missing else ():
            lacking |= missing.intersection(provider.keys)
            lacking.update(mistake.missing for mistake in provider.missing)
        return frozenset(lacking)

    def _in_threads(
        self,
        work: Callable[[T], None],
        items: Iterable[T],
        host: Callable[[T], str] = lambda _: "",
    ) -> None:
        """Do the work for every item, as many of a host at once as the plan allows, until the run is stopped."""
        self._crew = crew = Crew(work, items, self._plan.concurrency, host)
        threads = crew.threads
        crew.start()
        while left := crew.left:
            crew.wait(_GLANCE)
            # As long as the first waits for nothing, others would only be in its way
            if left - crew.left < _SWIFT:
                break
        with suppress(RuntimeError):  # no room for more threads
            for _ in range(1, threads):
                crew.start()
        crew.join()

    def _answer_chain(self, chain: Sequence[Place]) -> None:
        memory, undone = converse.Memory(), False
        for place in chain:
            answer = self._asked(*place, memory)
            if self._stopped:
                job = answer.job or self._plan.jobs[place[0]]
                why = f"not run: {self._no_more()}"
                row = rows.cut_off(job, answer.row, why, memory.spent)
                self._answers[place] = replace(answer, row=row)
                return
            if (
                undone and answer.row.error
            ):  # with one before it in its conversation undone, it may lack nothing else
                grades = tuple(
                    replace(grade, setup=False, undone=True, unheard=False)
                    for grade in answer.row.grades
                )
                answer = replace(answer, row=replace(answer.row, grades=grades, undone=True))
            undone = undone or answer.row.undone
            self._answers[place] = answer
            self._watch(answer.row)

    def _asked(self, index: int, repeat: int, memory: converse.Memory) -> Asked:
        planned = self._plan.jobs[index]
        known = memory.known(planned)  # before the answer is stored that this job gives
        job = guarded(lambda: memory.recalled(planned), lambda error: error)
        if isinstance(job, Exception):
            return Asked(rows.failed(planned, repeat, job))
        with at(self._occasions.of_answer(index, repeat)):
            answer = guarded(lambda: converse.transcript(job, memory, repeat), lambda error: error)
            if isinstance(answer, Exception):
                return Asked(rows.failed(job, repeat, answer))
            row = rows.graded(job, repeat, answer, grades_of(job, answer), planned)
        again = any(grade.has_failed for grade in row.grades)
        kept = again or any(binding.compares for binding in job.assertions)
        return Asked(row, answer if kept else None, None if job is planned else job, known)

    # --- comparisons ------------------------------------------------------------------------------------------

    def _leave_uncompared(self) -> None:
        """What was not compared since the run ended, or one of the answers is undone, is undone as well."""
        why = f"not run: {self._no_more()}"
        answers = dict(self._answers)  # threads that are late still add to them
        undone = {place for place, answer in answers.items() if answer.row.undone}
        for group in self._groups:
            if group[0] in self._compared:
                continue
            if not self._stopped and undone.isdisjoint(group):
                continue
            for place in group:
                asked = answers.get(place)
                if asked and asked.transcript:
                    row = rows.uncompared(self._plan.jobs[place[0]], asked.row, why)
                    self._answers[place] = replace(asked, row=row)

    def _compare(self, group: Sequence[Place]) -> None:
        answers = [self._answers[place] for place in group]
        parts = zip(group, answers, strict=True)
        compare = [
            Answered(a.job or self._plan.jobs[i], a.row, a.transcript)
            for (i, _), a in parts
            if a.transcript
        ]
        with at(self._occasions.of_comparison(*group[0])):
            found = compared(compare)
        for place, answer, row in zip(group, answers, found, strict=True):
            self._answers[place] = replace(answer, row=row)
        if not self._stopped:  # else it counts for nothing
            self._compared.add(group[0])
