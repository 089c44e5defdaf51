"""What a plan will take, and what its rules cannot see, before anything is asked."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from gradegate.assertions.grading.bound import Binding, Bound
from gradegate.core.conversation import exchanges as complete
from gradegate.core.numbers import chance, many, percent
from gradegate.core.options import MOST_RUNS
from gradegate.core.policy import NO_LIMITS, Limits, Note, Rule
from gradegate.errors import Origin
from gradegate.gate.case_runs import of_rule
from gradegate.gate.reasks.needs import parts_of
from gradegate.gate.reasks.stopping import MOST_ASKS, factor_chances
from gradegate.gate.statistics import (
    Chances,
    expected_reasks,
    lead_reached,
    of_case,
    of_grade,
    of_runs,
    power,
    room,
)
from gradegate.planning.checks.rules import selected
from gradegate.planning.identity import identity
from gradegate.planning.plan import Job, Plan
from gradegate.providers.api.provider import Provider
from gradegate.results.baseline import pair
from gradegate.results.grades import Outcome
from gradegate.results.rows import Row
from gradegate.results.run_result import NO_POWER, Power
from gradegate.runner.reasks.histories import Askable, Histories, mode_of
from gradegate.structs import Struct, replace

# How long texts are that nobody has seen yet, in tokens: enough to tell cents from dollars.
CHARACTERS = 4  # of a token
ANSWER, VERDICT, PROMPT = 300, 150, 400
NAMED = 5  # models, before the rest is only counted


class Estimate(Struct, frozen=True):
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
    sentinels: int = 0  # requests to graders, where a rule is missed or a history is written
    fewest: tuple[int, int] = (
        0,
        0,
    )  # calls of target and grader, where runs are settled as early as can be


def estimate(plan: Plan) -> Estimate:
    """Makes no call. A grader whose number of questions depends on the answer is taken for one that asks each once."""
    askable, grades, with_history = Askable(plan), Counter[str](), Counter[str]()
    histories = Histories(plan)
    sentinels = plan.sentinels.jobs if plan.sentinels else ()
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
        with_history += Counter(
            {
                job.suite: sum(
                    histories.may_decide(job, own) for ids in known for own in ids.values()
                )
            }
        )
        for bound in (bound for binding in job.assertions for bound in binding.bounds):
            calls, cost = _grading(bound, len(job.text), unpriced, _exchanges(job))
            grader, fewest_grader = grader + calls * job.repeats, fewest_grader + calls * job.fewest
            first += cost * job.repeats
            asked_anew = price if mode_of(bound, job) == "answers" else 0.0
            again += (cost + asked_anew) * job.repeats * (id(bound) in of_failure)
    spare = [
        _grading(bound, len(job.text), unpriced, 1)
        for job, _ in sentinels
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
    usd, most_usd = (
        (None, None)
        if unpriced
        else (first + each * expected, first + each * most + sum(cost for _, cost in spare))
    )
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


def said(found: Estimate, limits: Limits = NO_LIMITS) -> Iterator[str]:
    """The estimate, a line each, beside what the run may take."""
    for kind, calls, fewest in (
        ("target", found.target, found.fewest[0]),
        ("grader", found.grader, found.fewest[1]),
    ):
        yield f"{kind}: {f'{fewest:,} to ' if fewest < calls else ''}{many(calls, 'call')}"
    if found.sentinels:
        yield f"sentinels: {many(found.sentinels, 'call')} of graders, where a rule is missed or a history is written"
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
        most = (
            f"; {found.most_usd:.2g} USD with all possible re-asks"
            if found.most_usd > found.usd
            else ""
        )
        yield f"cost: about {found.usd:.2g} USD{most}"
    if limits == NO_LIMITS:
        return
    calls_most = [] if limits.calls is None else [many(limits.calls, "call")]
    usd = [] if limits.usd is None else [f"{limits.usd:g} USD"]
    seconds = [] if limits.seconds is None else [f"{limits.seconds:g} s"]
    planned = found.target + found.grader
    beyond = f"; {planned:,} calls are planned, so the last ones would not run"
    is_beyond = limits.calls is not None and planned > limits.calls
    yield f"budget: at most {', '.join((*calls_most, *usd, *seconds))}{beyond if is_beyond else ''}"


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:NAMED])
    return f"{shown} and {len(names) - NAMED} more" if len(names) > NAMED else shown


def target_calls(job: Job) -> int:
    """Requests for one answer; none where nothing leaves the machine."""
    if job.case.recorded or not (job.target.url or job.target.code):
        return 0
    return len(job.case.turns) or 1


def grader_calls(binding: Binding, exchanges: int = 1) -> int:
    """Requests for the grades of one assertion on an answer of so many exchanges."""
    return sum(_grading(bound, 0, {}, exchanges)[0] for bound in binding.bounds)


def answer_calls(job: Job) -> int:
    """Requests for one answer and its grades."""
    return target_calls(job) + sum(
        grader_calls(binding, _exchanges(job)) for binding in job.assertions
    )


def _exchanges(job: Job) -> int:
    """Of a conversation that is recorded, its exchanges; of one that is held, a reply to each message."""
    turns = job.case.turns
    return max(1, len(complete(turns)) if job.case.recorded else len(turns))


def _grading(
    bound: Bound, text: int, unpriced: dict[str, Provider], exchanges: int
) -> tuple[int, float]:
    """Requests for one grade, and their price."""
    calls, cost = 0, 0.0
    for kind, model in bound.models.items():
        number = (
            (bound.grader.questions(exchanges) if kind == "text" else 1)
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


_FAILING_RUNS = 0.03  # the share of runs that fail, where no baseline shows it
_CERTAIN = Chances(0.0, 1.0)  # of a grade that no model gives


class _Planned(Struct, frozen=True):
    """An answer, what the base says of it, and of its grades that are asked again the chance to fail that their history gives, by bound."""

    job: Job
    base: Row | None
    again: Mapping[int, float | None]


def with_powers(plan: Plan) -> Plan:
    """The plan with the figures of each rule; a rule that cannot block, or rests on something else than counts, has none."""
    askable = Askable(plan)
    histories, fails = (
        Histories(plan),
        cache(lambda prior: factor_chances(prior, broken=False).fails),
    )
    jobs = [
        (index, 1 if job.needs else job.repeats)
        for index, job in enumerate(plan.jobs)
        if not job.of_base
    ]
    places = [(index, repeat) for index, repeats in jobs for repeat in range(repeats)]
    bases: Sequence[Row | None] = [None] * len(places)
    if plan.baseline:
        bases, _ = pair(
            (identity(plan.jobs[index], repeat) for index, repeat in places), plan.baseline
        )
    answers: dict[str, list[_Planned]] = {}
    for (index, repeat), base in zip(places, bases, strict=True):
        job, ids = plan.jobs[index], histories.of((index, repeat))
        known: dict[int, float | None] = {}
        for at, bound in askable.of(job):
            past = histories.records.get(ids[at]) if at in ids else None
            # A history counts if the grader is still the model of its newest run.
            prior = (
                histories.prior(job, at, ids[at], past.runs[-1].model)
                if past and past.runs
                else None
            )
            known[id(bound)] = fails(prior) if prior else None
        answers.setdefault(job.suite, []).append(_Planned(job, base, known))
    rules = (rule for policy in plan.policies for rule in policy.rules)
    # The share of runs that fail on the base; of a case without runs, its answer is one.
    graded = [
        it.base
        for several in answers.values()
        for it in several
        if it.base and it.base.outcome is not Outcome.ERROR
    ]
    failed = sum(
        row.runs - row.passed if row.runs else row.outcome is Outcome.FAIL for row in graded
    )
    share = failed / sum(row.runs or 1 for row in graded) if graded else _FAILING_RUNS
    figures = []
    for rule in rules:
        judges = rule.blocking and rule.judges and rule.confidence is None
        found = (
            [_power(part, askable, answers.get(rule.suite, []), share) for part in parts_of(rule)]
            if judges
            else []
        )
        # Of a rule that looks at the run and at the base, the figures of whichever leaves less room.
        figures.append(
            min(
                (it for it in found if it.slack is not None),
                key=lambda it: it.slack or 0,
                default=NO_POWER,
            )
        )
    return replace(plan, powers=tuple(figures), notes=(*plan.notes, *_repeated(plan, share)))


def _repeated(plan: Plan, share: float) -> Iterator[Note]:
    """What it comes to that each repetition of a case must pass."""
    for policy in plan.policies:
        strict = [
            rule
            for rule in policy.rules
            if rule.blocking and (rule.every_case or rule.min_pass_rate == 1)
        ]
        jobs = [
            job
            for job in plan.jobs
            if not (job.of_base or job.needs) and 1 < job.repeats <= MOST_RUNS
        ]
        looked_at = (
            job.repeats
            for job in jobs
            if any(rule.suite == job.suite and any(selected(rule, job)) for rule in strict)
        )
        for times, cases in Counter(looked_at).items():
            passes = times // 2 + 1
            every, most = (
                1 - (1 - of_runs(share, times, it).good) ** cases for it in (times, passes)
            )
            if every > 0.01:
                what = f"`repeat: {times}` makes each of {many(cases, 'case')} pass {times} times"
                blocked = f"If each run fails {percent(share)} of the time, an unchanged pull request is blocked in {chance(every)} of runs"
                cure = f"With `runs: {{of: {times}, pass: {passes}}}`, {chance(most)} are"
                yield Note(f"{what}. {blocked}. {cure}", Origin(policy.rules[0].suite))


def _power(rule: Rule, askable: Askable, answers: Sequence[_Planned], runs_share: float) -> Power:
    cases, unchanged = Counter[Chances](), Counter[float]()
    failing, used = 0, False
    noise, votes = askable.policies[rule.suite].noise, askable.lead(rule.suite).votes
    asked, once = of_grade(noise, votes, rule.beside_base), of_grade(noise, 0)
    stand = lead_reached(1 - noise, votes) if rule.beside_base else 1.0
    for it in answers:
        runs = of_rule(rule, it.job.needs) if it.job.needs else None
        taken = [binding for binding in selected(rule, it.job) if binding.asserted.counts]
        # What the rule counts of an answer: the case, with all its runs, or each grade.
        is_one = taken and (rule.every_case or rule.beside_base or runs)
        for unit in [taken] if is_one else [[binding] for binding in taken]:
            bounds = [
                bound for binding in unit for bound in binding.bounds if bound.asserted.counts
            ]
            each = [
                asked if id(bound) in it.again else once if "text" in bound.models else _CERTAIN
                for bound in bounds
            ]
            usual = of_runs(runs_share, runs.of, runs.passes) if runs else of_case(each)
            fails = it.base is not None and _failed(rule, it.job, unit, it.base)
            cases[usual] += 1
            failing += fails
            past = [it.again.get(id(bound)) for bound in bounds]
            known = not runs and any(share is not None for share in past)
            if known:
                pairs = zip(each, past, strict=True)
                usual = of_case(
                    one if share is None else Chances(share * stand, 1.0) for one, share in pairs
                )
            used = used or known
            unchanged[usual.broken if fails and not known else usual.good] += not (
                fails and rule.beside_base
            )
    least = 1.0 if rule.every_case else rule.min_pass_rate
    most = (
        rule.max_new_failures
        if rule.beside_base
        else None
        if least is None
        else room(cases.total(), least)
    )
    groups = [(count, share) for share, count in unchanged.items()] if used else ()
    return (
        NO_POWER
        if most is None or not cases
        else power(cases, most, failing, rule.beside_base, groups)
    )


def _failed(rule: Rule, job: Job, unit: Sequence[Binding], base: Row) -> bool:
    """Whether the base says of it that it fails, by the same definition."""
    if rule.every_case:
        return base.outcome is Outcome.FAIL and base.definition == job.definition
    failing = {
        (grade.assertion.key, grade.assertion.definition)
        for grade in base.grades
        if grade.outcome is Outcome.FAIL
    }
    return any((binding.asserted.key, binding.asserted.definition) in failing for binding in unit)
