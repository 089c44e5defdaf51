"""What a plan will take, before anything is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from gradegate.asking.provider import Provider
from gradegate.deciding.chances import expected_reasks, most_reasks
from gradegate.grading.conclude import Binding, Bound
from gradegate.planning.job import Job, Plan
from gradegate.running.askable import Askable

# How long texts are that nobody has seen yet, in tokens: enough to tell cents from dollars.
CHARACTERS = 4  # of a token
ANSWER, VERDICT, PROMPT = 300, 150, 400


@dataclass(frozen=True, slots=True)
class Estimate:
    """First asks in requests; ``expected`` and ``most`` are asks that follow. ``usd`` is None where no price is known.

    ``unpriced`` are the models whose price is not known.
    """

    target: int
    grader: int
    grades: int
    expected: float
    most: int
    usd: float | None
    unpriced: tuple[str, ...] = ()


def estimate(plan: Plan) -> Estimate:
    """Makes no call. A grader whose number of questions depends on the answer is taken for one that asks each once."""
    askable, grades = Askable(plan), Counter[str]()
    target = grader = 0
    first = again = 0.0
    unpriced: dict[str, None] = {}
    for job in plan.jobs:
        asked = target_calls(job)
        target += asked * job.repeats
        first += asked * job.repeats * _price(job.target, len(job.text), ANSWER, unpriced)
        of_failure = {id(bound) for _, bound in askable.of(job)}
        grades[job.suite] += len(of_failure) * job.repeats
        for bound in (bound for binding in job.assertions for bound in binding.bounds):
            calls, cost = _grading(bound, len(job.text), unpriced)
            grader += calls * job.repeats
            first += cost * job.repeats
            again += cost * job.repeats * (id(bound) in of_failure)
    noises = {suite: askable.policies[suite].noise for suite in grades if grades[suite]}
    expected = sum(expected_reasks(grades[suite], noise) for suite, noise in noises.items())
    most = sum(most_reasks(grades[suite], askable.lead(suite).votes) for suite in noises)
    share = expected / askable.grades if askable.grades else 0.0
    usd = None if unpriced else first + again * share
    return Estimate(target, grader, askable.grades, expected, most, usd, tuple(unpriced))


def said(found: Estimate) -> Iterator[str]:
    """The estimate, a line each."""
    yield f"target: {found.target:,} calls"
    yield f"grader: {found.grader:,} calls"
    yield f"asked again: {found.expected:,.1f} expected, at most {found.most:,} (of {found.grades:,} grades)"
    if found.usd is None:
        yield f"cost: unknown, as that of {', '.join(found.unpriced)} is"
    else:
        yield f"cost: about {found.usd:.2g} USD"


def target_calls(job: Job) -> int:
    """Requests for one answer; none where nothing leaves the machine."""
    if job.case.recorded or not (job.target.url or job.target.code):
        return 0
    return len(job.case.turns) or 1


def grader_calls(binding: Binding) -> int:
    """Requests for the grades of one assertion."""
    return sum(_grading(bound, 0, {})[0] for bound in binding.bounds)


def answer_calls(job: Job) -> int:
    """Requests for one answer and its grades."""
    return target_calls(job) + sum(map(grader_calls, job.assertions))


def _grading(bound: Bound, text: int, unpriced: dict[str, None]) -> tuple[int, float]:
    """Requests for one grade, and their price."""
    calls, cost = 0, 0.0
    for kind, model in bound.models.items():
        number = _questions(bound, kind) if model.url or model.code else 0
        asked = len(str(bound.asserted.value or "")) + text + (PROMPT + ANSWER) * CHARACTERS
        calls, cost = calls + number, cost + number * _price(model, asked, VERDICT, unpriced)
    return calls, cost


def _questions(bound: Bound, kind: str) -> int:
    asks = bound.grader.asks
    return max(len(asks.steps), asks.questions) if kind == "text" else 1


def _price(model: Provider, characters: int, answer: int, unpriced: dict[str, None]) -> float:
    """US dollars of one call; a model whose price is not known is noted."""
    if not (model.url or model.code):
        return 0.0
    if model.rates is None:
        unpriced[model.name] = None
        return 0.0
    return characters / CHARACTERS * model.rates[0] + answer * model.rates[1]
