"""The pace of calls to one host under one key, learned from what the host accepts and refuses.

``Pace`` is arithmetic over times that are passed in. ``Lane`` lets threads wait for their turn.

A host that never refuses is not paced. When it refuses a call, all calls pause as long as it says. Then they leave evenly, at the
rate that it accepted before, and that rate grows slowly, as CUBIC (RFC 9438) does: flat around what was accepted, then faster.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from gradegate.core.numbers import format_count
from gradegate.errors import ProviderError

WINDOW = 1.0  # seconds over which accepted calls are counted
# A slower pace helps if the host then refuses less than this part of the share that it refused before.
LESS_REFUSED = 0.6
SHORTEST_SPAN = 0.2  # seconds; what a host accepted in fewer tells no rate
REMEMBERED = 10.0  # seconds that departures are remembered: a refusal may take that long
LEAST_RATE = 0.1  # calls a second
SAMPLE = 20  # the last calls, by which refusals without an announced pause are judged
MOST_BY_CHANCE = 3  # refusals in a sample; more of them mean that the pace is too fast
FIRST_SHARE = 0.05  # of the rate, below which calls begin after a pause
LATER_SHARE = 0.2  # by which the rate has grown after twice the time until it has grown back
# A pause takes at most this part of the time until the rate has grown back. A pause that the host announced ends when it should.
ANNOUNCED_SHARE = 1 / 20
GUESSED_SHARE = 1 / 8
SHORTEST_GROWTH = 1.0  # seconds
LONGEST_GROWTH = 300.0
FIRST_PAUSE = 0.5  # seconds, where the host announces none; doubled while it refuses
LONGEST_PAUSE = 10.0
# Latency of a batch of calls over the best batch up to which more calls at once are no burden for a host
FLAT = 1.25
LATE = 0.002  # seconds that a thread may wake up too late without a loss of pace
# Seconds for which a host may take no call at all, or ask to wait: beyond them, its limit is taken to be used up
PATIENCE = 120.0
NOTICED = 0.1  # seconds of waiting that a report counts
LOOK_EVERY = 0.25  # seconds after which a waiting thread looks whether the run is over


class Quota(NamedTuple):
    """How many calls a host says that it takes, and for how many seconds that holds."""

    calls: int
    seconds: float


class Pace:
    """How many calls may be in flight, and when the next one may leave. Times are seconds of one monotonic clock.

    ``first`` calls may be in flight at the start, and up to ``most`` while latency stays flat.
    """

    def __init__(self, first: int, most: int) -> None:
        self.in_flight = 0
        self.resumes = -math.inf  # when calls may leave again
        self.refusals = 0  # pauses in a row between which no call was accepted
        self._limit, self._most = float(min(first, most)), most
        self._batch: list[float] = []  # latencies
        self._was_full = False  # in this batch
        self._best_latency = math.inf
        self._accepted_rate = math.inf  # calls a second that the host took before its last refusal
        self._growth_seconds = SHORTEST_GROWTH  # until the rate is back at that
        self._paced_seconds = 0.0  # since the last pause
        # When the pace lets the next call leave, and when the last one left
        self._next = self._last = -math.inf
        # When calls left that were not refused, within ``REMEMBERED`` seconds
        self._departures = deque[float]()
        self._outcomes = deque[bool](maxlen=SAMPLE)  # whether the last calls were refused
        self._refused_share = math.inf  # of the sample before the last pause
        self._slower_helps = True  # whether the pause before that one made the share smaller
        self._refused_at = self._resumed = -math.inf
        self._rate_before = math.inf  # the accepted rate before the last refusal
        self._had_grown = False  # whether the rate had grown back to that
        self._announced_left: tuple[int, float] | None = None  # calls, until a time

    @property
    def has_room(self) -> bool:
        """Whether one more call may be in flight. After a second refusal in a row, one call alone asks whether the host is ready."""
        return self.in_flight < (1 if self.refusals > 1 else int(self._limit))

    @property
    def rate(self) -> float:
        """Calls a second; infinite for a host that never refused one."""
        grown = self._paced_seconds / self._growth_seconds - 1
        share = FIRST_SHARE if grown < 0 else LATER_SHARE
        return self._accepted_rate * (1 + share * grown**3)

    @property
    def opens(self) -> float:
        """When the next call may leave."""
        return max(self.resumes, self._next)

    def depart(self, now: float) -> None:
        """Count a call that leaves now."""
        self.in_flight += 1
        self._was_full = self._was_full or self.in_flight >= int(self._limit)
        if self._announced_left:
            left, until = self._announced_left
            self._announced_left = (left - 1, until) if now < until else None
            if left <= 1 and now < until:
                self._pause(now, now, until - now, ANNOUNCED_SHARE)
        rate = self.rate
        if rate < math.inf:
            # The pace held the call back, so it is the pace that is tried
            if now - self._next < LATE:
                self._paced_seconds += min(WINDOW, now - self._last)
            self._last = now
            self._next = max(self._next, now - LATE) + 1 / rate
        self._departures.append(now)
        while self._departures[0] < now - REMEMBERED:
            self._departures.popleft()

    def accept(self, departure: float, latency: float) -> None:
        """A call that left at a time was answered."""
        self.in_flight -= 1
        if departure >= self.resumes:
            self.refusals = 0
            self._outcomes.append(False)
        self._learn_latency(latency)

    def announce(self, departure: float, now: float, calls: int, seconds: float) -> None:
        """The host said, when a call arrived, how many more it takes within so many seconds. Once it refused one, its refusals count."""
        if self._accepted_rate < math.inf:
            return
        left = calls - self._count_departures(departure)
        until = departure + seconds
        if until <= max(now, self.resumes):
            return
        if left > 0:
            self._announced_left = left, until
        else:
            self._pause(now, now, until - now, ANNOUNCED_SHARE)

    def lose(self, departure: float, now: float) -> None:
        """A call that left at a time did not reach the host: from now on one call alone asks, again and again."""
        self.refusals = max(1, self.refusals)
        self.refuse(departure, now, None)

    def refuse(self, departure: float, now: float, announced: float | None) -> bool:
        """A call that left at a time was refused; the host announced so many seconds, or None. Returns whether that slows the others.

        A few refusals without an announced pause do not: some gateways drop calls at any pace.
        """
        self.in_flight -= 1
        self._forget(departure)
        if departure < self.resumes:  # it left before the others were held back
            if announced and self.refusals <= 1:
                self.resumes = max(self.resumes, now + announced)
        else:
            self._outcomes.append(True)
            if not announced and not self.refusals and sum(self._outcomes) <= MOST_BY_CHANCE:
                return False
            if not self.refusals:
                share = sum(self._outcomes) / len(self._outcomes)
                self._slower_helps = bool(announced) or share < LESS_REFUSED * self._refused_share
                self._refused_share = share
            self.refusals += 1
            self._outcomes.clear()
            guessed = _guessed_pause(self.refusals)
            if announced:
                # A host that refuses again right after the pause it announced announces too little.
                seconds = announced if self.refusals == 1 else max(announced, guessed / 2)
                self._pause(departure, now, seconds, ANNOUNCED_SHARE)
            else:
                self._pause(departure, now, guessed, GUESSED_SHARE)
        if self.refusals <= 1:
            self._learn_rate()
        return True

    def _count_departures(self, after: float) -> int:
        return sum(departure > after for departure in self._departures)

    def _forget(self, departure: float) -> None:
        if departure in self._departures:
            self._departures.remove(departure)

    def _pause(self, departure: float, now: float, seconds: float, share: float) -> None:
        if self.refusals <= 1:
            self._had_grown = self._paced_seconds > self._growth_seconds / 2
            self._rate_before = self._accepted_rate
            self._refused_at = departure
            self._resumed = self.resumes
            self._growth_seconds = min(LONGEST_GROWTH, max(SHORTEST_GROWTH, seconds / share))
        self.resumes = self._next = self._last = now + seconds
        self._paced_seconds = 0.0
        self._announced_left = None
        if self.refusals == 0:
            self._learn_rate()

    def _learn_rate(self) -> None:
        """What the host accepted in the second before it refused. A rate that had grown back before was right, so it stays."""
        before = self._rate_before
        seconds = WINDOW if before == math.inf else self._refused_at - self._resumed
        seconds = min(WINDOW, seconds)
        accepted, least = before, LEAST_RATE
        if seconds > SHORTEST_SPAN and self._slower_helps:
            accepted = self._count_departures(self._refused_at - seconds - LATE) / seconds
        if before < math.inf:
            least = before * (1 - FIRST_SHARE / 2) if self._had_grown else before / 2
            accepted = min(accepted, before * (1 + FIRST_SHARE))
        self._accepted_rate = max(accepted, least, LEAST_RATE)

    def _learn_latency(self, latency: float) -> None:
        """Let half as many calls again be in flight while that makes none slower."""
        if self._limit >= self._most:
            return
        self._batch.append(latency)
        if len(self._batch) < self._limit:
            return
        mean = sum(self._batch) / len(self._batch)
        self._batch.clear()
        if self._was_full and mean <= self._best_latency * FLAT:
            self._limit = min(float(self._most), self._limit * 1.5)
        self._best_latency = min(self._best_latency, mean)
        self._was_full = False


def _guessed_pause(number: int) -> float:
    """Seconds of the pause with that number in a row, from 1."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(number - 1, 10))


