"""The pace of calls: at simulated hosts in simulated time, and through the client at a real server that limits calls."""

import heapq
import itertools
import math
import random
import socket
import threading
import time
from collections import deque
from collections.abc import Callable

import pytest

from gradegate.core.policy import Limits
from gradegate.errors import ProviderError, Trouble
from gradegate.http.budget import Budget
from gradegate.http.client import Client
from gradegate.http.credentials import FixedKey
from gradegate.http.pacing import Lane, Pace, Turn
from gradegate.http.rate_limits import parse_pause, parse_quota
from support.each import each
from support.fake_llm import FakeLlm

PATIENCE = 50.0  # seconds that a busy machine may take


# --- simulated hosts ------------------------------------------------------------------------------------------


class SlidingWindow:
    """Takes a call if fewer than ``calls`` came in the last ``seconds``. ``ask`` returns how long to wait, or None."""

    def __init__(self, calls: int, seconds: float) -> None:
        self.calls, self.seconds = calls, seconds
        self.taken: deque[float] = deque()

    def ask(self, now: float) -> float | None:
        while self.taken and self.taken[0] <= now - self.seconds:
            self.taken.popleft()
        if len(self.taken) < self.calls:
            self.taken.append(now)
            return None
        return self.taken[0] + self.seconds - now


