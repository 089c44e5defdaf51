"""A help desk that listens on the loopback of this machine, as an earlier step of a job starts it: `serve.py [PORT]`."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "answers"))
from app import answer


class HelpDesk(BaseHTTPRequestHandler):
    """POST {"question": ...} gives {"answer": ..., "passages": [...]}; GET says that it is ready."""

    def do_GET(self) -> None:
        """Say that it is ready."""
        self._say({"ready": True})

    def do_POST(self) -> None:
        """Answer one question."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text, passages = answer(asked["question"])
        self._say({"answer": text, "passages": passages})

    def _say(self, value: dict) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer(
        ("127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 8000), HelpDesk
    ).serve_forever()
