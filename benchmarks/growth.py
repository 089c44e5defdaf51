"""CPU of what a config or a reply may hold much of: twice as much may take at most 2.5 times as long.

usage: growth.py [NAME ...]     the best of three runs of each size; without names all are measured
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

MOST = 2.5
Make = Callable[[int], dict[str, Any]]


def config(**parts: Any) -> dict[str, Any]:
    test = {"assert": [{"type": "contains", "value": "h"}]}
    return {"prompts": ["hi"], "providers": ["echo"], "tests": [test], **parts}


def recorded(answer: str, **assertion: Any) -> dict[str, Any]:
    return config(tests=[{"providerOutput": answer, "assert": [assertion]}])


def calls(count: int) -> str:
    named = (
        {"id": f"c{n}", "type": "function", "function": {"name": f"f{n}", "arguments": '{"a": 1}'}}
        for n in range(count)
    )
    return json.dumps(list(named))


def tools(count: int) -> list[dict[str, Any]]:
    schema = {"type": "object", "properties": {"a": {"type": "number"}}}
    return [
        {"type": "function", "function": {"name": f"f{n}", "parameters": schema}}
        for n in range(count)
    ]


def names(count: int, before: str = "f") -> list[str]:
    return [f"{before}{n}" for n in range(count)]


def replied(base: str, count: int) -> dict[str, Any]:
    """A target whose one reply of the Messages API calls so many tools: the address has the number."""
    return config(
        providers=[
            {
                "id": "anthropic:messages:fake",
                "config": {"apiBaseUrl": f"{base}/{count}", "apiKey": "k"},
            }
        ]
    )


class Model(BaseHTTPRequestHandler):
    """Answers with as many calls as the first step of the path says."""

    def do_POST(self) -> None:
        """One reply."""
        self.rfile.read(int(self.headers["Content-Length"]))
        blocks = [
            {"type": "tool_use", "id": f"t{n}", "name": "f", "input": {"a": n}}
            for n in range(int(self.path.split("/")[1]))
        ]
        body = json.dumps(
            {
                "type": "message",
                "role": "assistant",
                "content": blocks,
                "stop_reason": "tool_use",
                "usage": {},
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


# The smaller size, and the config of a size: long enough that it is not the start of the process that is measured.
GROWING: dict[str, tuple[int, Make]] = {
    "keys of its own": (20_000, lambda n: config(**dict.fromkeys(names(n, "x-"), 1))),
    "keys of its own in a test": (20_000, lambda n: config(tests=[{**dict.fromkeys(names(n, "x-"), 1), **config()["tests"][0]}])),
    "keys without a meaning": (20_000, lambda n: config(**dict.fromkeys(names(n, "x-"), 1), **dict.fromkeys(names(900, "assertt"), 1))),
    "variables": (10_000, lambda n: config(tests=[{"vars": dict.fromkeys(names(n), "x"), **config()["tests"][0]}])),
    "prompts": (2_000, lambda n: config(prompts=names(n, "h"))),
    "providers": (1_000, lambda n: config(providers=[{"id": "echo", "label": name} for name in names(n)])),
    "providers by label": (1_000, lambda n: config(providers=[{"id": "echo", "label": name} for name in names(n)], tests=[{"providers": names(n), **config()["tests"][0]}])),
    "tests": (5_000, lambda n: config(tests=config()["tests"] * n)),
    "metrics": (2_000, lambda n: config(tests=[{"assert": [{"type": "contains", "value": "h", "metric": name} for name in names(n)]}])),
    "variables of the environment": (10_000, lambda n: config(env=dict.fromkeys(names(n), "x"))),
    "valid tool calls": (2_000, lambda n: recorded(calls(n), type="is-valid-openai-tools-call", config={"tools": tools(n)})),
    "unknown tool calls": (4_000, lambda n: recorded(calls(n), type="is-valid-openai-tools-call", config={"tools": tools(1)})),
    "tool-call-f1": (10_000, lambda n: recorded(calls(n), type="tool-call-f1", value=names(n))),
    "tool-correctness": (4_000, lambda n: recorded(calls(n), type="tool-correctness", value=names(n), config={"should_consider_ordering": True})),
    "trajectory:tool-used": (4_000, lambda n: recorded(calls(n), type="trajectory:tool-used", value=names(n))),
    "trajectory:tool-sequence": (4_000, lambda n: recorded(calls(n), type="trajectory:tool-sequence", value=names(n))),
    "contains-json of braces": (500_000, lambda n: recorded("{" * n, type="contains-json")),
    "contains-json of keys": (100_000, lambda n: recorded('{"a":' * n, type="contains-json")),
    "contains-json of escapes": (200_000, lambda n: recorded('{"' + '\\"' * n, type="contains-json")),
}  # fmt: skip


def cpu(folder: Path) -> float:
    """Seconds of CPU of a run with all that it started."""
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "gradegate", "run", "c.json", "-q"],
            cwd=folder,
            stdout=log,
            stderr=log,
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def grows(folder: Path, name: str) -> tuple[float, float]:
    """Seconds of the smaller and of the larger size."""
    size, make = GROWING[name]
    taken = []
    for count in (size, 2 * size):
        (folder / "c.json").write_text(json.dumps(make(count)))
        taken.append(min(cpu(folder) for _ in range(3)))
    return taken[0], taken[1]


def main(wanted: list[str]) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    Thread(target=server.serve_forever, daemon=True).start()
    GROWING["tool calls of a reply"] = (
        4_000,
        lambda n: replied(f"http://127.0.0.1:{server.server_port}", n),
    )
    with tempfile.TemporaryDirectory(prefix="gradegate-growth-") as folder:
        for name in wanted or GROWING:
            small, large = grows(Path(folder), name)
            ratio = large / small / MOST
            size = f"{GROWING[name][0]:,} {small:.2f} s, twice {large:.2f} s"
            print(
                f"{name:30} {size:>34}   {ratio:5.2f} of the limit{'' if ratio <= 1 else '   OVER'}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
