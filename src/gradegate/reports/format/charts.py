"""Pages for a browser: one file each, with nothing from elsewhere, and no script but one of ours, allowed by its hash.

Beside the template: the scores of each metric in bins, charts as rectangles in which nothing of a text is, and what the cases
can be chosen by. A case names the numbers of these choices alone, so that no text of a config or a model is part of what a script
compares.
"""

import base64
import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from importlib.resources import files
from itertools import pairwise
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from gradegate.core.numbers import figure, many, mean, spent
from gradegate.reports.format.escape import Html, clip, one_line, outline, spread, visible
from gradegate.reports.view.wording import titled
from gradegate.results.grades import Grade, Outcome
from gradegate.results.rows import Row, takes
from gradegate.results.run_result import Counts, RuleResult
from gradegate.structs import FrozenStruct

_TEXT = 20_000  # characters of one text
_LINE = 120  # of what stands in a line
_CHUNK = 100  # pieces of the template that are handed on together
BINS = 10
_THRESHOLDS = 4  # that are drawn
_RARE = 1e12  # beyond, a scale says nothing
WIDTH, HEIGHT = 200, 40  # of a distribution
BAR = 160  # the width of a share
_LEAST = 2.0  # of a bin that is not empty, so that one among thousands is seen
_MOST = 200  # of one kind that can be chosen; of more, nobody finds one in a list


def filled(template: str, **values: Any) -> Iterator[Html]:
    """A template of our own in parts, with our style and script; every value is made visible and escaped."""
    environment = Environment(
        autoescape=True,
        finalize=lambda it: it if isinstance(it, Markup) else visible(str(it)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_file),
    )
    environment.filters |= {
        "shown": lambda it: clip("" if it is None else str(it), _TEXT),
        "line": lambda it, *limit: one_line(str(it), *(limit or (_LINE,))),
        "many": many,
        "spent": spent,
        "figure": figure,
        "spread": spread,
        "outline": partial(outline, limit=_TEXT),
    }
    for name, file in (("style", "report.css"), ("script", "report.js")):
        text = _file(file)
        values[name] = Markup(text)  # noqa: S704 - our own file
        # As a policy names what it allows: of the text between the tags, to the letter.
        values[f"{name}_hash"] = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    stream = environment.get_template(template).stream(**values)
    stream.enable_buffering(_CHUNK)
    return map(Html, stream)


@cache
def _file(name: str) -> str:
    return (files("gradegate.reports") / "templates" / name).read_text(encoding="utf-8")


# --- the distribution of each metric's scores, with the thresholds that were applied ----------------------------


class Bin(FrozenStruct):
    """How many grades with a score from ``low`` to below ``high`` passed, and how many failed."""

    low: float
    high: float
    passed: int
    failed: int


class Spread(FrozenStruct):
    """One metric: its counts, and its scores in bins of one width; no bins where nothing has a score."""

    name: str
    counts: Counts
    average: float | None
    bins: tuple[Bin, ...]
    thresholds: tuple[float, ...]
    scale: int = 1  # people see scores times this

    @property
    def marks(self) -> tuple[float, ...]:
        """Where thresholds lie within the bins, from 0 (the first bin's start) to 1 (the last one's end)."""
        if not self.bins or len(self.thresholds) > _THRESHOLDS:
            return ()
        low, high = self.bins[0].low, self.bins[-1].high
        return tuple(
            (limit - low) / (high - low) for limit in self.thresholds if low <= limit <= high
        )

    @property
    def said(self) -> str:
        """The bins in words, for those who do not see them."""
        sizes = [
            (
                each.passed + each.failed,
                figure(each.low * self.scale),
                figure(each.high * self.scale),
            )
            for each in self.bins
        ]
        parts = [f"{size:,} from {low} to {high}" for size, low, high in sizes if size]
        limits = ", ".join(figure(limit * self.scale) for limit in self.thresholds[:_THRESHOLDS])
        graded = many(sum(size for size, _, _ in sizes), "score")
        return f"{graded}: {', '.join(parts)}" + (f"; threshold {limits}" if limits else "")


def spreads(rows: Iterable[Row]) -> list[Spread]:
    """Every metric in the order of its first grade; members of a set are not counted beside it."""
    grades = defaultdict(list)
    for row in rows:
        for grade in row.grades:
            if not grade.inner:
                grades[_metric(grade)].append(grade)
    return [_spread(name, found) for name, found in grades.items()]


