"""Why the action starts its container on the runner's network: both ways, tried with network namespaces that the test makes."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.patience import PATIENCE
from support.processes import start_process

GATEWAY, INSIDE = "172.31.77.1", "172.31.77.2"
SERVER = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *words):
        pass
server = HTTPServer((sys.argv[1], 8000), Handler)
print("ready", flush=True)
server.serve_forever()
"""
WAIT = """
import sys
from gradegate.providers.api.readiness import ReadyTarget, wait_until_ready
print(wait_until_ready([ReadyTarget(sys.argv[1], float(sys.argv[2]))], {}))
"""


def can_make_namespaces() -> bool:
    """Whether namespaces can be made here."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    return subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode == 0


pytestmark = [pytest.mark.slow, pytest.mark.skipif(not can_make_namespaces(), reason="takes root, iproute2 and network namespaces")]


@dataclass(frozen=True)
class Networks:
    """A runner, and a container of its own behind a gateway, as Docker's bridge makes them."""

    runner: str
    container: str

    def reaches(self, network: str, url: str, expected: bool = True) -> bool:
        """What is refused is refused at once; what answers is given the time that it takes."""
        seconds = "30" if expected else "0.3"
        command = ["ip", "netns", "exec", network, sys.executable, "-c", WAIT, url, seconds]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
        return done.stdout.strip() == ""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def networks() -> Iterator[Networks]:
    found = Networks(f"gg-runner-{os.getpid()}", f"gg-box-{os.getpid()}")
    ip("netns", "add", found.runner)
    ip("netns", "add", found.container)
    try:
        ip("link", "add", "outside", "netns", found.runner, "type", "veth", "peer", "inside", "netns", found.container)
        for name, link, address in ((found.runner, "outside", GATEWAY), (found.container, "inside", INSIDE)):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", link)
            ip("-n", name, "link", "set", link, "up")
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", found.container, "route", "add", "default", "via", GATEWAY)
        yield found
    finally:
        ip("netns", "del", found.runner)
        ip("netns", "del", found.container)


@pytest.fixture(params=["127.0.0.1", "0.0.0.0"])
def listens_on(request: pytest.FixtureRequest, networks: Networks) -> Iterator[str]:
    """The application that an earlier step started, on the runner."""
    command = ["ip", "netns", "exec", networks.runner, sys.executable, "-c", SERVER, request.param]
    with start_process(command, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "ready\n"
        yield request.param


def test_only_the_runners_network_reaches_the_address_that_a_developer_writes(networks: Networks, listens_on: str) -> None:
    assert networks.reaches(networks.runner, "http://127.0.0.1:8000")
    assert networks.reaches(networks.runner, "http://localhost:8000")
    assert not networks.reaches(networks.container, "http://127.0.0.1:8000", expected=False)
    open_to_all = listens_on == "0.0.0.0"
    assert networks.reaches(networks.container, f"http://{GATEWAY}:8000", open_to_all) is open_to_all


def test_the_gateway_that_a_message_names_is_the_runner(networks: Networks) -> None:
    code = "from pathlib import Path; from gradegate.security.hosts import read_gateway; print(read_gateway(Path('/proc/net/route')))"
    command = ["ip", "netns", "exec", networks.container, sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == GATEWAY
    assert Path("/proc/net/route").exists()
