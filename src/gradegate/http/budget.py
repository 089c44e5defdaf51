"""What a run and its calls may take: requests, dollars, seconds. A request is counted before it is sent, under one lock.

Of dollars each request in flight reserves the price of its model's dearest that has ended. Until one has, a model has one
request in flight, which reserves the dearest price of any model. The last request of a budget is sent alone, so dollars are
overshot by its price, and by what first requests of a model, and requests dearer than all before, cost beyond what they reserved.
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
LATE_LOOK = 2.0  # after so long without a look, another thread looks
# Without a call in flight, after which the thread ends; the next call starts another
IDLE_LOOKS = 8


@dataclass(slots=True, eq=False)
class Call:
    """A request in flight, so that another thread can cut its connection. ``deadline`` is of the monotonic clock."""

    deadline: float
    connection: Any = None  # an object with a `sock`
    sock: Any = None  # the connection forgets it when the body has no length
    expired: bool = False

    def watch_connection(self, connection: Any) -> None:
        """Remember the connection, and its socket while it has one."""
        self.connection = connection
        self.sock = getattr(connection, "sock", None)

    def cut_connection(self) -> None:
        """End the connection from outside: whoever reads from it sees its end."""
        for sock in {self.sock, getattr(self.connection, "sock", None)} - {None}:
            with suppress(OSError):  # already closed by the other side
                sock.shutdown(socket.SHUT_RDWR)


_current = threading.local()


def current_call() -> Call | None:
    """The call of this thread."""
    return getattr(_current, "call", None)


class Deadlines:
    """The calls in flight, and one thread that cuts those which are late.

    Socket time-outs restart with every byte; only this bounds a server that answers one byte at a time.
    """

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._calls: set[Call] = set()
        self._lock = threading.Lock()
        self._looked = -math.inf  # when the thread last looked

    @property
    def is_stopped(self) -> bool:
        """Whether the run was stopped."""
        return self._stopping.is_set()

    @contextmanager
    def watch(self, deadline: float) -> Iterator[Call]:
        """The call of this thread, as long as it lasts. Raises ProviderError once the run is stopped."""
        call = Call(deadline)
        try:
            with self._lock:
                self._calls.add(call)
                now = time.monotonic()
                # A thread may end, or never begin, for want of memory
                if now > self._looked + LATE_LOOK:
                    _thread.start_new_thread(self._cut_late_calls, ())
                    self._looked = now
            _current.call = call
            if self.is_stopped:
                raise stopped_error()
            yield call
        finally:
            _current.call = None
            with self._lock:
                self._calls.discard(call)

    def pause(self, seconds: float) -> None:
        """Wait between two tries. Raises ProviderError when the run is stopped meanwhile."""
        if self._stopping.wait(seconds):
            raise stopped_error()

    def stop(self) -> None:
        """Cut every call in flight and refuse further ones."""
        self._stopping.set()
        self._cut(math.inf)

    def _cut(self, now: float) -> bool:
        """Cut the calls whose deadline is before now; whether any is in flight."""
        with self._lock:
            calls = list(self._calls)
        for call in (call for call in calls if call.deadline < now):
            call.expired = True
            call.cut_connection()
        return bool(calls)

    def _cut_late_calls(self) -> None:
        idle = 0
        with suppress(MemoryError):
            while not self._stopping.wait(LOOK_EVERY):
                self._cut(time.monotonic())
                with self._lock:
                    self._looked = time.monotonic()
                    idle = 0 if self._calls else idle + 1
                    if idle > IDLE_LOOKS:
                        self._looked = -math.inf
                        return
            # One that was not yet connected when the run was stopped is cut once it is
            while self._cut(math.inf):
                time.sleep(0.05)


def stopped_error() -> ProviderError:
    """The error of every call after the run was stopped."""
    return ProviderError("the run was stopped", Trouble.STOPPED)


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
        self._earlier_seconds = 0.0
        self._why = ""

    def count_earlier(self, usage: Usage) -> None:
        """Count what earlier jobs of the same run took, before ``start``: calls, dollars and seconds."""
        with self._lock:
            self._calls += usage.calls
            self._usd += exact_fraction(usage.cost)
            self._unknown = self._unknown or bool(usage.unpriced)
            self._earlier_seconds += usage.seconds

    def start(self) -> None:
        """The run begins now."""
        self._started = time.monotonic() - self._earlier_seconds

    def reserve_call(self, model: Hashable = None) -> None:
        """Count a request to a model that is about to be sent, once dollars suffice for it and all in flight. Raises ProviderError."""
        with self._lock:
            while not (self._stopped or (used_up := self._used_up()) or self._suffices(model)):
                self._lock.wait(LOOK_EVERY)  # for a price; seconds run meanwhile
            if self._stopped:
                raise stopped_error()
            if used_up:
                self._why = self._why or used_up
                raise ProviderError(f"not run: the budget of {used_up} is used up", Trouble.STOPPED)
            self._calls += 1
            self._in_flight[model] += 1

    def return_call(self, model: Hashable = None) -> None:
        """Take back a request that a busy host did not do."""
        with self._lock:
            self._calls -= 1
            self._in_flight[model] -= 1
            self._lock.notify_all()

    @property
    def seconds_left(self) -> float:
        """Until the run must end; infinite without a limit."""
        taken = time.monotonic() - self._started if self._started is not None else 0.0
        return (self.limits.seconds or math.inf) - taken

    def spend(self, usage: Usage, ended: int = 1, model: Hashable = None) -> None:
        """So many requests have ended, and cost that: nothing without a reply. A price that is not known ends a budget of dollars."""
        if not (ended or usage.cost or usage.unpriced):
            return  # of what sends no request
        with self._lock:
            self._in_flight[model] -= ended
            cost = exact_fraction(usage.cost)
            self._usd += cost
            self._unknown = self._unknown or bool(usage.unpriced)
            if usage.calls and not usage.unpriced and cost >= self._dearest.setdefault(model, cost):
                self._dearest[model] = cost
            self._lock.notify_all()

    def stop(self) -> None:
        """Let no request wait any longer, and count no further one."""
        with self._lock:
            self._stopped = True
            self._lock.notify_all()

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
        reserved = sum(
            count * self._dearest.get(it, highest)
            for it, count in (self._in_flight + Counter([model])).items()
        )
        return self._usd + reserved <= exact_fraction(self.limits.usd)

    def _used_up(self) -> str:
        """The limit that is reached, as people read it; an empty string while there is something left."""
        limits = self.limits
        if limits.calls is not None and self._calls >= limits.calls:
            return f"{limits.calls} {'call' if limits.calls == 1 else 'calls'}"
        if limits.usd is not None and (self._unknown or self._usd >= exact_fraction(limits.usd)):
            return format_dollars(limits.usd) + (
                " (the price of a reply is unknown)" if self._unknown else ""
            )
        if limits.seconds and self.seconds_left <= 0:
            return f"{limits.seconds:g} {'second' if limits.seconds == 1 else 'seconds'}"
        return ""
