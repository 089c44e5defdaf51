"""Estimates the calls, the re-asks and the cost of a plan before anything is asked."""

from collections import Counter
from collections.abc import Iterator

from gradegate.assertions.grading.bound import BoundAssertion
from gradegate.core.conversation import split_exchanges
from gradegate.core.numbers import format_count, format_dollars, list_some
from gradegate.core.policy import NO_LIMITS, Limits
from gradegate.gate.reasks.stopping import MOST_ASKS
from gradegate.gate.statistics import expected_reasks
from gradegate.planning.plan import Job, Plan
from gradegate.providers.api.provider import Provider
from gradegate.results.rows import AnswerId
from gradegate.runner.reasks.eligible import reask_mode
from gradegate.runner.reasks.histories import Histories
from gradegate.structs import FrozenStruct, Struct

# The length of texts that do not exist yet, in tokens: good enough to tell cents from dollars.
ANSWER = 300
VERDICT = 150
PROMPT = 400
CHARACTERS_PER_TOKEN = 4
MOST_NAMES = 5  # models that a line names; the rest is only counted


class CallCount(Struct):
    """A number of requests. ``fewest`` if the runs of all cases are decided as early as possible."""

    planned: int = 0
    fewest: int = 0

    def add(self, calls: int, job: Job) -> None:
        """Count the calls for each answer to a planned case."""
        self.planned += calls * job.repeats
        self.fewest += calls * job.fewest


class Cost(FrozenStruct):
    """US dollars, or None if some models have no known price. ``unpriced`` and ``silent`` name these."""

    usd: float | None
    most_usd: float | None = None  # with all possible re-asks
    unpriced: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()  # applications and programs that state no cost


class Estimate(FrozenStruct):
    """What a run takes: requests of first asks, and the re-asks that may follow."""

    target: CallCount
    grader: CallCount
    grades: int  # those that may be re-asked
    expected: float  # the number of re-asks if every answer is good
    most: int  # the largest possible number of re-asks
    cost: Cost
    labels: int = 0  # requests to graders, if a rule is missed or a history is written


class _Grading(FrozenStruct):
    """Requests for one grade, and their price."""

    calls: int
    usd: float


class _Prices(Struct):
    """Prices of calls. ``unpriced`` are the models without one."""

    unpriced: dict[str, Provider] = {}

    def of_call(self, model: Provider, characters: int, answer: int) -> float:
        """US dollars of one call; ``answer`` is in tokens."""
        if not (model.url or model.code):
            return 0.0
        if model.rates is None:
            self.unpriced[model.name] = model
            return 0.0
        return characters / CHARACTERS_PER_TOKEN * model.rates[0] + answer * model.rates[1]

    def of_grade(self, bound: BoundAssertion, text: int, exchanges: int = 1) -> _Grading:
        """One grade of a text with so many characters."""
        calls = 0
        usd = 0.0
        value = len(str(bound.assertion.value or ""))
        characters = value + text + (PROMPT + ANSWER) * CHARACTERS_PER_TOKEN
        for kind, model in bound.models.items():
            if not (model.url or model.code):
                continue
            questions = 1
            if kind == "text":
                questions = bound.evaluator.count_questions(exchanges)
            calls += questions
            usd += questions * self.of_call(model, characters, VERDICT)
        return _Grading(calls, usd)


def estimate_run(plan: Plan) -> Estimate:
    """Estimate a run without any call. If the number of a grader's questions depends on the answer, each counts once."""
    histories = Histories(plan)
    eligible = histories.eligible
    prices = _Prices()
    target = CallCount()
    grader = CallCount()
    # Grades that may be re-asked, by suite; and those of them that a history may decide
    grades = Counter[str]()
    with_history = Counter[str]()
    first_usd = 0.0
    reask_usd = 0.0  # of one re-ask of each grade
    for index, job in enumerate(plan.jobs):
        calls = target_calls(job)
        target.add(calls, job)
        answer_usd = calls * prices.of_call(job.target, len(job.text), ANSWER)
        first_usd += answer_usd * job.repeats

        bounds = eligible.bounds_of(job).values()
        grades[job.suite] += len(bounds) * job.repeats
        for repeat in range(job.repeats):
            keys = histories.keys(AnswerId(index, repeat)).values()
            with_history[job.suite] += sum(histories.may_decide(job, key) for key in keys)

        eligible_ids = set(map(id, bounds))
        for bound in job.bounds:
            grading = prices.of_grade(bound, len(job.text), _count_exchanges(job))
            grader.add(grading.calls, job)
            first_usd += grading.usd * job.repeats
            if id(bound) in eligible_ids:
                grade_usd = grading.usd
                if reask_mode(bound, job) == "answers":
                    grade_usd += answer_usd
                reask_usd += grade_usd * job.repeats

    expected = 0.0
    most = with_history.total() * (MOST_ASKS - 1)
    for suite, count in grades.items():
        if count:
            expected += expected_reasks(count, eligible.policies[suite].noise)
            # A grade is asked at most three times the lead, the first ask included.
            most += (count - with_history[suite]) * (3 * eligible.lead(suite).votes - 1)

    label_calls = 0
    label_usd = 0.0
    for job, _ in plan.labels.jobs if plan.labels else ():
        for bound in job.bounds:
            grading = prices.of_grade(bound, len(job.text))
            label_calls += grading.calls
            label_usd += grading.usd

    mean_usd = reask_usd / eligible.total if eligible.total else 0.0
    cost = Cost(first_usd + mean_usd * expected, first_usd + mean_usd * most + label_usd)
    if prices.unpriced:
        unpriced = [name for name, model in prices.unpriced.items() if model.names_model]
        silent = [name for name, model in prices.unpriced.items() if not model.names_model]
        cost = Cost(None, unpriced=tuple(unpriced), silent=tuple(silent))
    return Estimate(target, grader, eligible.total, expected, most, cost, label_calls)


