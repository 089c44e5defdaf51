"""Grades answers: each assertion by its grader, then the comparisons of all answers to a case."""

from collections.abc import Callable, Sequence
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
from gradegate.core.usage import NO_USAGE, Usage
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
    Only equal requests, and equal assertions of one answer, are numbered.
    """

    def __init__(self, jobs: Sequence[Job], replies: ResponseCache | None) -> None:
        self._jobs = jobs
        self._replies = replies
        self._names: list[tuple[str, int]] = []  # of each job, in the order of the plan
        if replies:
            ordinals = Ordinals()
            for job in jobs:
                request = request_digest(job).hex()
                self._names.append((request, ordinals.next(request)))

    def of_answer(self, index: int, repeat: int) -> CacheScope | None:
        """Where the target of a job is asked. Answers of the base in the same run are always fresh."""
        job = self._jobs[index]
        if self._replies is None or job.of_base:
            return None

        # The graders of an answer ask below its scope. Type and value of an assertion name its place there.
        grader_names = {}
        ordinals = Ordinals()
        for bound in job.bounds:
            text = repr((bound.assertion.type, bound.assertion.value))
            grader_names[id(bound)] = (text, ordinals.next(text))
        return CacheScope(self._replies, TARGET, (*self._names[index], repeat), grader_names)

    def of_comparison(self, index: int, repeat: int) -> CacheScope | None:
        """Where answers are compared; the first of them is an answer to this job."""
        if self._replies is None:
            return None
        return CacheScope(self._replies, GRADER, (*self._names[index], repeat, "compared"))


def grade_answer(job: Job, transcript: Transcript) -> tuple[Grade, ...]:
    """Grade an answer by all its assertions, in their order. The grades of a set's members follow the grade of the set."""
    tasks = []
    model_count = 0  # assertions that a model grades
    for binding in job.assertions:
        tasks.append(partial(_grade_assertion, binding, transcript, job.ask))
        if asks_model(binding):
            model_count += 1

    # Several models are asked at the same time. Anything else is faster without threads.
    if model_count > 1:
        return tuple(chain.from_iterable(gather_results(tasks)))
    return tuple(chain.from_iterable(task() for task in tasks))


def _grade_assertion(binding: Binding, transcript: Transcript, ask: int) -> list[Grade]:
    """Ask for the grade of an assertion. For a set, its own grade comes before those of its members."""
    grades = [ask_grade(bound, transcript, ask) for bound in binding.members]
    if not isinstance(binding, BoundSet):
        return grades
    member_grades = [replace(grade, inner=True) for grade in grades]
    return [grade_of_set(binding, grades), *member_grades]


def _build_judge(
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
    if not bound.evaluator.requires.tools:
        emptiness = find_empty_answer(transcript)
        if emptiness:
            return grade_from_error(bound, f"the answer is {emptiness}", NO_USAGE)
    account = JudgeUsage()

    def grade_transcript() -> Grade:
        with within_scope(_scope_of_grader(bound)):
            transformed = transform_for_assertion(bound.transform, transcript)
            judge = _build_judge(bound, transformed, account, transformed.output, ask)
            verdict = bound.evaluator.grade(transformed, judge)
        return grade_from_verdict(bound, verdict, account.total)

    grade = catch_defects(grade_transcript)
    if isinstance(grade, Exception):
        grade = grade_from_error(bound, grade, account.total)
    if account.model:
        return replace(grade, model=account.model)
    return grade


def _scope_of_grader(bound: BoundAssertion) -> CacheScope | None:
    """Where the grader of an assertion is asked: below the scope in which this thread asks. None without a cache."""
    scope = current_scope()
    if scope is None:
        return None
    name = scope.names.get(id(bound))
    if name is None:
        return None
    return scope.below(*name, role=GRADER)


# --- comparisons ----------------------------------------------------------------------------------------------


def compare_answers(answers: Sequence[Answer]) -> list[Row]:
    """The rows of all answers to one case, each with its grades of the comparisons."""
    rows = [answer.row for answer in answers]
    for position, binding in enumerate(answers[0].job.graded_bindings):
        if not (isinstance(binding, BoundAssertion) and binding.is_comparison):
            continue
        new_grades = _grade_comparison(binding, answers, rows)
        new_rows = []
        for answer, row, grade in zip(answers, rows, new_grades, strict=True):
            grades = list(row.grades)
            grades[position] = grade
            new_rows.append(with_grades(answer.job.case, row, grades))
        rows = new_rows
    return rows


def _grade_comparison(
    bound: BoundAssertion, answers: Sequence[Answer], rows: Sequence[Row]
) -> list[Grade]:
    """Compare the answers to a case. Gives one grade for each answer; whatever goes wrong becomes an ERROR for all."""
    account = JudgeUsage()
    transcripts = [answer.transcript for answer in answers if answer.transcript]
    texts = "\n".join(transcript.output for transcript in transcripts)

    def grade_transcripts() -> list[Grade]:
        single_grades = [_select_single_grades(answers[0].job, row) for row in rows]
        judge = _build_judge(bound, transcripts[0], account, texts)
        verdicts = bound.evaluator.compare(transcripts, single_grades, judge)

        usages = _count_usage_once(account.total, len(verdicts))
        return [
            grade_from_verdict(bound, verdict, usage)
            for verdict, usage in zip(verdicts, usages, strict=True)
        ]

    grades = catch_defects(grade_transcripts)
    if isinstance(grades, Exception):
        usages = _count_usage_once(account.total, len(answers))
        return [grade_from_error(bound, grades, usage) for usage in usages]
    return grades


def _select_single_grades(job: Job, row: Row) -> tuple[Grade, ...]:
    """The grades of a row that do not come from a comparison: a grader that compares may see them."""
    pairs = zip(row.grades, job.graded_bindings, strict=True)
    return tuple(grade for grade, binding in pairs if not binding.is_comparison)


def _count_usage_once(usage: Usage, answer_count: int) -> list[Usage]:
    """The usage of a comparison for each answer. A comparison is one question, so only the first answer has usage."""
    return [usage, *[NO_USAGE] * (answer_count - 1)]
