"""The rules that compare with earlier runs: new failures, drops, cost and latency, and flaky cases. Pure."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
from gradegate.gate.case_runs import as_cases
from gradegate.gate.reasks.ballot import is_contradicted
from gradegate.gate.rules import count, left_undone, overturned
from gradegate.gate.statistics import student
from gradegate.results.accounts import BaselineReport
from gradegate.results.baseline import (
    FIXED,
    NEW_FAILURE,
    OPEN,
    PRE_EXISTING,
    UNDECIDED,
    UNSTEADY,
    fails,
    of_base,
    standing,
)
from gradegate.results.grades import ERROR, FAIL, PASS, Grade, Outcome
from gradegate.results.rows import Row, case_name, parts, takes
from gradegate.results.run_result import RuleResult, RunResult
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, replace

SIGNIFICANT = Fraction(1, 100)
_NAMED = 5  # cases that a reason names
_LEAST = 5  # pairs of which the spread says something
_MOST = 1e15  # no answer takes so many dollars or seconds


class Case(FrozenStruct):
    """A case as a rule sees it: the row with the grades that the rule selects."""

    row: Row
    grades: tuple[Grade, ...]

    @property
    def standing(self) -> str:
        """What it is beside the base."""
        return standing(self.row, self.grades)

    @property
    def base(self) -> Outcome | None:
        """What the base says of it, None where it cannot be compared; a threshold of the case decides over its grades."""
        if self.row.threshold is not None:
            return None if self.row.base is ERROR else self.row.base
        return _together([grade.base.outcome if grade.base else None for grade in self.grades])

    @property
    def firsts(self) -> tuple[Outcome | None, Outcome | None]:
        """What base and head said when they were asked first."""
        base = _together([grade.base.first if grade.base else None for grade in self.grades])
        return base, _together(
            [grade.votes[0].outcome if grade.votes else grade.outcome for grade in self.grades]
        )


def is_old(row: Row, grade: Grade) -> bool:
    """Whether a failure was there before. Where a threshold decides over the case, that of the whole counts."""
    old = grade.base is not None and grade.base.has_failed
    return old and (row.threshold is None or row.base is FAIL)


def _together(outcomes: Sequence[Outcome | None]) -> Outcome | None:
    """One FAIL fails all; None where one of them is an error."""
    if not outcomes or None in outcomes or ERROR in outcomes:
        return None
    return FAIL if FAIL in outcomes else PASS


def with_base(result: RuleResult, rows: Sequence[Row], run: RunResult, answers: bool) -> RuleResult:
    """A rule's result with what it asks of earlier runs. ``answers``: failures are answered anew when they are asked again."""
    rule, report = result.rule, run.baseline
    found = []
    if report or rule.beside_base:
        found = [
            Case(row, tuple(grade for grade in row.grades if takes(rule, row, grade)))
            for row in as_cases(rule, rows)
        ]
    if report and rule.judges and (rule.every_case or rule.min_pass_rate is not None):
        bases = (case.base for case in found)
        result = replace(result, base_rate=count(filter(None, bases)).pass_rate)
    if not rule.own and result.has_passed:  # what it says of the run itself
        result = replace(result, reason="")
    for earlier in Earlier if run.on_default_branch else ():
        limits = [name for name, limit in rule.limits(earlier).items() if not limit.decides_alone]
        if limits and not _has(earlier, rule, rows, run):
            missing = f"the default branch has no {earlier.value} of its cases yet"
            result = _joined(result, None, missing)
            rule = replace(rule, **dict.fromkeys(limits))  # the other limits decide
    if rule.max_cost_increase is not None or rule.max_latency_increase is not None:
        cost, latency = increases(rows, rule)
        result = replace(result, cost=cost, latency=latency)
        for outcome, reason, noise in _weigh_increases(result, rule, rows):
            result = _joined(
                replace(result, within_noise=result.within_noise or noise), outcome, reason
            )
    if rule.max_flaky is not None:
        result = _joined(result, *_count_flaky(rule.max_flaky, rule, rows, run))
    cases = [case for case in found if case.grades]
    if rule.beside_base and (excuse := _excuse(cases)):
        return _joined(replace(result, excused=True), ERROR, excuse)
    if rule.max_new_failures is not None:
        result = _joined(*_count_new_failures(result, cases, report))
    if rule.max_drop is not None:
        result = _joined(*_measure_drop(result, cases, answers))
    return result


