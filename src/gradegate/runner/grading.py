"""Grades answers: each assertion by its grader, then the comparisons of all answers to a case."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import TypeVar

from gradegate.assertions.grading.bound import Binding, BoundAssertion, BoundSet
from gradegate.assertions.grading.conclusion import (
    grade_from_error,
    grade_from_verdict,
    grade_of_set,
)
from gradegate.assertions.judge.judge import Judge, JudgeUsage
from gradegate.core.conversation import Transcript
from gradegate.core.usage import NO_USAGE
from gradegate.http.crew import gather_results
from gradegate.http.response_cache import ResponseCache
from gradegate.planning.identity import Ordinals, request_digest
from gradegate.planning.plan import Job
from gradegate.providers.cache.call import GRADER, TARGET, CacheScope, current_scope, within_scope
from gradegate.results.grades import Grade
from gradegate.results.rows import Row
from gradegate.runner.rounds import Answer
from gradegate.runner.rows import asks_model, with_grades
from gradegate.runner.transforms import find_empty_answer, transform_for_assertion
from gradegate.structs import replace

T = TypeVar("T")


def catch_defects(action: Callable[[], T]) -> T | Exception:
    """Do the action. An exception is returned, so that a defect loses one answer or grade and never the run."""
    try:
        return action()
    except Exception as e:
        return e


class CacheScopes:
    """The cache scopes of a plan's answers: the places in a run that key kept replies. None without a cache.

    The request names a scope, and no number does: if a case is added, removed or renamed, all others keep their replies.
    """

    def __init__(self, jobs: Sequence[Job], replies: ResponseCache | None) -> None:
        self._jobs = jobs
        self._replies = replies
        self._names = _number_equals(request_digest(job).hex() for job in jobs) if replies else []

    def of_answer(self, index: int, repeat: int) -> CacheScope | None:
        """Where the target of a job is asked. Answers of the base in the same run are always fresh."""
        job = self._jobs[index]
        if self._replies is None or job.of_base:
            return None
        bounds = job.bounds
        assertions = (repr((bound.assertion.type, bound.assertion.value)) for bound in bounds)
        names = dict(zip(map(id, bounds), _number_equals(assertions), strict=True))
        return CacheScope(self._replies, TARGET, (*self._names[index], repeat), names)

    def of_comparison(self, index: int, repeat: int) -> CacheScope | None:
        """Where answers are compared; the first of them is an answer to this job."""
        if self._replies is None:
            return None
        return CacheScope(self._replies, GRADER, (*self._names[index], repeat, "compared"))


def _number_equals(texts: Iterable[str]) -> list[tuple[str, int]]:
    """Each text, with the number of equal texts before it."""
    ordinals = Ordinals()
    return [(text, ordinals.next(text)) for text in texts]


def grade_answer(job: Job, transcript: Transcript) -> tuple[Grade, ...]:
    """The grades of an answer in the order of its assertions. The grades of a set's members follow its own."""

    def grade_assertion(binding: Binding) -> list[Grade]:
        grades = [ask_grade(bound, transcript, job.ask) for bound in binding.members]
        if not isinstance(binding, BoundSet):
            return grades
        return [grade_of_set(binding, grades), *(replace(grade, inner=True) for grade in grades)]

    if sum(map(asks_model, job.assertions)) > 1:
        tasks = [partial(grade_assertion, binding) for binding in job.assertions]
        return tuple(chain.from_iterable(gather_results(tasks)))
    return tuple(chain.from_iterable(map(grade_assertion, job.assertions)))


def _judge(
    bound: BoundAssertion,
    transcript: Transcript,
    account: JudgeUsage,
    graded: str,
    ask: int = 0,
) -> Judge:
    """The grading models of an assertion. ``graded`` is the text that they judge, ``ask`` the number of the ask, from 0."""
    language = str(getattr(bound.evaluator, "language", ""))
    return Judge(
        bound.models,
        bound.rubric,
        transcript.vars,
        account,
        bound.grader_retries,
        language,
        graded,
        ask,
    )


def ask_grade(bound: BoundAssertion, transcript: Transcript, ask: int) -> Grade:
    """Ask for one grade; ``ask`` counts the asks from 0. Whatever goes wrong becomes an ERROR."""
    if bound.is_comparison:
        why = "not compared: the case has no second answer, or the run ended early"
        return grade_from_error(bound, why, NO_USAGE)
    if not bound.evaluator.requires.tools and (emptiness := find_empty_answer(transcript)):
        return grade_from_error(bound, f"the answer is {emptiness}", NO_USAGE)
    account = JudgeUsage()

    def grade_transcript() -> Grade:
        scope = current_scope()  # where this thread asks
        if scope:
            name = scope.names.get(id(bound))
            scope = scope.below(*name, role=GRADER) if name else None
        with within_scope(scope):
            transformed = transform_for_assertion(bound.transform, transcript)
            judge = _judge(bound, transformed, account, transformed.output, ask)
            verdict = bound.evaluator.grade(transformed, judge)
        return grade_from_verdict(bound, verdict, account.total)

    grade = catch_defects(grade_transcript)
    if isinstance(grade, Exception):
        grade = grade_from_error(bound, grade, account.total)
    return replace(grade, model=account.model) if account.model else grade


# --- comparisons ----------------------------------------------------------------------------------------------


def compare_answers(answers: Sequence[Answer]) -> list[Row]:
    """The rows of all answers to one case, each with its grades of the comparisons."""
    rows = [answer.row for answer in answers]
    position = 0
    for binding in answers[0].job.assertions:
        if isinstance(binding, BoundAssertion) and binding.is_comparison:
            compared_grades = zip(answers, _compare(binding, answers, rows), strict=True)
            for number, (answer, grade) in enumerate(compared_grades):
                grades = list(rows[number].grades)
                grades[position] = grade
                rows[number] = with_grades(answer.job.case, rows[number], grades)
        position += _count_grades(binding)
    return rows


def _compare(bound: BoundAssertion, answers: Sequence[Answer], rows: Sequence[Row]) -> list[Grade]:
    """One grade for each answer."""
    account = JudgeUsage()
    transcripts = [answer.transcript for answer in answers if answer.transcript]
    texts = "\n".join(transcript.output for transcript in transcripts)

    def grade_transcripts() -> list[Grade]:
        # A grader that compares sees the grades that do not come from comparing.
        positions: list[int] = []
        position = 0
        for binding in answers[0].job.assertions:
            count = _count_grades(binding)
            if not binding.is_comparison:
                positions += range(position, position + count)
            position += count
        grades_before = [tuple(row.grades[position] for position in positions) for row in rows]
        judge = _judge(bound, transcripts[0], account, texts)
        verdicts = bound.evaluator.compare(transcripts, grades_before, judge)
        # The comparison is one question, so its usage counts once: for the first answer.
        usages = [account.total, *[NO_USAGE] * (len(verdicts) - 1)]
        return [
            grade_from_verdict(bound, verdict, usage)
            for verdict, usage in zip(verdicts, usages, strict=True)
        ]

    grades = catch_defects(grade_transcripts)
    if isinstance(grades, Exception):
        usages = [account.total, *[NO_USAGE] * (len(answers) - 1)]
        return [grade_from_error(bound, grades, usage) for usage in usages]
    return grades


def _count_grades(binding: Binding) -> int:
    """How many grades an assertion has: those of a set's members follow its own."""
    return len(binding.members) + isinstance(binding, BoundSet)
