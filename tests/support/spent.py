"""Runs the command as a process of its own, and says what it and all it started took."""

import json
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.patience import PATIENCE
from support.processes import start_process


@dataclass(frozen=True)
class Spent:
    """``seconds``: of CPU, which no other process of the machine adds to; ``memory``: the most that all had together, in MB."""

    code: int
    err: str
    seconds: float
    memory: int
    grades: list[dict[str, Any]]


def spend(folder: Path, config: str, *arguments: str, patience: float = 4 * PATIENCE) -> Spent:
    """Run a config in a folder; a run that takes longer than ``patience`` is killed."""
    (folder / ".git").mkdir(exist_ok=True)
    (folder / "c.yaml").write_text(config)
    started, before, memory = time.monotonic(), _used(), 0
    with (folder / "err").open("wb") as err, (folder / "out").open("wb") as out:
        command = [sys.executable, "-m", "gradegate", "run", "c.yaml", "-o", "r.json", *arguments]
        with start_process(command, cwd=folder, stdout=out, stderr=err) as process:
            while process.poll() is None:
                memory = max(memory, _resident(process.pid))
                if time.monotonic() - started > patience:
                    process.kill()
                time.sleep(0.01)
    results = folder / "r.json"
    cases = json.loads(results.read_text())["cases"] if results.exists() else []
    return Spent(
        process.returncode,
        (folder / "err").read_text(errors="replace"),
        _used() - before,
        memory // 1024,
        [grade for case in cases for grade in case["grades"]],
    )


def _used() -> float:
    """Seconds of CPU that all processes took which this one started and that ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _resident(pid: int) -> int:
    """KB of a process and all below it."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        own = next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)
        below = [(thread / "children").read_text() for thread in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return 0
    return own + sum(_resident(int(child)) for listed in below for child in listed.split())
