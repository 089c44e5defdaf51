"""Runs a plan in threads: asks the targets, has the answers graded, and turns whatever goes wrong into an ERROR."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from gradegate import __version__
from gradegate.account import Made
from gradegate.asking.http import Client
from gradegate.asking.question import at
from gradegate.asking.replies import Replies
from gradegate.baseline import answer_of
from gradegate.conversation import NO_USAGE, Transcript, Usage
from gradegate.errors import GradegateError, ProviderError, Terminated, Trouble
from gradegate.figures import many
from gradegate.grading.conclude import missing, unjudged
from gradegate.planning.job import Job, Plan
from gradegate.planning.keys import row_key
from gradegate.programs import desk as programs
from gradegate.result import Grade, Outcome, Row, RunResult, cases_of
from gradegate.running import converse
from gradegate.running.askable import Askable
from gradegate.running.beside import Beside
from gradegate.running.border import guarded
from gradegate.running.compare import Answered, compared
from gradegate.running.confirm import Answer, Confirming
from gradegate.running.derived import derived
from gradegate.running.estimate import answer_calls, grader_calls, target_calls
from gradegate.running.grade import grades_of
from gradegate.running.occasions import Occasions
from gradegate.running.portions import Portions
from gradegate.running.scoring import concluded
from gradegate.running.transforms import Untransformed
from gradegate.running.unpaid import after_undone, asks, lost, unanswered, ungraded
from gradegate.suite import Note

T = TypeVar("T")
LAST_WORDS = 3.0  # seconds that calls in flight get to notice that they were cut

Watch = Callable[[Row], None]
Place = tuple[int, int]  # of an answer: the index of its job, and the repetition


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer with what its graders saw; the transcript is kept only of answers that will be compared or asked again."""

    row: Row
    transcript: Transcript | None = None
    job: Job | None = None  # with the stored answers that it used


def run(plan: Plan, client: Client, reask: int, watch: Watch = lambda _: None) -> RunResult:
    """Every planned answer, in plan order. Ctrl-C and SIGTERM stop calls at once; what is missing becomes ERROR."""
    return _Run(plan, client, reask, watch).result()


