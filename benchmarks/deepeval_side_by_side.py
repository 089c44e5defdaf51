"""Turn faithfulness side by side with the real deepeval package: do the scores agree, and which is faster?

usage: deepeval_side_by_side.py --deepeval PYTHON [--concurrency N] [--latency MS] [--conversations N] [--quick]

PYTHON is an interpreter that has deepeval: python -m venv /tmp/de && /tmp/de/bin/pip install deepeval.
Both ask the same model on loopback, whose replies are made of marks in the texts, so that both get the same truths,
claims and verdicts. Nothing leaves the machine: deepeval's telemetry is off and no key is real.
"""

import argparse
import asyncio
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from serving import serving

ME = Path(__file__).resolve()
CLAIM = re.compile(r"K\d+-\d+-(yes|no|borderline)")
TRUTH = re.compile(r"T\d+-\d+")
TOLERANCE = 1e-9
FASTER = 5.0


# --- the model ------------------------------------------------------------------------------------------------


def answer(body: dict) -> dict:
    """A reply to either tool: what is wanted shows in the JSON schema, and what it is about in the marks."""
    schema = body["response_format"]["json_schema"]["schema"]
    wanted = next(iter(schema["properties"]))
    text = json.dumps([message["content"] for message in body["messages"]])
    if wanted == "truths":
        return {"truths": TRUTH.findall(text)}
    if wanted == "claims":
        return {"claims": [found[0] for found in CLAIM.finditer(text)]}
    if wanted == "verdicts":
        return {
            "verdicts": [
                {"verdict": found[1], "reason": found[0]} for found in CLAIM.finditer(text)
            ]
        }
    return {"reason": "so it is"}


class Model:
    """Chat completions over HTTP/1.1 with constant latency; GET tells what was asked since the last GET."""

    def __init__(self, latency: float) -> None:
        self.latency, self.calls, self.flying, self.peak = latency, 0, 0, 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
                data = await reader.readexactly(int(length[1])) if length else b""
                content = json.dumps(
                    self.told() if head.startswith(b"GET") else await self.reply(data)
                ).encode()
                start = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                writer.write(start % len(content) + content)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def told(self) -> dict:
        found = {"calls": self.calls, "peak": self.peak}
        self.calls = self.peak = 0
        return found

    async def reply(self, data: bytes) -> dict:
        self.calls, self.flying = self.calls + 1, self.flying + 1
        self.peak = max(self.peak, self.flying)
        await asyncio.sleep(self.latency)
        self.flying -= 1
        message = {"role": "assistant", "content": json.dumps(answer(json.loads(data)))}
        return {
            "id": "c",
            "object": "chat.completion",
            "created": 0,
            "model": "gpt-4.1",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60},
        }


async def serve(port: int, latency: float) -> None:
    server = await asyncio.start_server(
        Model(latency).serve, "127.0.0.1", port, limit=1 << 24, backlog=1000
    )
    async with server:
        await server.serve_forever()


def told(base: str) -> dict:
    host, port = base.removeprefix("http://").removesuffix("/v1").split(":")
    with socket.create_connection((host, int(port))) as s:
        s.sendall(b"GET / HTTP/1.1\r\n\r\n")
        return json.loads(s.recv(4096).partition(b"\r\n\r\n")[2])


# --- the conversations ----------------------------------------------------------------------------------------


def conversation(number: int, chance: random.Random, exchanges: int = 0) -> dict:
    """Turns and options. ``exchanges`` of one claim or more each; 0: any order of turns, as people write them."""
    marks = iter(range(10_000))

    def turn(role: str) -> dict:
        if role == "user":
            return {"role": role, "content": "and then?"}
        words = [
            f"K{number}-{next(marks)}-{chance.choice(['yes', 'yes', 'no', 'borderline'])}"
            for _ in range(claims())
        ]
        documents = [f"T{number}-{next(marks)}" for _ in range(chance.randint(0, 2))]
        return {"role": role, "content": " ".join(["well", *words]), "retrieval_context": documents}

    def claims() -> int:
        return chance.randint(1, 3) if exchanges else chance.randint(0, 4)

    roles = ["user", "assistant"] * exchanges
    options = {}
    if not exchanges:
        roles = [chance.choice(["user", "assistant"]) for _ in range(chance.randint(0, 12))] + [
            "user",
            "assistant",
        ]
        options = {
            "window_size": chance.randint(1, 12),
            "penalize_ambiguous_claims": chance.random() < 0.5,
            "include_reason": chance.random() < 0.2,
        }
    return {"turns": [turn(role) for role in roles], "options": options}


# --- the two tools --------------------------------------------------------------------------------------------


def gradegate(
    folder: Path, base: str, cases: list[dict], concurrency: int
) -> tuple[list[float], float]:
    """Scores, and the seconds of the whole process."""
    tests = [
        {
            "turns": case["turns"],
            "assert": [{"type": "turn-faithfulness", "config": case["options"]}],
        }
        for case in cases
    ]
    grader = {"id": "openai:chat:gpt-4.1", "config": {"apiBaseUrl": base, "apiKey": "k"}}
    config = {"defaultTest": {"options": {"provider": grader}}, "tests": tests}
    (folder / "gate.json").write_text(json.dumps(config))
    command = [
        sys.executable,
        "-m",
        "gradegate",
        "run",
        "gate.json",
        "-o",
        "results.json",
        "-j",
        str(concurrency),
    ]
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)
    seconds = time.perf_counter() - started
    results = json.loads((folder / "results.json").read_text())
    return [case["grades"][0]["score"] for case in results["cases"]], seconds


