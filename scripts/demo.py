"""Runs the quickstart example and says in words what it showed, what to open and what to do next."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = Path("examples") / "quickstart"
OUTPUTS = ("out/report.html", "out/comment.md", "out/junit.xml", "out/results.json")
CHECK = {"pass": "passes", "advisory": "passes", "blocked": "fails"}


def main() -> int:
    """Exit code 0 where there are results, whatever the verdict; otherwise that of gradegate."""
    results = ROOT / EXAMPLE / "out" / "results.json"
    results.unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "gradegate",
        "run",
        *(part for path in OUTPUTS for part in ("-o", path)),
    ]
    sources = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
    }  # `make demo` installs the packages of a run, not gradegate
    code = subprocess.run(
        command, cwd=ROOT / EXAMPLE, env=sources, check=False
    ).returncode  # our own
    if not results.exists():
        return code
    for paragraph in told(json.loads(results.read_text()), code):
        print("\n" + textwrap.fill(paragraph, 110, break_long_words=False, break_on_hyphens=False))
    return 0


def told(results: dict[str, Any], code: int) -> Iterator[str]:
    """What the run showed, paragraph by paragraph."""
    cases, passed = results["cases"], results["summary"]["cases"]["passed"]
    yield f'WHAT YOU SAW. gradegate asked "{cases[0]["provider"]}" {len(cases)} questions and had every answer graded.'
    for case in cases:
        yield from (
            _sentence(case, grade) for grade in case["grades"] if grade["outcome"] != "pass"
        )
    missed = [
        f'"{result["rule"]["name"]}"'
        for result in results["rules"]
        if result["rule"]["blocking"] and result["outcome"] != "pass"
    ]
    rules = (
        f"Blocking rules that are missed: {', '.join(missed)}."
        if missed
        else "Every blocking rule is met."
    )
    check = CHECK.get(results["outcome"], "is inconclusive")
    yield (
        f"{passed} of {len(cases)} cases passed. {rules} So the outcome is "
        f"{results['outcome']}, and the check of a pull request {check} (exit code {code})."
    )
    yield f"OPEN {EXAMPLE / OUTPUTS[0]} for every case, and {EXAMPLE / OUTPUTS[1]} for what the pull request would show."
    yield (
        f"NEXT, change an answer in {EXAMPLE / 'replies.yaml'} (a comment there says which) and run `make demo` again. "
        "Then begin in a repository of your own: `gradegate init` writes a config, a workflow and a first run without a key "
        "(docs/start.md; `pip install .` here makes the command)."
    )


def _sentence(case: dict[str, Any], grade: dict[str, Any]) -> str:
    failed = "failed" if grade["outcome"] == "fail" else "is an error"
    assertion, origin = grade["assertion"], grade["assertion"]["origin"]
    advisory = (
        ""
        if assertion["blocking"] and assertion["weight"]
        else " That is advisory: it never fails the check."
    )
    return (
        f'The case "{case["description"]}" got the answer "{case["output"]}", and its {assertion["type"]} '
        f'{failed}: "{grade["reason"]}" ({origin["file"]}:{origin["line"]}).{advisory}'
    )


if __name__ == "__main__":
    sys.exit(main())
