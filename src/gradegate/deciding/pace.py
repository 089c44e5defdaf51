"""Cost and latency of answers compared with the base: the mean of paired differences, and its noise. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from gradegate.deciding.chances import student
from gradegate.deciding.confirmations import left_undone
from gradegate.values.conversation import Increase
from gradegate.values.figures import dearer, many, percent, slower
from gradegate.values.result import Outcome, Row, RuleResult, selects
from gradegate.values.suite import Rule

_LEAST = 5  # pairs of which the spread says something
_UNKNOWN = f" was measured for fewer than {_LEAST} answers here and on the base; cached and recorded answers do not count"
_MOST = 1e15  # no answer takes so many dollars or seconds


def increases(rows: Iterable[Row], rule: Rule | None = None) -> tuple[Increase | None, Increase | None]:
    """In dollars and in seconds an answer, over those that both sides asked for and of which the rule looks at a grade."""
    pairs = [(row.base_took, row.took) for row in rows if row.base_took and row.took and (rule is None or _sees(rule, row))]
    return _increase((base.usd, here.usd) for base, here in pairs), _increase((base.seconds, here.seconds) for base, here in pairs)


def _sees(rule: Rule, row: Row) -> bool:
    return any(not it.inner and selects(rule, it.assertion, row.provider, row.description) for it in row.grades)


def _increase(sides: Iterable[tuple[float | None, float | None]]) -> Increase | None:
    pairs = [(base, here) for base, here in sides if base is not None and here is not None and max(base, here) < _MOST]
    count = len(pairs)
    if count < _LEAST:
        return None
    base, here = (math.fsum(side) / count for side in zip(*pairs, strict=True))
    variance = math.fsum((ours - theirs - (here - base)) ** 2 for theirs, ours in pairs) / (count - 1)
    half = student(count - 1) * math.sqrt(variance / count)
    return Increase(count, base, here, here - base - half, here - base + half)


def limits(result: RuleResult, rows: Iterable[Row]) -> Iterator[tuple[Outcome, str, bool]]:
    """What the limits of a rule come to: the reason, and whether noise alone may be what is above one."""
    undone = sum(row.undone and _sees(result.rule, row) for row in rows)
    cost, latency = result.rule.max_cost_increase, result.rule.max_latency_increase
    if cost is not None:
        by = result.cost
        yield _held(by, cost * by.base, dearer(by), percent(cost), undone) if by else (Outcome.ERROR, f"the cost{_UNKNOWN}", False)
    if latency is not None:
        by = result.latency
        yield _held(by, latency, slower(by), f"{latency:g} s", undone) if by else (Outcome.ERROR, f"the latency{_UNKNOWN}", False)


def _held(by: Increase, most: float, said: str, limit: str, undone: int) -> tuple[Outcome, str, bool]:
    above, beyond = (it > most and not math.isclose(it, most, abs_tol=1e-9 * by.base) for it in (by.here - by.base, by.low))
    end = f"above the limit of {limit} by no more than noise explains" if above and not beyond else f"at most {limit} is allowed"
    told = f"an answer is {said} than on the base, over {many(by.compared, 'answer')}: {end}"
    if beyond and undone:  # the answers that are missing may be the cheap and fast ones
        return Outcome.ERROR, f"{told} so far; {left_undone(undone)}", False
    return (Outcome.FAIL if beyond else Outcome.PASS), told, above and not beyond