class FixedWindow:
    """Takes ``calls`` in each period of ``seconds``."""

    def __init__(self, calls: int, seconds: float) -> None:
        self.calls, self.seconds = calls, seconds
        self.period = self.taken = -1

    def ask(self, now: float) -> float | None:
        period = int(now // self.seconds)
        self.taken = self.taken + 1 if period == self.period else 1
        self.period = period
        return None if self.taken <= self.calls else (period + 1) * self.seconds - now


class TokenBucket:
    """Holds up to ``calls`` tokens, which come back evenly within ``seconds``; a call takes one."""

    def __init__(self, calls: int, seconds: float) -> None:
        self.calls, self.rate = calls, calls / seconds
        self.tokens, self.at = float(calls), 0.0

    def ask(self, now: float) -> float | None:
        self.tokens = min(self.calls, self.tokens + (now - self.at) * self.rate)
        self.at = now
        if self.tokens >= 1:
            self.tokens -= 1
            return None
        return (1 - self.tokens) / self.rate


Announce = Callable[[float], float | None]


class Unsteady:
    """Refuses some calls, whenever they come: those for which ``refuses`` says so, by the number of the call."""

    def __init__(self, refuses: Callable[[int], bool]) -> None:
        self.refuses, self.asked = refuses, 0

    def ask(self, now: float) -> float | None:
        self.asked += 1
        return 1.0 if self.refuses(self.asked) else None


def simulate(
    host: SlidingWindow | FixedWindow | TokenBucket | Unsteady, announce: Announce, calls: int, latency: float
) -> tuple[float, float]:
    """Wall seconds and the share of refused calls, where 50 threads ask one after the other."""
    pace, chance = Pace(50, 50), random.Random(1)
    now = 0.0
    left, sent, refused, done = calls, 0, 0, 0
    numbers = itertools.count()
    events: list[tuple[float, int, str, float, float | None]] = []
    while done < calls:
        while left and pace.has_room and pace.opens_at <= now:
            pace.depart(now)
            left, sent = left - 1, sent + 1
            heapq.heappush(events, (now + chance.uniform(0, 0.003), next(numbers), "arrival", now, None))
        if left and pace.has_room and not any(event[2] == "opening" for event in events):
            heapq.heappush(events, (pace.opens_at, next(numbers), "opening", 0.0, None))
        now, _, kind, departure, pause = heapq.heappop(events)
        if kind == "arrival":
            pause = host.ask(now)
            took = 0.01 if pause is not None else latency * chance.uniform(0.7, 1.5)
            heapq.heappush(events, (now + took, next(numbers), "answer", departure, pause))
        elif kind == "answer" and pause is None:
            pace.accept(departure, now - departure)
            done += 1
        elif kind == "answer":
            announced = announce(pause)
            pace.refuse(departure, now, announced)
            refused += 1
            heapq.heappush(events, (now if announced else now + chance.uniform(0.25, 0.5), next(numbers), "return", 0.0, None))
        elif kind == "return":
            left += 1
    return now, refused / sent


def announce_exactly(pause: float) -> float | None:
    return pause


def announce_whole_seconds(pause: float) -> float | None:
    return float(math.ceil(pause))


def announce_nothing(pause: float) -> float | None:
    return None


@each("host", [SlidingWindow, FixedWindow, TokenBucket])
@each(("announce", "most"), [(announce_exactly, 1.15), (announce_whole_seconds, 1.15), (announce_nothing, 1.3)])
@each("rate", [5, 20, 100])
def test_a_limit_costs_little_time_and_few_refusals(host, announce: Announce, most: float, rate: int):
    calls = max(400, 40 * rate)
    seconds, refused = simulate(host(rate, 1.0), announce, calls, latency=0.1)
    assert seconds <= most * calls / rate
    assert refused <= 0.2


@each("host", [SlidingWindow, FixedWindow, TokenBucket])
def test_a_host_that_asks_for_long_pauses_is_seldom_made_to(host):
    seconds, _ = simulate(host(20, 1.0), lambda pause: 5.0, 2000, latency=0.1)
    assert seconds <= 1.2 * 100


@each("host", [SlidingWindow, FixedWindow])
def test_calls_of_a_minute_leave_as_soon_as_it_begins(host):
    seconds, refused = simulate(host(300, 60.0), announce_exactly, 800, latency=0.1)
    assert 120 <= seconds <= 1.05 * 120
    assert refused <= 0.05


def test_a_host_that_limits_nothing_is_not_paced():
    assert simulate(SlidingWindow(10**6, 1.0), announce_exactly, 2000, latency=0.1)[0] < 5.0


def test_a_limit_that_is_lifted_is_noticed():
    """The host takes 10 calls a second for 20 seconds, and 200 a second after that."""

    class Lifted(SlidingWindow):
        def ask(self, now: float) -> float | None:
            self.calls = 10 if now < 20 else 200
            return super().ask(now)

    seconds, _ = simulate(Lifted(10, 1.0), announce_exactly, 200 + 2000, latency=0.1)
    assert seconds < 60


@each(
    ("refuses", "most"),
    [
        (lambda number: number % 20 == 0, 2),
        (lambda number: number % 10 == 0, 20),
        (lambda number: 6 <= number <= 9, 15),
        (lambda number: number % 3 == 0, 60),
        (lambda number: number % 3 != 0, 200),
    ],
)
def test_a_host_that_refuses_calls_at_any_pace_gets_them_all_the_same(refuses: Callable[[int], bool], most: float):
    seconds, _ = simulate(Unsteady(refuses), announce_nothing, 300, latency=0.05)
    assert seconds < most


def test_more_calls_at_once_begin_while_latency_stays_flat():
    pace = Pace(8, 50)
    latency = 0.1
    most = 0
    for _ in range(40):
        departures = []
        while pace.has_room:
            pace.depart(0.0)
            departures.append(0.0)
        most = max(most, len(departures))
        for departure in departures:
            pace.accept(departure, latency)
    assert most == 50


def test_a_host_that_gets_slower_with_more_calls_gets_no_more():
    pace = Pace(8, 50)
    most = 0
    for _ in range(40):
        count = 0
        while pace.has_room:
            pace.depart(0.0)
            count += 1
        most = max(most, count)
        for _ in range(count):
            pace.accept(0.0, 0.1 * count)  # it does one after the other
    assert most <= 12


# --- what hosts say -------------------------------------------------------------------------------------------


@each(
    ("headers", "seconds"),
    [
        ({"retry-after": "1"}, 1.0),
        ({"retry-after": "0.3"}, 0.3),
        ({"retry-after-ms": "300", "retry-after": "9"}, 0.3),
        ({"retry-after": "6m0s"}, 360.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after-ms": "nan"}, None),
        ({}, None),
    ],
)
def test_a_pause_is_read_from_headers(headers: dict[str, str], seconds: float | None):
    assert parse_pause(headers) == seconds


@each(
    ("headers", "left"),
    [
        ({"x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": "1.2s"}, (3, 1.2)),
        ({"x-ratelimit-remaining": "3", "x-ratelimit-reset": "7"}, (3, 7.0)),
        ({"ratelimit-remaining": "0", "ratelimit-reset": "20ms"}, (0, 0.02)),
        ({"x-ratelimit-remaining-tokens": "3", "x-ratelimit-reset-tokens": "1s"}, None),  # how many calls that is, nobody knows
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1s"}, (0, 1.0)),
        ({"anthropic-ratelimit-requests-remaining": "5", "anthropic-ratelimit-requests-reset": "1970-01-01T00:00:00Z"}, (5, 0.0)),
        ({"x-ratelimit-remaining-requests": "3"}, None),
        ({"x-ratelimit-remaining-requests": "many", "x-ratelimit-reset-requests": "1s"}, None),
        ({"x-ratelimit-remaining-requests": "9" * 500, "x-ratelimit-reset-requests": "1s"}, (999_999_999, 1.0)),
    ],
)
def test_what_is_left_is_read_from_headers(headers: dict[str, str], left: tuple[int, float] | None):
    assert parse_quota(headers) == left


# --- through the client ---------------------------------------------------------------------------------------


def patient_client(**options) -> Client:
    return Client(**{"timeout": 30.0, "retries": 2, "first_pause": 0.01, "patience": 60.0, **options})


def send(base: str, tool: Client, key: str = "first"):
    return tool.send("POST", base, headers={}, body={"q": 1}, credential=FixedKey(key))


def run_in_threads(count: int, work: Callable[[], object]) -> list[object]:
    """What each thread returned or raised."""
    results: list[object] = []

    def collect_result() -> None:
        try:
            results.append(work())
        except ProviderError as error:
            results.append(error)

    threads = [threading.Thread(target=collect_result) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(results) == count
    return results


def limited_host(calls: int, seconds: float) -> Callable[[str, dict], tuple]:
    """Replies of a host that takes so many calls in a window."""
    window, lock = SlidingWindow(calls, seconds), threading.Lock()

    def reply(path: str, body: dict) -> tuple:
        with lock:
            pause = window.ask(time.monotonic())
        return (200, {}) if pause is None else (429, {}, {"retry-after-ms": str(math.ceil(pause * 1000))})

    return reply


def test_a_429_makes_no_error_and_costs_no_call_of_the_budget(llm: FakeLlm):
    llm.reply = limited_host(10, 0.5)
    tool = patient_client(retries=0, slots=20, budget=Budget(Limits(calls=60)))
    results = run_in_threads(20, lambda: [send(llm.base, tool).status for _ in range(3)])
    assert results == [[200, 200, 200]] * 20
    assert len(llm.requests) > 60  # some were refused
    assert tool.budget.report().calls == 60
    assert "waited" in tool.notes()[0]


def test_a_pause_holds_all_calls_under_the_same_key_and_no_others(llm: FakeLlm):
    refused = threading.Event()

    def reply(path: str, body: dict) -> tuple:
        if refused.is_set():
            return 200, {}
        refused.set()
        return 429, {}, {"Retry-After": "2"}

    llm.reply = reply
    tool = patient_client()
    started = time.monotonic()
    first = threading.Thread(target=send, args=(llm.base, tool))
    first.start()
    assert refused.wait(PATIENCE)
    time.sleep(0.2)
    send(llm.base, tool, "second")
    other = time.monotonic() - started
    send(llm.base, tool)
    same = time.monotonic() - started
    first.join(PATIENCE)
    assert other < same
    assert same >= 2.0


@each(
    ("reply", "words"),
    [
        ((429, {"error": {"code": "insufficient_quota", "message": "You exceeded your quota"}}), "You exceeded your quota): add credit"),
        ((429, {"error": {"message": "slow"}}, {"Retry-After": "86400"}), "asks to wait 86,400 s (slow): ask for a higher limit"),
        ((429, {}, {"Retry-After": "100"}), "longer than the budget lasts"),
        ((429, {}, {"Retry-After": "0"}), "answered 429 for "),
    ],
)
def test_a_host_that_takes_no_more_ends_all_calls_with_one_message(llm: FakeLlm, reply: tuple, words: str):
    llm.reply = lambda path, body: reply
    budget = Budget(Limits(seconds=90))
    budget.start()
    tool = patient_client(patience=120.0 if "Retry-After" in str(reply) and "'0'" not in str(reply) else 1.0, budget=budget)
    errors = run_in_threads(8, lambda: send(llm.base, tool))
    assert {str(error) for error in errors} == {str(errors[0])}
    assert words in str(errors[0])
    asked = len(llm.requests)
    with pytest.raises(ProviderError) as caught:
        send(llm.base, tool)
    assert caught.value.trouble is Trouble.STATUS
    assert len(llm.requests) == asked


def test_a_request_that_a_host_refuses_while_it_does_others_ends_and_they_go_on(llm: FakeLlm):
    llm.reply = lambda path, body: (503, {}) if body["q"] == "poison" else (200, {})
    tool = patient_client()

    def ask(question: str) -> int:
        return tool.send("POST", llm.base, headers={}, body={"q": question}).status

    assert ask("fine") == 200
    is_over = threading.Event()
    others: list[int] = []

    def ask_others() -> None:
        while not is_over.is_set():
            others.append(ask("fine"))

    thread = threading.Thread(target=ask_others)
    thread.start()
    assert ask("poison") == 503
    is_over.set()
    thread.join(PATIENCE)
    assert {*others} == {200}
    assert ask("fine") == 200


def test_a_host_that_is_away_for_a_while_costs_no_case():
    """It answers, goes away for two seconds, and answers again."""
    listener = socket.create_server(("127.0.0.1", 0))
    address = listener.getsockname()

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")

    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    tool = patient_client(retries=0)
    base = f"http://127.0.0.1:{address[1]}/v1"
    assert send(base, tool).status == 200
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    back = threading.Timer(2.0, lambda: threading.Thread(target=serve, args=(socket.create_server(address),), daemon=True).start())
    back.start()
    results = run_in_threads(10, lambda: send(base, tool).status)
    assert results == [200] * 10


def test_no_call_waits_for_its_turn_once_the_run_is_stopped(monkeypatch: pytest.MonkeyPatch):
    pace = Pace(1, 1)
    pace.depart(0.0)  # there is no room for another one
    lane = Lane(pace, "host", lambda: True)
    monkeypatch.setattr(threading.Condition, "wait", lambda condition, seconds=None: pytest.fail("it waited"))
    budget = Budget()
    budget.stop()
    with pytest.raises(ProviderError) as caught:
        lane.enter(Turn(), budget.reserve_call)
    assert caught.value.trouble is Trouble.STOPPED


def test_a_budget_of_seconds_ends_a_wait(llm: FakeLlm):
    llm.reply = lambda path, body: (200, {}, {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "100s"})
    budget = Budget(Limits(seconds=1))
    budget.start()
    tool = patient_client(budget=budget)
    assert send(llm.base, tool).status == 200
    started = time.monotonic()
    with pytest.raises(ProviderError, match="the budget of 1 second is used up"):
        send(llm.base, tool)
    assert time.monotonic() - started < PATIENCE


def test_a_host_that_answers_is_not_believed_that_it_takes_no_more_for_hours(llm: FakeLlm):
    llm.reply = lambda path, body: (200, {}, {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "23h59m0s"})
    tool = patient_client()
    assert run_in_threads(8, lambda: send(llm.base, tool).status) == [200] * 8


def test_stop_ends_a_pause_that_a_host_asked_for(llm: FakeLlm):
    llm.reply = lambda path, body: (429, {}, {"Retry-After": "50"})
    tool = patient_client()
    threading.Timer(0.3, tool.stop).start()
    started = time.monotonic()
    errors = run_in_threads(8, lambda: send(llm.base, tool))
    assert {error.trouble for error in errors} == {Trouble.STOPPED}
    assert time.monotonic() - started < PATIENCE / 2
