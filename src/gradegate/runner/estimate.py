"""Estimates the calls, tokens and dollars of a plan before anything is asked."""

from collections import Counter
from collections.abc import Iterator

from gradegate.assertions.grading.bound import Bound
from gradegate.core.conversation import exchanges
from gradegate.core.numbers import dollars, many, name_some
from gradegate.core.policy import NO_LIMITS, Limits
from gradegate.gate.reasks.stopping import MOST_ASKS
from gradegate.gate.statistics import expected_reasks
from gradegate.planning.plan import Job, Plan
from gradegate.providers.api.provider import Provider
from gradegate.runner.reasks.eligible import Askable, mode_of
from gradegate.runner.reasks.histories import Histories
from gradegate.structs import FrozenStruct

# How long texts are that nobody has seen yet, in tokens: enough to tell cents from dollars.
CHARACTERS = 4  # of a token
ANSWER, VERDICT, PROMPT = 300, 150, 400
NAMED = 5  # models, before the rest is only counted


class Estimate(FrozenStruct):
    """First asks in requests; ``expected`` and ``most`` are asks that follow. ``usd`` is None where no price is known."""

    target: int
    grader: int
    grades: int
    expected: float
    most: int
    usd: float | None
    most_usd: float | None = None  # with all asks that may follow
    unpriced: tuple[str, ...] = ()  # the models whose price is not known
    silent: tuple[str, ...] = ()  # the applications and programs whose price is not known
    labels: int = 0  # requests to graders, where a rule is missed or a history is written
    fewest: tuple[int, int] = (
        0,
        0,
    )  # calls of target and grader, where runs are settled as early as can be


def estimate(plan: Plan) -> Estimate:
    """Makes no call. A grader whose number of questions depends on the answer is taken for one that asks each once."""
    askable, grades, with_history = Askable(plan), Counter[str](), Counter[str]()
    histories = Histories(plan)
    labels = plan.labels.jobs if plan.labels else ()
    target = grader = fewest_target = fewest_grader = 0
    first = again = 0.0
    unpriced: dict[str, Provider] = {}
    for index, job in enumerate(plan.jobs):
        asked = target_calls(job)
        target, fewest_target = target + asked * job.repeats, fewest_target + asked * job.fewest
        price = asked * _price(job.target, len(job.text), ANSWER, unpriced)
        first += price * job.repeats
        of_failure = {id(bound) for _, bound in askable.of(job)}
        grades[job.suite] += len(of_failure) * job.repeats
        known = (histories.of((index, repeat)) for repeat in range(job.repeats))
        with_history[job.suite] += sum(
            histories.may_decide(job, own) for ids in known for own in ids.values()
        )
        for bound in job.bounds:
            calls, cost = _grading(bound, len(job.text), unpriced, _exchanges(job))
            grader, fewest_grader = grader + calls * job.repeats, fewest_grader + calls * job.fewest
            first += cost * job.repeats
            asked_anew = price if mode_of(bound, job) == "answers" else 0.0
            again += (cost + asked_anew) * job.repeats * (id(bound) in of_failure)
    spare = [
        _grading(bound, len(job.text), unpriced, 1)
        for job, _ in labels
        for binding in job.assertions
        for bound in binding.bounds
    ]
    noises = {suite: askable.policies[suite].noise for suite in grades if grades[suite]}
    expected = sum(expected_reasks(grades[suite], noise) for suite, noise in noises.items())
    # A grade is asked at most three times the lead, the first ask included.
    most = sum(
        (grades[suite] - with_history[suite]) * (3 * askable.lead(suite).votes - 1)
        for suite in noises
    )
    most += with_history.total() * (MOST_ASKS - 1)
    each = again / askable.grades if askable.grades else 0.0
    usd = most_usd = None
    if not unpriced:
        usd = first + each * expected
        most_usd = first + each * most + sum(cost for _, cost in spare)
    models = tuple(name for name, model in unpriced.items() if model.names_model)
    silent = tuple(name for name, model in unpriced.items() if not model.names_model)
    fewest = (fewest_target, fewest_grader)
    return Estimate(
        target,
        grader,
        askable.grades,
        expected,
        most,
        usd,
        most_usd,
        models,
        silent,
        sum(calls for calls, _ in spare),
        fewest,
    )