def _metric(grade: Grade) -> str:
    """Under what name a grade is counted: its metric, else the type of its assertion."""
    return grade.metric or grade.assertion.type


def _spread(name: str, grades: Sequence[Grade]) -> Spread:
    outcomes = [grade.outcome for grade in grades]
    scored = [
        (grade.score, grade.outcome)
        for grade in grades
        if grade.score is not None and _usual(grade.score)
    ]
    limits = {grade.threshold for grade in grades if grade.threshold is not None and not grade.most}
    return Spread(
        name,
        Counts(*map(outcomes.count, Outcome)),
        float(mean(score for score, _ in scored)) if scored else None,
        _bins(scored),
        tuple(sorted(filter(_usual, limits))),
        grades[0].scale,
    )


def _usual(number: float) -> bool:
    return math.isfinite(number) and abs(number) < _RARE


def _bins(scored: Sequence[tuple[float, Outcome]]) -> tuple[Bin, ...]:
    """From 0 to 1, or as far as scores go beyond."""
    if not scored:
        return ()
    scores = [score for score, _ in scored]
    low, high = min(0.0, *scores), max(1.0, *scores)
    edges = [low + (high - low) * place / BINS for place in range(BINS)] + [high]
    passed, failed = [0] * BINS, [0] * BINS
    for score, outcome in scored:
        place = min(BINS - 1, int((score - low) / (high - low) * BINS))
        (failed if outcome is Outcome.FAIL else passed)[place] += 1
    return tuple(
        Bin(*edge, *counts) for edge, *counts in zip(pairwise(edges), passed, failed, strict=True)
    )


# --- charts -----------------------------------------------------------------------------------------------------


class Box(FrozenStruct):
    """A rectangle; ``kind`` is the class that colours it."""

    kind: str
    x: float
    y: float
    width: float
    height: float


class Chart(FrozenStruct):
    """Rectangles and the places of vertical lines."""

    boxes: tuple[Box, ...]
    lines: tuple[float, ...] = ()


def histogram(spread: Spread) -> Chart:
    """The bins beside one another, failures below what passed; lines are thresholds."""
    step = WIDTH / max(1, len(spread.bins))
    top = max([1, *(each.passed + each.failed for each in spread.bins)])  # of the fullest bin
    boxes = []
    for place, each in enumerate(spread.bins):
        foot = float(HEIGHT)
        for kind, count in (("fail", each.failed), ("pass", each.passed)):
            if count:
                height = max(_LEAST, (HEIGHT - 4) * count / top)
                foot -= height
                boxes.append(
                    Box(
                        kind,
                        round(place * step + 1, 1),
                        round(foot, 1),
                        round(step - 2, 1),
                        round(height, 1),
                    )
                )
    return Chart(tuple(boxes), tuple(round(mark * WIDTH, 1) for mark in spread.marks))


def shares(result: RuleResult) -> Chart:
    """What passed, failed and could not be told, one after the other; the line is the pass rate that is asked for.

    Empty for a rule that asks for none: beside a mean score, passes say nothing.
    """
    least = 1.0 if result.rule.every_case else result.rule.min_pass_rate
    counts = (
        (("pass", result.passed), ("fail", result.failed), ("error", result.errored))
        if least is not None
        else ()
    )
    whole, x, boxes = sum(count for _, count in counts), 0.0, []
    for kind, count in counts:
        if count:
            width = BAR * count / whole
            boxes.append(Box(kind, round(x, 1), 0, round(width, 1), 12))
            x += width
    line = () if least is None or not 0 <= least <= 1 else (round(least * BAR, 1),)
    return Chart(tuple(boxes), line if boxes else ())


# --- what the cases can be chosen by ----------------------------------------------------------------------------


class Choice(FrozenStruct):
    """One kind of what can be chosen: ``options`` are the words for each number."""

    name: str
    title: str
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
        kinds = [
            Choice(
                "rule", "Rule", tuple(titled(result.rule, self.several) for result in self.rules)
            )
        ]
        for name, numbered in (
            ("metric", self.metrics),
            ("provider", self.providers),
            ("prompt", self.prompts),
        ):
            kinds.append(
                Choice(
                    name,
                    name.capitalize(),
                    tuple(one_line(option, 80) or "(none)" for option in numbered),
                )
            )
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
        len({result.rule.suite for result in rules}) > 1,
    )
