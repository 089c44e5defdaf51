"""Whether a grader has moved: what it says of labelled outputs now, beside how often it agreed with their labels before. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import comb

from gradegate.grading.conclude import conclude_case
from gradegate.values.account import GraderCheck, SentinelAsk, SentinelReport
from gradegate.values.figures import figure, many
from gradegate.values.limits import exact
from gradegate.values.open_grades import members
from gradegate.values.result import Grade, Outcome, Row, RuleResult, takes

LEAST = 5  # verdicts, below which nothing is tested
_MOVED = Fraction(1, 100)
_HELD = (0.5, 0.99)
_UNDONE = "the run ended before its sentinels were graded, so a grader that moved would not be noticed"
_CURE = "measure it with `gradegate calibrate`, and write the new figures into the config"


def held(agreement: float) -> float:
    """The agreement that is tested: nobody agrees always, and a grader that does not better than a coin shows nothing."""
    return min(_HELD[1], max(_HELD[0], agreement))


def chance(verdicts: int, agree: int, agreement: float) -> Fraction:
    """The chance that a grader which has not moved agrees with so few."""
    share = exact(held(agreement))
    terms = (comb(verdicts, hits) * share**hits * (1 - share) ** (verdicts - hits) for hits in range(agree + 1))
    return sum(terms, Fraction(0))


def checked(model: str, asks: Sequence[SentinelAsk], agreement: float) -> GraderCheck:
    """One grader, by its own verdicts."""
    told = [ask for ask in asks if ask.model == model and ask.passed is not None]
    agree = sum(ask.passed is ask.label for ask in told)
    p = chance(len(told), agree, agreement) if len(told) >= LEAST else None
    lenient = sum(bool(ask.passed) and not ask.label for ask in told)
    return GraderCheck(model, len(told), agree, None if p is None else float(p), p is not None and p <= _MOVED, lenient)


def report(asks: Sequence[SentinelAsk], agreement: float) -> SentinelReport | None:
    """All graders that were asked, None where none was; ``p`` is that of the least likely one."""
    graders = tuple(checked(model, asks, agreement) for model in dict.fromkeys(ask.model for ask in asks if ask.passed is not None))
    if not asks:
        return None
    least = min((it.p for it in graders if it.p is not None), default=None)
    verdicts, agree = sum(it.verdicts for it in graders), sum(it.agree for it in graders)
    moved, undone = any(it.moved for it in graders), any(ask.undone for ask in asks)
    return SentinelReport(verdicts, agree, held(agreement), least, moved, graders, undone)


def said(check: GraderCheck, agreement: float) -> str:
    """Say ``the grader moved: it agrees with 6 of 10 sentinels, 9.5 expected (p = 0.001)``, and what to do."""
    name = f" {check.model}" if check.model else ""
    figures = (
        f"{check.agree} of {check.verdicts} sentinels, {figure(check.verdicts * agreement, 1)} expected (p = {figure(check.p or 0.0, 3)})"
    )
    return f"the grader{name} moved: it agrees with {figures}: {_CURE}"


def remarks(found: SentinelReport | None) -> list[str]:
    """What every report says of them: sentences."""
    if found is None:
        return []
    if found.undone:
        return [_UNDONE]
    if any(it.p is not None for it in found.graders):
        return [said(it, found.agreement) for it in found.graders if it.moved]
    few = f"the sentinels got {many(found.verdicts, 'verdict')}, but a check takes at least {LEAST} of one grader"
    return [f"{few}: a grader that moved would not be noticed"]


def standing(outcome: Outcome, moved: bool, lenient: int) -> Outcome:
    """What a rule comes to over the grades of a grader: one that it meets stays met, unless the grader lets failures pass."""
    doubted = moved and (outcome is Outcome.FAIL or lenient > 0)
    return Outcome.ERROR if doubted else outcome


def ruled(
    result: RuleResult, rows: Sequence[Row], found: SentinelReport | None, again: Callable[[Sequence[Row]], RuleResult]
) -> RuleResult:
    """The result of a blocking rule, as far as graders have not moved. ``again`` applies the rule to other rows.

    What it is missed for by other graders, or by code, it is missed for.
    """
    if found is None or not (found.moved or found.undone) or not result.rule.blocking:
        return result
    asked = {
        it.model for row in rows for place, grade in enumerate(row.grades) if takes(result.rule, row, grade) for it in _asked(row, place)
    }
    moved = [it for it in found.graders if it.moved and it.model in asked]
    doubts = [check for check in moved if standing(result.outcome, True, check.lenient) is not result.outcome]
    if not doubts and not (found.undone and asked and result.outcome is Outcome.FAIL):
        return result
    models = asked if found.undone else {it.model for it in moved}
    if result.outcome is Outcome.FAIL and again([_forgiven(row, models) for row in rows]).outcome is Outcome.FAIL:
        return result
    return replace(result, outcome=Outcome.ERROR, reason=said(doubts[0], found.agreement) if doubts else _UNDONE)


def _asked(row: Row, place: int) -> list[Grade]:
    """The grades that models gave, of the one at a place: itself, or the members of a set. A model may name itself nowhere."""
    grade = row.grades[place]
    grades = [row.grades[inner] for inner in members(row.grades, place)] if grade.assertion.is_set else [grade]
    return [it for it in grades if it.model or it.usage.calls or it.usage.cached]


def _forgiven(row: Row, models: set[str]) -> Row:
    """The row as if those graders had passed what they failed."""
    grades = list(row.grades)
    for place, grade in enumerate(row.grades):
        if grade.outcome is Outcome.FAIL and not models.isdisjoint(it.model for it in _asked(row, place)):
            grades[place] = replace(grade, outcome=Outcome.PASS, score=1.0)
    if grades == list(row.grades):
        return row
    return replace(row, grades=tuple(grades), outcome=conclude_case(grades, row.threshold).outcome)
