"""The parts of a page for a browser that are more than text: scores of metrics, bars, and filters for cases.

A page is one file that loads nothing. Its only script is our own, allowed by its hash. The script compares only the numbers of
choices, never a text of a config or a model.
"""

import base64
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeGuard

from markupsafe import Markup

from gradegate.core.numbers import exact_mean
from gradegate.reports.format.escape import Html, clip, one_line, outline, visible
from gradegate.reports.format.templates import Format, read_template
from gradegate.reports.view.findings import selects_row
from gradegate.reports.view.wording import has_several_suites, rule_title
from gradegate.results.grades import Grade, Outcome
from gradegate.results.rows import Row
from gradegate.results.run_result import Counts, RuleResult
from gradegate.structs import FrozenStruct

BAR_WIDTH = 160
_TEXT = 20_000  # characters of one text
_LINE = 120  # characters of a text in a line
_MOST_OPTIONS = 200  # of one list; nobody finds anything in a longer one
_LARGEST = 1e12  # a score or threshold beyond is left out, as are infinity and NaN


def _escape_html(text: str) -> Html:
    return Html(Markup.escape(visible(text)))


HTML = Format(
    Html,
    _escape_html,
    shown=lambda value: clip("" if value is None else str(value), _TEXT),
    line=lambda value, limit=_LINE: one_line(str(value), limit),
    outline=partial(outline, limit=_TEXT),
)


def stream_page(template: str, **values: Any) -> Iterator[Html]:
    """Render a template in parts, with our style and script. Every value is made visible and escaped."""
    for name, file in (("style", "report.css"), ("script", "report.js")):
        text = read_template(file)
        values[name] = Html(text)
        # The policy of the page allows the text between the tags by its hash.
        values[f"{name}_hash"] = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return HTML.stream(template, **values)


# --- scores of metrics --------------------------------------------------------------------------------------------------


class MetricScores(FrozenStruct):
    """A metric with its outcomes, the mean of its scores and the thresholds that were applied."""

    name: str
    counts: Counts
    average: float | None  # None if no grade has a score
    thresholds: tuple[float, ...]
    scale: int  # people see scores times this


def metric_scores(rows: Iterable[Row]) -> list[MetricScores]:
    """Every metric in the order of its first grade. Members of a set are left out, because their set counts."""
    grades = defaultdict(list)
    for row in rows:
        for grade in row.grades:
            if not grade.inner:
                grades[_metric_name(grade)].append(grade)
    return [_score_metric(name, graded) for name, graded in grades.items()]


def _metric_name(grade: Grade) -> str:
    """The metric of a grade, or the type of its assertion."""
    return grade.metric or grade.assertion.type


def _score_metric(name: str, grades: Sequence[Grade]) -> MetricScores:
    """Summarize the grades of a metric. An upper limit is no threshold of a score."""
    outcomes = [grade.outcome for grade in grades]
    scores = [grade.score for grade in grades if _is_plottable(grade.score)]
    limits = {grade.threshold for grade in grades if not grade.most}
    return MetricScores(
        name,
        Counts(*map(outcomes.count, Outcome)),
        float(exact_mean(scores)) if scores else None,
        tuple(sorted(filter(_is_plottable, limits))),
        grades[0].scale,
    )


def _is_plottable(number: float | None) -> TypeGuard[float]:
    return number is not None and abs(number) < _LARGEST


# --- bars ---------------------------------------------------------------------------------------------------------------


class Box(FrozenStruct):
    """A part of a bar. ``kind`` is the CSS class with its colour."""

    kind: str
    x: float
    width: float


class Chart(FrozenStruct):
    """A bar, and the places of vertical lines on it."""

    boxes: tuple[Box, ...] = ()
    lines: tuple[float, ...] = ()


def outcome_chart(result: RuleResult) -> Chart:
    """A bar of what passed, failed and has no grade, with a line at the required pass rate.

    Empty for a rule without a pass rate: beside a mean score, passes say nothing.
    """
    least = 1.0 if result.rule.every_case else result.rule.min_pass_rate
    counts = {"pass": result.passed, "fail": result.failed, "error": result.errored}
    total = sum(counts.values())
    if least is None or not total:
        return Chart()

    x = 0.0
    boxes = []
    for kind, count in counts.items():
        if count:
            width = BAR_WIDTH * count / total
            boxes.append(Box(kind, round(x, 1), round(width, 1)))
            x += width
    lines = (round(least * BAR_WIDTH, 1),) if least <= 1 else ()
    return Chart(tuple(boxes), lines)


# --- filters for cases --------------------------------------------------------------------------------------------------


class CaseFilters(FrozenStruct):
    """By what people can filter the cases of a page: rules, and the names of metrics, providers and prompts."""

    rules: tuple[RuleResult, ...]
    numbers: dict[str, dict[str, int]]  # of names, by ``metric``, ``provider`` or ``prompt``

    @property
    def lists(self) -> dict[str, list[str]]:
        """The options of each list with more than one."""
        several = has_several_suites(self.rules)
        lists = {"rule": [rule_title(result.rule, several) for result in self.rules]}
        for kind, numbers in self.numbers.items():
            lists[kind] = [one_line(name, 80) or "(none)" for name in numbers]
        return {kind: options for kind, options in lists.items() if len(options) > 1}

    def numbers_of(self, row: Row) -> dict[str, str]:
        """The numbers of a case in each list, with spaces between. A name beyond the longest list has no number."""
        rules = []
        for number, result in enumerate(self.rules):
            if selects_row(result.rule, row):
                rules.append(number)
        texts = {"rule": " ".join(map(str, rules))}
        for kind, names in _names_of(row).items():
            numbers = self.numbers[kind]
            texts[kind] = " ".join(str(numbers[name]) for name in names if name in numbers)
        return texts


def find_filters(rows: Iterable[Row], rules: Sequence[RuleResult]) -> CaseFilters:
    """Number the names in the rows in the order in which they come, up to the length of a list."""
    numbers: dict[str, dict[str, int]] = {"metric": {}, "provider": {}, "prompt": {}}
    for row in rows:
        for kind, names in _names_of(row).items():
            for name in names:
                if len(numbers[kind]) < _MOST_OPTIONS:
                    numbers[kind].setdefault(name, len(numbers[kind]))
    return CaseFilters(tuple(rules[:_MOST_OPTIONS]), numbers)


def _names_of(row: Row) -> dict[str, Iterable[str]]:
    """The names by which a case is found."""
    return {
        "metric": dict.fromkeys(map(_metric_name, row.grades)),
        "provider": [row.provider],
        "prompt": [row.prompt_label],
    }