def _has(earlier: Earlier, rule: Rule, rows: Iterable[Row], run: RunResult) -> bool:
    """Whether earlier runs left something for a rule to compare with.

    What no model grades leaves no votes: a rule over such cases alone needs no more than a history.
    """
    if earlier is Earlier.HISTORY:
        graded = [part for row in rows for part in _parts_of(rule, row) if part.model]
        return run.history is not None and (not graded or any(part.history for part in graded))
    seen = (row for row in rows if _sees(rule, row))
    return any(row.base is not None or any(grade.base for grade in row.grades) for row in seen)


def _joined(result: RuleResult, outcome: Outcome | None, reason: str) -> RuleResult:
    """A rule is missed when one of its keys is; what is said of keys that are met then is left out."""
    order = (PASS, None, ERROR, FAIL)
    worst = max(result.outcome, outcome, key=order.index)
    said = [
        text
        for of, text in ((result.outcome, result.reason), (outcome, reason))
        if of is worst and text
    ]
    return replace(result, outcome=worst, reason="; ".join(said))


def _excuse(cases: Iterable[Case]) -> str:
    """Which side failed so much that most failures are excused, and nothing can be told; else an empty string."""
    standings = [
        case.standing
        for case in cases
        if case.base is not None and not any(grade.has_error for grade in case.grades)
    ]
    old, unsteady = standings.count(PRE_EXISTING), standings.count(UNSTEADY)
    if 2 * (old + unsteady) <= len(standings):
        return ""
    of = f"of {format_count(len(standings), 'compared case')}"
    if old >= unsteady:
        more = f"; {unsteady:,} more: unsteady" if unsteady else ""
        return f"the base is broken: it failed {old:,} {of}{more}"
    more = f"; {old:,} more: known" if old else ""
    return f"the grader is broken here: it fails {unsteady:,} {of}, and the base's answers that passed{more}"


# --- new failures ---------------------------------------------------------------------------------------------


def _count_new_failures(
    result: RuleResult, cases: Sequence[Case], report: BaselineReport | None
) -> tuple[RuleResult, Outcome, str]:
    most = result.rule.max_new_failures or 0
    standings = Counter[str]()
    new = []
    unsure = []  # nobody asked again, or the base's answer could not be graded again
    contradicted = []
    for case in cases:
        standing = case.standing
        standings[standing] += 1
        if standing == NEW_FAILURE:
            new.append(case)
        # `errors` decides about errors of the head, as in every rule.
        elif standing in (OPEN, UNDECIDED) and any(fails(case.row, it) for it in case.grades):
            unsure.append(case)
        elif any(map(is_contradicted, case.grades)):
            contradicted.append(case)
    again = sum(grade.has_passed and bool(grade.votes) for case in cases for grade in case.grades)
    note = overturned(again)
    known = [
        format_count(standings[kind], noun)
        for kind, noun in ((PRE_EXISTING, "known failure"), (UNSTEADY, "unsteady failure"))
        if standings[kind]
    ]
    if known:
        note = f"; {' and '.join(known)} not counted{note}"
    failures = format_count(len(new), "new failure")
    result = replace(result, new_failures=len(new))
    if len(new) > most:
        allowed = f" where at most {most:,} {'is' if most == 1 else 'are'} allowed" if most else ""
        return result, FAIL, f"{failures}{allowed}{_evidence(new, report)}{note}"
    may_be_new = new + unsure
    if len(may_be_new) > most:
        verb = "is" if len(unsure) == 1 else "are"
        return (
            result,
            ERROR,
            f"it is not known whether {format_count(len(unsure), 'failure')} {verb} new",
        )
    decides = result.rule.max_drop is None and not result.rule.own
    if decides and contradicted and len(may_be_new + contradicted) <= most:
        result = replace(result, bears=True)
        may_be_new += contradicted
        unsure = contradicted
    if not may_be_new:
        return result, PASS, f"no new failure{note}"
    what = f"{format_count(len(may_be_new), 'failure')} may be new" if unsure else failures
    result = replace(result, new_failures=len(may_be_new))
    names = _name_cases([case.row for case in may_be_new])
    return result, PASS, f"{what}, at most {most:,} allowed: {names}{note}"


