"""Whether a grader still agrees with the labels of outputs as it did before. Pure."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb

from gradegate.core.numbers import exact_fraction, format_count, format_number
from gradegate.results.accounts import GraderCheck, LabelAsk, LabelsReport
from gradegate.results.case_outcome import conclude_case
from gradegate.results.grades import Outcome
from gradegate.results.rows import Row, parts, takes
from gradegate.results.run_result import RuleResult
from gradegate.structs import replace

LEAST = 5  # verdicts of a grader, below which nothing is tested
_MOVED = Fraction(1, 100)
_UNDONE = "the run ended before the labelled outputs were graded, so a grader that moved would not be noticed"


def report(asks: Sequence[LabelAsk], agreement: float) -> LabelsReport | None:
    """All graders that were asked, each by its own verdicts, None where none was; ``p`` is that of the least likely one."""
    if not asks:
        return None
    held = min(
        0.99, max(0.5, agreement)
    )  # nobody agrees always, and a grader that does not better than a coin shows nothing
    share = exact_fraction(held)
    graders = []
    for model in dict.fromkeys(ask.model for ask in asks if ask.passed is not None):
        pairs = [
            (ask.passed, ask.label) for ask in asks if ask.model == model and ask.passed is not None
        ]
        count, agree = len(pairs), sum(passed is label for passed, label in pairs)
        # The chance that a grader which has not moved agrees with so few.
        terms = (
            comb(count, hits) * share**hits * (1 - share) ** (count - hits)
            for hits in range(agree + 1)
        )
        p = sum(terms, Fraction(0)) if count >= LEAST else None
        lenient = pairs.count((True, False))
        graders.append(
            GraderCheck(
                model,
                count,
                agree,
                None if p is None else float(p),
                p is not None and p <= _MOVED,
                lenient,
            )
        )
    least = min((it.p for it in graders if it.p is not None), default=None)
    verdicts, agree = sum(it.verdicts for it in graders), sum(it.agree for it in graders)
    moved, undone = any(it.moved for it in graders), any(ask.undone for ask in asks)
    return LabelsReport(verdicts, agree, held, least, moved, tuple(graders), undone)


def _said(check: GraderCheck, agreement: float) -> str:
    """Say ``the grader moved: it agrees with 6 of 10 labels, 9.5 expected (p = 0.001)``, and what to do."""
    name, p = f" {check.model}" if check.model else "", format_number(check.p or 0.0, 3)
    figures = f"{check.agree} of {check.verdicts} labels, {format_number(check.verdicts * agreement, 1)} expected (p = {p})"
    cure = "measure it with `gradegate calibrate`, and write the new figures into the config"
    return f"the grader{name} moved: it agrees with {figures}: {cure}"


def remarks(found: LabelsReport | None) -> list[str]:
    """What every report says of them: sentences."""
    if found is None or found.undone:
        return [_UNDONE] if found else []
    if any(it.p is not None for it in found.graders):
        return [_said(it, found.agreement) for it in found.graders if it.moved]
    few = f"the labelled outputs got {format_count(found.verdicts, 'verdict')}, but a check takes at least {LEAST} of one grader"
    return [f"{few}: a grader that moved would not be noticed"]


def standing(outcome: Outcome, moved: bool, lenient: int) -> Outcome:
    """What a rule comes to over the grades of a grader: one that it meets stays met, unless the grader lets failures pass."""
    return Outcome.ERROR if moved and (outcome is Outcome.FAIL or lenient > 0) else outcome


def ruled(
    result: RuleResult,
    rows: Sequence[Row],
    found: LabelsReport | None,
    again: Callable[[Sequence[Row]], RuleResult],
) -> RuleResult:
    """The result of a blocking rule, as far as graders have not moved. ``again`` applies the rule to other rows.

    What it is missed for by other graders, or by code, it is missed for.
    """
    if found is None or not (found.moved or found.undone) or not result.rule.blocking:
        return result
    if result.outcome is None:
        return result
    places = [
        (row, place)
        for row in rows
        for place, grade in enumerate(row.grades)
        if takes(result.rule, row, grade)
    ]
    asked = {model for pair in places for model in _models(*pair)}
    moved = [it for it in found.graders if it.moved and it.model in asked]
    doubts = [
        check
        for check in moved
        if standing(result.outcome, True, check.lenient) is not result.outcome
    ]
    if not doubts and not (found.undone and asked and result.has_failed):
        return result
    models = asked if found.undone else {it.model for it in moved}

    def forgiven(row: Row) -> Row:
        """The row as if those graders had passed what they failed."""
        failed = [
            grade.has_failed and not models.isdisjoint(_models(row, place))
            for place, grade in enumerate(row.grades)
        ]
        passing = [
            replace(it, outcome=Outcome.PASS, score=1.0) if fails else it
            for it, fails in zip(row.grades, failed, strict=True)
        ]
        return (
            replace(
                row, grades=tuple(passing), outcome=conclude_case(passing, row.threshold).outcome
            )
            if any(failed)
            else row
        )

    if result.has_failed and again([*map(forgiven, rows)]).has_failed:
        return result
    return replace(
        result,
        outcome=Outcome.ERROR,
        reason=_said(doubts[0], found.agreement) if doubts else _UNDONE,
    )


def _models(row: Row, place: int) -> set[str]:
    """The models that gave the grade at a place, or the members of that set. A model may name itself nowhere."""
    return {
        it.model for it in parts(row.grades, place) if it.model or it.usage.calls or it.usage.cached
    }
