"""However a run ends, the code of the repository that it started ends with it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.patience import PATIENCE
from support.processes import start_process

pytestmark = pytest.mark.slow
SOURCE = (
    "import os, subprocess, time\n"
    "def call_api(prompt, options, context):\n"
    "    daemon = subprocess.Popen(['setsid', '-f', 'sh', '-c', 'echo $$ >> pids; exec sleep 321'])\n"
    "    daemon.wait()\n"
    "    time.sleep(0.5)\n"
    "    with open('pids', 'a') as file: file.write(f'{os.getpid()}\\nready\\n')\n"
    "    time.sleep(321)\n"
)
CONFIG = {"prompts": ["a"], "providers": ["file://app.py"], "tests": [{"assert": [{"type": "contains", "value": "a"}]}]}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_code_ends_with_the_run(tmp_path: Path, number: int, code: int):
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(CONFIG))
    (tmp_path / "app.py").write_text(SOURCE)
    line = [sys.executable, "-m", "gradegate", "run", "--allow-exec", "-o", "results.json"]
    with start_process(line, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        pids = wait_for_pids(tmp_path / "pids")
        os.kill(run.pid, number)
        assert run.wait(30) == code, run.stderr.read()
    assert len(pids) == 2
    assert [pid for pid in pids if not has_ended(pid)] == []
    if number != signal.SIGKILL:
        results = json.loads((tmp_path / "results.json").read_text())
        assert [case["outcome"] for case in results["cases"]] == ["error"]


def wait_for_pids(path: Path) -> list[int]:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if path.exists() and "ready" in path.read_text():
            return [int(line) for line in path.read_text().split() if line.isdigit()]
        time.sleep(0.05)
    raise AssertionError("it did not begin")


def has_ended(pid: int) -> bool:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            if "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text():
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False
