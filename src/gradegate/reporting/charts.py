"""Small charts as rectangles, which a template draws: nothing of a text is in them."""

from __future__ import annotations

from dataclasses import dataclass

from gradegate.reporting.distribution import Spread
from gradegate.values.result import RuleResult

WIDTH, HEIGHT = 200, 40  # of a distribution
BAR = 160  # the width of a share
_LEAST = 2.0  # of a bin that is not empty, so that one among thousands is seen


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle; ``kind`` is the class that colours it."""

    kind: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Rectangles and the places of vertical lines."""

    boxes: tuple[Box, ...]
    lines: tuple[float, ...] = ()


def histogram(spread: Spread) -> Chart:
    """The bins beside one another, failures below what passed; lines are thresholds."""
    step = WIDTH / max(1, len(spread.bins))
    boxes = []
    for place, each in enumerate(spread.bins):
        foot = float(HEIGHT)
        for kind, count in (("fail", each.failed), ("pass", each.passed)):
            if count:
                height = max(_LEAST, (HEIGHT - 4) * count / spread.top)
                foot -= height
                boxes.append(Box(kind, round(place * step + 1, 1), round(foot, 1), round(step - 2, 1), round(height, 1)))
    return Chart(tuple(boxes), tuple(round(mark * WIDTH, 1) for mark in spread.marks))


def shares(result: RuleResult) -> Chart:
    """What passed, failed and could not be told, one after the other; the line is the pass rate that is asked for.

    Empty for a rule that asks for none: beside a mean score, passes say nothing.
    """
    least = 1.0 if result.rule.every_case else result.rule.min_pass_rate
    counts = (("pass", result.passed), ("fail", result.failed), ("error", result.errored)) if least is not None else ()
    whole, x, boxes = sum(count for _, count in counts), 0.0, []
    for kind, count in counts:
        if count:
            width = BAR * count / whole
            boxes.append(Box(kind, round(x, 1), 0, round(width, 1), 12))
            x += width
    line = () if least is None or not 0 <= least <= 1 else (round(least * BAR, 1),)
    return Chart(tuple(boxes), line if boxes else ())