@dataclass
class Turn:
    """The place of a call among those to a host."""

    departure: float = math.nan  # of its last request
    has_waited: bool = False


class Refusal(NamedTuple):
    """What it means that a host was too busy for a call."""

    slows: bool  # others leave later, too
    seconds: float  # since the host made progress, beyond the first pause it announced


class Lane:
    """The calls to one host under one key. They leave one after the other, each when ``pace`` lets it.

    ``is_over`` says whether the run takes no more calls; then nobody waits any longer, and ``prepare`` says why.
    """

    def __init__(
        self,
        pace: Pace,
        host: str,
        is_over: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pace = pace
        self._host = host
        self._is_over = is_over
        self._clock = clock
        self._first_in_line = threading.Lock()  # held by the call that leaves next
        self._changed = threading.Condition()
        self._closed: ProviderError | None = None
        # When the host began to refuse, or the first pause that it announced ended; and when it was lost
        self._waits_since = self._lost_since = math.inf
        self._first = self._last_success = math.nan  # when calls left
        self.successes = 0  # calls that the host did
        self._waited = 0

    def enter(self, turn: Turn, prepare: Callable[[], None]) -> None:
        """Wait, ``prepare`` and leave. Raises ProviderError: that of ``prepare``, or why the host takes no more calls."""
        came = self._clock()
        with self._first_in_line:
            while not self._is_over():
                if self._closed:
                    raise self._closed
                with self._changed:
                    seconds = math.inf
                    if self._pace.has_room:
                        seconds = self._pace.opens - self._clock()
                    if seconds <= 0:
                        break
                    self._changed.wait(min(seconds, LOOK_EVERY))
            prepare()
            with self._changed:
                now = self._clock()
                if self._pace.resumes > -math.inf and now - came > NOTICED:
                    self._count_wait(turn)
                self._pace.depart(now)
                turn.departure = now
                if math.isnan(self._first):
                    self._first = now

    def _count_wait(self, turn: Turn) -> None:
        self._waited += not turn.has_waited
        turn.has_waited = True

    def record_answer(self, turn: Turn, succeeded: bool, limit: Quota | None) -> None:
        """The host answered, and perhaps said how many more calls it takes. While it answers, it is not believed that it takes none for minutes."""
        with self._changed:
            now = self._clock()
            self._pace.accept(turn.departure, now - turn.departure)
            if limit and limit.seconds <= PATIENCE:
                self._pace.announce(turn.departure, now, limit.calls, limit.seconds)
            self._waits_since = self._lost_since = math.inf
            self.successes += succeeded
            self._last_success = turn.departure
            self._changed.notify_all()

    def release_place(self) -> None:
        """A call ended without an answer that says anything about the pace."""
        with self._changed:
            self._pace.in_flight -= 1
            self._changed.notify_all()

    def record_refusal(self, turn: Turn, announced: float | None) -> Refusal:
        """The host was too busy for a call, and perhaps announced for how many seconds."""
        with self._changed:
            now = self._clock()
            self._count_wait(turn)
            slows = self._pace.refuse(turn.departure, now, announced)
            self._waits_since = min(self._waits_since, now + (announced or 0.0))
            self._changed.notify_all()
            return Refusal(slows, now - self._waits_since)

    def record_loss(self, turn: Turn) -> float:
        """The host could not be reached for a call. Returns for how many seconds that has been so."""
        with self._changed:
            now = self._clock()
            self._pace.lose(turn.departure, now)
            self._lost_since = min(self._lost_since, now)
            self._changed.notify_all()
            return now - self._lost_since

    def close(self, error: ProviderError) -> ProviderError:
        """Let no call leave from now on: each ends with this error."""
        with self._changed:
            self._closed = self._closed or error
            self._changed.notify_all()
            return self._closed

    def waiting_note(self) -> str:
        """What the host allowed, in a sentence; an empty string where no call waited, or the host took no more calls."""
        seconds = self._last_success - self._first
        if not self._waited or self._closed or not seconds > 0:
            return ""
        rate = self.successes / seconds
        allowed = f"{rate:.0f} calls a second" if rate >= 2 else f"{rate * 60:.0f} calls a minute"
        return f"{self._host} allowed about {allowed}; {format_count(self._waited, 'call')} waited"
