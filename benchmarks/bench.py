"""Measures the gate against a loopback model with constant latency and prints each figure as a ratio to its limit.

usage: bench.py [--quick]     a ratio above 1 is over the limit; nothing here fails a build

The model is tests/conformance/fake_llm.py. The limit of the wall time is calls x latency / concurrency.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import growth as growth_of_inputs
from serving import serving

HERE = Path(__file__).resolve().parent
MODEL = HERE.parent / "tests" / "conformance" / "fake_llm.py"
GATE = [sys.executable, "-m", "gradegate"]
LATENCY = 0.1


@dataclass(frozen=True)
class Spent:
    """Wall and CPU seconds, peak resident memory in MB, exit code."""

    wall: float
    cpu: float
    memory: float
    code: int


def measure(command: list[str], folder: Path) -> Spent:
    started = time.perf_counter()
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - started
    return Spent(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode)


def line(name: str, measured: str, ratio: float) -> None:
    print(
        f"{name:46} {measured:>22}   {ratio:5.2f} of the limit{'' if ratio <= 1 else '   OVER'}",
        flush=True,
    )


def calls(folder: Path, cases: int, concurrency: int) -> None:
    """Two calls a case, target and grader, all of the same latency."""
    with serving(str(MODEL), "--latency-ms", str(LATENCY * 1000)) as base:
        provider = {"id": "openai:chat:fake", "config": {"apiBaseUrl": base, "apiKey": "k"}}
        tests = [
            {"vars": {"n": number}, "assert": [{"type": "llm-rubric", "value": "is fine"}]}
            for number in range(cases)
        ]
        config = {
            "prompts": ["Say something about {{n}}"],
            "providers": [provider],
            "defaultTest": {"options": {"provider": provider}},
            "tests": tests,
        }
        (folder / "calls.json").write_text(json.dumps(config))
        command = [
            *GATE,
            "run",
            "calls.json",
            "-j",
            str(concurrency),
            "-o",
            "results.json",
            "-o",
            "junit.xml",
        ]
        spent = measure(command, folder)
    total = 2 * cases
    limit = total * LATENCY / concurrency
    done = json.loads((folder / "results.json").read_text())["summary"]
    assert (spent.code, done["passed"]) == (0, cases), f"exit {spent.code}: {done}"
    print(
        f"{total} calls of {LATENCY * 1000:.0f} ms, {concurrency} at once; calls x latency / concurrency = {limit:.1f} s"
    )
    line("  wall time, at most 1.15 of that", f"{spent.wall:.2f} s", spent.wall / limit / 1.15)
    line(
        "  CPU per call, at most 1.5 ms",
        f"{spent.cpu / total * 1000:.2f} ms",
        spent.cpu / total * 1000 / 1.5,
    )
    line("  peak memory, at most 120 MB", f"{spent.memory:.0f} MB", spent.memory / 120)


def growth(folder: Path, cases: int) -> None:
    """Memory of a large run without a model: echo and contains."""
    peaks = []
    for count in (cases // 10, cases):
        tests = "".join(
            f"- description: case {n}\n  vars:\n    text: the quick brown fox {n}\n  assert:\n  - type: contains\n    value: fox {n}\n"
            for n in range(count)
        )
        (folder / "growth.yaml").write_text(
            f"prompts: ['{{{{text}}}}']\nproviders: [echo]\ntests:\n{tests}"
        )
        spent = measure([*GATE, "run", "growth.yaml", "-o", "growth-results.json"], folder)
        assert spent.code == 0, f"exit {spent.code}"
        peaks.append(spent)
    bytes_each = (peaks[1].memory - peaks[0].memory) * 1024 * 1024 / (cases - cases // 10)
    print(f"{cases:,} cases of echo and contains: {peaks[1].wall:.1f} s, {peaks[1].memory:.0f} MB")
    line("  memory a case, at most 4 KB", f"{bytes_each:.0f} bytes", bytes_each / 4096)


def start(folder: Path) -> None:
    """The best of several starts, since the first one fills the disk cache."""
    bare = min(measure([sys.executable, "-c", "pass"], folder).wall for _ in range(7))
    version = min(measure([*GATE, "--version"], folder).wall for _ in range(7))
    print(f"gradegate --version {version:.3f} s, python -c pass {bare:.3f} s")
    line("  the difference, at most 0.3 s", f"{version - bare:.3f} s", (version - bare) / 0.3)


def page(folder: Path, cases: int) -> None:
    """The HTML report in headless Chromium: from the first byte until it is laid out, by the browser's own clock."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    from gradegate.reports.delivery.report import REPORTS, Links
    from support import chromium, showcase

    if why := chromium.missing():
        print(f"the HTML report is not measured: {why}")
        return
    report = REPORTS.find("html")
    assert report is not None
    decision = showcase.large(cases)
    started = time.process_time()
    text = report.render(decision, Links()).text
    made = time.process_time() - started
    script = (
        "addEventListener('load',()=>{document.body.offsetHeight;"
        "document.documentElement.setAttribute('data-left',JSON.stringify(performance.now()));});"
    )
    file = folder / "page.html"
    file.write_text(chromium.before_policy(text, script), encoding="utf-8")
    opened = min(chromium.read_attribute(chromium.load_page(file), "left") for _ in range(3)) / 1000
    print(f"an HTML report of {cases:,} cases, {len(text) / 1e6:.1f} MB")
    line("  made, at most 1 ms of CPU a case", f"{made:.2f} s", made / cases / 0.001)
    line("  opened in Chromium, at most 2 s", f"{opened:.2f} s", opened / 2)