def deepeval(
    python: str, folder: Path, base: str, cases: list[dict], concurrency: int
) -> tuple[list[float], float]:
    """Scores, and the seconds of evaluate() alone, without start and imports."""
    (folder / "cases.json").write_text(
        json.dumps({"base": base, "concurrency": concurrency, "cases": cases})
    )
    keep = {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ
    }
    quiet = {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "OPENAI_API_KEY": "k", "NO_PROXY": "127.0.0.1"}
    command = [python, str(ME), "--deepeval-worker", str(folder)]
    subprocess.run(
        command, cwd=folder, env={**keep, **quiet}, stdout=subprocess.DEVNULL, check=True
    )
    found = json.loads((folder / "deepeval.json").read_text())
    return found["scores"], found["seconds"]


def worker(folder: Path) -> None:
    """Runs under the interpreter that has deepeval."""
    from deepeval import evaluate
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.metrics import TurnFaithfulnessMetric
    from deepeval.models import OpenAIModel
    from deepeval.test_case import ConversationalTestCase, Turn

    given = json.loads((folder / "cases.json").read_text())
    judge = OpenAIModel(model="gpt-4.1", base_url=given["base"], api_key="k")
    tests = [
        ConversationalTestCase(turns=[Turn(**turn) for turn in case["turns"]])
        for case in given["cases"]
    ]
    started = time.perf_counter()
    if any(case["options"] for case in given["cases"]):
        scores = []
        for case, test in zip(given["cases"], tests, strict=True):
            metric = TurnFaithfulnessMetric(model=judge, **case["options"])
            metric.measure(test, _show_indicator=False)
            scores.append(metric.score)
    else:
        result = evaluate(
            tests,
            [TurnFaithfulnessMetric(model=judge)],
            async_config=AsyncConfig(max_concurrent=given["concurrency"]),
            display_config=DisplayConfig(show_indicator=False, print_results=False),
            cache_config=CacheConfig(write_cache=False),
        )
        found = sorted(result.test_results, key=lambda one: int(one.name.rsplit("_", 1)[1]))
        scores = [one.metrics_data[0].score for one in found]
    seconds = time.perf_counter() - started
    (folder / "deepeval.json").write_text(json.dumps({"scores": scores, "seconds": seconds}))


# --- the comparison -------------------------------------------------------------------------------------------


def agree(args: argparse.Namespace, folder: Path) -> bool:
    chance = random.Random(args.seed)
    cases = [conversation(number, chance) for number in range(args.conversations)]
    with serving(str(ME), "--latency", "0.0", port_option="--serve") as base:
        ours, _ = gradegate(folder, base, cases, args.concurrency)
        theirs, _ = deepeval(args.deepeval, folder, base, cases, args.concurrency)
    worst = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
    fine = worst <= TOLERANCE
    distinct = len({round(score, 9) for score in theirs})
    print(
        f"agreement: {len(cases)} random conversations, {distinct} different scores, largest difference {worst:.2e}"
    )
    return fine


def race(args: argparse.Namespace, folder: Path) -> bool:
    chance = random.Random(args.seed + 1)
    cases = [conversation(number, chance, exchanges=10) for number in range(args.conversations)]
    with serving(str(ME), "--latency", str(args.latency), port_option="--serve") as base:
        ours, own = gradegate(folder, base, cases, args.concurrency)
        mine = told(base)
        theirs, other = deepeval(args.deepeval, folder, base, cases, args.concurrency)
        its = told(base)
    worst = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
    for name, seconds, found in (("gradegate", own, mine), ("deepeval", other, its)):
        each = found["calls"] / len(cases)
        print(
            f"{name:10} {seconds:8.2f} s   {each:5.1f} calls a conversation   {found['peak']:4} in flight at most"
        )
    print(
        f"speed: {other / own:.2f} times deepeval's at concurrency {args.concurrency}, {args.latency:g} ms a call"
    )
    print(
        f"calls: {mine['calls'] / its['calls']:.2f} of deepeval's; largest difference of scores {worst:.2e}"
    )
    return other / own >= FASTER and worst <= TOLERANCE


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--deepeval", metavar="PYTHON")
    parser.add_argument("--concurrency", type=int, default=20, help="deepeval's own default")
    parser.add_argument("--latency", type=float, default=100.0, metavar="MS")
    parser.add_argument("--conversations", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="ten conversations")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--deepeval-worker", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        asyncio.run(serve(args.serve, args.latency / 1000))
    elif args.deepeval_worker:
        worker(args.deepeval_worker)
    else:
        if not args.deepeval:
            parser.error("name the interpreter that has deepeval: --deepeval PYTHON")
        args.conversations = 10 if args.quick else args.conversations
        checks: list[Any] = [agree, race]
        with tempfile.TemporaryDirectory() as folder:
            results = [check(args, Path(folder)) for check in checks]
            return 0 if all(results) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