def _evidence(new: Sequence[Case], report: BaselineReport | None) -> str:
    """``, confirmed here and passing on the base (1a2b3c4, 2 days old)``, as far as that holds of all of them."""
    confirmed = ", confirmed here" if all(map(_is_confirmed, new)) else ""
    passed = sum(map(_has_passed_before, new))
    if not passed:
        return f"{confirmed}, without a base result"
    if rest := len(new) - passed:
        there = f"{passed:,} passing on the base{of_base(report)}"
        return f"{confirmed}: {there}, {rest:,} without a base result"
    joined = f"{confirmed} and passing" if confirmed else ", passing"
    return f"{joined} on the base{of_base(report)}"


def _is_confirmed(case: Case) -> bool:
    """Whether re-asks confirmed all that is new in a case."""
    new = _new_grades(case)
    return bool(new) and all(grade.confirmed for grade in new)


def _has_passed_before(case: Case) -> bool:
    """Whether the base passed all that is new in a case."""
    if case.row.threshold is not None:
        return case.base is PASS
    new = _new_grades(case)
    return bool(new) and all(grade.base and grade.base.has_passed for grade in new)


def _new_grades(case: Case) -> list[Grade]:
    return [it for it in case.row.grades if it.status == NEW_FAILURE and not it.assertion.is_set]


def _name_cases(rows: Sequence[Row]) -> str:
    """The names of the first rows, and how many more there are."""
    names = [f"`{excerpt(case_name(row), 80)}`" for row in rows[:_NAMED]]
    return list_some(names, len(rows))


# --- flaky cases ----------------------------------------------------------------------------------------------


def _count_flaky(most: int, rule: Rule, rows: Sequence[Row], run: RunResult) -> tuple[Outcome, str]:
    if not _has(Earlier.HISTORY, rule, rows, run):
        return ERROR, "there is no history that shows which cases are flaky"
    flaky = [row for row in rows if _is_flaky(rule, row)]
    if not flaky:
        return PASS, "no case is flaky or broken on the default branch"
    verb = "is" if len(flaky) == 1 else "are"
    what = f"{format_count(len(flaky), 'case')} {verb} flaky or broken on the default branch"
    reason = f"{what}, at most {most:,} allowed: {_name_cases(flaky)}"
    return FAIL if len(flaky) > most else PASS, reason


def _is_flaky(rule: Rule, row: Row) -> bool:
    """Whether what the rule selects is flaky or broken on the default branch, outside of a quarantine."""
    past_votes = [part.history for part in _parts_of(rule, row) if part.history]
    return any((it.flaky or it.broken) and not it.quarantined for it in past_votes)


def _parts_of(rule: Rule, row: Row) -> list[Grade]:
    """What the rule selects in a case, with the members of sets apart."""
    selected: list[Grade] = []
    for place, grade in enumerate(row.grades):
        if _selects(rule, row, grade):
            selected += parts(row.grades, place)
    return selected


# --- drops ----------------------------------------------------------------------------------------------------


class Sign(FrozenStruct):
    """How many cases became worse and better, of how many that could be compared."""

    worse: int
    better: int
    compared: int

    @property
    def p(self) -> Fraction:
        """P(Bin(worse + better, 1/2) >= worse), exactly: the chance of so many worse ones, were both ways alike."""
        trials = self.worse + self.better
        ways = term = 1  # of all trials
        for hits in range(trials, self.worse, -1):
            term = term * hits // (trials - hits + 1)
            ways += term
        return Fraction(ways, 1 << trials)

    def drops(self, most: float) -> bool:
        """Whether more than a share ``most`` of the cases became worse, and noise alone does not explain it."""
        return self.p <= SIGNIFICANT and Fraction(
            self.worse - self.better, self.compared
        ) > exact_fraction(most)


def _measure_drop(
    result: RuleResult, cases: Sequence[Case], answers: bool
) -> tuple[RuleResult, Outcome, str]:
    sign = _sign(cases, answers)
    if not sign.compared:
        return result, ERROR, "no case could be compared with the base"
    p = float(sign.p)
    result = replace(result, worse=sign.worse, better=sign.better, p=p)
    compared = format_count(sign.compared, "compared case")
    share = format_percent(max(0.0, (sign.worse - sign.better) / sign.compared))
    counts = f"{sign.worse:,} worse and {sign.better:,} better of {compared}"
    reason = f"{counts}: a drop of {share}, p = {format_number(p, 6)}"
    most = result.rule.max_drop or 0.0
    if not sign.drops(most):
        return result, PASS, reason
    # Those that a budget or a signal left before the end, as far as they are not compared; at best, all of them pass.
    undone = []
    for case in cases:
        base, head = case.firsts
        if any(grade.undone for grade in case.grades) and not (answers and base and head):
            undone.append(base if answers else case.base)
    best = Sign(
        sign.worse,
        sign.better + undone.count(FAIL),
        sign.compared + len(undone) - undone.count(None),
    )
    if undone and not best.drops(most):
        return result, ERROR, f"{reason} so far; {left_undone(len(undone))}"
    return result, FAIL, reason


