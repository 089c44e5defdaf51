"""The HTTP client against real servers on loopback that misbehave as real ones do."""

import email.utils
import gc
import re
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from gradegate.errors import ProviderError, Trouble
from gradegate.http import budget
from gradegate.http.client import Client
from support.each import each, table
from support.fake_llm import FakeLlm

# Seconds that a busy machine may take; what a wrong client would wait for takes far longer.
PATIENCE = 50.0
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


def receive(connection: socket.socket) -> None:
    """Read one request to its end: its head and its body may arrive apart."""
    with connection.makefile("rb", buffering=0) as stream:
        length = 0
        while line := stream.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        while length > 0:
            length -= len(stream.read(length) or b" " * length)


@contextmanager
def raw_server(talk: Callable[[socket.socket, int], None]) -> Iterator[str]:
    """A server that hands each connection, with its number, to ``talk``; gives its URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def serve_connection(connection: socket.socket, number: int) -> None:
        with connection, suppress(OSError):  # the client has gone
            receive(connection)
            talk(connection, number)

    def accept() -> None:
        for number in range(1000):
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            if done.is_set():
                connection.close()
                return
            threading.Thread(target=serve_connection, args=(connection, number), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        done.set()
        with suppress(OSError):
            socket.create_connection(listener.getsockname(), 1).close()  # wakes the accept
        listener.close()
        thread.join(2)


def client(**options) -> Client:
    return Client(**{"timeout": 30.0, "retries": 2, "first_pause": 0.01, **options})


def response(status: int, body: bytes = b"{}", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def send(base: str, tool: Client | None = None, **options):
    return (tool or client()).send("POST", base, headers={}, body={"q": 1}, **options)


def send_and_fail(base: str, tool: Client | None = None) -> tuple[Trouble, str, float]:
    started = time.monotonic()
    with pytest.raises(ProviderError) as caught:
        send(base, tool)
    return caught.value.trouble, str(caught.value), time.monotonic() - started


# --- retries --------------------------------------------------------------------------------------------------


@each(("replies", "asked"), table(__file__, "what_is_asked_again"))
def test_what_may_pass_is_asked_again_and_nothing_else(llm: FakeLlm, replies: list[tuple[int, dict]], asked: int):
    left = iter(map(tuple, replies))
    llm.reply = lambda path, body: next(left)
    found = send(llm.base)
    assert (found.status, found.json(), len(llm.requests)) == (*replies[-1], asked)


@pytest.mark.parametrize("body", [b"<html>slow down</html>", b'{"error": "slow"}', b'{"error": {"code": ["x"]}}', b""])
def test_a_429_of_any_form_is_asked_again(body: bytes):
    seen = []

    def talk(connection: socket.socket, number: int) -> None:
        seen.append(number)
        connection.sendall(response(200) if number else response(429, body))

    with raw_server(talk) as base:
        assert send(base).status == 200
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("header", "least"),
    [*table(__file__, "the_server_says_how_long_to_wait"), (f"Retry-After: {email.utils.formatdate(0, usegmt=True)}", 0.0)],
)
def test_the_server_says_how_long_to_wait(header: str, least: float):
    def talk(connection: socket.socket, number: int) -> None:
        connection.sendall(response(200) if number else response(429, b"{}", header))

    with raw_server(talk) as base:
        started = time.monotonic()
        assert send(base).status == 200
        assert least <= time.monotonic() - started < PATIENCE


def test_a_date_to_come_back_at_is_kept():
    def talk(connection: socket.socket, number: int) -> None:
        when = email.utils.formatdate(time.time() + 2, usegmt=True)
        connection.sendall(response(200) if number else response(503, b"{}", f"Retry-After: {when}"))

    with raw_server(talk) as base:
        started = time.monotonic()
        assert send(base).status == 200
        assert 0.8 <= time.monotonic() - started < PATIENCE


@pytest.mark.parametrize("pause", ["3600", "61"])
def test_a_wait_beyond_the_deadline_is_not_begun(pause: str):
    with raw_server(lambda c, n: c.sendall(response(429, b"{}", f"Retry-After: {pause}"))) as base:
        started = time.monotonic()
        assert send(base, client(timeout=60.0)).status == 429
        assert time.monotonic() - started < PATIENCE


def test_a_cut_connection_is_asked_again():
    def talk(connection: socket.socket, number: int) -> None:
        if number == 1:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{")
        elif number == 2:
            connection.sendall(OK)

    with raw_server(talk) as base:
        assert send(base).json() == {}


# --- what never ends ------------------------------------------------------------------------------------------


def test_a_body_that_stops_short_is_no_answer():
    with raw_server(lambda c, n: c.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"pass": true}')) as base:
        kind, words, _ = send_and_fail(base, client(retries=0))
    assert kind is Trouble.INCOMPLETE
    assert re.match(r"127\.0\.0\.1:\d+ gave no complete response: ", words)


def drip(connection: socket.socket, first: bytes, piece: bytes) -> None:
    connection.sendall(first)
    for _ in range(1200):
        connection.sendall(piece)
        time.sleep(0.05)


@pytest.mark.parametrize(
    "talk",
    [
        lambda c, n: time.sleep(60),
        lambda c, n: drip(c, b"HTTP/1.1 200 OK\r\n", b"X-Drip: 1\r\n"),
        lambda c, n: drip(c, b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", b" "),
        lambda c, n: drip(c, b"HTTP/1.1 200 OK\r\n\r\n", b" "),
        lambda c, n: drip(c, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    ],
    ids=["silent", "headers", "bytes", "no length", "chunks"],
)
def test_a_server_that_hangs_is_left_at_the_deadline(talk):
    with raw_server(talk) as base:
        kind, words, took = send_and_fail(base, client(timeout=0.6))
    assert kind is Trouble.DEADLINE
    assert "did not answer within" in words
    assert took < PATIENCE


def test_waiting_for_a_slot_is_not_the_servers_fault(llm: FakeLlm):
    llm.latency = 0.5
    tool = client(slots=1, timeout=2.4)  # the last waits longer for its turn
    statuses = []
    threads = [threading.Thread(target=lambda: statuses.append(send(llm.base, tool).status)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 6
    assert llm.peak == 1


# --- what is no answer ----------------------------------------------------------------------------------------


def test_a_body_of_fifty_megabytes_is_refused():
    def talk(connection: socket.socket, number: int) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 52428800\r\n\r\n")
        for _ in range(800):
            connection.sendall(b" " * 65536)

    with raw_server(talk) as base:
        kind, words, _ = send_and_fail(base, client(retries=0))
    assert kind is Trouble.MALFORMED
    assert "4 MiB" in words


def test_bytes_that_are_no_text_are_named():
    with raw_server(lambda c, n: c.sendall(response(200, bytes(range(256))))) as base, pytest.raises(ProviderError) as e:
        send(base).json()
    assert e.value.trouble is Trouble.MALFORMED
    assert "not JSON" in str(e.value)


def test_a_reply_that_is_no_http_is_no_answer():
    with raw_server(lambda c, n: c.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")) as base:
        assert send_and_fail(base, client(retries=0))[0] is Trouble.INCOMPLETE


def test_no_redirect_is_followed(llm: FakeLlm):
    llm.reply = lambda path, body: {"stolen": True}
    redirect = response(307, b"", f"Location: {llm.base}/chat")
    with raw_server(lambda c, n: c.sendall(redirect)) as base:
        answer = client().send("POST", base, headers={"Authorization": "Bearer secret"}, body={})
    assert answer.status == 307
    assert llm.requests == []


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/x", "http://", "http://exa mple/", "no-scheme", "http://[::1"])
def test_an_address_that_is_none_is_a_matter_of_setup(url: str):
    kind, words, _ = send_and_fail(url, client(retries=0))
    assert kind is Trouble.SETUP
    assert re.search(r"cannot be called|is not called: it is not a host name", words)


def test_a_header_that_cannot_be_sent_is_a_matter_of_setup(llm: FakeLlm):
    with pytest.raises(ProviderError) as caught:
        client().send("POST", llm.base, headers={"X-A": "two\nlines"}, body={})
    assert caught.value.trouble is Trouble.SETUP


# --- hosts that are down, runs that are stopped ---------------------------------------------------------------


def test_a_host_that_is_down_is_tried_once_after_a_while():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        base = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    tool = client(first_pause=0.2)
    for _ in range(3):
        kind, words, took = send_and_fail(base, tool)
        assert kind is Trouble.UNREACHABLE
        assert "Connection refused" in words
        assert took > 0.15
    assert send_and_fail(base, tool)[2] < 0.15


def test_a_host_that_comes_back_is_retried_again(llm: FakeLlm):
    llm.reply = lambda path, body: (503, {})
    tool = client()
    for _ in range(3):
        send(llm.base, tool)
    llm.requests.clear()
    assert send(llm.base, tool).status == 503
    assert len(llm.requests) == 1
    llm.reply = lambda path, body: {}
    assert send(llm.base, tool).status == 200
    llm.reply, answers = (lambda path, body: next(answers)), iter([(503, {}), {}])
    assert send(llm.base, tool).status == 200


def test_stop_cuts_calls_in_flight_at_once_and_refuses_further_ones():
    asked = threading.Semaphore(0)

    def talk(connection: socket.socket, number: int) -> None:
        asked.release()
        time.sleep(60)

    with raw_server(talk) as base:
        tool = client(timeout=60.0)
        troubles: list[Trouble] = []
        threads = [threading.Thread(target=lambda: troubles.append(send_and_fail(base, tool)[0])) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in threads:
            assert asked.acquire(timeout=PATIENCE)
        started = time.monotonic()
        tool.stop()
        for thread in threads:
            thread.join(PATIENCE)
        assert time.monotonic() - started < PATIENCE
        assert troubles == [Trouble.STOPPED] * 4
        assert send_and_fail(base, tool)[0] is Trouble.STOPPED


def test_stop_ends_a_pause_between_two_tries():
    with raw_server(lambda c, n: c.sendall(response(503, b"{}", "Retry-After: 50"))) as base:
        tool = client(timeout=60.0)
        threading.Timer(0.3, tool.stop).start()
        kind, _, took = send_and_fail(base, tool)
    assert kind is Trouble.STOPPED
    assert took < PATIENCE


def test_connections_are_used_again():
    numbers = []

    def talk(connection: socket.socket, number: int) -> None:
        numbers.append(number)
        for _ in range(3):
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
            receive(connection)

    with raw_server(talk) as base:
        tool = client()
        assert [send(base, tool).json() for _ in range(3)] == [{}, {}, {}]
    assert numbers == [0]


def test_the_credentials_of_an_address_are_not_shown(llm: FakeLlm):
    base = llm.base.replace("http://", "http://user:secret@")
    assert send(base).host == f"127.0.0.1:{llm.port}"


def test_the_thread_that_watches_deadlines_ends_with_the_calls_and_comes_back(llm, monkeypatch):
    monkeypatch.setattr(budget, "LOOK_EVERY", 0.01)
    client = Client(timeout=0.3, retries=0)
    watching = threading.Event()
    ended = threading.Event()
    cut_late_calls = budget.Deadlines.cut_late_calls

    def watch_until_end(deadlines):
        watching.set()
        cut_late_calls(deadlines)
        ended.set()

    monkeypatch.setattr(budget.Deadlines, "cut_late_calls", watch_until_end)
    client.send("POST", f"{llm.base}/x", headers={}, body={})
    assert watching.wait(5)
    assert ended.wait(5)
    llm.latency = 5
    with pytest.raises(ProviderError, match="did not answer"):
        client.send("POST", f"{llm.base}/x", headers={}, body={})


def test_a_client_that_nobody_has_keeps_no_connection(llm: FakeLlm):
    """A pool of urllib3 stays as long as anything that its connections know."""
    tool = client()
    assert send(llm.base, tool).status == 200
    connections = weakref.ref(tool.connections)
    del tool
    gc.collect()
    assert connections() is None
