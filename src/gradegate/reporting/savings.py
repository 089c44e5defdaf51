"""What a run saved, and what it took of its budget, in the words that all reports share."""

from __future__ import annotations

from collections.abc import Iterator

from gradegate.values.account import BudgetReport, CacheReport
from gradegate.values.figures import figure, many
from gradegate.values.result import RunResult

HOUR, DAY = 3600, 86_400


def saved(run: RunResult) -> Iterator[str]:
    """A sentence on the cache and one on the budget, without a full stop, where the run has them."""
    if run.cache:
        yield from_cache(run.cache)
    if run.budget and (limits := _used(run.budget, run.seconds)):
        yield f"budget: {limits}" + (f"; {run.budget.used_up} are used up" if run.budget.used_up else "")


def from_cache(cache: CacheReport) -> str:
    """``8 of 10 answers from the cache, the oldest 3 days old, 0.12 USD saved``."""
    oldest = f", the oldest {age(cache.oldest)} old" if cache.hits else ""
    saved = f", {figure(cache.saved_usd)} USD saved" if cache.saved_usd else ""
    return f"{cache.hits:,} of {many(cache.looked_up, 'answer')} from the cache{oldest}{saved}"


def age(seconds: float) -> str:
    """``3 days``, ``5 hours``, ``less than an hour``; what has begun does not count."""
    if seconds >= DAY:
        return many(int(seconds // DAY), "day")
    return many(int(seconds // HOUR), "hour") if seconds >= HOUR else "less than an hour"


def _used(budget: BudgetReport, seconds: float) -> str:
    limits = budget.limits
    parts = [
        f"{budget.calls:,} of {many(limits.calls, 'call')}" if limits.calls is not None else "",
        f"{figure(budget.usd)} of {figure(limits.usd)} USD" if limits.usd is not None else "",
        f"{seconds:,.1f} of {figure(limits.seconds)} s" if limits.seconds is not None else "",
    ]
    return ", ".join(filter(None, parts))
