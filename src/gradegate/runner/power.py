"""Measures the rules of a plan before a run: how often noise alone makes the run miss a rule, and how many broken cases it notices."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from gradegate.assertions.grading.bound import Binding, BoundAssertion
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
    """A planned answer, with what the base and the history say of it."""

    job: Job
    repeat: int
    base: Row | None
    # For each assertion that may be re-asked, by its identity: the chance that it fails by its history, None without a history
    reaskable: Mapping[int, float | None]


_Answers = Mapping[str, Sequence[_PlannedAnswer]]  # by the suite


def with_powers(plan: Plan) -> Plan:
    """The plan with the figures of each rule, and with notes on rules that an unchanged pull request may miss."""
    histories = Histories(plan)
    answers = _planned_answers(plan, histories)
    failing_share = _failing_share(answers)
    powers = []
    for rule in plan.rules:
        answers_of_suite = answers.get(rule.suite, ())
        powers.append(_measure_rule(rule, histories.eligible, answers_of_suite, failing_share))
    notes = (*plan.notes, *_notes_on_repeats(plan, failing_share), *_notes_on_losers(plan, answers))
    return replace(plan, powers=tuple(powers), notes=notes)


def _planned_answers(plan: Plan, histories: Histories) -> _Answers:
    """The planned answers of the head. All runs of a case that count together are one."""
    chance_to_fail = cache(chance_of_failure)
    answers = defaultdict(list)
    for index, job in enumerate(plan.jobs):
        if job.of_base:
            continue
        for repeat in range(1 if job.needs else job.repeats):
            answer_id = AnswerId(index, repeat)
            base = plan.baseline.paired[answer_id] if plan.baseline else None
            reaskable: dict[int, float | None] = {}
            keys = histories.keys(answer_id)
            for position, bound in histories.eligible.bounds_of(job).items():
                reaskable[id(bound)] = None
                past = histories.records.get(keys.get(position, ""))
                # A history counts if the grader is still the model of its newest run.
                if past and past.runs:
                    stopping_rule = histories.rule(answer_id, job, position, past.runs[-1].model)
                    if stopping_rule:
                        reaskable[id(bound)] = chance_to_fail(stopping_rule)
            answers[job.suite].append(_PlannedAnswer(job, repeat, base, reaskable))
    return answers


def _failing_share(answers: _Answers) -> float:
    """The share of runs that failed on the base."""
    failed = 0
    total = 0
    for answers_of_suite in answers.values():
        for answer in answers_of_suite:
            base = answer.base
            if base is None or base.has_error:
                continue
            if base.runs:
                failed += base.runs - base.passed
                total += base.runs
            else:  # a case without runs counts as one run
                failed += base.has_failed
                total += 1
    return failed / total if total else _FAILING_SHARE


# --- the figures of a rule --------------------------------------------------------------------------------------


def _measure_rule(
    rule: Rule, eligible: EligibleGrades, answers: Sequence[_PlannedAnswer], failing_share: float
) -> Power:
    """The figures of a rule. It has none if it cannot block, or if it does not only count cases."""
    powers = []
    if rule.blocking and rule.has_verdict_limit:
        for limit in split_rule(rule):
            power = _measure_limit(limit, eligible, answers, failing_share)
            if power.slack is not None:
                powers.append(power)
    # If a rule limits both the run and the base, the limit with less room counts.
    return min(powers, key=lambda power: power.slack or 0, default=NO_POWER)


class _GradeChances(FrozenStruct):
    """The chances to fail of the grades that a rule looks at."""

    reaskable: Chances
    asked_once: Chances  # by a model
    base_passes: float  # the chance that the base's answer passes when it is graded again; 1 if it is not graded again

    def of_grade(self, bound: BoundAssertion, answer: _PlannedAnswer) -> Chances:
        """The chances of a grade by the noise of its grader."""
        if id(bound) in answer.reaskable:
            return self.reaskable
        return self.asked_once if "text" in bound.models else _CERTAIN


class _CaseChances(FrozenStruct):
    """The chances to fail of one case that a rule counts."""

    usual: Chances  # by noise, or by the share of failing runs
    unchanged: float  # the chance that it fails although nothing changed: by its history, or by what the base says
    fails_on_base: bool
    has_history: bool = False


def _measure_limit(
    rule: Rule, eligible: EligibleGrades, answers: Sequence[_PlannedAnswer], failing_share: float
) -> Power:
    """The figures of a rule with one limit."""
    noise = eligible.policies[rule.suite].noise
    votes = eligible.lead(rule.suite).votes
    base_passes = 1.0
    if rule.has_base_limit:
        base_passes = chance_of_lead(1 - noise, votes)
    chances = _GradeChances(
        grade_chances(noise, votes, rule.has_base_limit),
        grade_chances(noise, 0),
        base_passes,
    )
    cases = []
    has_runs = False
    for answer in answers:
        bindings = _counting_bindings(rule, answer.job)
        if any(binding.is_comparison for binding in bindings):
            return NO_POWER  # noise does not decide which output wins
        if bindings:
            cases.append(_measure_case(rule, answer, bindings, chances, failing_share))
            has_runs = has_runs or answer.job.needs is not None

    allowed = rule.max_new_failures
    if not rule.has_base_limit:
        min_share = _min_share(rule)
        allowed = None if min_share is None else failures_allowed(len(cases), min_share)
    if allowed is None or not cases:
        return NO_POWER

    # With histories, cases differ in their chance to fail unchanged. A failure of the base is no new one.
    unchanged: Counter[float] = Counter()
    if any(case.has_history for case in cases):
        for case in cases:
            if not (case.fails_on_base and rule.has_base_limit):
                unchanged[case.unchanged] += 1
    power = rule_power(
        Counter(case.usual for case in cases),
        allowed,
        sum(case.fails_on_base for case in cases),
        rule.has_base_limit,
        [(count, chance) for chance, count in unchanged.items()],
    )
    return replace(power, by_runs=has_runs)


def _measure_case(
    rule: Rule,
    answer: _PlannedAnswer,
    bindings: Sequence[Binding],
    chances: _GradeChances,
    failing_share: float,
) -> _CaseChances:
    """The chances of a case. ``bindings`` are its assertions that count for the rule."""
    job = answer.job
    fails = answer.base is not None and _fails_on_base(rule, job, bindings, answer.base)
    if job.needs:
        runs = runs_required(rule, job.needs)
        usual = runs_chances(failing_share, runs.of, runs.passes)
        return _CaseChances(usual, usual.broken if fails else usual.good, fails)

    by_noise = []
    by_history = []
    has_history = False
    for binding in bindings:
        for bound in binding.members:
            if not bound.assertion.counts:
                continue
            of_grade = chances.of_grade(bound, answer)
            by_noise.append(of_grade)
            share = answer.reaskable.get(id(bound))
            if share is not None:
                has_history = True
                of_grade = Chances(share * chances.base_passes, 1.0)
            by_history.append(of_grade)

    usual = case_chances(by_noise)
    if has_history:
        unchanged = case_chances(by_history).good
    else:
        unchanged = usual.broken if fails else usual.good
    return _CaseChances(usual, unchanged, fails, has_history)


def _min_share(rule: Rule) -> float | None:
    """The least share of cases that must pass."""
    return 1.0 if rule.every_case else rule.min_pass_rate


def _counting_bindings(rule: Rule, job: Job) -> list[Binding]:
    return [binding for binding in selected_assertions(rule, job) if binding.assertion.counts]


def _fails_on_base(rule: Rule, job: Job, bindings: Sequence[Binding], base: Row) -> bool:
    """Whether the base says that a case fails the rule, by the same definition."""
    if rule.every_case:
        return base.has_failed and base.definition == job.definition
    failing = {
        (grade.assertion.key, grade.assertion.definition)
        for grade in base.grades
        if grade.has_failed
    }
    for binding in bindings:
        if (binding.assertion.key, binding.assertion.definition) in failing:
            return True
    return False


# --- notes on rules that an unchanged pull request may miss -----------------------------------------------------


def _notes_on_repeats(plan: Plan, failing_share: float) -> Iterator[Note]:
    """How often an unchanged pull request is blocked because each repetition of a case must pass."""
    for policy in plan.policies:
        strict_rules = [
            rule
            for rule in policy.rules
            if rule.blocking and (rule.is_default or _min_share(rule) == 1)
        ]

        case_counts = Counter[int]()  # of cases that strict rules select, by their repeats
        for job in plan.jobs:
            if job.of_base or job.needs or not 1 < job.repeats <= MOST_RUNS:
                continue
            rules = (rule for rule in strict_rules if rule.suite == job.suite)
            if any(any(selected_assertions(rule, job)) for rule in rules):
                case_counts[job.repeats] += 1

        for repeats, count in case_counts.items():
            passes = repeats // 2 + 1
            blocked = _chance_of_any_failure(failing_share, repeats, repeats, count)
            blocked_with_runs = _chance_of_any_failure(failing_share, repeats, passes, count)
            if blocked > 0.01:
                what = f"`repeat: {repeats}` makes each of {format_count(count, 'case')} pass {repeats} times"
                why = f"If each run fails {format_percent(failing_share)} of the time, an unchanged pull request is blocked in {format_chance(blocked)} of runs"
                cure = f"With `runs: {passes}/{repeats}`, {format_chance(blocked_with_runs)} are"
                yield Note(f"{what}. {why}. {cure}", Origin(policy.rules[0].suite))


def _chance_of_any_failure(failing_share: float, of: int, passes: int, cases: int) -> float:
    """The chance that one of several good cases fails, if ``passes`` of its runs must pass."""
    return 1 - (1 - runs_chances(failing_share, of, passes).good) ** cases


def _notes_on_losers(plan: Plan, answers: _Answers) -> Iterator[Note]:
    """Name each comparison by which a rule is missed in every run: all outputs of a test but one lose."""
    for rule in plan.rules:
        min_share = _min_share(rule)
        if not rule.blocking or min_share is None:
            continue
        total = 0
        comparisons = []
        tests = set()
        for answer in answers.get(rule.suite, ()):
            job = answer.job
            bindings = _counting_bindings(rule, job)
            if bindings:
                total += 1
            # A test with its own threshold may pass although its output loses.
            if job.case.threshold is None:
                comparing = [binding for binding in bindings if binding.is_comparison]
                if comparing:
                    comparisons.append(comparing[0])
                    tests.add((job.number, answer.repeat))

        loser_count = len(comparisons) - len(tests)
        if loser_count > failures_allowed(total, min_share):
            asserted = comparisons[0].assertion
            what = f"the losing output of `{asserted.type}` always fails"
            yield Note(f"{what}; write `blocking: false` or test one prompt", asserted.origin)