def said(found: Estimate, limits: Limits = NO_LIMITS, rate: float = 0.0) -> Iterator[str]:
    """The estimate, a line each, beside what the run may take. ``rate``: calls a second of an earlier run, or 0."""
    for kind, calls, fewest in (
        ("target", found.target, found.fewest[0]),
        ("grader", found.grader, found.fewest[1]),
    ):
        yield f"{kind}: {f'{fewest:,} to ' if fewest < calls else ''}{many(calls, 'call')}"
    if found.labels:
        yield f"labels: {many(found.labels, 'call')} of graders, where a rule is missed or a history is written"
    yield f"re-asks: {found.expected:,.1f} expected, at most {found.most:,} (of {found.grades:,} grades)"
    if found.usd is None or found.most_usd is None:
        why = ["unknown"]
        if found.unpriced:
            cure = "give `inputCost` and `outputCost`, US dollars per token, in its `config`"
            why.append(f"no price is known of {_names(found.unpriced)} ({cure})")
        if found.silent:
            why.append(f"{_names(found.silent)} does not say what an answer costs")
        yield f"cost: {'; '.join(why)}"
    else:
        cost = f"cost: about {_about(found.usd)}"
        if found.most_usd > found.usd:
            cost += f"; {_about(found.most_usd)} with all possible re-asks"
        yield cost
    if rate:
        seconds = (found.target + found.grader + found.expected) / rate
        shown = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
        yield f"time: about {shown} at the {rate:.2g} calls a second of the last run"
    if limits == NO_LIMITS:
        return
    planned = found.target + found.grader
    parts, beyond = [], ""
    if limits.calls is not None:
        parts.append(many(limits.calls, "call"))
        if planned > limits.calls:
            beyond = f"; {planned:,} calls are planned, so the last ones would not run"
    if limits.usd is not None:
        parts.append(dollars(limits.usd))
    if limits.seconds is not None:
        parts.append(f"{limits.seconds:g} s")
    yield f"budget: at most {', '.join(parts)}{beyond}"


def _names(names: tuple[str, ...]) -> str:
    return name_some(names[:NAMED], len(names))


def target_calls(job: Job) -> int:
    """Requests for one answer; none where nothing leaves the machine."""
    if job.case.recorded or not (job.target.url or job.target.code):
        return 0
    return len(job.case.turns) or 1


def answer_calls(job: Job) -> int:
    """Requests for one answer and its grades."""
    exchanges = _exchanges(job)
    return target_calls(job) + sum(_grading(it, 0, {}, exchanges)[0] for it in job.bounds)


def _exchanges(job: Job) -> int:
    """Of a conversation that is recorded, its exchanges; of one that is held, a reply to each message."""
    turns = job.case.turns
    return max(1, len(exchanges(turns)) if job.case.recorded else len(turns))


def _grading(
    bound: Bound, text: int, unpriced: dict[str, Provider], exchanges: int
) -> tuple[int, float]:
    """Requests for one grade, and their price."""
    calls, cost = 0, 0.0
    for kind, model in bound.models.items():
        number = (
            (bound.grader.count_questions(exchanges) if kind == "text" else 1)
            if model.url or model.code
            else 0
        )
        asked = len(str(bound.asserted.value or "")) + text + (PROMPT + ANSWER) * CHARACTERS
        calls, cost = calls + number, cost + number * _price(model, asked, VERDICT, unpriced)
    return calls, cost


def _price(model: Provider, characters: int, answer: int, unpriced: dict[str, Provider]) -> float:
    """US dollars of one call; a model whose price is not known is noted."""
    if not (model.url or model.code):
        return 0.0
    if model.rates is None:
        unpriced[model.name] = model
        return 0.0
    return characters / CHARACTERS * model.rates[0] + answer * model.rates[1]


def _about(usd: float) -> str:
    """An amount with two figures."""
    return dollars(float(f"{usd:.2g}"))
