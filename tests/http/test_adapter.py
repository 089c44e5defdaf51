"""The undocumented parts of requests and urllib3 that http/connections.py leans on, each by its name.

An upgrade that changes one fails here first, and the message says which.
"""

import inspect
import json
import re
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

import pytest
import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from gradegate.errors import ProviderError, Trouble
from gradegate.http import budget
from gradegate.http.budget import Deadlines
from gradegate.http.client import Client
from gradegate.http.connections import POOLS, Connections, WatchedConnection
from gradegate.http.exchange import HttpRequest
from support.fake_llm import FakeLlm


def allow_host(url, address):
    """Whoever it is may be asked."""


MANAGERS = [Connections(2, {}, allow_host).adapter.poolmanager]
MANAGERS += [Connections(2, {}, allow_host).adapter.proxy_manager_for("http://127.0.0.1:1")]


@pytest.mark.parametrize("manager", MANAGERS, ids=["direct", "proxy"])
@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "https://127.0.0.1:1/"])
def test_pools_hand_out_watched_connections(manager: urllib3.PoolManager, url: str):
    pool = manager.connection_from_url(url)
    made = pool._new_conn()
    assert isinstance(made, WatchedConnection), (
        "urllib3 PoolManager.pool_classes_by_scheme or HTTPConnectionPool.ConnectionCls, or requests "
        "HTTPAdapter.init_poolmanager or proxy_manager_for, no longer decides which connections are made"
    )


def test_parts_that_are_called_by_name():
    for owner, name in [
        (urllib3.PoolManager(), "pool_classes_by_scheme"),
        (HTTPConnectionPool, "ConnectionCls"),
        (HTTPSConnectionPool, "ConnectionCls"),
        (HTTPAdapter, "init_poolmanager"),
        (HTTPAdapter, "proxy_manager_for"),
        (HTTPAdapter, "get_connection_with_tls_context"),
        (HTTPAdapter, "cert_verify"),
        (HTTPAdapter, "request_url"),
        (HTTPConnection, "connect"),
        (HTTPSConnection, "connect"),
        (HTTPConnection, "_new_conn"),
        (HTTPConnection("127.0.0.1"), "_dns_host"),
        (HTTPConnection, "request"),
        (HTTPConnection, "send"),
        (HTTPConnection("127.0.0.1"), "sock"),
        (urllib3.HTTPResponse, "release_conn"),
        (urllib3.HTTPResponse(b""), "length_remaining"),
        (requests.utils, "get_environ_proxies"),
    ]:
        assert hasattr(owner, name), f"{owner} has no `{name}` any more"
    taken = set(inspect.signature(HTTPConnectionPool.urlopen).parameters)
    asked = {"retries", "redirect", "assert_same_host", "timeout", "preload_content", "decode_content"}
    assert asked <= taken, "HTTPConnectionPool.urlopen takes other parameters"


class Packets:
    """A server that notes what each of its reads brought, until the request is whole; then it answers."""

    def __init__(self, answer: bytes) -> None:
        self.reads: list[bytes] = []
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            connection, _ = self._listener.accept()
            with connection:
                while not b"".join(self.reads).endswith(b"END"):
                    self.reads.append(connection.recv(1 << 16))
                connection.sendall(self._answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()


def make_request(port: int) -> HttpRequest:
    return HttpRequest("POST", f"http://127.0.0.1:{port}/v1", "127.0.0.1", {}, b"question END")


def test_head_and_body_leave_in_one_packet():
    with Packets(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}") as server:
        assert Connections(2, {}, allow_host).send(make_request(server.port), 5.0).body == b"{}"
    assert len(server.reads) == 1, "urllib3 HTTPConnection.request no longer sends head and body through HTTPConnection.send"
    assert server.reads[0].startswith(b"POST /v1 HTTP/1.1\r\n")


def test_a_call_knows_its_socket():
    with Packets(b"") as server, Deadlines().watch(time.monotonic() + 5) as call:
        with pytest.raises(ProviderError) as caught:
            Connections(2, {}, allow_host).send(make_request(server.port), 5.0)
        assert isinstance(call.sock, socket.socket), "urllib3 HTTPConnection.sock no longer holds a request's socket"
    assert caught.value.trouble is Trouble.INCOMPLETE
    assert budget.current_call() is None


def test_a_response_that_was_read_to_its_end_gives_its_connection_back(llm: FakeLlm):
    connections = Connections(2, {}, allow_host)
    for _ in range(3):
        connections.send(HttpRequest("POST", llm.base, "127.0.0.1", {}, b"{}"), 5.0)
    pools = connections.adapter.poolmanager.pools
    counts = [(pools[key].num_requests, pools[key].num_connections) for key in pools.keys()]  # noqa: SIM118  # no dict
    assert counts == [(3, 1)], "urllib3 HTTPResponse.length_remaining or release_conn no longer gives a connection back"


def test_requests_that_are_alike_share_a_way_and_not_a_body(llm: FakeLlm):
    """As many kinds as there are ways kept, and more; a length in the headers is never believed."""
    connections = Connections(2, {}, allow_host)
    bodies = [{"n": "é" * number} for number in range(2 * POOLS + 9)]
    for number, body in enumerate(bodies):
        headers = {"X-Kind": str(number % (POOLS + 3)), "content-length": "2"}
        connections.send(HttpRequest("post", f"{llm.base}/chat/completions", "127.0.0.1", headers, json.dumps(body).encode()), 5.0)
    kinds = [str(number % (POOLS + 3)) for number in range(len(bodies))]
    assert [(body, headers["X-Kind"]) for _, body, headers in llm.requests] == list(zip(bodies, kinds, strict=True))
    lengths = [value for _, _, headers in llm.requests for name, value in headers.items() if name.lower() == "content-length"]
    assert lengths == [str(len(json.dumps(body))) for body in bodies]
    connections.send(HttpRequest("get", f"{llm.base}/models", "127.0.0.1", {"content-length": "2"}, b""), 5.0)
    assert not {name.lower() for name in llm.requests[-1][2]} & {"content-length", "transfer-encoding"}


def test_a_call_through_a_proxy_is_left_at_its_deadline(monkeypatch: pytest.MonkeyPatch):
    """A proxy that sends a byte now and then: no socket time-out ends that."""
    listener = socket.create_server(("127.0.0.1", 0))

    def drip() -> None:
        with suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")
                for _ in range(2000):
                    connection.sendall(b" ")
                    time.sleep(0.05)

    threading.Thread(target=drip, daemon=True).start()
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{listener.getsockname()[1]}")
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.delenv("NO_PROXY", raising=False)
    started = time.monotonic()
    with listener, pytest.raises(ProviderError) as caught:
        Client(timeout=0.6, retries=0).send("POST", "http://model.invalid/v1", headers={}, body={})
    assert caught.value.trouble is Trouble.DEADLINE
    assert time.monotonic() - started < 50


def test_nothing_else_leans_on_parts_of_urllib3():
    for path in Path("src/gradegate").rglob("*.py"):
        if path.name != "connections.py":
            assert not re.search(r"^\s*(import|from) (urllib3|requests)\b", path.read_text(), re.MULTILINE), path
