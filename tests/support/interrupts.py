"""A run in a process of its own, to which a signal is sent once the model has had so many requests."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from support.fake_llm import FakeLlm
from support.patience import PATIENCE


def started(folder: Path, config: Any, *arguments: str) -> "subprocess.Popen[bytes]":
    (folder / "promptfooconfig.yaml").write_text(yaml.safe_dump(config))
    command = [sys.executable, "-m", "gradegate", "run", "promptfooconfig.yaml", *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def until(llm: FakeLlm, requests: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while len(llm.requests) < requests and time.monotonic() < deadline:
        time.sleep(0.05)


def ended(process: "subprocess.Popen[bytes]", folder: Path, code: int = 130) -> dict[str, Any]:
    """Its results.json, once it has ended with the code and without a traceback."""
    out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, b"Traceback" in out) == (code, False), out
    return json.loads((folder / "results.json").read_text())


def interrupted(llm: FakeLlm, folder: Path, config: Any, requests: int, *arguments: str, number=signal.SIGINT, pause=0.0) -> dict[str, Any]:
    """What a run left that got the signal after so many requests, and a pause for replies that are on their way."""
    process = started(folder, config, *arguments, "-o", "results.json")
    until(llm, requests)
    time.sleep(pause)
    os.kill(process.pid, number)
    return ended(process, folder, 128 + number)
