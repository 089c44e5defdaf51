"""How a run goes at hosts that limit calls: errors, refused requests, and wall time over the least that the limit allows.

`--promptfoo COMMAND` runs the same work with promptfoo. Names of rows run only these.
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

from serving import serving

HOST = str(Path(__file__).with_name("limited_host.py"))


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


def run(name: str, row: Limited, command: list[str], folder: Path) -> bool:
    """Print what a run took. Whether it is within the limits."""
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
        }
        started = time.monotonic()
        done = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, check=False
        )
        seconds = time.monotonic() - started
        with urllib.request.urlopen(base.replace("/v1", "/counts")) as counts:
            told = json.load(counts)
    share = 2 * row.cases / row.keys
    least = share / row.calls if row.window == 1.0 else (share - 1) // row.calls * row.window
    errors = (
        json.loads((folder / "results.json").read_text())["summary"]["errored"]
        if (folder / "results.json").exists()
        else "?"
    )
    refused = told["refused"] / told["asked"]
    fine = errors == 0 and seconds <= row.most * least + 1 and refused <= 0.2
    print(
        f"{name:24} {seconds:6.1f} s, {seconds / least:.2f} of the least, {refused:.0%} refused, {errors} errors, exit {done.returncode}{'' if fine else '  <--'}",
        flush=True,
    )
    if not fine:
        print(done.stdout[-600:], done.stderr[-600:])
    return fine


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="*")
    options = parser.parse_args()
    command = [
        sys.executable,
        "-m",
        "gradegate",
        "run",
        "promptfooconfig.yaml",
        "-o",
        "results.json",
    ]
    with tempfile.TemporaryDirectory() as folder:
        wanted = options.rows or ROWS
        fine = [
            run(name, ROWS[name], command, Path(folder, str(number)))
            for number, name in enumerate(wanted)
        ]
    sys.exit(not all(fine))


if __name__ == "__main__":
    main()
