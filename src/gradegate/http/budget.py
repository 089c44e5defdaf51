"""The budget of a run (requests, dollars, seconds) and the deadline of each call.

A request is counted before it is sent, under one lock. Of the dollars, each request in flight reserves the highest price that
a request to its model has had. Until a model has a price, one request to it is in flight and reserves the highest price of any
model. The last request of a budget is sent when no other is in flight, so a budget of dollars is exceeded at most by the price
of that request, and by what requests cost beyond the price that they reserved.
"""

import _thread
import math
import socket
import threading
import time
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gradegate.core.numbers import exact_fraction, format_dollars
from gradegate.core.policy import NO_LIMITS, Limits
from gradegate.core.usage import BudgetReport, Usage
from gradegate.errors import ProviderError, Trouble

LOOK_EVERY = 0.25  # seconds
LATE_LOOK = 2.0  # seconds without a look, after which another thread watches
# Looks without a call in flight, after which the watching thread ends; the next call starts another
IDLE_LOOKS = 8


@dataclass(slots=True, eq=False)
class Call:
    """A request in flight. Another thread can end its connection. ``deadline`` is a time of the monotonic clock."""

    deadline: float
    connection: Any = None  # an object with a `sock`
    sock: Any = None  # the connection forgets its socket when the body has no length
    has_expired: bool = False

    def watch_connection(self, connection: Any) -> None:
        """Remember the connection, and its socket while it has one."""
        self.connection = connection
        self.sock = getattr(connection, "sock", None)

    def cut_connection(self) -> None:
        """End the connection from outside: the thread that reads from it sees its end."""
        for sock in {self.sock, getattr(self.connection, "sock", None)} - {None}:
            with suppress(OSError):  # already closed by the other side
                sock.shutdown(socket.SHUT_RDWR)


_thread_state = threading.local()


def current_call() -> Call | None:
    """The call of this thread."""
    return getattr(_thread_state, "call", None)


class Deadlines:
    """The calls in flight, and one thread that cuts those past their deadline.

    Socket time-outs restart with every byte. Only this thread bounds a server that answers one byte at a time.
    """

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._calls: set[Call] = set()
        self._lock = threading.Lock()
        self._last_look = -math.inf  # of the watching thread

    @property
    def is_stopped(self) -> bool:
        """Whether the run was stopped."""
        return self._stopping.is_set()

    @contextmanager
    def watch(self, deadline: float) -> Iterator[Call]:
        """Watch the call that this thread makes inside the block. Raises ProviderError once the run is stopped."""
        call = Call(deadline)
        try:
            with self._lock:
                self._calls.add(call)
                now = time.monotonic()
                # A thread may end, or never begin, for want of memory
                if now > self._last_look + LATE_LOOK:
                    _thread.start_new_thread(self.cut_late_calls, ())
                    self._last_look = now
            _thread_state.call = call
            if self.is_stopped:
                raise stopped_error()
            yield call
        finally:
            _thread_state.call = None
            with self._lock:
                self._calls.discard(call)

    def pause(self, seconds: float) -> None:
        """Wait between two tries. Raises ProviderError if the run is stopped meanwhile."""
        if self._stopping.wait(seconds):
            raise stopped_error()

    def stop(self) -> None:
        """Cut every call in flight and refuse further calls."""
        self._stopping.set()
        self._cut_calls(math.inf)

    def _cut_calls(self, now: float) -> bool:
        """Cut the calls with a deadline before ``now``. Returns whether any call is in flight."""
        with self._lock:
            calls = list(self._calls)
        for call in calls:
            if call.deadline < now:
                call.has_expired = True
                call.cut_connection()
        return bool(calls)

    def cut_late_calls(self) -> None:
        """Watch the calls in flight, as the watching thread does, until there have been none for a while."""
        idle_looks = 0
        with suppress(MemoryError):
            while not self._stopping.wait(LOOK_EVERY):
                self._cut_calls(time.monotonic())
                with self._lock:
                    self._last_look = time.monotonic()
                    idle_looks = 0 if self._calls else idle_looks + 1
                    if idle_looks > IDLE_LOOKS:
                        self._last_look = -math.inf
                        return
            # A call that had no connection yet when the run was stopped is cut as soon as it has one
            while self._cut_calls(math.inf):
                time.sleep(0.05)


def stopped_error() -> ProviderError:
    """The error of every call after the run was stopped."""
    return ProviderError("the run was stopped", Trouble.STOPPED)


