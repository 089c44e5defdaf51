"""A model server on loopback: chat, embeddings and moderation of OpenAI's shape, scripted per test."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from support.loopback import JsonHandler, listening

Scripted = str | dict | tuple[int, Any] | tuple[int, Any, dict[str, str]] | bytes


@dataclass
class FakeLlm:
    """``reply`` gets the path and the decoded body; it gives a text (a chat answer), a dict (sent as it is), a
    (status, body) pair, or raw bytes written to the socket instead of a response."""

    reply: Callable[[str, dict], Scripted] = lambda path, body: "ok"
    latency: float = 0.0
    requests: list[tuple[str, dict, dict]] = field(default_factory=list)
    in_flight: int = 0
    peak: int = 0
    port: int = 0
    together: int = 0  # no request is answered before so many have been here at once
    lock: threading.Condition = field(default_factory=threading.Condition)

    def gathered(self, count: int) -> None:
        """Wait until so many requests have been here at once, however slowly a busy machine brings them."""
        with self.lock:
            assert self.lock.wait_for(lambda: self.peak >= count, 60), f"only {self.peak} of {count} requests at once"

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def bodies(self) -> list[dict]:
        return [body for _, body, _ in self.requests]

    @property
    def prompts(self) -> list[str]:
        """All message texts of each chat request, joined."""
        return ["\n".join(str(m.get("content")) for m in body.get("messages", ())) for body in self.bodies]

    def spec(self, model: str = "fake", **config: Any) -> dict:
        """A provider of this server for a config file."""
        return {"id": f"openai:chat:{model}", "config": {"apiBaseUrl": self.base, "apiKey": "k", **config}}


def chat(text: str, **choice: Any) -> dict:
    message = {"role": "assistant", "content": text, **choice.pop("message", {})}
    return {
        "id": "c",
        "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message, **choice}],
        "usage": {"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60},
    }


class _Handler(JsonHandler):
    fake: FakeLlm

    def respond(self) -> None:
        body = json.loads(self.read() or b"{}")
        fake = self.fake
        with fake.lock:
            fake.requests.append((self.path, body, dict(self.headers)))
            fake.in_flight += 1
            fake.peak = max(fake.peak, fake.in_flight)
            fake.lock.notify_all()
        try:
            fake.gathered(fake.together)
            time.sleep(fake.latency)
            answer = fake.reply(self.path, body)
        finally:
            with fake.lock:
                fake.in_flight -= 1
        self._send(answer)

    def _send(self, answer: Scripted) -> None:
        if isinstance(answer, bytes):
            self.wfile.write(answer)
            self.close_connection = True
            return
        status, content, *headers = answer if isinstance(answer, tuple) else (200, answer)
        content = chat(content) if isinstance(content, str) and status == 200 else content
        self.answer(status, content, *headers)


@contextmanager
def serve() -> Iterator[FakeLlm]:
    fake = FakeLlm()
    with listening(_Handler, fake=fake) as fake.port:
        yield fake
