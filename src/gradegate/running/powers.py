"""What the rules of a plan cannot see, known before the first call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from gradegate.base.pairing import pair
from gradegate.deciding.history import Prior, factor_chances
from gradegate.deciding.power import Chances, of_case, of_grade, of_runs, power, room, stands
from gradegate.deciding.runs import of_rule
from gradegate.deciding.waves import parts_of
from gradegate.grading.conclude import Binding
from gradegate.planning.checks import selected
from gradegate.planning.identity import identity
from gradegate.planning.job import Job, Plan
from gradegate.running.askable import Askable
from gradegate.running.histories import Histories
from gradegate.values.result import NO_POWER, Outcome, Power, Row
from gradegate.values.suite import Rule

_FAILING_RUNS = 0.03  # the share of runs that fail, where no baseline shows it
_CERTAIN = Chances(0.0, 1.0)  # of a grade that no model gives


@dataclass(frozen=True, slots=True)
class _Planned:
    """An answer, what the base says of it, and of its grades that are asked again the chance to fail that their history gives, by bound."""

    job: Job
    base: Row | None
    again: Mapping[int, float | None]


def with_powers(plan: Plan) -> Plan:
    """The plan with the figures of each rule; a rule that cannot block, or rests on something else than counts, has none."""
    askable = Askable(plan)
    histories, chance = Histories(plan, askable), cache(lambda prior: factor_chances(prior, broken=False).fails)
    places = [
        (index, repeat) for index, job in enumerate(plan.jobs) if not job.of_base for repeat in range(1 if job.needs else job.repeats)
    ]
    bases: Sequence[Row | None] = [None] * len(places)
    if plan.baseline:
        bases, _ = pair((identity(plan.jobs[index], repeat) for index, repeat in places), plan.baseline)
    answers: dict[str, list[_Planned]] = {}
    for (index, repeat), base in zip(places, bases, strict=True):
        job, ids = plan.jobs[index], histories.of((index, repeat))
        again = {id(bound): _prior(histories, job, position, ids) for position, bound in askable.of(job)}
        known = {bound: chance(prior) if prior else None for bound, prior in again.items()}
        answers.setdefault(job.suite, []).append(_Planned(job, base, known))
    rules = (rule for policy in plan.policies for rule in policy.rules)
    return replace(plan, powers=tuple(_of_rule(rule, askable, answers.get(rule.suite, [])) for rule in rules))


def _prior(histories: Histories, job: Job, position: int, ids: Mapping[int, str]) -> Prior | None:
    """The history of a grade, as it counts if the grader is still the model of its newest run."""
    record = histories.records.get(ids.get(position, ""))
    return histories.prior(job, position, ids[position], record.runs[-1].model) if record and record.runs else None


def _of_rule(rule: Rule, askable: Askable, answers: Sequence[_Planned]) -> Power:
    """Of a rule that looks at the run and at the base, the figures of whichever leaves less room."""
    if not rule.blocking or rule.confidence is not None:
        return NO_POWER
    found = [_of_part(part, askable, answers) for part in parts_of(rule)]
    return min((it for it in found if it.slack is not None), key=lambda it: it.slack or 0, default=NO_POWER)


def _of_part(rule: Rule, askable: Askable, answers: Sequence[_Planned]) -> Power:
    cases, unchanged = Counter[Chances](), Counter[float]()
    failing, used = 0, False
    noise, votes = askable.policies[rule.suite].noise, askable.lead(rule.suite).votes
    asked, once = of_grade(noise, votes, rule.beside_base), of_grade(noise, 0)
    stand, runs_share = stands(noise, votes) if rule.beside_base else 1.0, _failing_share(answers)
    for it in answers:
        runs = of_rule(rule, it.job.needs) if it.job.needs else None
        for unit in _units(rule, it.job):
            bounds = [bound for binding in unit for bound in binding.bounds if bound.asserted.counts]
            each = [asked if id(bound) in it.again else once if "text" in bound.models else _CERTAIN for bound in bounds]
            usual = of_runs(runs_share, runs.of, runs.passes) if runs else of_case(each)
            fails = it.base is not None and _failed(rule, it.job, unit, it.base)
            cases[usual] += 1
            failing += fails
            past = [it.again.get(id(bound)) for bound in bounds]
            known = not runs and any(share is not None for share in past)
            if known:
                pairs = zip(each, past, strict=True)
                usual = of_case(one if share is None else Chances(share * stand, 1.0) for one, share in pairs)
            used = used or known
            unchanged[usual.broken if fails and not known else usual.good] += not (fails and rule.beside_base)
    least = 1.0 if rule.every_case else rule.min_pass_rate
    most = rule.max_new_failures if rule.beside_base else None if least is None else room(cases.total(), least)
    groups = [(count, share) for share, count in unchanged.items()] if used else ()
    return NO_POWER if most is None or not cases else power(cases, most, failing, rule.beside_base, groups)


def _failing_share(answers: Sequence[_Planned]) -> float:
    """The share of runs that fail on the base."""
    bases = [it.base for it in answers if it.base and it.base.runs]
    made = sum(base.runs for base in bases)
    return 1 - sum(base.passed for base in bases) / made if made else _FAILING_RUNS


def _units(rule: Rule, job: Job) -> Iterator[Sequence[Binding]]:
    """The assertions of each thing that the rule counts: of the case, with all its runs, or of one grade."""
    taken = [binding for binding in selected(rule, job) if binding.asserted.counts]
    if rule.every_case or rule.beside_base or job.needs:
        yield from [taken] if taken else []
    else:
        yield from ([binding] for binding in taken)


def _failed(rule: Rule, job: Job, unit: Sequence[Binding], base: Row) -> bool:
    """Whether the base says of it that it fails, by the same definition."""
    if rule.every_case:
        return base.outcome is Outcome.FAIL and base.definition == job.definition
    failing = {(grade.assertion.key, grade.assertion.definition) for grade in base.grades if grade.outcome is Outcome.FAIL}
    return any((binding.asserted.key, binding.asserted.definition) in failing for binding in unit)
