"""What the rules of a plan cannot see: how often noise alone makes a run miss a rule, and how often it notices broken cases."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from gradegate.assertions.grading.bound import Binding
from gradegate.core.numbers import format_chance, format_count, format_percent
from gradegate.core.options import MOST_RUNS
from gradegate.core.policy import Note, Rule
from gradegate.errors import Origin
from gradegate.gate.case_runs import of_rule
from gradegate.gate.reasks.needs import parts_of
from gradegate.gate.reasks.stopping import chance_of_failure
from gradegate.gate.statistics import (
    Chances,
    lead_reached,
    of_case,
    of_grade,
    of_runs,
    power,
    room,
)
from gradegate.planning.plan import Job, Plan, selected_assertions
from gradegate.results.rows import AnswerId, Row
from gradegate.results.run_result import NO_POWER, Power
from gradegate.runner.reasks.eligible import EligibleGrades
from gradegate.runner.reasks.histories import Histories
from gradegate.structs import FrozenStruct, replace

_FAILING_RUNS = 0.03  # the share of runs that fail, where no baseline shows it
_CERTAIN = Chances(0.0, 1.0)  # of a grade that no model gives


class _Planned(FrozenStruct):
    """An answer, what the base says of it, and of its grades that are asked again the chance to fail that their history gives, by bound."""

    job: Job
    repeat: int
    base: Row | None
    again: Mapping[int, float | None]


def with_powers(plan: Plan) -> Plan:
    """The plan with the figures of each rule; a rule that cannot block, or rests on something else than counts, has none."""
    histories = Histories(plan)
    eligible = histories.eligible
    chance_to_fail = cache(chance_of_failure)
    answers = defaultdict(list)
    of_base = []  # what the base says, as far as it was graded
    for index, job in enumerate(plan.jobs):
        if job.of_base:
            continue
        for repeat in range(1 if job.needs else job.repeats):
            answer_id = AnswerId(index, repeat)
            base = plan.baseline.paired[answer_id] if plan.baseline else None
            if base and not base.has_error:
                of_base.append(base)
            known: dict[int, float | None] = {}
            keys = histories.keys(answer_id)
            for position, bound in eligible.of(job).items():
                known[id(bound)] = None
                past = histories.records.get(keys.get(position, ""))
                # A history counts if the grader is still the model of its newest run.
                if past and past.runs:
                    history_rule = histories.rule(answer_id, job, position, past.runs[-1].model)
                    if history_rule:
                        known[id(bound)] = chance_to_fail(history_rule)
            answers[job.suite].append(_Planned(job, repeat, base, known))
    # The share of runs that fail on the base; of a case without runs, its answer is one.
    failed = sum(row.runs - row.passed if row.runs else row.has_failed for row in of_base)
    share = failed / sum(row.runs or 1 for row in of_base) if of_base else _FAILING_RUNS
    figures = []
    for rule in plan.rules:
        powers = []
        if rule.blocking and rule.judges:
            powers = [_power(it, eligible, answers[rule.suite], share) for it in parts_of(rule)]
        # Of a rule that looks at the run and at the base, the figures of whichever leaves less room.
        told = (power for power in powers if power.slack is not None)
        figures.append(min(told, key=lambda power: power.slack or 0, default=NO_POWER))
    notes = (*plan.notes, *_repeated(plan, share), *_losing(plan, answers))
    return replace(plan, powers=tuple(figures), notes=notes)


def _losing(plan: Plan, answers: Mapping[str, Sequence[_Planned]]) -> Iterator[Note]:
    """Name each comparison by which a rule is missed in every run: all outputs of a test but one lose."""
    for rule in plan.rules:
        least = 1.0 if rule.every_case else rule.min_pass_rate
        if not rule.blocking or least is None:
            continue
        counted = [it for it in answers.get(rule.suite, ()) if _counting(rule, it.job)]
        # With a threshold of its own, a test may pass although its output loses.
        comparing = [
            it for it in counted if it.job.case.threshold is None and _compared(rule, it.job)
        ]
        tests = {(it.job.number, it.repeat) for it in comparing}
        if len(comparing) - len(tests) > room(len(counted), least):
            lost = _compared(rule, comparing[0].job)[0].asserted
            what = f"the losing output of `{lost.type}` always fails"
            yield Note(f"{what}; write `blocking: false` or test one prompt", lost.origin)


def _counting(rule: Rule, job: Job) -> list[Binding]:
    return [binding for binding in selected_assertions(rule, job) if binding.asserted.counts]


def _compared(rule: Rule, job: Job) -> list[Binding]:
    return [binding for binding in _counting(rule, job) if binding.compares]


def _repeated(plan: Plan, share: float) -> Iterator[Note]:
    """What it comes to that each repetition of a case must pass."""
    for policy in plan.policies:
        strict = [
            rule
            for rule in policy.rules
            if rule.blocking and (rule.every_case or rule.is_default or rule.min_pass_rate == 1)
        ]
        looked_at = (
            job.repeats
            for job in plan.jobs
            if not (job.of_base or job.needs)
            and 1 < job.repeats <= MOST_RUNS
            and any(
                rule.suite == job.suite and any(selected_assertions(rule, job)) for rule in strict
            )
        )
        for times, cases in Counter(looked_at).items():
            passes = times // 2 + 1
            every, most = (
                1 - (1 - of_runs(share, times, it).good) ** cases for it in (times, passes)
            )
            if every > 0.01:
                what = f"`repeat: {times}` makes each of {format_count(cases, 'case')} pass {times} times"
                blocked = f"If each run fails {format_percent(share)} of the time, an unchanged pull request is blocked in {format_chance(every)} of runs"
                cure = f"With `runs: {passes}/{times}`, {format_chance(most)} are"
                yield Note(f"{what}. {blocked}. {cure}", Origin(policy.rules[0].suite))


def _power(
    rule: Rule, eligible: EligibleGrades, answers: Sequence[_Planned], runs_share: float
) -> Power:
    cases, unchanged = Counter[Chances](), Counter[float]()
    failing, used, by_runs = 0, False, False
    noise, votes = eligible.policies[rule.suite].noise, eligible.lead(rule.suite).votes
    asked, once = of_grade(noise, votes, rule.beside_base), of_grade(noise, 0)
    stand = lead_reached(1 - noise, votes) if rule.beside_base else 1.0
    for it in answers:
        runs = of_rule(rule, it.job.needs) if it.job.needs else None
        taken = _counting(rule, it.job)
        if not taken:
            continue
        if _compared(rule, it.job):
            return NO_POWER  # noise does not decide which output wins
        by_runs = by_runs or runs is not None
        bounds = [bound for binding in taken for bound in binding.bounds if bound.asserted.counts]
        each = [
            asked if id(bound) in it.again else once if "text" in bound.models else _CERTAIN
            for bound in bounds
        ]
        usual = of_runs(runs_share, runs.of, runs.passes) if runs else of_case(each)
        fails = it.base is not None and _failed(rule, it.job, taken, it.base)
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
    most = rule.max_new_failures
    if not rule.beside_base:
        most = None if least is None else room(cases.total(), least)
    if most is None or not cases:
        return NO_POWER
    groups = [(count, share) for share, count in unchanged.items()] if used else ()
    return replace(power(cases, most, failing, rule.beside_base, groups), by_runs=by_runs)


def _failed(rule: Rule, job: Job, unit: Sequence[Binding], base: Row) -> bool:
    """Whether the base says of it that it fails, by the same definition."""
    if rule.every_case:
        return base.has_failed and base.definition == job.definition
    failing = {
        (grade.assertion.key, grade.assertion.definition)
        for grade in base.grades
        if grade.has_failed
    }
    return any((binding.asserted.key, binding.asserted.definition) in failing for binding in unit)