@dataclass(eq=False)
class Budget:
    """What one run has used of its limits. Any number of threads draw on it. Its time begins with ``start``."""

    limits: Limits = NO_LIMITS

    def __post_init__(self) -> None:
        self._lock = threading.Condition()
        self._calls = 0
        self._usd = Fraction()
        self._in_flight = Counter[Hashable]()  # requests without a known price yet, by model
        self._highest_prices: dict[Hashable, Fraction] = {}  # by model
        self._has_unknown_price = False
        self._is_stopped = False
        self._started: float | None = None
        self._earlier_seconds = 0.0
        self._exhausted_limit = ""  # the first limit that refused a request

    def count_earlier(self, usage: Usage) -> None:
        """Count the calls, dollars and seconds of earlier jobs of the same run. Call it before ``start``."""
        with self._lock:
            self._calls += usage.calls
            self._usd += exact_fraction(usage.cost)
            self._has_unknown_price |= bool(usage.unpriced)
            self._earlier_seconds += usage.seconds

    def start(self) -> None:
        """Begin to count the seconds of the run."""
        self._started = time.monotonic() - self._earlier_seconds

    def reserve_call(self, model: Hashable = None) -> None:
        """Count a request that is about to be sent to a model. Raises ProviderError if a limit is used up.

        Waits while the dollars do not suffice for this request and all requests in flight.
        """
        with self._lock:
            while True:
                if self._is_stopped:
                    raise stopped_error()
                limit = self._reached_limit()
                if limit:
                    self._exhausted_limit = self._exhausted_limit or limit
                    raise ProviderError(
                        f"not run: the budget of {limit} is used up", Trouble.STOPPED
                    )
                if self._has_dollars_for(model):
                    break
                self._lock.wait(LOOK_EVERY)  # for a price; seconds run meanwhile
            self._calls += 1
            self._in_flight[model] += 1

    def return_call(self, model: Hashable = None) -> None:
        """Take back a request that a busy host refused."""
        with self._lock:
            self._calls -= 1
            self._in_flight[model] -= 1
            self._lock.notify_all()

    @property
    def seconds_left(self) -> float:
        """Seconds until the run must end; infinite without a limit."""
        elapsed = time.monotonic() - self._started if self._started is not None else 0.0
        return (self.limits.seconds or math.inf) - elapsed

    def spend(self, usage: Usage, ended: int = 1, model: Hashable = None) -> None:
        """Count the usage of ``ended`` requests; without a reply there is no usage. An unknown price ends a budget of dollars."""
        if not (ended or usage.cost or usage.unpriced):
            return  # no request was sent
        with self._lock:
            self._in_flight[model] -= ended
            cost = exact_fraction(usage.cost)
            self._usd += cost
            self._has_unknown_price |= bool(usage.unpriced)
            if usage.calls and not usage.unpriced:
                self._highest_prices[model] = max(cost, self._highest_prices.get(model, cost))
            self._lock.notify_all()

    def stop(self) -> None:
        """Let no request wait any longer, and count no further request."""
        with self._lock:
            self._is_stopped = True
            self._lock.notify_all()

    def report(self) -> BudgetReport:
        """The limits, and what was used."""
        with self._lock:
            return BudgetReport(self.limits, self._calls, float(self._usd), self._exhausted_limit)

    def _has_dollars_for(self, model: Hashable) -> bool:
        """Whether the dollars suffice for a request to a model and for all requests in flight."""
        if self.limits.usd is None or self._in_flight.total() <= 0:
            return True

        # Until a model has a price, it has one request in flight.
        prices = self._highest_prices
        if not prices or (model not in prices and self._in_flight[model] > 0):
            return False

        highest = max(prices.values())
        reserved = Fraction()
        for name, count in (self._in_flight + Counter([model])).items():
            reserved += count * prices.get(name, highest)
        return self._usd + reserved <= exact_fraction(self.limits.usd)

    def _reached_limit(self) -> str:
        """The limit that is reached, in words; empty while every limit has something left."""
        limits = self.limits
        if limits.calls is not None and self._calls >= limits.calls:
            return f"{limits.calls} {'call' if limits.calls == 1 else 'calls'}"
        if limits.usd is not None:
            if self._has_unknown_price:
                return f"{format_dollars(limits.usd)} (the price of a reply is unknown)"
            if self._usd >= exact_fraction(limits.usd):
                return format_dollars(limits.usd)
        if limits.seconds and self.seconds_left <= 0:
            return f"{limits.seconds:g} {'second' if limits.seconds == 1 else 'seconds'}"
        return ""
