"""What the fake servers share: a handler that answers in JSON, and a server on a free port of loopback."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class JsonHandler(BaseHTTPRequestHandler):
    """Silent, and at ease with clients that go away."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes: 40 ms apart otherwise

    def do_GET(self) -> None:
        self.respond()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def respond(self) -> None:
        """Answer a request of any method."""
        raise NotImplementedError

    def read(self) -> bytes:
        """The body of the request."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, status: int, content: Any, headers: Mapping[str, str] | None = None) -> None:
        """Send bytes as they are, anything else as JSON."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, text in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True


@contextmanager
def listening(handler: type[JsonHandler], **members: Any) -> Iterator[int]:
    """The port where the handler answers; ``members`` are what its requests share."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (handler,), members))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
