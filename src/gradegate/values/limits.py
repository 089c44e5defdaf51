"""Numbers compared as they were written: one rule for every threshold, every rule of a gate and every case."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

# promptfoo's tolerance (Number.EPSILON of JavaScript). Only what is measured needs it: a cosine or a distance may come
# out one bit below the number that was meant.
EPSILON = 2.220446049250313e-16


@lru_cache(maxsize=4096)  # most scores and weights are the same few
def exact(number: float | Fraction) -> Fraction:
    """The number that its decimal text says: 0.1 is a tenth, not the nearest binary fraction.

    Raises ValueError for NaN and infinities.
    """
    return number if isinstance(number, Fraction) else Fraction(str(number))


def reached(score: float | Fraction, limit: float | Fraction, tolerance: float = 0.0) -> bool:
    """Whether a score is at least the limit. Equality reaches it; ``tolerance`` is for measured scores alone."""
    return exact(score) + exact(tolerance) >= exact(limit)


def mean(scores: Iterable[float | Fraction]) -> Fraction:
    """The exact arithmetic mean. Raises ZeroDivisionError for no scores."""
    return weighted_mean((score, 1) for score in scores)


def weighted_mean(pairs: Iterable[tuple[float | Fraction, float | Fraction]]) -> Fraction:
    """The exact mean of (score, weight). Raises ZeroDivisionError when nothing has weight."""
    pairs = list(pairs)
    if len(pairs) == 1 and exact(pairs[0][1]):
        return exact(pairs[0][0])  # the mean of one is that one, and most answers have one grade
    total, weights = Fraction(0), Fraction(0)
    for score, weight in pairs:
        total += exact(score) * exact(weight)
        weights += exact(weight)
    return total / weights
