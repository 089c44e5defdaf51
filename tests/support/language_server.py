"""yaml-language-server of npm, asked over stdio as an editor does."""

import json
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from queue import Queue
from typing import Any

from support.packages import node, npm_folder
from support.processes import start_process

VERSION = "1.25.0"
PATIENCE = 120  # seconds for a reply
SETTINGS = {
    "yaml": {"schemaStore": {"enable": False}, "validate": True, "hover": True, "completion": True},
    "http": {},
    "[yaml]": {"editor.tabSize": 2, "editor.insertSpaces": True},
    "editor": {},
    "files": {},
}


class Editor:
    """One connection: documents go in, and what the server says of them comes out."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._number = 0
        self._replies: dict[int, Queue[Any]] = {}
        self._said: dict[str, Queue[Any]] = {}
        threading.Thread(target=self._listen, daemon=True).start()

    def faults(self, text: str, name: str = "promptfooconfig.yaml") -> list[tuple[int, str]]:
        """Line, from 1, and message of each mark under a document."""
        uri = self.open(text, name)
        marks = self._said[uri].get(timeout=PATIENCE)
        return [(mark["range"]["start"]["line"] + 1, mark["message"]) for mark in marks]

    def completions(self, text: str) -> dict[str, str]:
        """What is offered where the text has a `|`, with its documentation."""
        found = self._at("textDocument/completion", text)
        items = found["items"] if isinstance(found, Mapping) else found
        return {item["label"]: _text(item.get("documentation")) for item in items}

    def hover(self, text: str) -> str:
        """What is shown for the word before the `|`."""
        found = self._at("textDocument/hover", text, back=1)
        return _text(found["contents"]) if found else ""

    def open(self, text: str, name: str = "promptfooconfig.yaml") -> str:
        """Opens a document of its own, and gives its address."""
        self._number += 1
        uri = f"file:///editor/{self._number}/{name}"
        self._said[uri] = Queue()
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})
        return uri

    def ask(self, method: str, params: Any) -> Any:
        """The result of a request."""
        self._number += 1
        number, self._replies[self._number] = self._number, Queue()
        self._send({"id": number, "method": method, "params": params})
        reply = self._replies[number].get(timeout=PATIENCE)
        assert "error" not in reply, reply
        return reply["result"]

    def tell(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def _at(self, method: str, text: str, back: int = 0) -> Any:
        before, _, after = text.partition("|")
        line, character = before.count("\n"), len(before.rpartition("\n")[2])
        uri = self.open(before + after)
        place = {"line": line, "character": character - back}
        return self.ask(method, {"textDocument": {"uri": uri}, "position": place})

    def _send(self, message: Mapping[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _listen(self) -> None:
        stream = self._process.stdout
        # The process may be killed while it writes, so the last message may be cut.
        while (header := stream.readline()).endswith(b"\n"):
            length = int(header.split(b":")[1])
            while stream.readline().strip():
                pass
            body = stream.read(length)
            if len(body) < length:
                return
            self._heard(json.loads(body))

    def _heard(self, message: Mapping[str, Any]) -> None:
        method = message.get("method")
        if method is None:
            self._replies[message["id"]].put(message)
        elif method == "textDocument/publishDiagnostics":
            if queue := self._said.get(message["params"]["uri"]):
                queue.put(message["params"]["diagnostics"])
        elif method == "workspace/configuration":
            found = [SETTINGS.get(item.get("section", ""), {}) for item in message["params"]["items"]]
            self._send({"id": message["id"], "result": found})
        elif "id" in message:
            self._send({"id": message["id"], "result": None})


def _text(contents: Any) -> str:
    return contents["value"] if isinstance(contents, Mapping) else str(contents or "")


@contextmanager
def editor() -> Iterator[Editor]:
    folder = npm_folder(f"yaml-language-server-{VERSION}", f"yaml-language-server@{VERSION}")
    server = folder / "node_modules" / "yaml-language-server" / "bin" / "yaml-language-server"
    line = [node(), str(server), "--stdio"]
    with start_process(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        one = Editor(process)
        one.ask(
            "initialize",
            {
                "processId": None,
                "rootUri": None,
                "capabilities": {
                    "textDocument": {
                        "completion": {"completionItem": {"documentationFormat": ["markdown"]}},
                        "hover": {"contentFormat": ["markdown"]},
                        "publishDiagnostics": {},
                    },
                    "workspace": {"configuration": True, "didChangeConfiguration": {"dynamicRegistration": True}},
                },
                "initializationOptions": {},
            },
        )
        one.tell("initialized", {})
        one.tell("workspace/didChangeConfiguration", {"settings": SETTINGS})
        yield one
