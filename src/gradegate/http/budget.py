"""What a run may take: requests, dollars and seconds. A request is counted before it is sent, under one lock.

Of dollars each request in flight reserves the price of its model's dearest that has ended. Until one has, a model has one
request in flight, which reserves the dearest price of any model. The last request of a budget is sent alone, so dollars are
overshot by its price, and by what first requests of a model, and requests dearer than all before, cost beyond what they reserved.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from gradegate.errors import ProviderError, Trouble
from gradegate.http.deadlines import stopped
from gradegate.values.account import BudgetReport
from gradegate.values.conversation import Usage
from gradegate.values.figures import exact
from gradegate.values.suite import NO_LIMITS, Limits

_LOOK_EVERY = 0.25  # seconds


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
        self._lock = threading.Condition()
        self._calls = 0
        self._usd = Fraction()
        self._in_flight = Counter[Hashable]()  # requests whose price is not told yet, by model
        self._dearest: dict[Hashable, Fraction] = {}
        self._unknown = self._stopped = False
        self._started: float | None = None
        self._why = ""

    def start(self) -> None:
        """The run begins now."""
        self._started = time.monotonic()

    def take(self, model: Hashable = None) -> None:
        """Count a request to a model that is about to be sent, once dollars suffice for it and all in flight. Raises ProviderError."""
        with self._lock:
            while not (used_up := self._used_up()) and not self._suffices(model):
                self._lock.wait(_LOOK_EVERY)  # for a price; seconds run meanwhile
                if self._stopped:
                    raise stopped()
            if used_up:
                self._why = self._why or used_up
                raise ProviderError(f"not run: the budget of {used_up} is used up", Trouble.STOPPED)
            self._calls += 1
            self._in_flight[model] += 1

    def spend(self, usage: Usage, ended: int = 1, model: Hashable = None) -> None:
        """So many requests have ended, and cost that: nothing without a reply. A price that is not known ends a budget of dollars."""
        with self._lock:
            self._in_flight[model] -= ended
            self._usd += exact(usage.cost)
            self._unknown = self._unknown or bool(usage.unpriced)
            if usage.calls and not usage.unpriced:
                self._dearest[model] = max(self._dearest.get(model, Fraction()), exact(usage.cost))
            self._lock.notify_all()

    def stop(self) -> None:
        """Let no request wait any longer."""
        with self._lock:
            self._stopped = True
            self._lock.notify_all()

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
            return BudgetReport(self.limits, self._calls, float(self._usd), self._why)

    def _suffices(self, model: Hashable) -> bool:
        if self.limits.usd is None or self._in_flight.total() <= 0:
            return True
        if not self._dearest or (model not in self._dearest and self._in_flight[model] > 0):
            return False
        highest = max(self._dearest.values())
        reserved = sum(count * self._dearest.get(it, highest) for it, count in (self._in_flight + Counter([model])).items())
        return self._usd + reserved <= exact(self.limits.usd)

    def _used_up(self) -> str:
        """The limit that is reached, as people read it; an empty string while there is something left."""
        limits = self.limits
        if limits.calls is not None and self._calls >= limits.calls:
            return f"{limits.calls} {'call' if limits.calls == 1 else 'calls'}"
        if limits.usd is not None and (self._unknown or self._usd >= exact(limits.usd)):
            return f"{limits.usd:g} USD" + (" (the price of a reply is unknown)" if self._unknown else "")
        taken = time.monotonic() - self._started if self._started is not None else 0.0
        if limits.seconds is not None and taken >= limits.seconds:
            return f"{limits.seconds:g} {'second' if limits.seconds == 1 else 'seconds'}"
        return ""
