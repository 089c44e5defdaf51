"""What the rules of a plan cannot see, known before the first call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradegate.base.pairing import pair
from gradegate.deciding.power import Chances, of_case, of_grade, power, room
from gradegate.deciding.waves import parts_of
from gradegate.grading.conclude import Binding, Bound
from gradegate.planning.checks import selected
from gradegate.planning.identity import identity
from gradegate.planning.job import Job, Plan
from gradegate.running.askable import Askable
from gradegate.values.result import NO_POWER, Outcome, Power, Row
from gradegate.values.suite import Rule

_Answers = Sequence[tuple[Job, Row | None, frozenset[int]]]  # jobs, what the base says of each, and the grades that are asked again


def with_powers(plan: Plan) -> Plan:
    """The plan with the figures of each rule; a rule that cannot block, or rests on something else than counts, has none."""
    askable = Askable(plan)
    planned = [(job, repeat) for job in plan.jobs if not job.of_base for repeat in range(job.repeats)]
    bases: Sequence[Row | None] = [None] * len(planned)
    if plan.baseline:
        bases, _ = pair((identity(*it) for it in planned), plan.baseline)
    again = {id(job): frozenset(id(bound) for _, bound in askable.of(job)) for job in plan.jobs}
    answers = [(job, base, again[id(job)]) for (job, _), base in zip(planned, bases, strict=True)]
    rules = (rule for policy in plan.policies for rule in policy.rules)
    figures = (_of_rule(rule, askable, [it for it in answers if it[0].suite == rule.suite]) for rule in rules)
    return replace(plan, powers=tuple(figures))


def _of_rule(rule: Rule, askable: Askable, answers: _Answers) -> Power:
    """Of a rule that looks at the run and at the base, the figures of whichever leaves less room."""
    if not rule.blocking or rule.confidence is not None:
        return NO_POWER
    found = [_of_part(part, askable, answers) for part in parts_of(rule)]
    return min((it for it in found if it.slack is not None), key=lambda it: it.slack or 0, default=NO_POWER)


def _of_part(rule: Rule, askable: Askable, answers: _Answers) -> Power:
    cases: Counter[Chances] = Counter()
    failing = 0
    noise, votes = askable.policies[rule.suite].noise, askable.lead(rule.suite).votes
    asked, once = of_grade(noise, votes, rule.beside_base), of_grade(noise, 0)
    for job, base, again in answers:

        def chances(bound: Bound, again: frozenset[int] = again) -> Chances:
            return asked if id(bound) in again else once if "text" in bound.models else Chances(0.0, 1.0)

        for unit in _units(rule, job):
            cases[of_case(chances(bound) for binding in unit for bound in binding.bounds if bound.asserted.counts)] += 1
            failing += base is not None and _failed(rule, job, unit, base)
    least = 1.0 if rule.every_case else rule.min_pass_rate
    most = rule.max_new_failures if rule.beside_base else None if least is None else room(cases.total(), least)
    return NO_POWER if most is None or not cases else power(cases, most, failing, rule.beside_base)


def _units(rule: Rule, job: Job) -> Iterator[Sequence[Binding]]:
    """The assertions of each thing that the rule counts of an answer: of the case, or of one grade."""
    taken = [binding for binding in selected(rule, job) if binding.asserted.counts]
    if rule.every_case or rule.beside_base:
        yield from [taken] if taken else []
    else:
        yield from ([binding] for binding in taken)


def _failed(rule: Rule, job: Job, unit: Sequence[Binding], base: Row) -> bool:
    """Whether the base says of it that it fails, by the same definition."""
    if rule.every_case:
        return base.outcome is Outcome.FAIL and base.definition == job.definition
    failing = {(grade.assertion.key, grade.assertion.definition) for grade in base.grades if grade.outcome is Outcome.FAIL}
    return any((binding.asserted.key, binding.asserted.definition) in failing for binding in unit)
