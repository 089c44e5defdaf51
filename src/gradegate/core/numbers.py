"""Writes numbers for people, and compares scores with thresholds exactly.

``format_*`` write a number, ``describe_*`` a clause. ``meets`` and the exact means are the one rule for every threshold.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_DOWN, Decimal
from fractions import Fraction
from functools import lru_cache

from gradegate.core.usage import Increase, Usage

_MIN_CHANCE = 0.0001  # below it, figures say nothing more


def format_count(number: int, noun: str) -> str:
    """Write a number with its noun, in the plural unless the number is 1: ``1 case``, ``2,000 cases``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def list_some(names: Sequence[str], number: int, noun: str = "") -> str:
    """List names, and how many of ``number`` are left out: ``a, b and 3 more``, or with a noun ``a, b and 3 more files``."""
    text = ", ".join(names)
    omitted = number - len(names)
    if not omitted:
        return text
    more = format_count(omitted, f"more {noun}") if noun else f"{omitted:,} more"
    return f"{text} and {more}"


def format_number(value: float, digits: int = 4) -> str:
    """Write a number with at most ``digits`` decimals. Very large and very small numbers get an exponent."""
    if value == 0 or 10.0**-digits <= abs(value) < 1e15:
        return f"{value:,.{digits}f}".rstrip("0").rstrip(".")
    return f"{value:.{max(digits, 1)}g}"


def format_dollars(usd: float) -> str:
    """Write ``0.0123 USD`` or ``0.000052 USD``: a small amount with two figures, never with an exponent."""
    digits = 1 - math.floor(math.log10(usd)) if usd > 0 else 0
    return f"{format_number(usd, max(4, digits))} USD"


def format_percent(share: float, digits: int = 1) -> str:
    """Write a share from 0 to 1 in per cent, with at most so many decimals: ``0.5`` is ``50%``."""
    return f"{format_number(share * 100, digits)}%"


def format_chance(share: float) -> str:
    """Write a chance in per cent, with two figures of the distance to the nearer end: ``0.15%``, ``38%``, ``97.6%``."""
    distance = min(share, 1 - share)
    if distance < _MIN_CHANCE:
        return "less than 0.01%" if share < 0.5 else "more than 99.99%"
    digits = max(0, -1 - math.floor(math.log10(distance)))
    return f"{share:.{digits}%}"


def format_scores(score: float, limit: float, scale: int = 1) -> tuple[str, str]:
    """Write a score and its limit, as a pair of texts with as many decimals as show the difference."""
    if scale == 1:
        return _format_pair(format_number, score, limit, range(4, 18))
    return format_scaled(score, scale), format_scaled(limit, scale)


def format_scaled(score: float, scale: int) -> str:
    """Write a score times its scale, cut to two decimals and never rounded up: 0.69996 of 100 is 69.99."""
    if not abs(score) < 1e12:
        return format_number(score * scale)
    # The shortest text of a float is the number that was meant: 0.29 * 100 is 28.999999999999996.
    whole = Decimal(repr(score)) * scale
    return f"{whole.quantize(Decimal('0.01'), ROUND_DOWN):f}".rstrip("0").rstrip(".")


def format_percents(value: float, other: float) -> tuple[str, str]:
    """Write two shares in per cent, cut where they differ: 94.96% must not read 95% next to a limit of 95%."""
    return _format_pair(_cut_percent, value, other, range(1, 16))


def _cut_percent(share: float, digits: int) -> str:
    """Write a share cut to so many decimals, as the output ``pass-rate`` is: only 1 reads 100%."""
    if not abs(share) < 1e12:
        return format_percent(share, digits)
    whole = (Decimal(repr(share)) * 100).quantize(Decimal(1).scaleb(-digits), ROUND_DOWN)
    return f"{whole:,f}".rstrip("0").rstrip(".") + "%"


def _format_pair(
    show: Callable[[float, int], str], value: float, limit: float, lengths: range
) -> tuple[str, str]:
    """Write two numbers with the fewest digits that show their difference. ``show`` writes a number with so many digits."""
    for digits in lengths:
        pair = show(value, digits), show(limit, digits)
        if value == limit or pair[0] != pair[1]:
            return pair
    return repr(value), repr(limit)


