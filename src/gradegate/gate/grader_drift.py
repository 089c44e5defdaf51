"""Notices a grader that agrees less with labelled outputs than before, and says what that means for rules. Pure."""

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

LEAST = 5  # verdicts of a grader: with fewer, nothing is tested
_MOVED = Fraction(1, 100)  # at most so likely must the agreements be if the grader is as before
_UNDONE = "the run ended before the labelled outputs were graded, so a grader that moved would not be noticed"


def summarize_labels(asks: Sequence[LabelAsk], agreement: float) -> LabelsReport | None:
    """What the graders said about labelled outputs, each grader by its own verdicts. None if none was asked.

    ``agreement`` is the share of labels with which they agreed when that was measured. Its ``p`` is the lowest of all.
    """
    if not asks:
        return None
    # Nobody agrees always, and a grader that is no better than a coin shows nothing.
    agreement = min(0.99, max(0.5, agreement))

    asks_by_model: dict[str, list[LabelAsk]] = {}
    for ask in asks:
        if ask.passed is not None:
            asks_by_model.setdefault(ask.model, []).append(ask)
    checks = []
    for model, verdicts in asks_by_model.items():
        checks.append(_check_grader(model, verdicts, agreement))

    chances = [check.p for check in checks if check.p is not None]
    return LabelsReport(
        verdicts=sum(check.verdicts for check in checks),
        agree=sum(check.agree for check in checks),
        agreement=agreement,
        p=min(chances, default=None),
        moved=any(check.moved for check in checks),
        graders=tuple(checks),
        undone=any(ask.undone for ask in asks),
    )


def _check_grader(model: str, verdicts: Sequence[LabelAsk], agreement: float) -> GraderCheck:
    """Compare the verdicts of one grader with the labels. It has moved if chance explains so few agreements in 1 % of cases at most.

    The exact lower tail of the binomial distribution: P(Bin(verdicts, agreement) <= agreements).
    """
    agreements = 0
    lenient = 0  # failures that the grader passed
    for ask in verdicts:
        if ask.passed is ask.label:
            agreements += 1
        elif ask.passed:
            lenient += 1
    count = len(verdicts)
    if count < LEAST:
        return GraderCheck(model, count, agreements, lenient=lenient)

    share = exact_fraction(agreement)
    p = Fraction(0)
    for hits in range(agreements + 1):
        ways = comb(count, hits)
        p += ways * share**hits * (1 - share) ** (count - hits)
    return GraderCheck(model, count, agreements, float(p), moved=p <= _MOVED, lenient=lenient)


def drift_remarks(report: LabelsReport | None) -> list[str]:
    """What every report says about graders and labels: sentences."""
    if report is None:
        return []
    if report.undone:
        return [_UNDONE]
    if all(check.p is None for check in report.graders):
        verdicts = format_count(report.verdicts, "verdict")
        needed = f"a check takes at least {LEAST} of one grader"
        few = f"the labelled outputs got {verdicts}, but {needed}"
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
    """The outcome of a rule over the grades of one grader, which may have ``moved``.

    If it did, a missed rule is not decided. A rule that is met stays met, unless the grader passed failures (``lenient``).
    """
    if moved and (outcome is FAIL or lenient > 0):
        return ERROR
    return outcome


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

    # 1. Which of the graders that the rule depends on moved, and does that change what the rule may say?
    models = _models_of_rule(result, rows)
    moved = [check for check in report.graders if check.moved and check.model in models]
    outcome = result.outcome
    doubts = [
        check for check in moved if outcome_under_drift(outcome, True, check.lenient) is not outcome
    ]
    lacks_check = report.undone and bool(models) and result.has_failed
    if not doubts and not lacks_check:
        return result

    # 2. Is the rule missed even if these graders had passed everything?
    if result.has_failed:
        doubtful = models if report.undone else {check.model for check in moved}
        passing = [_with_passes_of(doubtful, row) for row in rows]
        if apply_to(passing).has_failed:
            return result

    # 3. If not, nothing can be said.
    reason = _describe_drift(doubts[0], report.agreement) if doubts else _UNDONE
    return replace(result, outcome=ERROR, reason=reason)


def _models_of_rule(result: RuleResult, rows: Iterable[Row]) -> set[str]:
    """The models that gave a grade which the rule looks at."""
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
