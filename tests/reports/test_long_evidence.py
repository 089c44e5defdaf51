"""However many tools an answer calls, reports read no more of the evidence than they show."""

import json
import sys
from pathlib import Path

import pytest

from gradegate.cli import main as cli
from support.each import each

REPORTS = ("results.json", "report.xml", "report.html", "report.md", "report.agent.md")
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
ARGUMENTS = {"JSON": '{"city": "Lyon"}', "not JSON": '{"city": Lyon'}


def calls_to_report(folder: Path, number: int, arguments: str) -> int:
    """How often functions of the reports are called in a run whose one answer calls so many tools."""
    checks = [{"type": "is-valid-openai-tools-call", "config": {"tools": [TOOL]}}, {"type": "tool-correctness", "value": ["other"]}]
    config = {"prompts": ["hi"], "providers": ["file://app.py"], "tests": [{"assert": checks}]}
    (folder / "a.yaml").write_text(json.dumps(config))
    assert cli.main(["cases", "a.yaml", "-o", "cases.jsonl"]) == 0
    case = json.loads((folder / "cases.jsonl").read_text())
    call = {"type": "function", "function": {"name": "look", "arguments": arguments}}
    tool_calls = [{"id": f"c{place}", **call} for place in range(number)]
    answer = {"id": case["id"], "output": "", "tool_calls": tool_calls, "finish_reason": "tool_calls"}
    (folder / "answers.jsonl").write_text(json.dumps(answer))
    counted = 0

    def count(frame, event, _):
        nonlocal counted
        file = frame.f_code.co_filename
        counted += event == "call" and ("/reports/format/" in file or "/reports/view/" in file)

    sys.setprofile(count)
    try:
        code = cli.main(["run", "a.yaml", "--answers", "answers.jsonl", *(word for file in REPORTS for word in ("-o", file))])
    finally:
        sys.setprofile(None)
    assert code == 1
    return counted


@each("arguments", ARGUMENTS)
def test_reports_read_of_the_evidence_what_they_show(arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    few, many = (calls_to_report(tmp_path, number, ARGUMENTS[arguments]) for number in (300, 1500))
    assert many < 3 * few  # of five times as many calls