def _sign(cases: Iterable[Case], answers: bool) -> Sign:
    """What base and head said at first where ``answers`` are compared; else in the end, as far as that is decided."""
    pairs = []
    for case in cases:
        base, head = case.firsts
        if not answers:
            base = None if any(grade.has_error for grade in case.grades) else case.base
            ends = {NEW_FAILURE: FAIL, FIXED: PASS, UNDECIDED: None, OPEN: None}
            head = ends.get(case.standing, base)
        if base is not None and head is not None:
            pairs.append((base, head))
    return Sign(
        pairs.count((PASS, FAIL)),
        pairs.count((FAIL, PASS)),
        len(pairs),
    )


# --- cost and latency: the mean of paired differences, and its noise ------------------------------------------


def increases(
    rows: Iterable[Row], rule: Rule | None = None
) -> tuple[Increase | None, Increase | None]:
    """In dollars and in seconds an answer, over those that both sides asked for and of which the rule looks at a grade."""
    pairs = [
        (row.base_took, row.took)
        for row in rows
        if row.base_took and row.took and (rule is None or _sees(rule, row))
    ]
    return _increase((base.usd, here.usd) for base, here in pairs), _increase(
        (base.seconds, here.seconds) for base, here in pairs
    )


def _sees(rule: Rule, row: Row) -> bool:
    return any(_selects(rule, row, grade) for grade in row.grades)


def _selects(rule: Rule, row: Row, grade: Grade) -> bool:
    return not grade.inner and rule.selects(
        grade.assertion, row.provider, row.description, row.test_metadata
    )


def _increase(sides: Iterable[tuple[float | None, float | None]]) -> Increase | None:
    pairs = [
        (base, here)
        for base, here in sides
        if base is not None and here is not None and max(base, here) < _MOST
    ]
    count = len(pairs)
    if count < _LEAST:
        return None
    base, here = (math.fsum(side) / count for side in zip(*pairs, strict=True))
    variance = math.fsum((ours - theirs - (here - base)) ** 2 for theirs, ours in pairs) / (
        count - 1
    )
    half = student(count - 1) * math.sqrt(variance / count)
    return Increase(count, base, here, here - base - half, here - base + half)


def _weigh_increases(
    result: RuleResult, rule: Rule, rows: Iterable[Row]
) -> Iterator[tuple[Outcome, str, bool]]:
    """The outcome of each limit of a rule, the reason, and whether noise alone may be what is above it."""
    undone = sum(row.undone and _sees(rule, row) for row in rows)
    for name, most, by in (
        ("cost", rule.max_cost_increase, result.cost),
        ("latency", rule.max_latency_increase, result.latency),
    ):
        if most is None:
            continue
        if by is None:
            unknown = f"was measured for fewer than {_LEAST} answers here and on the base; cached and recorded answers do not count, and a cost needs known prices"
            yield ERROR, f"the {name} {unknown}", False
            continue
        limit, change, allowed = f"{most:g} s", describe_latency_increase(by), most
        if name == "cost":
            limit, change, allowed = (
                format_percent(most),
                describe_cost_increase(by),
                most * by.base,
            )
        above, beyond = (
            it > allowed and not math.isclose(it, allowed, abs_tol=1e-9 * by.base)
            for it in (by.here - by.base, by.low)
        )
        end = f"at most {limit} is allowed"
        if above and not beyond:
            end = f"above the limit of {limit} by no more than noise explains"
        reason = f"an answer is {change} than on the base, over {format_count(by.compared, 'answer')}: {end}"
        if beyond and undone:  # the answers that are missing may be the cheap and fast ones
            yield ERROR, f"{reason} so far; {left_undone(undone)}", False
        else:
            yield FAIL if beyond else PASS, reason, above and not beyond