def describe_cost_increase(cost: Increase) -> str:
    """Say ``18.2% more expensive (9.1% to 27.3%)``. In dollars if the base cost nothing."""

    def show(usd: float) -> str:
        return format_percent(usd / cost.base) if cost.base else format_dollars(usd)

    return _describe_increase(cost, show, "more expensive", "cheaper")


def describe_latency_increase(latency: Increase) -> str:
    """Say ``0.40 s slower (-0.10 s to 0.90 s, within noise)``."""
    return _describe_increase(latency, lambda seconds: f"{seconds:,.2f} s", "slower", "faster")


def _describe_increase(
    increase: Increase, show: Callable[[float], str], more: str, less: str
) -> str:
    """Say ``0.40 s slower (-0.10 s to 0.90 s, within noise)``. ``show`` writes an amount, ``more`` is ``slower``."""
    change = increase.here - increase.base
    comparative = more if change >= 0 else less
    noise = ", within noise" if increase.low <= 0 <= increase.high and change else ""
    interval = f"{show(increase.low)} to {show(increase.high)}"
    return f"{show(abs(change))} {comparative} ({interval}{noise})"


def describe_usage(usage: Usage, unanswered: int = 0, recorded: bool = False) -> str:
    """Say ``12 calls, 3,400 tokens, 0.0123 USD, 5 from the cache``.

    If the replies are ``recorded``, say ``12 recorded replies``. Without answered calls, say how many are ``unanswered``.
    """
    if usage.calls and recorded:
        noun = "reply" if usage.calls == 1 else "replies"
        return f"{usage.calls:,} recorded {noun}"

    parts = []
    if usage.calls:
        parts.append(format_count(usage.calls, "call"))
        parts.append(format_count(usage.tokens, "token"))
        parts.append(format_price(usage))
        if usage.reasks:
            parts.append(f"re-asked {format_count(usage.reasks, 'time')}")
    elif unanswered:
        parts.append(f"{unanswered:,} unanswered")
    else:
        parts.append("not called")
    if usage.cached:
        parts.append(f"{usage.cached:,} from the cache")
    return ", ".join(parts)


def format_price(usage: Usage) -> str:
    """Write US dollars. A price that nobody knows is unknown, never 0."""
    return "cost unknown" if usage.known_cost is None else format_dollars(usage.known_cost)


# promptfoo's tolerance (Number.EPSILON of JavaScript). Only measured scores need it: a cosine or a distance may be
# one bit below the exact number.
EPSILON = 2.220446049250313e-16


@lru_cache(maxsize=4096)  # most scores and weights are the same few
def exact_fraction(number: float | Fraction) -> Fraction:
    """The number as its decimal text says: 0.1 is a tenth, not the nearest binary fraction. Raises ValueError for NaN and infinities."""
    return number if isinstance(number, Fraction) else Fraction(str(number))


def meets(score: float | Fraction, limit: float | Fraction, tolerance: float = 0.0) -> bool:
    """Whether a score is at least the limit. An equal score meets it. ``tolerance`` is only for measured scores."""
    return exact_fraction(score) + exact_fraction(tolerance) >= exact_fraction(limit)


def exact_mean(scores: Iterable[float | Fraction]) -> Fraction:
    """The arithmetic mean of decimal numbers, without rounding. Raises ZeroDivisionError for no scores."""
    return weighted_mean((score, 1) for score in scores)


def weighted_mean(pairs: Iterable[tuple[float | Fraction, float | Fraction]]) -> Fraction:
    """The exact mean of (score, weight). Raises ZeroDivisionError if nothing has weight."""
    pairs = list(pairs)
    if len(pairs) == 1 and exact_fraction(pairs[0][1]):
        return exact_fraction(pairs[0][0])  # most answers have one grade
    total = Fraction(0)
    total_weight = Fraction(0)
    for score, weight in pairs:
        total += exact_fraction(score) * exact_fraction(weight)
        total_weight += exact_fraction(weight)
    return total / total_weight
