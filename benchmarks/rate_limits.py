"""How a run goes at hosts that limit calls: errors, refused requests, and wall time over the least that the limit allows.

usage: rate_limits.py [--promptfoo VERSION] [ROW ...]     VERSION may be `newest`; the exit code is 1 when gradegate misses a limit
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import NamedTuple

from promptfoo_side_by_side import installed
from serving import serving

HOST = str(Path(__file__).with_name("limited_host.py"))
START_SECONDS = 1.0  # of a process, and of writing its reports
MOST_REFUSED = 0.2  # of the requests


class Limited(NamedTuple):
    """A host and the work: ``most`` is the wall time that is fine, over the least possible."""

    cases: int
    calls: int  # that the host takes in a window
    options: tuple[str, ...] = ("--retry-after", "exact")
    window: float = 1.0
    most: float = 1.15
    keys: int = 1


ROWS = {
    "5/s": Limited(200, 5),
    "20/s": Limited(200, 20),
    "50/s": Limited(500, 50),
    "100/s": Limited(1000, 100),
    "1000/s": Limited(2500, 1000),
    "20/s, no Retry-After": Limited(200, 20, (), most=1.3),
    "100/s, no Retry-After": Limited(1000, 100, (), most=1.3),
    "20/s, Retry-After: 5": Limited(500, 20, ("--retry-after", "5"), most=1.2),
    "100/s, Retry-After: 5": Limited(2500, 100, ("--retry-after", "5"), most=1.2),
    "300 a minute": Limited(300, 300, window=60.0),
    "20/s, x-ratelimit": Limited(200, 20, ("--retry-after", "exact", "--headers")),
    "20/s, two keys": Limited(300, 20, keys=2),
}


def config(base: str, row: Limited) -> dict[str, object]:
    """The suite: each answer is graded, by a model under the same key or under a second one."""
    target = {"id": "openai:chat:m", "config": {"apiBaseUrl": base, "apiKeyEnvar": "FIRST_API_KEY"}}
    grader = {
        "id": "openai:chat:m",
        "config": {
            "apiBaseUrl": base,
            "apiKeyEnvar": "FIRST_API_KEY" if row.keys == 1 else "SECOND_API_KEY",
        },
    }
    return {
        "prompts": ["Question {{n}}: what is the capital of France?"],
        "providers": [target],
        "defaultTest": {
            "options": {"provider": grader},
            "assert": [{"type": "llm-rubric", "value": "names Paris (rubric)"}],
        },
        "tests": [{"vars": {"n": str(number)}} for number in range(row.cases)],
    }


class Run(NamedTuple):
    """What came of one: wall seconds, the share of requests that the host refused, errors (None: unknown), the exit code."""

    seconds: float
    refused: float
    errors: int | None
    code: int


def errors_of(results: Path) -> int | None:
    """The cases without a verdict in a results file of either tool."""
    if not results.exists():
        return None
    content = json.loads(results.read_text())
    summary = content.get("summary")
    return int(summary["errored"] if summary else content["results"]["stats"]["errors"])


def run(row: Limited, command: list[str], folder: Path) -> Run:
    arguments = ["--calls", str(row.calls), "--window", str(row.window), *row.options]
    with serving(HOST, *arguments) as base:
        folder.mkdir()
        (folder / "promptfooconfig.yaml").write_text(json.dumps(config(base, row)))
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "FIRST_API_KEY": "k" * 20,
            "SECOND_API_KEY": "l" * 20,
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
        }
        started = time.monotonic()
        with (folder / "log.txt").open("w") as log:
            done = subprocess.run(command, cwd=folder, env=env, stdout=log, stderr=log, check=False)
        seconds = time.monotonic() - started
        with urllib.request.urlopen(base.replace("/v1", "/counts")) as counts:
            told = json.load(counts)
    errors = errors_of(folder / "results.json")
    return Run(seconds, told["refused"] / max(1, told["asked"]), errors, done.returncode)


def least_seconds(row: Limited) -> float:
    """The shortest time in which the host takes the calls under one key."""
    calls = 2 * row.cases / row.keys
    return calls / row.calls if row.window == 1.0 else (calls - 1) // row.calls * row.window


def show(name: str, tool: str, least: float, done: Run) -> None:
    ratio = done.seconds / least
    print(
        f"{name:22} {tool:10} {done.seconds:6.1f} s, {ratio:5.2f} of the least, {done.refused:4.0%} refused, "
        f"{'?' if done.errors is None else done.errors} errors, exit {done.code}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows", nargs="*", help=f"default: all of {', '.join(ROWS)}")
    parser.add_argument("--promptfoo", metavar="VERSION", help="run it on the same work")
    options = parser.parse_args()
    own = [sys.executable, "-m", "gradegate", "run", "promptfooconfig.yaml", "-o", "results.json"]
    other = None
    if options.promptfoo:
        command, version = installed(options.promptfoo)
        print(f"promptfoo {version}, -j 50")
        other = [*command, "eval", "-c", "promptfooconfig.yaml", "-j", "50", "--no-cache"]
        other += ["--no-progress-bar", "--no-table", "--no-write", "-o", "results.json"]
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(options.rows or ROWS):
            row = ROWS[name]
            done = run(row, own, Path(folder, str(number)))
            least = least_seconds(row)
            if (
                row.calls >= 1000
            ):  # too many for a slow machine, perhaps: what it does without a limit is the least, too
                free = run(row._replace(calls=10**6), own, Path(folder, f"{number}-free"))
                least = max(least, free.seconds - START_SECONDS)
            show(name, "gradegate", least, done)
            is_slow = done.seconds > row.most * least + START_SECONDS
            if is_slow or done.errors != 0 or done.refused > MOST_REFUSED:
                missed.append(name)
            if other:
                show(name, "promptfoo", least, run(row, other, Path(folder, f"{number}p")))
    if missed:
        sys.exit(f"over the limits: {', '.join(missed)}")


if __name__ == "__main__":
    main()
