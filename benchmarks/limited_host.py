"""A model server that takes so many calls in a window of time, as vendors do, and counts what it refuses."""

import argparse
import asyncio
import json
import math
import time
from collections import defaultdict, deque
from http import HTTPStatus

GRADE = json.dumps({"reason": "it says so", "pass": True, "score": 1.0})


class Limits:
    """The calls under each key; one more is taken if fewer than ``calls`` came in the last ``seconds``."""

    def __init__(self, calls: int, seconds: float) -> None:
        self.calls, self.seconds = calls, seconds
        self.taken: dict[str, deque[float]] = defaultdict(deque)
        self.asked = self.refused = 0

    def take(self, key: str) -> tuple[int, float]:
        """How many calls are left, or -1 for a refusal; and in how many seconds the oldest leaves the window."""
        now = time.monotonic()
        taken = self.taken[key]
        while taken and taken[0] <= now - self.seconds:
            taken.popleft()
        self.asked += 1
        if len(taken) >= self.calls:
            self.refused += 1
            return -1, taken[0] + self.seconds - now
        taken.append(now)
        return self.calls - len(taken), taken[0] + self.seconds - now


async def serve(options: argparse.Namespace) -> None:
    """Answer OpenAI's chat API until somebody ends the process. `GET /counts` tells what came."""
    limits = Limits(options.calls, options.window)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            except (asyncio.IncompleteReadError, ConnectionError):
                writer.close()
                return
            length = key = ""
            for line in head.splitlines():
                name, _, value = line.partition(":")
                length = value if name == "content-length" else length
                key = value if name == "authorization" else key
            content = await reader.readexactly(int(length or 0))
            if head.startswith("get /counts"):
                answer(writer, 200, {"asked": limits.asked, "refused": limits.refused}, {})
                continue
            left, reset = limits.take(key)
            headers = {}
            if options.headers:
                headers = {
                    "x-ratelimit-remaining-requests": str(max(0, left)),
                    "x-ratelimit-reset-requests": f"{reset:.3f}s",
                }
            if left < 0:
                if options.retry_after == "exact":
                    headers["retry-after-ms"] = str(math.ceil(reset * 1000))
                elif options.retry_after:
                    headers["Retry-After"] = options.retry_after
                answer(writer, 429, {"error": {"message": "Rate limit reached"}}, headers)
                continue
            await asyncio.sleep(options.latency)
            text = GRADE if b"rubric" in content.lower() else "Paris"
            usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
            message = {"role": "assistant", "content": text}
            answer(
                writer,
                200,
                {
                    "model": "m",
                    "choices": [{"message": message, "finish_reason": "stop"}],
                    "usage": usage,
                },
                headers,
            )

    server = await asyncio.start_server(talk, "127.0.0.1", options.port)
    async with server:
        await server.serve_forever()


def answer(
    writer: asyncio.StreamWriter, status: int, body: object, headers: dict[str, str]
) -> None:
    """Write one response."""
    content = json.dumps(body).encode()
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "Content-Type: application/json",
        f"Content-Length: {len(content)}",
    ]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode() + content)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--calls", type=int, required=True)
    parser.add_argument("--window", type=float, default=1.0)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--retry-after", default="")
    parser.add_argument("--headers", action="store_true")
    asyncio.run(serve(parser.parse_args()))
