"""Runs a plan in threads: asks the targets, has the answers graded, and turns whatever goes wrong into an ERROR."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from gradegate.asking.http import Client
from gradegate.asking.parallel import gather
from gradegate.conversation import NO_USAGE, Transcript
from gradegate.errors import GradegateError, ProviderError, Terminated, Trouble
from gradegate.grading.conclude import Bound, conclude, conclude_case, conclude_set, error
from gradegate.grading.judge import Account, Judge
from gradegate.planning.plan import Job, Plan
from gradegate.result import Grade, Outcome, Row, RunResult
from gradegate.running import converse

LAST_WORDS = 3.0  # seconds that calls in flight get to notice that they were cut

Watch = Callable[[Row], None]


def run(plan: Plan, client: Client, reask: int, watch: Watch = lambda _: None) -> RunResult:
    """Every job's row, in plan order. Ctrl-C and SIGTERM stop calls at once; what is missing becomes ERROR."""
    return _Run(plan, client, reask, watch).result()


class _Run:
    def __init__(self, plan: Plan, client: Client, reask: int, watch: Watch) -> None:
        self._plan = plan
        self._client = client
        self._reask = reask
        self._watch = watch
        self._rows: list[Row | None] = [None] * len(plan.jobs)
        self._transcripts: dict[int, Transcript] = {}  # kept only of answers that will be compared
        self._planned: Counter[int] = Counter()  # answers to each case
        self._chains = iter(converse.chains(plan.jobs))
        self._lock = threading.Lock()
        self._stopped = ""

    def result(self) -> RunResult:
        started = time.monotonic()
        try:
            self._run_threads(self._work, min(self._plan.concurrency, len(self._plan.jobs)))
            self._compare()
        except KeyboardInterrupt as e:
            self._stopped = "terminated" if isinstance(e, Terminated) else "interrupted"
            self._client.stop()
            self._wait_for_last_words()
        why = f"not run: the run was {self._stopped}"
        rows = tuple(row or _missing(job, why) for row, job in zip(self._rows, self._plan.jobs, strict=True))
        return RunResult(
            rows,
            sum((row.usage for row in rows), NO_USAGE),
            sum((grade.usage for row in rows for grade in row.grades), NO_USAGE),
            self._stopped,
            self._plan.notes,
            time.monotonic() - started,
            self._plan.models,
            self._plan.about,
        )

    def _run_threads(self, work: Callable[[], None], count: int) -> None:
        # Daemons, so that a call which hangs in name resolution cannot hold the exit.
        self._threads = [threading.Thread(target=work, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()
        for thread in self._threads:
            thread.join()

    def _wait_for_last_words(self) -> None:
        until = time.monotonic() + LAST_WORDS
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _work(self) -> None:
        while not self._stopped:
            with self._lock:
                chain = next(self._chains, None)
            if chain is None:
                return
            history: converse.History = []
            for index in chain:
                row = self._row(index, self._plan.jobs[index], history)
                if self._stopped:
                    return
                self._rows[index] = row
                self._watch(row)

    # --- one answer -------------------------------------------------------------------------------------------

    def _row(self, index: int, job: Job, history: converse.History) -> Row:
        try:
            transcript = converse.transcript(job, history)
        except GradegateError as e:
            return _missing(job, str(e), setup=isinstance(e, ProviderError) and e.trouble is Trouble.SETUP)
        except Exception as e:  # a defect in one provider must not lose the other rows
            return _missing(job, f"{type(e).__name__}: {e}")
        if any(bound.grader is not None and bound.grader.compares for bound in job.assertions):
            self._transcripts[index] = transcript
        tasks = [partial(self._grades, bound, transcript) for bound in job.assertions]
        asks = [bound for bound in job.assertions if bound.models or bound.members]
        found = gather(tasks) if len(asks) > 1 else [task() for task in tasks]
        grades = tuple(grade for several in found for grade in several)
        outcome, score = conclude_case(grades, job.case.threshold)
        return replace(
            _blank(job),
            prompt=transcript.prompt,
            outcome=outcome,
            output=transcript.output,
            grades=grades,
            score=score,
            usage=transcript.usage,
            turns=transcript.turns if job.case.turns else (),
        )

    def _grades(self, bound: Bound, transcript: Transcript) -> list[Grade]:
        """The grade of an assertion; of an assert-set, its own and then those of its members."""
        if bound.members:
            members = [self._grade(member, transcript) for member in bound.members]
            return [conclude_set(bound, members), *(replace(grade, inner=True) for grade in members)]
        return [self._grade(bound, transcript)]

    def _grade(self, bound: Bound, transcript: Transcript) -> Grade:
        account = Account()
        assert bound.grader is not None  # only a set has none
        if bound.grader.compares:
            return error(bound, "not compared: an answer to this case is missing, or the run ended early", NO_USAGE)
        try:
            verdict = bound.grader.grade(transcript, self._judge(bound, transcript, account))
            return conclude(bound, verdict, account.total)
        except Exception as e:  # the border: whatever a grader raises is "could not tell"
            return error(bound, e, account.total)

    def _judge(self, bound: Bound, transcript: Transcript, account: Account, graded: str | None = None) -> Judge:
        language = str(getattr(bound.grader, "language", ""))
        text = transcript.output if graded is None else graded
        return Judge(bound.models, bound.rubric, transcript.vars, account, self._reask, language, text)

    # --- comparisons ------------------------------------------------------------------------------------------

    def _compare(self) -> None:
        cases: dict[int, list[int]] = {}
        for index in sorted(self._transcripts):
            cases.setdefault(self._plan.jobs[index].number, []).append(index)
        groups = iter(cases.values())
        self._planned = Counter(job.number for job in self._plan.jobs)

        def work() -> None:
            while True:
                with self._lock:
                    group = next(groups, None)
                if group is None:
                    return
                self._compare_case(group)

        if cases:
            self._run_threads(work, min(self._plan.concurrency, len(cases)))

    def _compare_case(self, indexes: Sequence[int]) -> None:
        if len(indexes) < self._planned[self._plan.jobs[indexes[0]].number]:
            return  # an answer is missing; the grades say so already
        for position, bound in enumerate(self._plan.jobs[indexes[0]].assertions):
            if bound.grader is not None and bound.grader.compares:
                grades = self._compared(bound, indexes)
                for index, grade in zip(indexes, grades, strict=True):
                    self._replace(index, position, grade)

    def _compared(self, bound: Bound, indexes: Sequence[int]) -> list[Grade]:
        account = Account()
        assert bound.grader is not None
        transcripts = [self._transcripts[index] for index in indexes]
        graded = "\n".join(transcript.output for transcript in transcripts)
        try:
            so_far = [self._scored(index) for index in indexes]
            judge = self._judge(bound, transcripts[0], account, graded)
            verdicts = bound.grader.compare(transcripts, so_far, judge)
            # The comparison is one question: its usage is booked once, on the first answer.
            usages = [account.total, *[NO_USAGE] * (len(verdicts) - 1)]
            return [conclude(bound, verdict, usage) for verdict, usage in zip(verdicts, usages, strict=True)]
        except Exception as e:  # as for a single grade
            return [error(bound, e, account.total if n == 0 else NO_USAGE) for n in range(len(indexes))]

    def _scored(self, index: int) -> tuple[Grade, ...]:
        """The grades of an answer that do not come from comparing it."""
        row, bounds = self._rows[index], self._plan.jobs[index].assertions
        compared = [bound.spec for bound in bounds if bound.grader is not None and bound.grader.compares]
        given = row.grades if row is not None else ()
        return tuple(grade for grade in given if not any(grade.assertion is spec for spec in compared))

    def _replace(self, index: int, position: int, grade: Grade) -> None:
        row, job = self._rows[index], self._plan.jobs[index]
        if row is None:
            return
        offset = sum(1 + len(bound.members) for bound in job.assertions[:position])
        grades = (*row.grades[:offset], grade, *row.grades[offset + 1 :])
        outcome, score = conclude_case(grades, job.case.threshold)
        self._rows[index] = replace(row, grades=grades, outcome=outcome, score=score)


def _blank(job: Job) -> Row:
    return Row(
        suite=job.suite,
        description=job.case.description,
        provider=job.target.name,
        prompt_label=job.prompt.label,
        prompt=job.text,
        vars=job.vars,
        outcome=Outcome.ERROR,
        case=job.number,
        repeat=job.repeat,
        origin=job.case.origin,
    )


def _missing(job: Job, why: str, setup: bool = False) -> Row:
    """The row of an answer that there is not: every planned grade is there, as ERROR."""
    grades: list[Grade] = []
    for bound in job.assertions:
        grades.append(replace(error(bound, f"the target gave no answer: {why}", NO_USAGE), setup=setup))
        grades += [replace(error(member, why, NO_USAGE), inner=True, setup=setup) for member in bound.members]
    return replace(_blank(job), error=why, grades=tuple(grades))
