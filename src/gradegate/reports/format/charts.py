"""Pages for a browser: one file each, with nothing from elsewhere, and no script but one of ours, allowed by its hash.

Beside the template: the scores of each metric, bars in which nothing of a text is, and what the cases can be chosen by. A case
names the numbers of these choices alone, so that no text of a config or a model is part of what a script compares.
"""

import base64
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from markupsafe import Markup

from gradegate.core.numbers import exact_mean
from gradegate.reports.format.escape import Html, clip, one_line, outline, visible
from gradegate.reports.format.templates import Format, read_template
from gradegate.reports.view.wording import has_several_suites, titled
from gradegate.results.grades import Grade, Outcome
from gradegate.results.rows import Row, takes
from gradegate.results.run_result import Counts, RuleResult
from gradegate.structs import FrozenStruct

_TEXT = 20_000  # characters of one text
_LINE = 120  # of what stands in a line
_RARE = 1e12  # beyond, a scale says nothing
BAR = 160  # the width of a share
_MOST = 200  # of one kind that can be chosen; of more, nobody finds one in a list


def _escaped(text: str) -> Html:
    return Html(Markup.escape(visible(text)))


HTML = Format(
    Html,
    _escaped,
    shown=lambda value: clip("" if value is None else str(value), _TEXT),
    line=lambda value, limit=_LINE: one_line(str(value), limit),
    outline=partial(outline, limit=_TEXT),
)


def filled(template: str, **values: Any) -> Iterator[Html]:
    """A template of our own in parts, with our style and script; every value is made visible and escaped."""
    for name, file in (("style", "report.css"), ("script", "report.js")):
        text = read_template(file)
        values[name] = Html(text)
        # As a policy names what it allows: of the text between the tags, to the letter.
        values[f"{name}_hash"] = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return HTML.stream(template, **values)


# --- the scores of each metric, with the thresholds that were applied --------------------------------------------


class MetricScores(FrozenStruct):
    """One metric: its counts, and the mean and thresholds of its scores."""

    name: str
    counts: Counts
    average: float | None  # None where nothing has a score
    thresholds: tuple[float, ...]
    scale: int  # people see scores times this


def metric_scores(rows: Iterable[Row]) -> list[MetricScores]:
    """Every metric in the order of its first grade; members of a set are not counted beside it."""
    grades = defaultdict(list)
    for row in rows:
        for grade in row.grades:
            if not grade.inner:
                grades[_metric(grade)].append(grade)
    return [_summary(name, graded) for name, graded in grades.items()]


def _metric(grade: Grade) -> str:
    """Under what name a grade is counted: its metric, else the type of its assertion."""
    return grade.metric or grade.assertion.type


def _summary(name: str, grades: Sequence[Grade]) -> MetricScores:
    outcomes = [grade.outcome for grade in grades]
    scores = [grade.score for grade in grades if grade.score is not None and _usual(grade.score)]
    limits = {grade.threshold for grade in grades if grade.threshold is not None and not grade.most}
    return MetricScores(
        name,
        Counts(*map(outcomes.count, Outcome)),
        float(exact_mean(scores)) if scores else None,
        tuple(sorted(filter(_usual, limits))),
        grades[0].scale,
    )


def _usual(number: float) -> bool:
    return abs(number) < _RARE  # which no number is that is not finite


# --- charts -----------------------------------------------------------------------------------------------------


class Box(FrozenStruct):
    """A part of a bar; ``kind`` is the class that colours it."""

    kind: str
    x: float
    width: float


class Chart(FrozenStruct):
    """A bar and the places of vertical lines."""

    boxes: tuple[Box, ...]
    lines: tuple[float, ...] = ()


def shares(result: RuleResult) -> Chart:
    """What passed, failed and could not be told, one after the other; the line is the pass rate that is asked for.

    Empty for a rule that asks for none: beside a mean score, passes say nothing.
    """
    least = 1.0 if result.rule.every_case else result.rule.min_pass_rate
    if least is None:
        return Chart(())
    counts = {"pass": result.passed, "fail": result.failed, "error": result.errored}
    x, boxes = 0.0, []
    for kind, count in counts.items():
        if count:
            width = BAR * count / sum(counts.values())
            boxes.append(Box(kind, round(x, 1), round(width, 1)))
            x += width
    return Chart(tuple(boxes), (round(least * BAR, 1),) if boxes and least <= 1 else ())


# --- what the cases can be chosen by ----------------------------------------------------------------------------


class Choice(FrozenStruct):
    """One kind of what can be chosen: ``options`` are the words for each number."""

    name: str
    options: tuple[str, ...]


class Choices(FrozenStruct):
    """Everything that the cases of a run can be chosen by, each under a number."""

    rules: tuple[RuleResult, ...]
    metrics: dict[str, int]
    providers: dict[str, int]
    prompts: dict[str, int]
    several: bool  # configs, whose rules may have one name

    @property
    def lists(self) -> list[Choice]:
        """Those that are worth choosing by: of one alone there is no choice."""
        kinds = [Choice("rule", tuple(titled(it.rule, self.several) for it in self.rules))]
        numbered = {"metric": self.metrics, "provider": self.providers, "prompt": self.prompts}
        for name, numbers in numbered.items():
            kinds.append(Choice(name, tuple(one_line(it, 80) or "(none)" for it in numbers)))
        return [choice for choice in kinds if len(choice.options) > 1]

    def of(self, row: Row) -> dict[str, str]:
        """The numbers of one case by the name of their kind, with spaces between."""
        numbers = {
            "rule": [
                n
                for n, it in enumerate(self.rules)
                if any(takes(it.rule, row, grade) for grade in row.grades)
            ],
            "metric": dict.fromkeys(self.metrics.get(_metric(grade)) for grade in row.grades),
            "provider": [self.providers.get(row.provider)],
            "prompt": [self.prompts.get(row.prompt_label)],
        }
        return {
            kind: " ".join(str(number) for number in found if number is not None)
            for kind, found in numbers.items()
        }


def choices(rows: Sequence[Row], rules: Sequence[RuleResult]) -> Choices:
    """Those of a run."""
    names = (
        (_metric(grade) for row in rows for grade in row.grades),
        (row.provider for row in rows),
        (row.prompt_label for row in rows),
    )
    metrics, providers, prompts = (
        {name: number for number, name in enumerate([*dict.fromkeys(kind)][:_MOST])}
        for kind in names
    )
    return Choices(
        tuple(rules[:_MOST]),
        metrics,
        providers,
        prompts,
        has_several_suites(rules),
    )