def replies() -> None:
    """What it takes to read a reply of 1 KB, beside 1 MB under judgement, and how that grows with the reply."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    from gradegate.assertions.judge import reply as reading
    from gradegate.assertions.judge.reply import Circumstances
    from support.readers import FORMS, way

    def fastest(work: Callable[[], object], times: int) -> float:
        return min(timeit.repeat(work, number=times, repeat=7)) / times

    text = json.dumps({"reason": "It names Paris, as asked. " * 39, "pass": True, "score": 1})
    judged = Circumstances(("x " * 500_000,))
    loaded = fastest(lambda: json.loads(text), 2000)
    limit = 2 * loaded + 30e-6
    print(f"a reply of {len(text):,} characters; json.loads takes {loaded * 1e6:.1f} us")
    works: dict[str, Callable[[], object]] = {
        "constrained": lambda: reading.read_constrained_reply(text, FORMS["pass"]),
        "alone": lambda: reading.read_reply(text, FORMS["pass"], judged),
    }
    for name, work in works.items():
        seconds = fastest(work, 2000)
        line(f"  {name}, at most twice that and 30 us", f"{seconds * 1e6:.1f} us", seconds / limit)
    rows = {
        "apart": ("pass", "It is so.\n", f"Fine.\n\n{text}"),
        "last line": ("letter", "It is so.\n", "Fine.\n\n(C)"),
        "lines": ("marked", "x. [Attributed]\n", "x. [Attributed]"),
    }
    for name, (form, before, end) in rows.items():
        took = [fastest(partial(way, form, before * lines + end), 20) for lines in (1000, 10_000)]
        line(
            f"  {name}, ten times the reply: at most 15 times",
            f"{took[1] / took[0]:.1f}",
            took[1] / took[0] / 15,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    scale = 10 if parser.parse_args().quick else 1
    with tempfile.TemporaryDirectory(prefix="gradegate-bench-") as name:
        folder = Path(name)
        start(folder)
        replies()
        calls(folder, 1500 // scale, 50)
        growth(folder, 100_000 // scale)
        page(folder, 2000 // scale)
    print("twice as much of what a config or a reply holds, at most 2.5 times the CPU")
    growth_of_inputs.main([])


if __name__ == "__main__":
    main()
