"""Numbers as people read them, and compared as they were written: one rule for every threshold, every rule of a gate and every case."""

import math
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_DOWN, Decimal
from fractions import Fraction
from functools import lru_cache

from gradegate.core.usage import Increase, Usage

_LEAST_CHANCE = 0.0001  # below it, the figure says nothing more


def format_count(number: int, noun: str) -> str:
    """``1 case``, ``2,000 cases``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def list_some(names: Sequence[str], number: int, noun: str = "") -> str:
    """``a, b and 3 more``, ``a, b and 3 more files``: these names, and how many of that number they leave out."""
    left = number - len(names)
    more = f" and {format_count(left, f'more {noun}') if noun else f'{left:,} more'}"
    return ", ".join(names) + (more if left else "")


def format_number(value: float, digits: int = 4) -> str:
    """At most so many digits behind the point; very large and very small numbers with an exponent."""
    if value == 0 or 10.0**-digits <= abs(value) < 1e15:
        return f"{value:,.{digits}f}".rstrip("0").rstrip(".")
    return f"{value:.{max(digits, 1)}g}"


def format_dollars(usd: float) -> str:
    """``0.0123 USD``, ``0.000052 USD``: a small amount with two figures, and never with an exponent."""
    digits = 1 - math.floor(math.log10(usd)) if usd > 0 else 0
    return f"{format_number(usd, max(4, digits))} USD"


def format_percent(share: float, digits: int = 1) -> str:
    """A share from 0 to 1 in per cent."""
    return f"{format_number(share * 100, digits)}%"


def format_chance(share: float) -> str:
    """A chance in per cent, with two figures of what it lacks to the nearer end: ``0.15%``, ``38%``, ``97.6%``."""
    near = min(share, 1 - share)
    if near < _LEAST_CHANCE:
        return "less than 0.01%" if share < 0.5 else "more than 99.99%"
    return f"{share:.{max(0, -1 - math.floor(math.log10(near)))}%}"


def format_scores(score: float, limit: float, scale: int = 1) -> tuple[str, str]:
    """A score and a limit as people see them, told apart where they differ."""
    if scale == 1:
        return _apart(format_number, score, limit, range(4, 18))
    return format_scaled(score, scale), format_scaled(limit, scale)


def format_scaled(score: float, scale: int) -> str:
    """A score times its scale, cut to two decimals and never rounded up: 0.69996 of 100 reads 69.99."""
    if not abs(score) < 1e12:
        return format_number(score * scale)
    # The shortest text of a float is the number that was meant: 0.29 * 100 is 28.999999999999996.
    whole = Decimal(repr(score)) * scale
    return f"{whole.quantize(Decimal('0.01'), ROUND_DOWN):f}".rstrip("0").rstrip(".")


def format_percents(value: float, other: float) -> tuple[str, str]:
    """Two shares in per cent, cut and told apart: 94.96% must not read 95% beside a limit of 95%, nor 99.96% 100%."""
    return _apart(_cut_percent, value, other, range(1, 16))


def _cut_percent(share: float, digits: int) -> str:
    """A share cut to so many digits, as the output ``pass-rate`` is: only what is whole reads 100%."""
    if not abs(share) < 1e12:
        return format_percent(share, digits)
    whole = (Decimal(repr(share)) * 100).quantize(Decimal(1).scaleb(-digits), ROUND_DOWN)
    return f"{whole:,f}".rstrip("0").rstrip(".") + "%"


def _apart(
    show: Callable[[float, int], str], value: float, other: float, lengths: range
) -> tuple[str, str]:
    for digits in lengths:
        pair = show(value, digits), show(other, digits)
        if value == other or pair[0] != pair[1]:
            return pair
    return repr(value), repr(other)


def describe_cost_increase(cost: Increase) -> str:
    """``18.2% more expensive (9.1% to 27.3%)``; in dollars where the base cost nothing."""
    return _more(
        cost,
        lambda usd: format_percent(usd / cost.base) if cost.base else format_dollars(usd),
        "more expensive",
        "cheaper",
    )


def describe_latency_increase(latency: Increase) -> str:
    """``0.40 s slower (-0.10 s to 0.90 s, within noise)``."""
    return _more(latency, lambda seconds: f"{seconds:,.2f} s", "slower", "faster")


def _more(by: Increase, show: Callable[[float], str], more: str, less: str) -> str:
    change = by.here - by.base
    noise = ", within noise" if by.low <= 0 <= by.high and change else ""
    return f"{show(abs(change))} {more if change >= 0 else less} ({show(by.low)} to {show(by.high)}{noise})"


def describe_usage(usage: Usage, unanswered: int = 0, recorded: bool = False) -> str:
    """``12 calls, 3,400 tokens, 0.0123 USD, 5 from the cache``, ``12 recorded replies``; ``unanswered`` is why there are no calls."""
    cached = [f"{usage.cached:,} from the cache"] if usage.cached else []
    if not usage.calls:
        return ", ".join([f"{unanswered:,} unanswered" if unanswered else "not called", *cached])
    if recorded:
        return f"{usage.calls:,} recorded repl{'y' if usage.calls == 1 else 'ies'}"
    again = [f"re-asked {format_count(usage.reasks, 'time')}"] if usage.reasks else []
    return ", ".join(
        [
            format_count(usage.calls, "call"),
            format_count(usage.tokens, "token"),
            format_price(usage),
            *again,
            *cached,
        ]
    )


def format_price(usage: Usage) -> str:
    """US dollars; a price that nobody knows is unknown, never 0."""
    return "cost unknown" if usage.known_cost is None else format_dollars(usage.known_cost)


# promptfoo's tolerance (Number.EPSILON of JavaScript). Only what is measured needs it: a cosine or a distance may come
# out one bit below the number that was meant.
EPSILON = 2.220446049250313e-16


@lru_cache(maxsize=4096)  # most scores and weights are the same few
def exact_fraction(number: float | Fraction) -> Fraction:
    """The number that its decimal text says: 0.1 is a tenth, not the nearest binary fraction. Raises ValueError for NaN and infinities."""
    return number if isinstance(number, Fraction) else Fraction(str(number))


def meets(score: float | Fraction, limit: float | Fraction, tolerance: float = 0.0) -> bool:
    """Whether a score is at least the limit. Equality reaches it; ``tolerance`` is for measured scores alone."""
    return exact_fraction(score) + exact_fraction(tolerance) >= exact_fraction(limit)


def exact_mean(scores: Iterable[float | Fraction]) -> Fraction:
    """The exact arithmetic mean. Raises ZeroDivisionError for no scores."""
    return weighted_mean((score, 1) for score in scores)


def weighted_mean(pairs: Iterable[tuple[float | Fraction, float | Fraction]]) -> Fraction:
    """The exact mean of (score, weight). Raises ZeroDivisionError when nothing has weight."""
    pairs = list(pairs)
    if len(pairs) == 1 and exact_fraction(pairs[0][1]):
        return exact_fraction(
            pairs[0][0]
        )  # the mean of one is that one, and most answers have one grade
    total = Fraction(0)
    weights = Fraction(0)
    for score, weight in pairs:
        total += exact_fraction(score) * exact_fraction(weight)
        weights += exact_fraction(weight)
    return total / weights
