"""Finds out whether a grader still agrees with the labels of outputs as it did before, and what that means for rules. Pure."""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import comb

from gradegate.core.numbers import exact_fraction, format_count, format_number
from gradegate.results.accounts import GraderCheck, LabelAsk, LabelsReport
from gradegate.results.case_outcome import with_grades
from gradegate.results.grades import ERROR, FAIL, PASS, Outcome
from gradegate.results.rows import Row, leaf_grades, selects_grade
from gradegate.results.run_result import RuleResult
from gradegate.structs import replace

LEAST = 5  # verdicts of a grader, below which nothing is tested
_MOVED = Fraction(1, 100)
_UNDONE = "the run ended before the labelled outputs were graded, so a grader that moved would not be noticed"


def summarize_labels(asks: Sequence[LabelAsk], agreement: float) -> LabelsReport | None:
    """What the graders said about labelled outputs, each grader by its own verdicts. None if none was asked.

    ``agreement`` is the share of labels with which they agreed when that was measured. Its ``p`` is the lowest of all.
    """
    if not asks:
        return None
    # Nobody agrees always, and a grader that is no better than a coin shows nothing.
    agreement = min(0.99, max(0.5, agreement))
    pairs_of: dict[str, list[tuple[bool, bool]]] = {}
    for ask in asks:
        if ask.passed is not None:
            pairs_of.setdefault(ask.model, []).append((ask.passed, ask.label))
    checks = [_check_grader(model, pairs, agreement) for model, pairs in pairs_of.items()]
    return LabelsReport(
        verdicts=sum(check.verdicts for check in checks),
        agree=sum(check.agree for check in checks),
        agreement=agreement,
        p=min((check.p for check in checks if check.p is not None), default=None),
        moved=any(check.moved for check in checks),
        graders=tuple(checks),
        undone=any(ask.undone for ask in asks),
    )


def _check_grader(model: str, pairs: Sequence[tuple[bool, bool]], agreement: float) -> GraderCheck:
    """One grader. ``pairs`` say for each verdict whether the grader and the label pass."""
    count = len(pairs)
    agree = sum(passed is label for passed, label in pairs)
    lenient = pairs.count((True, False))
    if count < LEAST:
        return GraderCheck(model, count, agree, lenient=lenient)

    # The exact chance that a grader which has not moved agrees with so few.
    share = exact_fraction(agreement)
    p = Fraction(0)
    for hits in range(agree + 1):
        p += comb(count, hits) * share**hits * (1 - share) ** (count - hits)
    return GraderCheck(model, count, agree, float(p), p <= _MOVED, lenient)


def drift_remarks(report: LabelsReport | None) -> list[str]:
    """What every report says about graders and labels: sentences."""
    if report is None:
        return []
    if report.undone:
        return [_UNDONE]
    if all(check.p is None for check in report.graders):
        verdicts = format_count(report.verdicts, "verdict")
        few = (
            f"the labelled outputs got {verdicts}, but a check takes at least {LEAST} of one grader"
        )
        return [f"{few}: a grader that moved would not be noticed"]
    return [_describe_drift(check, report.agreement) for check in report.graders if check.moved]


def _describe_drift(check: GraderCheck, agreement: float) -> str:
    """Say ``the grader moved: it agrees with 6 of 10 labels, 9.5 expected (p = 0.001)``, and what to do."""
    name = f" {check.model}" if check.model else ""
    p = format_number(check.p or 0.0, 3)
    expected = format_number(check.verdicts * agreement, 1)
    figures = f"{check.agree} of {check.verdicts} labels, {expected} expected (p = {p})"
    cure = "measure it with `gradegate calibrate`, and write the new figures into the config"
    return f"the grader{name} moved: it agrees with {figures}: {cure}"


# --- what a rule may still say --------------------------------------------------------------------------------


def outcome_under_drift(outcome: Outcome, moved: bool, lenient: int) -> Outcome:
    """The outcome of a rule over the grades of one grader.

    A rule that is met stays met if its grader moved, unless the grader lets failures pass.
    """
    return ERROR if moved and (outcome is FAIL or lenient > 0) else outcome


def apply_drift(
    result: RuleResult,
    rows: Sequence[Row],
    report: LabelsReport | None,
    apply_to: Callable[[Sequence[Row]], RuleResult],
) -> RuleResult:
    """The result of a blocking rule, which is inconclusive as far as its graders moved.

    ``apply_to`` applies the rule to other rows. A rule stays missed because of other graders, or of code.
    """
    if report is None or not (report.moved or report.undone):
        return result
    if result.outcome is None or not result.rule.blocking:
        return result

    # Which of the graders that the rule depends on moved, and does that change what the rule may say?
    models = _models_of_rule(result, rows)
    moved = [check for check in report.graders if check.moved and check.model in models]
    doubts = [
        check
        for check in moved
        if outcome_under_drift(result.outcome, True, check.lenient) is not result.outcome
    ]
    if not doubts and not (report.undone and models and result.has_failed):
        return result

    # Is the rule missed even if these graders had passed everything?
    doubtful = models if report.undone else {check.model for check in moved}
    if result.has_failed:
        passing = [_with_passes_of(doubtful, row) for row in rows]
        if apply_to(passing).has_failed:
            return result

    reason = _describe_drift(doubts[0], report.agreement) if doubts else _UNDONE
    return replace(result, outcome=ERROR, reason=reason)


def _models_of_rule(result: RuleResult, rows: Iterable[Row]) -> set[str]:
    models: set[str] = set()
    for row in rows:
        for position, grade in enumerate(row.grades):
            if selects_grade(result.rule, row, grade):
                models |= _models_of_grade(row, position)
    return models


def _models_of_grade(row: Row, position: int) -> set[str]:
    """The models that gave a grade, or the members of a set. The empty name is a model that does not name itself."""
    models = set()
    for leaf in leaf_grades(row.grades, position):
        if leaf.model or leaf.usage.calls or leaf.usage.cached:
            models.add(leaf.model)
    return models


def _with_passes_of(models: set[str], row: Row) -> Row:
    """The row as if these models had passed everything that they failed."""
    grades = list(row.grades)
    for position, grade in enumerate(row.grades):
        if grade.has_failed and not models.isdisjoint(_models_of_grade(row, position)):
            grades[position] = replace(grade, outcome=PASS, score=1.0)
    return with_grades(row, grades)
