"""The pace of calls to one host under one key, learned from what the host accepts and refuses.

``Pace`` is arithmetic over times that are passed in. ``Lane`` lets threads wait for their turn.

A host that never refuses a call is not paced. After a refusal, all calls pause for as long as the host says. Then they leave
evenly, at the rate that the host accepted before. That rate grows as in CUBIC (RFC 9438): slowly around the accepted rate, then
faster.
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
SHORTEST_SPAN = 0.2  # seconds; a shorter time tells no rate
REMEMBERED = 10.0  # seconds that departures are remembered: a refusal may take that long
LEAST_RATE = 0.1  # calls a second
SAMPLE = 20  # the last calls, by which refusals without an announced pause are judged
MOST_BY_CHANCE = 3  # refusals in a sample; more of them mean that the pace is too fast
FIRST_SHARE = 0.05  # of the rate: calls begin so far below it after a pause
LATER_SHARE = 0.2  # growth of the rate after twice the time that it takes to grow back
# A pause takes at most this part of the time until the rate has grown back. An announced pause ends when it should.
ANNOUNCED_SHARE = 1 / 20
GUESSED_SHARE = 1 / 8
SHORTEST_GROWTH = 1.0  # seconds
LONGEST_GROWTH = 300.0
FIRST_PAUSE = 0.5  # seconds, where the host announces none; doubled while it refuses
LONGEST_PAUSE = 10.0
# Up to this ratio of the latency of a batch of calls to the best batch, more calls at once are no burden for a host
FLAT = 1.25
LATE = 0.002  # seconds that a thread may wake up too late without a loss of pace
# Seconds for which a host may take no call, or ask to wait. Beyond them, its limit is taken to be used up
PATIENCE = 120.0
NOTICED = 0.1  # seconds of waiting that a report counts
LOOK_EVERY = 0.25  # seconds after which a waiting thread looks whether the run is over


class Quota(NamedTuple):
    """How many calls a host says that it takes within so many seconds."""

    calls: int
    seconds: float


class Pace:
    """How many calls may be in flight, and when the next one may leave. Times are seconds of one monotonic clock.

    ``first`` calls may be in flight at the start, and up to ``most`` while the latency stays flat.
    """

    def __init__(self, first: int, most: int) -> None:
        self.in_flight = 0
        self.resumes_at = -math.inf  # the end of the last pause
        self.refusals = 0  # pauses in a row between which no call was accepted

        # How many calls at once the host bears, learned from batches of calls
        self._limit = float(min(first, most))
        self._most = most
        self._batch_latencies: list[float] = []
        self._was_full = False  # whether as many calls as may be were in flight during this batch
        self._best_latency = math.inf  # mean of the fastest batch

        # The rate, and how it grows
        self._accepted_rate = math.inf  # calls a second that the host took before its last refusal
        self._growth_seconds = SHORTEST_GROWTH  # until the rate is back at that
        self._paced_seconds = 0.0  # since the last pause
        self._next_departure = -math.inf  # that the rate allows
        self._last_departure = -math.inf

        # What the host did, from which a refusal tells the accepted rate
        self._departures = deque[float]()  # of calls without a refusal, within REMEMBERED seconds
        self._last_refusals = deque[bool](maxlen=SAMPLE)  # whether a call was refused
        self._refused_share = math.inf  # of the sample before the last pause
        self._slower_helps = True  # whether the pause before that one made the share smaller
        self._refused_departure = -math.inf
        self._resumed_at = -math.inf  # the end of the pause before the last refusal
        self._rate_before = math.inf  # the accepted rate before the last refusal
        self._had_grown = False  # whether the rate had grown back to that
        self._announced_quota: tuple[int, float] | None = None  # calls left, until a time

    @property
    def has_room(self) -> bool:
        """Whether one more call may be in flight. After a second refusal in a row, only one call probes the host."""
        limit = 1 if self.refusals > 1 else int(self._limit)
        return self.in_flight < limit

    @property
    def rate(self) -> float:
        """Calls a second; infinite for a host that never refused one."""
        grown = self._paced_seconds / self._growth_seconds - 1
        share = FIRST_SHARE if grown < 0 else LATER_SHARE
        return self._accepted_rate * (1 + share * grown**3)

    @property
    def opens_at(self) -> float:
        """When the next call may leave."""
        return max(self.resumes_at, self._next_departure)

    def depart(self, now: float) -> None:
        """Count a call that leaves now, and plan when the next one may leave."""
        self.in_flight += 1
        self._was_full = self._was_full or self.in_flight >= int(self._limit)
        self._use_announced_quota(now)

        rate = self.rate
        if rate < math.inf:
            # Only time in which the pace holds calls back shows that the host accepts this pace: the rate
            # grows with it. A call that came later than it might have left tells nothing.
            was_held_back = now - self._next_departure < LATE
            if was_held_back:
                self._paced_seconds += min(WINDOW, now - self._last_departure)
            self._last_departure = now
            self._next_departure = max(self._next_departure, now - LATE) + 1 / rate

        self._departures.append(now)
        while self._departures[0] < now - REMEMBERED:
            self._departures.popleft()

    def _use_announced_quota(self, now: float) -> None:
        """Take this call from the number that the host announced. After the last one, calls pause until the quota is new."""
        if not self._announced_quota:
            return
        calls_left, until = self._announced_quota
        if now >= until:
            self._announced_quota = None
            return
        self._announced_quota = calls_left - 1, until
        if calls_left <= 1:
            self._pause(now, now, until - now, ANNOUNCED_SHARE)

    def accept(self, departure: float, latency: float) -> None:
        """Count an answer to the call that left at ``departure``."""
        self.in_flight -= 1
        if departure >= self.resumes_at:
            self.refusals = 0
            self._last_refusals.append(False)
        self._learn_limit(latency)

    def announce(self, departure: float, now: float, calls: int, seconds: float) -> None:
        """Note that the host takes ``calls`` more within ``seconds``. Once it has refused a call, its refusals count instead."""
        if self._accepted_rate < math.inf:
            return
        calls_left = calls - self._count_departures(departure)
        until = departure + seconds
        if until <= max(now, self.resumes_at):
            return
        if calls_left > 0:
            self._announced_quota = calls_left, until
        else:
            self._pause(now, now, until - now, ANNOUNCED_SHARE)

    def lose(self, departure: float, now: float) -> None:
        """Count a call that did not reach the host. From now on, only one call at a time probes it."""
        self.refusals = max(1, self.refusals)
        self.refuse(departure, now, None)

    def refuse(self, departure: float, now: float, announced: float | None) -> bool:
        """Count a refused call that left at ``departure``. Returns whether the refusal slows other calls.

        ``announced`` are the seconds that the host asks to wait, if it says so.
        """
        self.in_flight -= 1
        if departure in self._departures:
            self._departures.remove(departure)

        if departure < self.resumes_at:
            self._count_earlier_call(now, announced)
            return True

        self._last_refusals.append(True)
        if self._may_be_chance(announced):
            return False

        if self.refusals == 0:
            self._learn_whether_slower_helps(announced)
        self.refusals += 1
        self._last_refusals.clear()

        guessed = _guess_pause(self.refusals)
        if not announced:
            self._pause(departure, now, guessed, GUESSED_SHARE)
        elif self.refusals == 1:
            self._pause(departure, now, announced, ANNOUNCED_SHARE)
        else:
            # A host that refuses again right after the pause that it announced announces too little.
            self._pause(departure, now, max(announced, guessed / 2), ANNOUNCED_SHARE)

        if self.refusals == 1:
            self._learn_rate()
        return True

    def _count_earlier_call(self, now: float, announced: float | None) -> None:
        """Count a refused call that left before the last pause. It begins no further pause.

        The first pause in a row may become longer. The rate is learned again, because the host accepted one call less.
        """
        if self.refusals > 1:
            return
        if announced:
            self.resumes_at = max(self.resumes_at, now + announced)
        self._learn_rate()

    def _may_be_chance(self, announced: float | None) -> bool:
        """Whether the last refusal says nothing about the pace: some gateways drop a few calls at any pace."""
        if announced or self.refusals > 0:
            return False
        return sum(self._last_refusals) <= MOST_BY_CHANCE

    def _learn_whether_slower_helps(self, announced: float | None) -> None:
        """Compare the share of refused calls with the share before the last pause, after which calls left more slowly."""
        share = sum(self._last_refusals) / len(self._last_refusals)
        self._slower_helps = bool(announced) or share < LESS_REFUSED * self._refused_share
        self._refused_share = share

    def _count_departures(self, after: float) -> int:
        return sum(departure > after for departure in self._departures)

    def _pause(self, departure: float, now: float, seconds: float, share: float) -> None:
        """Let calls pause for so many seconds, after the refusal of the call that left at ``departure``."""
        if self.refusals <= 1:
            self._had_grown = self._paced_seconds > self._growth_seconds / 2
            self._rate_before = self._accepted_rate
            self._refused_departure = departure
            self._resumed_at = self.resumes_at
            self._growth_seconds = min(LONGEST_GROWTH, max(SHORTEST_GROWTH, seconds / share))
        self.resumes_at = now + seconds
        self._next_departure = self.resumes_at
        self._last_departure = self.resumes_at
        self._paced_seconds = 0.0
        self._announced_quota = None
        if self.refusals == 0:
            self._learn_rate()

    def _learn_rate(self) -> None:
        """Learn what the host accepted in the second before it refused. A rate that had grown back was right, so it stays."""
        before = self._rate_before
        seconds = WINDOW
        if before < math.inf:
            seconds = min(WINDOW, self._refused_departure - self._resumed_at)

        accepted = before
        if seconds > SHORTEST_SPAN and self._slower_helps:
            accepted = self._count_departures(self._refused_departure - seconds - LATE) / seconds

        least = LEAST_RATE
        if before < math.inf:
            least = before * (1 - FIRST_SHARE / 2) if self._had_grown else before / 2
            accepted = min(accepted, before * (1 + FIRST_SHARE))
        self._accepted_rate = max(accepted, least, LEAST_RATE)

    def _learn_limit(self, latency: float) -> None:
        """Let half as many calls more be in flight, as long as that makes no call slower.

        Calls are compared by batches of as many as may be in flight: the mean latency of this batch with that of the best one.
        """
        if self._limit >= self._most:
            return
        self._batch_latencies.append(latency)
        if len(self._batch_latencies) < self._limit:
            return

        mean = sum(self._batch_latencies) / len(self._batch_latencies)
        is_slower = mean > self._best_latency * FLAT
        # A batch that left room says nothing about a higher limit
        if self._was_full and not is_slower:
            self._limit = min(float(self._most), self._limit * 1.5)

        # Begin the next batch
        self._best_latency = min(self._best_latency, mean)
        self._batch_latencies.clear()
        self._was_full = False


def _guess_pause(number: int) -> float:
    """Seconds of the pause with that number in a row, from 1."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(number - 1, 10))


