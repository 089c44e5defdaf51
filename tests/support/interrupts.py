"""A run in a process of its own, to which a signal is sent once the model has had so many requests."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from support.fake_llm import FakeLlm
from support.patience import PATIENCE
from support.processes import start_process


@contextmanager
def start_run(folder: Path, config: Any, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    (folder / "promptfooconfig.yaml").write_text(yaml.safe_dump(config))
    command = [sys.executable, "-m", "gradegate", "run", "promptfooconfig.yaml", *arguments]
    with start_process(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        yield process


def finish_run(folder: Path, config: Any, *arguments: str) -> bytes:
    """What a run writes on its standard output and error to its end. Raises AssertionError for a code other than 0."""
    with start_run(folder, config, *arguments) as process:
        output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, output
    return output


def wait_for_requests(llm: FakeLlm, requests: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while len(llm.requests) < requests and time.monotonic() < deadline:
        time.sleep(0.05)


def wait_for_results(process: "subprocess.Popen[bytes]", folder: Path, code: int = 130) -> dict[str, Any]:
    """The results.json of a run, once it has ended with the code and without a traceback."""
    output, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, b"Traceback" in output) == (code, False), output
    return json.loads((folder / "results.json").read_text())


def interrupt_run(
    llm: FakeLlm, folder: Path, config: Any, requests: int, *arguments: str, number=signal.SIGINT, pause=0.0
) -> dict[str, Any]:
    """The results.json of a run that got the signal after so many requests, and a pause for replies that are on their way."""
    with start_run(folder, config, *arguments, "-o", "results.json") as process:
        wait_for_requests(llm, requests)
        time.sleep(pause)
        os.kill(process.pid, number)
        return wait_for_results(process, folder, 128 + number)
