"""What answers cost and how long they took beside the base: the mean of paired differences, and how far noise moves it. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from gradegate.deciding.chances import student
from gradegate.deciding.confirmations import left_undone
from gradegate.values.account import Increase
from gradegate.values.figures import dearer, duration, many, percent, slower
from gradegate.values.result import Outcome, Row, RuleResult, selects
from gradegate.values.suite import Rule

_LEAST = 5  # pairs of which the spread says something
_MOST = 1e15  # no answer takes so many dollars or seconds


def increases(rows: Iterable[Row]) -> tuple[Increase | None, Increase | None]:
    """In dollars and in seconds an answer, over those that both sides asked for; None where nothing was measured on both."""
    pairs = [(row.base_took, row.took) for row in rows if row.base_took and row.took]
    return _increase((base.usd, here.usd) for base, here in pairs), _increase((base.seconds, here.seconds) for base, here in pairs)


def _increase(sides: Iterable[tuple[float | None, float | None]]) -> Increase | None:
    pairs = [(base, here) for base, here in sides if base is not None and here is not None and max(base, here) < _MOST]
    if not pairs:
        return None
    count = len(pairs)
    base, here = (math.fsum(side) / count for side in zip(*pairs, strict=True))
    if count < _LEAST:
        return Increase(count, base, here)
    variance = math.fsum((ours - theirs - (here - base)) ** 2 for theirs, ours in pairs) / (count - 1)
    half = student(count - 1) * math.sqrt(variance / count)
    return Increase(count, base, here, here - base - half, here - base + half)


def seen_by(rule: Rule, rows: Iterable[Row]) -> list[Row]:
    """The answers of which a rule looks at a grade, whatever that came to."""
    return [row for row in rows if any(not it.inner and selects(rule, it.assertion, row.provider, row.description) for it in row.grades)]


def limits(result: RuleResult, undone: int) -> Iterator[tuple[Outcome, str, bool]]:
    """What the limits of a rule come to: the reason, and whether noise alone may be what is above one.

    So many answers are ``undone``: a limit is not missed before they are there.
    """
    rule, cost, latency = result.rule, result.cost, result.latency
    if (share := rule.max_cost_increase) is not None:
        yield _held("cost", cost, dearer(cost) if cost else "", share * cost.base if cost else 0.0, percent(share), undone)
    share, seconds = rule.max_latency_increase, rule.max_latency_increase_seconds
    if share is not None or seconds is not None:
        most = [share * latency.base] if latency and share is not None else []
        least = min(most + ([seconds] if seconds is not None else []), default=0.0)
        yield _held("latency", latency, slower(latency) if latency else "", least, duration(least), undone)


def _held(what: str, by: Increase | None, said: str, most: float, allowed: str, undone: int) -> tuple[Outcome, str, bool]:
    if by is None or by.low is None:
        known = f"{by.compared} of at least {many(_LEAST, 'answer')}" if by else "no answer"
        why = "" if by else ": kept and recorded answers do not count, and a baseline has to be there"
        return Outcome.ERROR, f"the {what} of {known} was measured here and on the base{why}", False
    above, beyond = (it > most and not math.isclose(it, most, abs_tol=1e-9 * by.base) for it in (by.here - by.base, by.low))
    limit = f"above the limit of {allowed} by no more than noise explains" if above and not beyond else f"at most {allowed} may be"
    told = f"an answer is {said} than on the base, over {many(by.compared, 'answer')}: {limit}"
    if beyond and undone:
        return Outcome.ERROR, f"{told} so far; {left_undone(undone)}", False
    return (Outcome.FAIL if beyond else Outcome.PASS), told, above and not beyond
