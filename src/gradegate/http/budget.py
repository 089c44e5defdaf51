"""What a run may take: requests, dollars and seconds. A request is counted before it is sent, under one lock."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

from gradegate.errors import ProviderError, Trouble
from gradegate.values.account import BudgetReport
from gradegate.values.conversation import Usage
from gradegate.values.suite import NO_LIMITS, Limits


def strictest(limits: Iterable[Limits]) -> Limits:
    """What all of them allow: of each limit the lowest that anybody wrote."""
    known = list(limits)
    calls = [limit.calls for limit in known if limit.calls is not None]
    dollars = [limit.usd for limit in known if limit.usd is not None]
    seconds = [limit.seconds for limit in known if limit.seconds is not None]
    return Limits(min(calls, default=None), min(dollars, default=None), min(seconds, default=None))


@dataclass(eq=False)
class Budget:
    """The account of one run, which any number of threads draw on. Time runs from ``start``."""

    limits: Limits = NO_LIMITS

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = 0
        self._usd = 0.0
        self._started: float | None = None
        self._why = ""

    def start(self) -> None:
        """The run begins now."""
        self._started = time.monotonic()

    def take(self) -> None:
        """Count a request that is about to be sent. Raises ProviderError where none is left."""
        with self._lock:
            used_up = self._used_up()
            if used_up:
                self._why = self._why or used_up
                raise ProviderError(f"not run: the budget of {used_up} is used up", Trouble.STOPPED)
            self._calls += 1

    def spend(self, usage: Usage) -> None:
        """Add what a reply cost, as far as that is known."""
        with self._lock:
            self._usd += usage.cost

    @property
    def calls_left(self) -> int:
        """How many requests may still be sent, where that is limited; else 0."""
        with self._lock:
            return max(0, (self.limits.calls or 0) - self._calls)

    @property
    def out_of_calls(self) -> bool:
        """Whether a request was not sent because all that may be had been."""
        with self._lock:
            return bool(self._why) and self._calls == self.limits.calls

    def report(self) -> BudgetReport:
        """What was allowed and what was used."""
        with self._lock:
            return BudgetReport(self.limits, self._calls, self._usd, self._why)

    def _used_up(self) -> str:
        """The limit that is reached, as people read it; an empty string while there is something left."""
        limits = self.limits
        if limits.calls is not None and self._calls >= limits.calls:
            return f"{limits.calls} {'call' if limits.calls == 1 else 'calls'}"
        if limits.usd is not None and self._usd >= limits.usd:
            return f"{limits.usd:g} USD"
        taken = time.monotonic() - self._started if self._started is not None else 0.0
        if limits.seconds is not None and taken >= limits.seconds:
            return f"{limits.seconds:g} {'second' if limits.seconds == 1 else 'seconds'}"
        return ""