class _Run:
    def __init__(self, plan: Plan, client: Client, reask: int, watch: Watch) -> None:
        self._plan = plan
        self._client = client
        self._reask = reask
        self._occasions = Occasions(plan.jobs, client.replies)
        self._watch = watch
        self._answers: dict[Place, Asked] = {}
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._stopped = ""
        self._askable = Askable(plan)
        self._portions = Portions(client.budget, self._in_threads)
        self._cut: list[Place] = []  # in the midst of which the budget's calls ended
        self._compared: set[Place] = set()  # the first answer of each comparison that was made
        self._lost: tuple[Usage, Usage] = (NO_USAGE, NO_USAGE)  # what target and graders took and no row has
        self._confirming: Confirming | None = None
        self._others: list[Row] = []  # the answers of a base that is asked in the same run

    def result(self) -> RunResult:
        started, clock = datetime.now(UTC), time.monotonic()
        self._client.budget.start()
        try:
            chains = converse.chains(self._plan.jobs)
            self._portions.work(self._answer_chain, chains, self._calls, self._take_back)
            self._portions.work(self._compare, self._comparisons(), self._calls_to_compare, self._take_back_comparisons)
            self._confirming = self._begin_confirming()
            self._confirming.run(self._portions, self._no_more)
        except KeyboardInterrupt as e:
            self._stopped = "terminated" if isinstance(e, Terminated) else "interrupted"
            self._client.stop()
            programs.end()
            self._wait_for_last_words()
        confirming = self._confirming or self._begin_confirming()
        rows = confirming.end(self._no_more())
        replies, (target, graders) = self._client.replies, self._spent(rows, confirming)
        metrics = derived(self._plan.derived, rows)
        return RunResult(
            cases=cases_of(rows),
            target_usage=target,
            grader_usage=graders,
            interrupted=self._stopped,
            notes=(*self._plan.notes, *_notes(rows), *map(Note, confirming.doubts()), *_cache_notes(replies)),
            seconds=time.monotonic() - clock,
            models=self._plan.models,
            keys=self._plan.keys,
            about=self._plan.about,
            made=Made(
                __version__,
                self._plan.commit,
                started.isoformat(timespec="seconds"),
                self._plan.digests,
                self._plan.recorded,
                self._plan.titles,
                self._plan.options,
                self._plan.folder,
            ),
            budget=self._client.budget.report(),
            cache=replies.report() if replies else None,
            confirm=confirming.report(),
            baseline=confirming.baseline(rows),
            derived=metrics,
        )

    def _spent(self, rows: Sequence[Row], confirming: Confirming) -> tuple[Usage, Usage]:
        """What target and graders took, of rows and of what came to nothing."""
        every = (*rows, *self._others)
        target = sum((row.usage for row in every), self._lost[0] + confirming.lost_answers)
        return target, sum((grade.usage for row in every for grade in row.grades), self._lost[1] + confirming.unseen)

    def _no_more(self) -> str:
        """Why nothing more is asked; an empty string as long as something may be."""
        if self._stopped:
            return f"the run was {self._stopped}"
        used_up = self._client.budget.report().used_up
        return f"the budget of {used_up} is used up" if used_up else ""

    def _begin_confirming(self) -> Confirming:
        """All planned answers in plan order; those that are missing are there as ERROR."""
        self._leave_uncompared()
        answers: list[Answer] = []
        others: list[Row | None] = []
        for index, job in enumerate(self._plan.jobs):
            for repeat in range(job.repeats):
                asked = self._asked_of(index, job, repeat)
                if job.of_base:  # its own side came before
                    others[repeat - job.repeats] = asked.row
                else:
                    answers.append(Answer(asked.job or job, asked.row, asked.transcript))
                    others.append(None)
        self._others = [row for row in others if row]
        beside = Beside.of(self._plan, self._askable, self._reask, [answer_of(row) if row else None for row in others])
        return Confirming(self._askable, answers, self._reask, beside)

    def _asked_of(self, index: int, job: Job, repeat: int) -> Asked:
        why = f"not run: the run was {self._stopped}"
        return self._answers.get((index, repeat)) or Asked(_missing(job, repeat, why, Trouble.STOPPED))

    def _in_threads(self, work: Callable[[T], None], items: Iterable[T]) -> None:
        """Do the work for every item, as many at once as the plan allows, until the run is stopped."""
        waiting = list(items)
        left = iter(waiting)

        def loop() -> None:
            while not self._stopped:
                with self._lock:
                    item = next(left, None)
                if item is None:
                    return
                work(item)

        # Daemons, so that a call which hangs in name resolution cannot hold the exit.
        count = min(self._plan.concurrency, len(waiting))
        self._threads = [threading.Thread(target=loop, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()
        for thread in self._threads:
            thread.join()

    def _wait_for_last_words(self) -> None:
        until = time.monotonic() + LAST_WORDS
        for thread in filter(
            threading.Thread.is_alive, self._threads
        ):  # the signal may come before the last is started
            thread.join(max(0.0, until - time.monotonic()))

    def _answer_chain(self, chain: Sequence[Place]) -> None:
        memory, undone = converse.Memory(), False
        for place in chain:
            ended = self._client.budget.out_of_calls
            answer = self._asked(*place, memory)
            if self._stopped:
                return
            if undone and answer.row.error:
                answer = replace(answer, row=after_undone(answer.row))
            undone = undone or answer.row.undone
            if self._client.budget.out_of_calls and not ended:
                self._cut.append(place)
            self._answers[place] = answer
            self._watch(answer.row)

    def _asked(self, index: int, repeat: int, memory: converse.Memory) -> Asked:
        planned = self._plan.jobs[index]
        job = guarded(lambda: memory.recalled(planned), lambda error: error)
        if isinstance(job, Exception):
            return Asked(_failed(planned, repeat, job))
        with at(self._occasions.of_answer(index, repeat)):
            answer = guarded(lambda: converse.transcript(job, memory, repeat), lambda error: error)
            if isinstance(answer, Exception):
                return Asked(_failed(job, repeat, answer))
            row = _graded(job, repeat, answer, self._reask)
        if job is not planned:  # it is called as it was planned, whatever the stored answers were
            row = replace(row, key=row_key(planned, repeat))
        again = any(grade.outcome is Outcome.FAIL for grade in row.grades)
        kept = again or any(binding.compares for binding in job.assertions)
        return Asked(row, answer if kept else None, None if job is planned else job)

    # --- where the calls of the budget end ------------------------------------------------------------------------

    def _calls(self, chain: Sequence[Place]) -> int:
        return sum(answer_calls(self._plan.jobs[index]) for index, _ in chain)

    def _take_back(self, chains: Sequence[Sequence[Place]]) -> None:
        """Which of its answers were cut is chance; of a chain that was alone, the one that was."""
        why = f"not run: {self._no_more()}"
        for place in self._cut if len(chains) == 1 else [place for chain in chains for place in chain]:
            job, asked = self._plan.jobs[place[0]], self._answers[place]
            if target_calls(job):
                self._put(place, Asked(unanswered(job, asked.row, why)))
            else:
                self._put(place, replace(asked, row=ungraded(job, asked.row, why, asks)))

    def _put(self, place: Place, asked: Asked) -> None:
        """Take this in place of what was there; what that took is on the account of the run from here on."""
        target, graders = lost(self._answers[place].row, asked.row)
        self._lost = self._lost[0] + target, self._lost[1] + graders
        self._answers[place] = asked

    def _calls_to_compare(self, group: Sequence[Place]) -> int:
        bindings = self._plan.jobs[group[0][0]].assertions
        return sum(map(grader_calls, (binding for binding in bindings if binding.compares)))

    def _take_back_comparisons(self, groups: Sequence[Sequence[Place]]) -> None:
        why = f"not run: {self._no_more()}"
        for place in (place for group in groups for place in group if self._transcript(place)):
            asked = self._answers[place]
            row = ungraded(self._plan.jobs[place[0]], asked.row, why, lambda it: it.compares)
            self._put(place, replace(asked, row=row))

    # --- comparisons ------------------------------------------------------------------------------------------

    def _comparisons(self) -> list[list[Place]]:
        """The places of answers that are compared with one another; none where an answer is missing."""
        return [group for group in self._groups() if all(self._transcript(place) for place in group)]

    def _leave_uncompared(self) -> None:
        """What was not compared since the run ended, or one of the answers is undone, is undone as well."""
        left = [group for group in self._groups() if group[0] not in self._compared]
        self._take_back_comparisons([group for group in left if self._stopped or any(map(self._is_undone, group))])

    def _is_undone(self, place: Place) -> bool:
        return place in self._answers and self._answers[place].row.undone

    def _groups(self) -> list[list[Place]]:
        """The places of answers that are to be compared with one another."""
        groups: dict[tuple[str, int, int], list[Place]] = {}
        for index, job in enumerate(self._plan.jobs):
            if not any(binding.compares for binding in job.assertions):
                continue
            for repeat in range(job.repeats):
                groups.setdefault((job.suite, job.number, repeat), []).append((index, repeat))
        return list(groups.values())

    def _transcript(self, place: Place) -> Transcript | None:
        answer = self._answers.get(place)
        return answer.transcript if answer else None

    def _compare(self, group: Sequence[Place]) -> None:
        answers = [self._answers[place] for place in group]
        parts = zip(group, answers, strict=True)
        compare = [Answered(a.job or self._plan.jobs[i], a.row, a.transcript) for (i, _), a in parts if a.transcript]
        with at(self._occasions.of_comparison(*group[0])):
            rows = compared(compare, self._reask)
        if self._stopped:
            return
        self._compared.add(group[0])
        for place, answer, row in zip(group, answers, rows, strict=True):
            self._answers[place] = replace(answer, row=row)


def _notes(rows: Sequence[Row]) -> list[Note]:
    """Answers that were cut are graded, and every report says so; once for each place in a config."""
    cut = [row for row in rows if row.cut_off]
    places = Counter(row.origin for row in cut)
    return [
        Note(f"{many(count, 'answer')} cut at the token limit, and graded as cut", o) for o, count in places.items()
    ]


def _cache_notes(replies: Replies | None) -> list[Note]:
    return [Note(f"the cache: {problem}") for problem in (replies.problems if replies else ())]


def _graded(job: Job, repeat: int, answer: Transcript, reask: int) -> Row:
    return _answered(job, repeat, answer, grades_of(job, answer, reask))


def _answered(job: Job, repeat: int, answer: Transcript, grades: tuple[Grade, ...]) -> Row:
    outcome, score, reason = concluded(job.case, grades)
    return _row(
        job,
        repeat,
        prompt=answer.prompt,
        outcome=outcome,
        output=answer.output,
        grades=grades,
        score=score,
        reason=reason,
        usage=answer.usage if answer.spent is None else answer.spent,
        turns=answer.turns if _says_more(answer) else (),
        metadata=answer.metadata,
    )


def _says_more(answer: Transcript) -> bool:
    """Whether the turns hold more than a prompt and the answer to it."""
    return len(answer.turns) != 2 or any(turn.retrieval_context or turn.images for turn in answer.turns)


def _row(job: Job, repeat: int, *, prompt: str, outcome: Outcome, **found: Any) -> Row:
    """The row of an answer, with what came of it."""
    return Row(
        suite=job.suite,
        description=job.case.description,
        provider=job.target.name,
        prompt_label=job.prompt.label,
        prompt=prompt,
        vars=job.vars,
        outcome=outcome,
        threshold=job.case.threshold,
        case=job.number,
        repeat=repeat,
        key=row_key(job, repeat),
        definition=job.definition,
        origin=job.case.origin,
        **found,
    )


def _failed(job: Job, repeat: int, error: Exception) -> Row:
    """The row of an answer that is not there to be graded; a defect in one provider must not lose the other rows."""
    if isinstance(error, Untransformed):
        grades = tuple(grade for binding in job.assertions for grade in unjudged(binding, str(error)))
        row = _answered(job, repeat, error.transcript, grades)
        return row if grades else replace(row, outcome=Outcome.ERROR, error=str(error), output=None)
    why = str(error) if isinstance(error, GradegateError) else f"{type(error).__name__}: {error}"
    return _missing(job, repeat, why, error.trouble if isinstance(error, ProviderError) else None)


def _missing(job: Job, repeat: int, why: str, trouble: Trouble | None) -> Row:
    """The row of an answer that is missing: every planned grade is there, as ERROR."""
    grades = tuple(grade for binding in job.assertions for grade in missing(binding, why, trouble))
    undone = trouble is Trouble.STOPPED
    return _row(job, repeat, prompt=job.text, outcome=Outcome.ERROR, error=why, grades=grades, undone=undone)
