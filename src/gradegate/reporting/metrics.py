"""Derived metrics as people read them."""

from __future__ import annotations

from gradegate.reporting.visible import one_line
from gradegate.values.account import DerivedMetric
from gradegate.values.figures import figure, many


def worth(metric: DerivedMetric) -> str:
    """``0.8571``, or why there is no value; and over how many answers, where not all could be told."""
    said = one_line(metric.error, 300)
    value = f"could not be worked out: {said}" if metric.value is None else figure(metric.value)
    return value + (f" ({over(metric)})" if metric.left_out else "")


def over(metric: DerivedMetric) -> str:
    """``over 9 of 10 answers: the grades of the others are not known``."""
    answers = many(metric.answers + metric.left_out, "answer")
    return f"over {metric.answers:,} of {answers}: the grades of the others are not known"


def of(metric: DerivedMetric) -> str:
    """Of whose answers, and to which prompt."""
    return ", ".join(filter(None, (one_line(metric.provider, 80), one_line(metric.prompt_label, 60))))
