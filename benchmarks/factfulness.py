"""Measures factfulness on many rows against a loopback model with constant latency, as a ratio to its limit.

usage: factfulness.py [--rows 200] [--at-once 50] [--latency 0.2]     nothing here fails a build

Every row takes seven calls: the claims, three runs, and three runs with the source. The limit of the wall time is
1.2 x calls x latency / concurrency; starting Python and writing the reports, about half a second, is in the wall time.
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CALLS = 7
_ID = re.compile(r"^(\d+)\. ", re.MULTILINE)


def reply(path, body):
    """Two claims, of which no run knows the second until it sees the source."""
    if "seed" not in body:
        return json.dumps({"claims": [{"claim": f"claim {n}", "checkable": True} for n in (1, 2)]})
    words = {1: "true", 2: "true" if body["seed"] > 3 else "idk"}
    ids = map(int, _ID.findall(body["messages"][-1]["content"]))
    return json.dumps({"verdicts": [{"id": n, "reason": "so", "verdict": words[n]} for n in ids]})


class Model:
    """Answers chat requests on one loop, so that the threads of a server do not blur what is measured."""

    def __init__(self, latency: float) -> None:
        self.latency, self.calls, self.flying, self.peak = latency, 0, 0, 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(re.search(rb"content-length: (\d+)", head, re.IGNORECASE)[1])
                body = await reader.readexactly(length)
                self.calls, self.flying = self.calls + 1, self.flying + 1
                self.peak = max(self.peak, self.flying)
                await asyncio.sleep(self.latency)
                self.flying -= 1
                message = {"role": "assistant", "content": reply("", json.loads(body))}
                answer = json.dumps(
                    {"choices": [{"finish_reason": "stop", "message": message}]}
                ).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


@contextmanager
def served(model: Model) -> Iterator[str]:
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(model.serve, "127.0.0.1", 0))
    threading.Thread(target=loop.run_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    loop.call_soon_threadsafe(loop.stop)


def measure(folder: Path, rows: int, at_once: int, latency: float) -> tuple[float, float, int]:
    """Wall and CPU seconds of the gate, and the most calls that were in flight."""
    data = [{"input": f"source {n}", "output": f"answer {n}"} for n in range(rows)]
    payload = {
        "is_blocking": True,
        "threshold": 100,
        "evaluations": [{"metrics": ["factfulness"], "data": data}],
    }
    (folder / "run.json").write_text(json.dumps(payload))
    command = [
        sys.executable,
        "-m",
        "gradegate",
        "run",
        "run.json",
        "-g",
        "openai:chat:fake",
        "-j",
        str(at_once),
    ]
    model = Model(latency)
    with served(model) as base, (folder / "log.txt").open("wb") as log:
        environ = {**os.environ, "OPENAI_BASE_URL": base}
        started = time.perf_counter()
        process = subprocess.Popen(
            [*command, "-o", "r.json"], cwd=folder, env=environ, stdout=log, stderr=log
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, (folder / "log.txt").read_text()
        assert model.calls == rows * CALLS, f"{model.calls} calls"
        return wall, usage.ru_utime + usage.ru_stime, model.peak


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=50)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gradegate-bench-") as name:
        wall, cpu, peak = measure(Path(name), given.rows, given.at_once, given.latency)
    calls = given.rows * CALLS
    least = calls * given.latency / given.at_once
    limit = 1.2 * least
    print(
        f"{given.rows} rows x {CALLS} calls of {given.latency:g} s, {given.at_once} at once: at least {least:.2f} s"
    )
    print(
        f"  wall time {wall:.2f} s, {wall / least:.2f} of the least, {wall / limit:.2f} of the limit {limit:.2f} s"
    )
    print(f"  CPU {cpu:.2f} s, {cpu / calls * 1000:.2f} ms a call; most calls in flight {peak}")


if __name__ == "__main__":
    main()
