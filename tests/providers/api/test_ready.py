"""Waiting for an application: it comes late, it is out of order, it never comes."""

import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from gradegate.errors import ConfigError
from gradegate.providers.api.readiness import ReadyTarget, parse_targets, wait_until_ready
from gradegate.security.hosts import explain_unreachable, is_loopback, read_gateway


@pytest.fixture
def port() -> int:
    """One that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


Start = Callable[[int, Callable[[int], int]], list[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts an application on a port; it answers its n-th request as the function says. Gives what it was asked."""
    servers: list[HTTPServer] = []

    def started(port: int, status: Callable[[int], int]) -> list[str]:
        asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(status(len(asked)))
                self.send_header("Location", "http://169.254.169.254/")
                self.end_headers()

            def log_message(self, *words: Any) -> None:
                pass

        servers.append(HTTPServer(("127.0.0.1", port), Handler))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return asked

    yield started
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("status", [200, 204, 302, 404, 405, 501])
def test_any_answer_that_is_no_fault_is_enough(port: int, start: Start, status: int) -> None:
    asked = start(port, lambda number: status)
    assert wait_until_ready([ReadyTarget(f"http://127.0.0.1:{port}/health", 20)], {}) == ""
    assert asked == ["/health"]


def test_an_application_that_is_out_of_order_at_first_is_waited_for(port: int, start: Start) -> None:
    asked = start(port, lambda number: 200 if number == 3 else 503)
    assert wait_until_ready([ReadyTarget(f"http://localhost:{port}", 20)], {}) == ""
    assert len(asked) == 3


def test_an_application_that_comes_late_is_waited_for(port: int, start: Start) -> None:
    timer = threading.Timer(0.7, start, (port, lambda number: 200))
    timer.start()
    assert wait_until_ready([ReadyTarget(f"http://127.0.0.1:{port}", 30)], {}) == ""
    timer.join()


def test_what_never_comes_is_named_with_its_last_word(port: int, start: Start) -> None:
    said = wait_until_ready([ReadyTarget(f"http://127.0.0.1:{port}", 0.5)], {})
    assert f"http://127.0.0.1:{port} was not ready within 0.5 s" in said
    assert "refused" in said
    start(port, lambda number: 500)
    assert wait_until_ready([ReadyTarget(f"http://127.0.0.1:{port}", 0.5)], {}).endswith("it answered 500")


def test_a_server_that_accepts_and_says_nothing_is_not_waited_for_longer(port: int) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", port))
        silent.listen()
        assert "was not ready" in wait_until_ready([ReadyTarget(f"http://127.0.0.1:{port}", 0.6)], {})


def test_lines_are_addresses_with_seconds() -> None:
    lines = ("http://127.0.0.1:8000/health 90", "https://app.example.com   2.5", " http://localhost:1 ")
    assert parse_targets(lines, {}) == (
        ReadyTarget("http://127.0.0.1:8000/health", 90),
        ReadyTarget("https://app.example.com", 2.5),
        ReadyTarget("http://localhost:1"),
    )


def test_no_mistake_shows_what_lets_somebody_in() -> None:
    lines = ["http://u:canary-1@x/a?token=canary-2 soon", "ftp://canary-3@x?canary-4", "http://x?a=@canary-5 b c"]
    with pytest.raises(ConfigError) as raised:
        parse_targets(lines, {})
    assert "canary" not in str(raised.value)
    assert "`http://x/a soon` in `ready`" in str(raised.value)


@pytest.mark.parametrize(
    "line", ["8000", "http://", "ftp://x", "http://x -1", "http://x soon", "http://x 10 20", "http://x 99999", "http://x:y", "http://[::1"]
)
def test_what_cannot_be_waited_for_is_a_mistake(line: str) -> None:
    with pytest.raises(ConfigError, match="is not an address with seconds"):
        parse_targets([line], {})


def test_a_machines_credentials_are_never_asked_for() -> None:
    with pytest.raises(ConfigError, match="never called"):
        parse_targets(["http://169.254.169.254/latest 5"], {})


# --- the network of a container -----------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.8.8.8", "app.localhost"])
def test_loopback_of_a_container_is_not_the_runner(host: str) -> None:
    inside = {"GRADEGATE_NETWORK": "container"}
    assert explain_unreachable(f"http://{host}:8000/x", inside)
    assert explain_unreachable(f"http://{host}:8000/x", {"GRADEGATE_NETWORK": "host"}) is None
    assert explain_unreachable(f"http://{host}:8000/x", {}) is None
    with pytest.raises(ConfigError, match="is the container of the action"):
        parse_targets([f"http://{host}:8000"], inside)


@pytest.mark.parametrize("host", ["app", "10.0.0.1", "example.com", "localhost.example.com"])
def test_other_hosts_are_where_they_were(host: str) -> None:
    assert not is_loopback(host)
    assert explain_unreachable(f"http://{host}", {"GRADEGATE_NETWORK": "container"}) is None


def test_the_gateway_is_that_of_the_default_route(tmp_path: Path) -> None:
    routes = tmp_path / "route"
    head = "Iface\tDestination\tGateway \tFlags\n"
    routes.write_text(head + "eth0\t004D1FAC\t00000000\t0001\neth0\t00000000\t014D1FAC\t0003\n")
    assert read_gateway(routes) == "172.31.77.1"
    for text in ("", head, head + "x\n", head + "eth0\t00000000\tzz\t0003\n"):
        routes.write_text(text)
        assert read_gateway(routes) == ""
    assert read_gateway(tmp_path / "none") == ""