def estimate_lines(
    estimate: Estimate, limits: Limits = NO_LIMITS, rate: float = 0.0
) -> Iterator[str]:
    """The estimate in lines, with the budget. ``rate``: calls a second of an earlier run, or 0 if unknown."""
    for kind, calls in (("target", estimate.target), ("grader", estimate.grader)):
        fewest = f"{calls.fewest:,} to " if calls.fewest < calls.planned else ""
        yield f"{kind}: {fewest}{format_count(calls.planned, 'call')}"
    if estimate.labels:
        yield f"labels: {format_count(estimate.labels, 'call')} of graders, where a rule is missed or a history is written"
    yield f"re-asks: {estimate.expected:,.1f} expected, at most {estimate.most:,} (of {estimate.grades:,} grades)"
    yield _cost_line(estimate.cost)
    planned = estimate.target.planned + estimate.grader.planned
    seconds = (planned + estimate.expected) / rate if rate else 0.0
    if seconds >= 1:
        shown = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
        yield f"time: about {shown} at the {rate:.2g} calls a second of the last run"
    if limits != NO_LIMITS:
        yield _budget_line(limits, planned)


def _cost_line(cost: Cost) -> str:
    if cost.usd is not None and cost.most_usd is not None:
        line = f"cost: about {_about(cost.usd)}"
        if cost.most_usd > cost.usd:
            line += f"; {_about(cost.most_usd)} with all possible re-asks"
        return line
    why = ["unknown"]
    if cost.unpriced:
        cure = "give `inputCost` and `outputCost`, US dollars per token, in its `config`"
        why.append(f"no price is known of {_names(cost.unpriced)} ({cure})")
    if cost.silent:
        why.append(f"{_names(cost.silent)} does not say what an answer costs")
    return f"cost: {'; '.join(why)}"


def _budget_line(limits: Limits, planned: int) -> str:
    amounts = []
    beyond = ""
    if limits.calls is not None:
        amounts.append(format_count(limits.calls, "call"))
        if planned > limits.calls:
            beyond = f"; {planned:,} calls are planned, so the last ones would not run"
    if limits.usd is not None:
        amounts.append(format_dollars(limits.usd))
    if limits.seconds is not None:
        amounts.append(f"{limits.seconds:g} s")
    return f"budget: at most {', '.join(amounts)}{beyond}"


def _names(names: tuple[str, ...]) -> str:
    return list_some(names[:MOST_NAMES], len(names))


def target_calls(job: Job) -> int:
    """Requests for one answer: 0 if nothing leaves the machine."""
    if job.case.is_recorded or not (job.target.url or job.target.code):
        return 0
    return len(job.case.turns) or 1


def answer_calls(job: Job) -> int:
    """Requests for one answer and its grades."""
    calls = target_calls(job)
    exchanges = _count_exchanges(job)
    prices = _Prices()
    for bound in job.bounds:
        calls += prices.of_grade(bound, 0, exchanges).calls
    return calls


def _count_exchanges(job: Job) -> int:
    """The exchanges of one answer: those of a recorded conversation, or one for each message of a live one."""
    turns = job.case.turns
    return max(1, len(split_exchanges(turns)) if job.case.is_recorded else len(turns))


def _about(usd: float) -> str:
    """An amount with two figures."""
    return format_dollars(float(f"{usd:.2g}"))
