"""Figures of each rule: how often noise alone makes a run miss it, and how many broken cases it notices."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from gradegate.assertions.grading.bound import Binding
from gradegate.core.numbers import format_chance, format_count, format_percent
from gradegate.core.options import MOST_RUNS
from gradegate.core.policy import Note, Rule
from gradegate.errors import Origin
from gradegate.gate.case_runs import runs_required
from gradegate.gate.reasks.needs import split_rule
from gradegate.gate.reasks.stopping import chance_of_failure
from gradegate.gate.statistics import (
    Chances,
    case_chances,
    chance_of_lead,
    failures_allowed,
    grade_chances,
    rule_power,
    runs_chances,
)
from gradegate.planning.plan import Job, Plan, selected_assertions
from gradegate.results.rows import AnswerId, Row
from gradegate.results.run_result import NO_POWER, Power
from gradegate.runner.reasks.eligible import EligibleGrades
from gradegate.runner.reasks.histories import Histories
from gradegate.structs import FrozenStruct, replace

_FAILING_SHARE = 0.03  # of runs, if no baseline shows it
_CERTAIN = Chances(0.0, 1.0)  # of a grade that no model gives


class _PlannedAnswer(FrozenStruct):
    """An answer, with what the base says of it."""

    job: Job
    repeat: int
    base: Row | None
    # For each grade that may be re-asked, by the id of its assertion: its chance to fail by its history, if there is one
    reasked: Mapping[int, float | None]


def with_powers(plan: Plan) -> Plan:
    """The plan with the figures of each rule. A rule has none if it cannot block, or if it rests on more than counts."""
    histories = Histories(plan)
    eligible = histories.eligible
    answers, base_rows = _planned_answers(plan, histories)
    failing_share = _FAILING_SHARE
    if base_rows:
        # A case without runs counts as one run.
        failed = sum(row.runs - row.passed if row.runs else row.has_failed for row in base_rows)
        failing_share = failed / sum(row.runs or 1 for row in base_rows)

    figures = []
    for rule in plan.rules:
        powers = []
        if rule.blocking and rule.has_verdict_limit:
            powers = [
                _measure_power(limit, eligible, answers[rule.suite], failing_share)
                for limit in split_rule(rule)
            ]
        # If a rule limits both the run and the base, the one with less room counts.
        limited = (power for power in powers if power.slack is not None)
        figures.append(min(limited, key=lambda power: power.slack or 0, default=NO_POWER))
    notes = (*plan.notes, *_notes_on_repeats(plan, failing_share), *_notes_on_losers(plan, answers))
    return replace(plan, powers=tuple(figures), notes=notes)


def _planned_answers(
    plan: Plan, histories: Histories
) -> tuple[Mapping[str, list[_PlannedAnswer]], list[Row]]:
    """The planned answers by suite, and the rows of the base without errors."""
    chance_to_fail = cache(chance_of_failure)
    answers = defaultdict(list)
    base_rows = []
    for index, job in enumerate(plan.jobs):
        if job.of_base:
            continue
        for repeat in range(1 if job.needs else job.repeats):
            answer_id = AnswerId(index, repeat)
            base = plan.baseline.paired[answer_id] if plan.baseline else None
            if base and not base.has_error:
                base_rows.append(base)
            reasked: dict[int, float | None] = {}
            keys = histories.keys(answer_id)
            for position, bound in histories.eligible.bounds_of(job).items():
                reasked[id(bound)] = None
                past = histories.records.get(keys.get(position, ""))
                # A history counts if the grader is still the model of its newest run.
                if past and past.runs:
                    rule = histories.rule(answer_id, job, position, past.runs[-1].model)
                    if rule:
                        reasked[id(bound)] = chance_to_fail(rule)
            answers[job.suite].append(_PlannedAnswer(job, repeat, base, reasked))
    return answers, base_rows


def _notes_on_losers(plan: Plan, answers: Mapping[str, Sequence[_PlannedAnswer]]) -> Iterator[Note]:
    """Name each comparison by which a rule is missed in every run: all outputs of a test but one lose."""
    for rule in plan.rules:
        min_share = 1.0 if rule.every_case else rule.min_pass_rate
        if not rule.blocking or min_share is None:
            continue
        counting = [it for it in answers.get(rule.suite, ()) if _counting_bindings(rule, it.job)]
        comparing = []
        tests = set()
        for answer in counting:
            job = answer.job
            # A test with its own threshold may pass although its output loses.
            if job.case.threshold is None and _comparing_bindings(rule, job):
                comparing.append(job)
                tests.add((job.number, answer.repeat))
        if len(comparing) - len(tests) > failures_allowed(len(counting), min_share):
            loser = _comparing_bindings(rule, comparing[0])[0].assertion
            what = f"the losing output of `{loser.type}` always fails"
            yield Note(f"{what}; write `blocking: false` or test one prompt", loser.origin)


def _counting_bindings(rule: Rule, job: Job) -> list[Binding]:
    return [binding for binding in selected_assertions(rule, job) if binding.assertion.counts]


def _comparing_bindings(rule: Rule, job: Job) -> list[Binding]:
    return [binding for binding in _counting_bindings(rule, job) if binding.is_comparison]


def _notes_on_repeats(plan: Plan, failing_share: float) -> Iterator[Note]:
    """How often an unchanged pull request is blocked because each repetition of a case must pass."""
    for policy in plan.policies:
        strict = [
            rule
            for rule in policy.rules
            if rule.blocking and (rule.every_case or rule.is_default or rule.min_pass_rate == 1)
        ]
        cases = Counter[int]()  # cases that strict rules select, by their repeats
        for job in plan.jobs:
            if job.of_base or job.needs or not 1 < job.repeats <= MOST_RUNS:
                continue
            rules = (rule for rule in strict if rule.suite == job.suite)
            if any(any(selected_assertions(rule, job)) for rule in rules):
                cases[job.repeats] += 1

        for times, count in cases.items():
            passes = times // 2 + 1
            blocked = 1 - (1 - runs_chances(failing_share, times, times).good) ** count
            blocked_with_runs = 1 - (1 - runs_chances(failing_share, times, passes).good) ** count
            if blocked > 0.01:
                what = f"`repeat: {times}` makes each of {format_count(count, 'case')} pass {times} times"
                why = f"If each run fails {format_percent(failing_share)} of the time, an unchanged pull request is blocked in {format_chance(blocked)} of runs"
                cure = f"With `runs: {passes}/{times}`, {format_chance(blocked_with_runs)} are"
                yield Note(f"{what}. {why}. {cure}", Origin(policy.rules[0].suite))


def _measure_power(
    rule: Rule,
    eligible: EligibleGrades,
    answers: Sequence[_PlannedAnswer],
    failing_share: float,
) -> Power:
    """The figures of a rule with one limit."""
    noise = eligible.policies[rule.suite].noise
    votes = eligible.lead(rule.suite).votes
    of_reasked = grade_chances(noise, votes, rule.has_base_limit)
    of_asked_once = grade_chances(noise, 0)
    # The chance that the base's answer still passes when it is graded again
    base_passes = chance_of_lead(1 - noise, votes) if rule.has_base_limit else 1.0

    cases = Counter[Chances]()
    unchanged = Counter[float]()  # cases by their chance to fail in an unchanged pull request
    failing = 0
    has_history = has_runs = False
    for answer in answers:
        job = answer.job
        bindings = _counting_bindings(rule, job)
        if not bindings:
            continue
        if any(binding.is_comparison for binding in bindings):
            return NO_POWER  # noise does not decide which output wins

        # The chances of the case, by noise and by the share of failing runs
        chances = []
        shares = []
        for binding in bindings:
            for bound in binding.members:
                if not bound.assertion.counts:
                    continue
                shares.append(answer.reasked.get(id(bound)))
                if id(bound) in answer.reasked:
                    chances.append(of_reasked)
                else:
                    chances.append(of_asked_once if "text" in bound.models else _CERTAIN)
        if job.needs:
            has_runs = True
            runs = runs_required(rule, job.needs)
            usual = runs_chances(failing_share, runs.of, runs.passes)
        else:
            usual = case_chances(chances)
        cases[usual] += 1

        # The chance that it fails although nothing changed: by its history, or by what the base says
        fails = answer.base is not None and _fails_on_base(rule, job, bindings, answer.base)
        failing += fails
        chance = usual.broken if fails else usual.good
        if not job.needs and any(share is not None for share in shares):
            has_history = True
            by_history = [
                by_noise if share is None else Chances(share * base_passes, 1.0)
                for by_noise, share in zip(chances, shares, strict=True)
            ]
            chance = case_chances(by_history).good
        unchanged[chance] += not (fails and rule.has_base_limit)

    allowed = rule.max_new_failures
    if not rule.has_base_limit:
        min_share = 1.0 if rule.every_case else rule.min_pass_rate
        allowed = None if min_share is None else failures_allowed(cases.total(), min_share)
    if allowed is None or not cases:
        return NO_POWER
    groups = [(count, share) for share, count in unchanged.items()] if has_history else ()
    power = rule_power(cases, allowed, failing, rule.has_base_limit, groups)
    return replace(power, by_runs=has_runs)


def _fails_on_base(rule: Rule, job: Job, bindings: Sequence[Binding], base: Row) -> bool:
    """Whether the base says that a case fails the rule, by the same definition."""
    if rule.every_case:
        return base.has_failed and base.definition == job.definition
    failing = {
        (grade.assertion.key, grade.assertion.definition)
        for grade in base.grades
        if grade.has_failed
    }
    return any((it.assertion.key, it.assertion.definition) in failing for it in bindings)