@dataclass
class Turn:
    """The place of a call in the lane of its host."""

    departure: float = math.nan  # of its last request
    has_waited: bool = False


class Refusal(NamedTuple):
    """What the refusal of a call by a busy host means."""

    slows: bool  # other calls leave later, too
    seconds: float  # since the host made progress, beyond the first pause it announced


class Lane:
    """The calls to one host under one key. They leave one after the other, each when ``pace`` lets it.

    ``is_over`` says whether the run takes no more calls. Then no call waits any longer, and ``prepare`` raises the reason.
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
        self._first_in_line = threading.Lock()  # of the call that leaves next
        self._changed = threading.Condition()
        self._closed: ProviderError | None = None
        # When the host began to refuse, or the first pause that it announced ended
        self._refuses_since = math.inf
        self._lost_since = math.inf
        self._first_departure = math.nan
        self._last_success = math.nan  # its departure
        self.successes = 0  # calls that the host did
        self._waiting_calls = 0  # so far

    def enter(self, turn: Turn, prepare: Callable[[], None]) -> None:
        """Wait for the turn, call ``prepare`` and leave. Raises ProviderError: of ``prepare``, or of the lane if it is closed."""
        arrival = self._clock()
        with self._first_in_line:
            while not self._is_over():
                if self._closed:
                    raise self._closed
                with self._changed:
                    seconds = math.inf
                    if self._pace.has_room:
                        seconds = self._pace.opens_at - self._clock()
                    if seconds <= 0:
                        break
                    self._changed.wait(min(seconds, LOOK_EVERY))
            prepare()
            with self._changed:
                now = self._clock()
                if self._pace.resumes_at > -math.inf and now - arrival > NOTICED:
                    self._count_wait(turn)
                self._pace.depart(now)
                turn.departure = now
                if math.isnan(self._first_departure):
                    self._first_departure = now

    def _count_wait(self, turn: Turn) -> None:
        self._waiting_calls += not turn.has_waited
        turn.has_waited = True

    def record_answer(self, turn: Turn, succeeded: bool, quota: Quota | None) -> None:
        """Note an answer, and how many more calls the host says it takes. A host that answers is not paused for minutes."""
        with self._changed:
            now = self._clock()
            self._pace.accept(turn.departure, now - turn.departure)
            if quota and quota.seconds <= PATIENCE:
                self._pace.announce(turn.departure, now, quota.calls, quota.seconds)
            self._refuses_since = math.inf
            self._lost_since = math.inf
            self.successes += succeeded
            self._last_success = turn.departure
            self._changed.notify_all()

    def release_place(self) -> None:
        """Note that a call ended without an answer that says anything about the pace."""
        with self._changed:
            self._pace.in_flight -= 1
            self._changed.notify_all()

    def record_refusal(self, turn: Turn, announced: float | None) -> Refusal:
        """Note that the host was too busy for a call; ``announced`` are the seconds that it asks to wait."""
        with self._changed:
            now = self._clock()
            self._count_wait(turn)
            slows = self._pace.refuse(turn.departure, now, announced)
            self._refuses_since = min(self._refuses_since, now + (announced or 0.0))
            self._changed.notify_all()
            return Refusal(slows, now - self._refuses_since)

    def record_loss(self, turn: Turn) -> float:
        """Note that the host could not be reached. Returns for how many seconds that has been so."""
        with self._changed:
            now = self._clock()
            self._pace.lose(turn.departure, now)
            self._lost_since = min(self._lost_since, now)
            self._changed.notify_all()
            return now - self._lost_since

    def close(self, error: ProviderError) -> ProviderError:
        """Let no further call leave: each ends with the first error that closed the lane, which this returns."""
        with self._changed:
            self._closed = self._closed or error
            self._changed.notify_all()
            return self._closed

    def waiting_note(self) -> str:
        """A sentence about what the host allowed; empty if no call waited, or the lane is closed."""
        seconds = self._last_success - self._first_departure
        if not self._waiting_calls or self._closed or not seconds > 0:
            return ""
        rate = self.successes / seconds
        allowed = f"{rate:.0f} calls a second" if rate >= 2 else f"{rate * 60:.0f} calls a minute"
        return f"{self._host} allowed about {allowed}; {format_count(self._waiting_calls, 'call')} waited"
