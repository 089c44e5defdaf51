"""Applies the limits of a rule against earlier runs: new failures, drops, cost and latency, and flaky cases. Pure."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from gradegate.core.numbers import (
    describe_cost_increase,
    describe_latency_increase,
    exact_fraction,
    format_count,
    format_number,
    format_percent,
    list_some,
)
from gradegate.core.policy import Earlier, Rule
from gradegate.core.usage import Increase
from gradegate.gate.case_runs import fold_cases
from gradegate.gate.reasks.ballot import is_contradicted
from gradegate.gate.rules import count_outcomes, note_on_overturned, note_on_unfinished
from gradegate.gate.statistics import student_t
from gradegate.results.accounts import BaselineReport
from gradegate.results.baseline import (
    FIXED,
    NEW_FAILURE,
    OPEN,
    PRE_EXISTING,
    UNDECIDED,
    UNSTEADY,
    case_status,
    describe_base,
    is_untolerated_failure,
)
from gradegate.results.grades import ERROR, FAIL, PASS, Grade, Outcome
from gradegate.results.rows import Row, case_name, leaf_grades, selects_grade
from gradegate.results.run_result import RuleResult, RunResult
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, replace

SIGNIFICANT = Fraction(1, 100)
_NAMED_CASES = 5  # in a reason
_MIN_PAIRS = 5  # with fewer, their spread says nothing
_MAX_AMOUNT = 1e15  # no answer takes so many dollars or seconds
_FROM_BEST_TO_WORST = (PASS, None, ERROR, FAIL)
# The outcome of a case after its re-asks, by its status. None: it is not decided.
_FINAL_OUTCOMES = {NEW_FAILURE: FAIL, FIXED: PASS, UNDECIDED: None, OPEN: None}


class RuleCase(FrozenStruct):
    """A case as a rule sees it: the row with the grades that the rule selects."""

    row: Row
    grades: tuple[Grade, ...]

    @property
    def status(self) -> str:
        """The status of the case compared with the base."""
        return case_status(self.row, self.grades)

    @property
    def base(self) -> Outcome | None:
        """What the base says about the case. None if it cannot be compared.

        If the case has a threshold, that decides over its grades.
        """
        if self.row.threshold is not None:
            return None if self.row.base is ERROR else self.row.base
        return _worst_outcome([grade.base.outcome if grade.base else None for grade in self.grades])

    @property
    def first_base(self) -> Outcome | None:
        """What the base said when it was asked first."""
        return _worst_outcome([grade.base.first if grade.base else None for grade in self.grades])

    @property
    def first_outcome(self) -> Outcome | None:
        """What this run said before any re-ask."""
        return _worst_outcome([grade.first_outcome for grade in self.grades])

    @property
    def has_error(self) -> bool:
        """Whether a selected grade is an error."""
        return any(grade.has_error for grade in self.grades)


def is_known_failure(row: Row, grade: Grade) -> bool:
    """Whether a failure was there before. If a threshold decides over the case, the case must have failed, too."""
    failed_before = grade.base is not None and grade.base.has_failed
    return failed_before and (row.threshold is None or row.base is FAIL)


def apply_base_limits(
    result: RuleResult, rows: Sequence[Row], run: RunResult, compares_answers: bool
) -> RuleResult:
    """The result of a rule with its limits against earlier runs.

    ``compares_answers``: re-asks ask the target for new answers, so the first answers of both sides are compared.
    """
    rule = result.rule
    cases = []
    if run.baseline or rule.has_base_limit:
        for row in fold_cases(rule, rows):
            selected = tuple(grade for grade in row.grades if selects_grade(rule, row, grade))
            cases.append(RuleCase(row, selected))
    if run.baseline and (rule.every_case or rule.min_pass_rate is not None):
        base_outcomes = [case.base for case in cases]
        compared = [outcome for outcome in base_outcomes if outcome]
        result = replace(result, base_rate=count_outcomes(compared).pass_rate)

    # A rule without a limit on the run itself has nothing to say about it.
    if result.has_passed and not rule.has_run_limit:
        result = replace(result, reason="")

    # On the default branch, limits wait for the first baseline or history. The other limits decide.
    if run.on_default_branch:
        for earlier in Earlier:
            waiting = _limits_without_earlier_results(earlier, rule, rows, run)
            if waiting:
                reason = f"the default branch has no {earlier.value} of its cases yet"
                result = _add_limit(result, None, reason)
                rule = replace(rule, **dict.fromkeys(waiting))

    if rule.max_cost_increase is not None or rule.max_latency_increase is not None:
        result = _limit_increases(result, rule, rows)
    if rule.max_flaky is not None:
        result = _limit_flaky(result, rule, rows, run)

    # If most failures are known or unsteady, nothing can be said about new ones.
    graded_cases = [case for case in cases if case.grades]
    if rule.has_base_limit:
        excuse = _excuse_for_failures(graded_cases)
        if excuse:
            return _add_limit(replace(result, excused=True), ERROR, excuse)
    if rule.max_new_failures is not None:
        result = _limit_new_failures(result, graded_cases, run.baseline)
    if rule.max_drop is not None:
        result = _limit_drop(result, graded_cases, compares_answers)
    return result


def _limits_without_earlier_results(
    earlier: Earlier, rule: Rule, rows: Iterable[Row], run: RunResult
) -> list[str]:
    """The limits of a rule that cannot decide yet, by their fields: they need earlier results, and there are none."""
    limits = rule.limits(earlier)
    needing = [name for name, limit in limits.items() if not limit.decides_alone]
    if needing and not _has_earlier_results(earlier, rule, rows, run):
        return needing
    return []


def _has_earlier_results(earlier: Earlier, rule: Rule, rows: Iterable[Row], run: RunResult) -> bool:
    """Whether earlier runs left something that the rule can compare with.

    Grades without a model leave no votes. A rule that selects only such grades needs no more than a history.
    """
    if earlier is Earlier.BASELINE:
        return any(_has_base(row) and _looks_at(rule, row) for row in rows)
    if run.history is None:
        return False
    is_graded_by_model = False
    for row in rows:
        for leaf in _selected_leaves(rule, row):
            if leaf.model and leaf.history:
                return True
            if leaf.model:
                is_graded_by_model = True
    return not is_graded_by_model


def _has_base(row: Row) -> bool:
    return row.base is not None or any(grade.base for grade in row.grades)


def _add_limit(result: RuleResult, outcome: Outcome | None, reason: str) -> RuleResult:
    """The result of a rule together with that of one more of its limits: its outcome, and the reason for it.

    The worse outcome wins, and only the reasons for it are kept. None is the outcome of a limit that waits for earlier results.
    """
    worst = max(result.outcome, outcome, key=_FROM_BEST_TO_WORST.index)
    reasons = []
    if result.outcome is worst:
        reasons.append(result.reason)
    if outcome is worst:
        reasons.append(reason)
    return replace(result, outcome=worst, reason="; ".join(filter(None, reasons)))


def _excuse_for_failures(cases: Iterable[RuleCase]) -> str:
    """Say that the base or the grader is broken, if most compared cases fail for that reason. Empty if not.

    Many known failures mean that the base is broken. An unsteady failure is one where the base's answer passed, and fails
    when it is graded again. Many of them mean that the grader is broken.
    """
    statuses = []
    for case in cases:
        is_compared = case.base is not None
        if is_compared and not case.has_error:
            statuses.append(case.status)
    known = statuses.count(PRE_EXISTING)
    unsteady = statuses.count(UNSTEADY)
    if 2 * (known + unsteady) <= len(statuses):
        return ""

    compared_cases = format_count(len(statuses), "compared case")
    if known >= unsteady:
        reason = f"the base is broken: it failed {known:,} of {compared_cases}"
        if unsteady:
            reason += f"; {unsteady:,} more: unsteady"
        return reason

    reason = (
        f"the grader is broken here: it fails {unsteady:,} of {compared_cases}, "
        "and the base's answers that passed"
    )
    if known:
        reason += f"; {known:,} more: known"
    return reason


# --- new failures ---------------------------------------------------------------------------------------------


def _limit_new_failures(
    result: RuleResult, cases: Sequence[RuleCase], report: BaselineReport | None
) -> RuleResult:
    """Apply ``max-new-failures``."""
    allowed = result.rule.max_new_failures or 0
    new = []
    unsure = []  # not re-asked, or the base's answer could not be graded again
    contradicted = []
    for case in cases:
        status = case.status
        if status == NEW_FAILURE:
            new.append(case)
        # The policy for errors decides about errors of this run, as in every rule.
        elif status in (OPEN, UNDECIDED) and _has_untolerated_failure(case):
            unsure.append(case)
        elif any(is_contradicted(grade) for grade in case.grades):
            contradicted.append(case)

    note = _note_on_other_failures(cases)
    failures = format_count(len(new), "new failure")
    result = replace(result, new_failures=len(new))

    # Missed: more failures are new than the rule allows.
    if len(new) > allowed:
        limit = ""
        if allowed:
            verb = "is" if allowed == 1 else "are"
            limit = f" where at most {allowed:,} {verb} allowed"
        return _add_limit(result, FAIL, f"{failures}{limit}{_evidence(new, report)}{note}")

    # Not known: with the unsure failures there are more.
    may_be_new = new + unsure
    if len(may_be_new) > allowed:
        verb = "is" if len(unsure) == 1 else "are"
        unknown = format_count(len(unsure), "failure")
        return _add_limit(result, ERROR, f"it is not known whether {unknown} {verb} new")

    # Met, and perhaps even if each answer on which the grader contradicts itself is a new failure.
    is_only_limit = result.rule.max_drop is None and not result.rule.has_run_limit
    if is_only_limit and contradicted and len(may_be_new + contradicted) <= allowed:
        result = replace(result, bears=True)
        may_be_new += contradicted
        unsure = contradicted
    if not may_be_new:
        return _add_limit(result, PASS, f"no new failure{note}")
    if unsure:
        failures = f"{format_count(len(may_be_new), 'failure')} may be new"
    names = _name_cases([case.row for case in may_be_new])
    result = replace(result, new_failures=len(may_be_new))
    return _add_limit(result, PASS, f"{failures}, at most {allowed:,} allowed: {names}{note}")


def _has_untolerated_failure(case: RuleCase) -> bool:
    return any(is_untolerated_failure(case.row, grade) for grade in case.grades)


def _note_on_other_failures(cases: Iterable[RuleCase]) -> str:
    """Say how many failures are not counted because they are known or unsteady, or were overturned."""
    statuses = Counter(case.status for case in cases)
    overturned = 0
    for case in cases:
        for grade in case.grades:
            if grade.has_passed and grade.votes:
                overturned += 1

    uncounted = []
    if statuses[PRE_EXISTING]:
        uncounted.append(format_count(statuses[PRE_EXISTING], "known failure"))
    if statuses[UNSTEADY]:
        uncounted.append(format_count(statuses[UNSTEADY], "unsteady failure"))
    note = note_on_overturned(overturned)
    if not uncounted:
        return note
    failures = " and ".join(uncounted)
    return f"; {failures} not counted{note}"


def _evidence(new: Sequence[RuleCase], report: BaselineReport | None) -> str:
    """Say ``, confirmed here and passing on the base (1a2b3c4, 2 days old)``, if that is true for all of them."""
    confirmed = ""
    if all(_is_confirmed(case) for case in new):
        confirmed = ", confirmed here"
    passed = sum(_has_passed_before(case) for case in new)
    if not passed:
        return f"{confirmed}, without a base result"
    base = describe_base(report)
    if passed < len(new):
        without = len(new) - passed
        return (
            f"{confirmed}: {passed:,} passing on the base{base}, {without:,} without a base result"
        )
    joint = " and passing" if confirmed else ", passing"
    return f"{confirmed}{joint} on the base{base}"


def _is_confirmed(case: RuleCase) -> bool:
    """Whether re-asks confirmed every new failure of a case."""
    new = _new_failures(case)
    return bool(new) and all(grade.confirmed for grade in new)


def _has_passed_before(case: RuleCase) -> bool:
    """Whether the base passed everything that fails newly in a case."""
    if case.row.threshold is not None:
        return case.base is PASS
    new = _new_failures(case)
    return bool(new) and all(grade.base and grade.base.has_passed for grade in new)


def _new_failures(case: RuleCase) -> list[Grade]:
    return [
        grade
        for grade in case.row.grades
        if grade.status == NEW_FAILURE and not grade.assertion.is_set
    ]


def _name_cases(rows: Sequence[Row]) -> str:
    """The names of the first rows, and how many more there are."""
    names = [f"`{excerpt(case_name(row), 80)}`" for row in rows[:_NAMED_CASES]]
    return list_some(names, len(rows))


# --- flaky cases ----------------------------------------------------------------------------------------------


def _limit_flaky(result: RuleResult, rule: Rule, rows: Sequence[Row], run: RunResult) -> RuleResult:
    """Apply ``max-flaky``."""
    if not _has_earlier_results(Earlier.HISTORY, rule, rows, run):
        reason = "there is no history that shows which cases are flaky"
        return _add_limit(result, ERROR, reason)
    flaky = [row for row in rows if _is_flaky(rule, row)]
    if not flaky:
        return _add_limit(result, PASS, "no case is flaky or broken on the default branch")

    allowed = rule.max_flaky or 0
    verb = "is" if len(flaky) == 1 else "are"
    cases = f"{format_count(len(flaky), 'case')} {verb} flaky or broken on the default branch"
    reason = f"{cases}, at most {allowed:,} allowed: {_name_cases(flaky)}"
    return _add_limit(result, FAIL if len(flaky) > allowed else PASS, reason)


def _is_flaky(rule: Rule, row: Row) -> bool:
    """Whether a selected grade is flaky or broken on the default branch, outside of quarantine."""
    for leaf in _selected_leaves(rule, row):
        history = leaf.history
        if history and (history.flaky or history.broken) and not history.quarantined:
            return True
    return False


def _selected_leaves(rule: Rule, row: Row) -> list[Grade]:
    """What the rule selects in a case, quarantined or not, with the members of a set in place of the set."""
    leaves: list[Grade] = []
    for position, grade in enumerate(row.grades):
        if _selects(rule, row, grade):
            leaves += leaf_grades(row.grades, position)
    return leaves


def _looks_at(rule: Rule, row: Row) -> bool:
    """Whether a rule selects anything in a case, quarantined or not."""
    return any(_selects(rule, row, grade) for grade in row.grades)


def _selects(rule: Rule, row: Row, grade: Grade) -> bool:
    return not grade.inner and rule.selects(
        grade.assertion, row.provider, row.description, row.test_metadata
    )


# --- drops ----------------------------------------------------------------------------------------------------


class SignTest(FrozenStruct):
    """How many cases became worse and better, and how many could be compared."""

    worse: int
    better: int
    compared: int

    @property
    def p(self) -> Fraction:
        """The exact chance of so many worse cases if worse and better were equally likely.

        P(Bin(worse + better, 1/2) >= worse), the sign test.
        """
        trials = self.worse + self.better
        term = 1  # trials over hits, beginning with hits = trials
        total = 1
        for hits in range(trials, self.worse, -1):
            term = term * hits // (trials - hits + 1)
            total += term
        return Fraction(total, 1 << trials)

    def is_drop(self, allowed: float) -> bool:
        """Whether the share that became worse is above the ``allowed`` one, and noise does not explain it."""
        if self.p > SIGNIFICANT:
            return False
        return Fraction(self.worse - self.better, self.compared) > exact_fraction(allowed)


def _limit_drop(
    result: RuleResult, cases: Sequence[RuleCase], compares_answers: bool
) -> RuleResult:
    """Apply ``max-drop``."""
    sign = _test_signs(cases, compares_answers)
    if not sign.compared:
        return _add_limit(result, ERROR, "no case could be compared with the base")

    p = float(sign.p)
    allowed = result.rule.max_drop or 0.0
    result = replace(result, worse=sign.worse, better=sign.better, p=p)
    changes = f"{sign.worse:,} worse and {sign.better:,} better"
    compared = format_count(sign.compared, "compared case")
    drop = max(0.0, (sign.worse - sign.better) / sign.compared)
    figures = f"a drop of {format_percent(drop)}, p = {format_number(p, 6)}"
    reason = f"{changes} of {compared}: {figures}"
    if not sign.is_drop(allowed):
        return _add_limit(result, PASS, reason)

    # A budget or a signal may have left cases undone. If all of them passed, would the rule be met?
    base_outcomes = _base_outcomes_of_undone(cases, compares_answers)
    failed_before = base_outcomes.count(FAIL)
    comparable = len(base_outcomes) - base_outcomes.count(None)
    best = SignTest(sign.worse, sign.better + failed_before, sign.compared + comparable)
    if base_outcomes and not best.is_drop(allowed):
        unfinished = note_on_unfinished(len(base_outcomes))
        return _add_limit(result, ERROR, f"{reason} so far; {unfinished}")
    return _add_limit(result, FAIL, reason)


def _base_outcomes_of_undone(
    cases: Iterable[RuleCase], compares_answers: bool
) -> list[Outcome | None]:
    """What the base says about each case that is undone and not compared. None if the base says nothing."""
    outcomes = []
    for case in cases:
        if not any(grade.undone for grade in case.grades):
            continue
        if not compares_answers:
            outcomes.append(case.base)
        elif not (case.first_base and case.first_outcome):
            outcomes.append(case.first_base)
    return outcomes


def _test_signs(cases: Iterable[RuleCase], compares_answers: bool) -> SignTest:
    """Compare what both sides said first, or in the end, as far as that is decided."""
    worse = 0
    better = 0
    compared = 0
    for case in cases:
        if compares_answers:
            base = case.first_base
            head = case.first_outcome
        else:
            base = None if case.has_error else case.base
            # Any other status means that both sides are the same: a known failure is as on the base.
            head = _FINAL_OUTCOMES.get(case.status, base)
        if base is None or head is None:
            continue
        compared += 1
        if base is PASS and head is FAIL:
            worse += 1
        elif base is FAIL and head is PASS:
            better += 1
    return SignTest(worse, better, compared)


def _worst_outcome(outcomes: Iterable[Outcome | None]) -> Outcome | None:
    """The outcome of several grades together: one FAIL fails all. None without grades, or if one is unknown."""
    distinct = set(outcomes)
    if not distinct or None in distinct or ERROR in distinct:
        return None
    return FAIL if FAIL in distinct else PASS


# --- cost and latency: the mean of paired differences, and its noise ------------------------------------------


def measure_increases(
    rows: Iterable[Row], rule: Rule | None = None
) -> tuple[Increase | None, Increase | None]:
    """How many dollars, and how many seconds more an answer takes than on the base. None if that is not known.

    Only answers count for which both sides asked the target, and which the rule looks at.
    """
    costs = []
    times = []
    for row in rows:
        base = row.base_took
        head = row.took
        if base is None or head is None:
            continue
        if rule is not None and not _looks_at(rule, row):
            continue
        times.append((base.seconds, head.seconds))
        if base.usd is not None and head.usd is not None:
            costs.append((base.usd, head.usd))
    return _mean_increase(costs), _mean_increase(times)


def _mean_increase(amounts: Iterable[tuple[float, float]]) -> Increase | None:
    """The mean increase from base to head with its 99 % interval. None if too few amounts are known.

    ``amounts`` are pairs of what one answer took on the base and here. The interval is that of Student's t for paired samples.
    """
    base_amounts = []
    head_amounts = []
    for base, head in amounts:
        if max(base, head) < _MAX_AMOUNT:
            base_amounts.append(base)
            head_amounts.append(head)
    count = len(base_amounts)
    if count < _MIN_PAIRS:
        return None

    base_mean = math.fsum(base_amounts) / count
    head_mean = math.fsum(head_amounts) / count
    increase = head_mean - base_mean

    squares = []
    for base, head in zip(base_amounts, head_amounts, strict=True):
        squares.append((head - base - increase) ** 2)
    variance = math.fsum(squares) / (count - 1)
    half_width = student_t(count - 1) * math.sqrt(variance / count)
    return Increase(count, base_mean, head_mean, increase - half_width, increase + half_width)


def _limit_increases(result: RuleResult, rule: Rule, rows: Sequence[Row]) -> RuleResult:
    """Apply ``max-cost-increase`` and ``max-latency-increase``."""
    cost, latency = measure_increases(rows, rule)
    result = replace(result, cost=cost, latency=latency)
    unfinished = sum(row.undone and _looks_at(rule, row) for row in rows)
    for name, limit, increase in (
        ("cost", rule.max_cost_increase, cost),
        ("latency", rule.max_latency_increase, latency),
    ):
        if limit is None:
            continue
        if increase is None:
            unknown = (
                f"the {name} was measured for fewer than {_MIN_PAIRS} answers here and on the base; "
                "cached and recorded answers do not count, and a cost needs known prices"
            )
            result = _add_limit(result, ERROR, unknown)
            continue

        if name == "cost":
            allowed = limit * increase.base
            shown = format_percent(limit)
            change = describe_cost_increase(increase)
        else:
            allowed = limit
            shown = f"{limit:g} s"
            change = describe_latency_increase(increase)

        # Is the increase above the limit, and is it even at the lower end of its interval?
        is_above = _is_above(allowed, increase.here - increase.base, increase.base)
        is_certain = _is_above(allowed, increase.low, increase.base)
        comparison = f"at most {shown} is allowed"
        if is_above and not is_certain:
            comparison = f"above the limit of {shown} by no more than noise explains"
            result = replace(result, within_noise=True)
        answers = format_count(increase.compared, "answer")
        reason = f"an answer is {change} than on the base, over {answers}: {comparison}"
        if is_certain and unfinished:
            # The missing answers may be the cheap and fast ones.
            reason = f"{reason} so far; {note_on_unfinished(unfinished)}"
            result = _add_limit(result, ERROR, reason)
        else:
            result = _add_limit(result, FAIL if is_certain else PASS, reason)
    return result


def _is_above(allowed: float, increase: float, base: float) -> bool:
    """Whether an increase is above the allowed one by more than rounding."""
    return increase > allowed and not math.isclose(increase, allowed, abs_tol=1e-9 * base)
