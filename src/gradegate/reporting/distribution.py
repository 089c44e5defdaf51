"""The distribution of each metric's scores, with the thresholds that were applied."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gradegate.values.figures import figure, many
from gradegate.values.limits import mean
from gradegate.values.result import Counts, Grade, Outcome, Row

BINS = 10
_THRESHOLDS = 4  # that are drawn
_RARE = 1e12  # beyond, a scale says nothing


@dataclass(frozen=True, slots=True)
class Bin:
    """How many grades with a score from ``low`` to below ``high`` passed, and how many failed."""

    low: float
    high: float
    passed: int
    failed: int


@dataclass(frozen=True, slots=True)
class Spread:
    """One metric: its counts, and its scores in bins of one width; no bins where nothing has a score.

    ``marks`` are thresholds that lie within the bins. ``scale``: people see scores times this.
    """

    name: str
    counts: Counts
    average: float | None
    bins: tuple[Bin, ...]
    thresholds: tuple[float, ...]
    scale: int = 1

    @property
    def top(self) -> int:
        """Grades of the fullest bin, at least 1."""
        return max([1, *(each.passed + each.failed for each in self.bins)])

    @property
    def marks(self) -> tuple[float, ...]:
        """Where the thresholds lie, from 0 (the first bin's start) to 1 (the last one's end)."""
        if not self.bins or len(self.thresholds) > _THRESHOLDS:
            return ()
        low, high = self.bins[0].low, self.bins[-1].high
        return tuple((limit - low) / (high - low) for limit in self.thresholds if low <= limit <= high)

    @property
    def said(self) -> str:
        """The bins in words, for those who do not see them."""
        filled = [each for each in self.bins if each.passed + each.failed]
        parts = [
            f"{each.passed + each.failed:,} from {figure(each.low * self.scale)} to {figure(each.high * self.scale)}" for each in filled
        ]
        limits = ", ".join(figure(limit * self.scale) for limit in self.thresholds[:_THRESHOLDS])
        graded = many(sum(each.passed + each.failed for each in self.bins), "score")
        return f"{graded}: {', '.join(parts)}" + (f"; threshold {limits}" if limits else "")


def metric_of(grade: Grade) -> str:
    """Under what name a grade is counted: its metric, else the type of its assertion."""
    return grade.metric or grade.assertion.type


def spreads(rows: Iterable[Row]) -> list[Spread]:
    """Every metric in the order of its first grade; members of a set are not counted beside it."""
    grades: dict[str, list[Grade]] = {}
    for row in rows:
        for grade in row.grades:
            if not grade.inner:
                grades.setdefault(metric_of(grade), []).append(grade)
    return [_spread(name, found) for name, found in grades.items()]


def _spread(name: str, grades: Sequence[Grade]) -> Spread:
    outcomes = [grade.outcome for grade in grades]
    scored = [(grade.score, grade.outcome) for grade in grades if grade.score is not None and _usual(grade.score)]
    limits = {grade.threshold for grade in grades if grade.threshold is not None and not grade.most}
    average = mean(score for score, _ in scored) if scored else None
    return Spread(
        name,
        Counts(*map(outcomes.count, (Outcome.PASS, Outcome.FAIL, Outcome.ERROR))),
        None if average is None else float(average),
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
    return tuple(Bin(*edge, *counts) for edge, *counts in zip(pairwise(edges), passed, failed, strict=True))
