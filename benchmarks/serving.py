"""Runs a model server in a process of its own, so that it takes no time from what is measured."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def serving(script: str, *arguments: str, port_option: str = "--port") -> Iterator[str]:
    """The address of the server that a script runs on a free port."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    server = subprocess.Popen([sys.executable, script, port_option, str(port), *arguments])
    try:
        while socket.socket().connect_ex(("127.0.0.1", port)):
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait()
