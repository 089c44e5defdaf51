"""What code of a config gives as a reason, and what a forged file says, is visible text in every report of the command."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradegate.cli import main as cli
from gradegate.results.results_file import load_decision
from support import samples
from support.each import each
from support.pages import hiding

FILES = ("report.xml", "report.html", "comment.md", "report.agent.md")
# Every C0 control character but those that lay out text, what XML does not know, halves of pairs, and what turns a line around.
ODD = "".join(map(chr, [*(code for code in range(0x20) if code not in (9, 10)), 0x7F, 0x9B, 0xFFFE, 0xFFFF, 0x202E, 0x2066, 0x200F]))
SEEN = ["\\x00", "\\x0d", "\\x1b", "\\x9b", "\\ufffe", "\\uffff", "\\u202e", "\\u2066", "\\u200f"]
TAG = "<img src=x onerror=alert(1)>"
CODE = {
    "python": f"{{'pass': False, 'score': 0.0, 'reason': {f'odd {ODD} end {TAG}'!a}}}",
    "javascript": f"({{pass: false, score: 0, reason: {json.dumps(f'odd {ODD}' + chr(0xD800) + f' end {TAG}')}}})",
}


def reports(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text(encoding="utf-8") for name in FILES}


@each("code", [0, 1])
@each("kind", CODE)
def test_a_reason_of_code_is_seen_in_every_report(kind: str, code: int, gate: Callable[..., Any]) -> None:
    """In a run that is blocked, and in one whose rule allows what the test's own threshold does not."""
    failing = {"assert": [{"type": kind, "value": CODE[kind]}], "threshold": 0.5}
    config = {"prompts": ["hi"], "providers": ["echo"], "tests": [failing, {"assert": [{"type": "equals", "value": "hi"}]}]}
    if code == 0:
        config["gate"] = {"min-pass-rate": 0.5}
    outputs = [word for file in FILES for word in ("-o", file)]
    ran = gate(config, *outputs, "--allow-exec", "-v")
    assert ran.code == code, ran.out + ran.err
    written = reports(ran.folder) | {"console": ran.out}
    ET.fromstring(written["report.xml"].encode())
    for file, text in written.items():
        assert [sign for sign in SEEN if sign not in text.replace("\\\\", "\\")] == [], file
        assert hiding(text) == [], file
    # Outside of blocks of code, Markdown and HTML would make an element of it.
    assert TAG not in written["report.html"]
    for file in ("comment.md", "report.agent.md"):
        assert TAG not in re.sub(r"(?ms)^(`{3,}).*?^\1$", "", written[file]), file


@each("words", [["view", "forged.json", "--no-open"], ["explain", "1", "forged.json"], ["run", "--failed", "forged.json", "a.yaml"]])
def test_a_day_that_is_none_makes_a_damaged_file(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    results = json.loads(samples.render_report("json", samples.blocked_decision()))
    results["cases"][1]["grades"][0]["quarantine"] = f"{TAG}\x1b[2J"
    (tmp_path / "forged.json").write_text(json.dumps(results))
    assert cli.main(words) == 2
    said = capsys.readouterr()
    assert "not a results.json of this version" in said.err
    assert hiding(said.err + said.out) == []
    assert [file.name for file in tmp_path.iterdir()] == ["forged.json"]


def test_a_reason_of_blanks_is_none(gate: Callable[..., Any]) -> None:
    """As an empty one, in every report."""
    values = [f"({{pass: false, score: 0, reason: {json.dumps(reason)}}})" for reason in ("", "  \n ")]
    tests = [{"vars": {"n": n}, "assert": [{"type": "javascript", "value": value}]} for n, value in enumerate(values)]
    ran = gate({"prompts": ["hi"], "providers": ["echo"], "tests": tests}, *[word for file in FILES for word in ("-o", file)])
    written = reports(ran.folder) | {"console": ran.out}
    annotations = samples.render_report("annotations", load_decision(ran.folder / "results.json")[0])
    assert [case["grades"][0]["reason"] for case in ran.cases] == ["", ""]
    texts = {**written, "annotations": annotations}
    counts = {name: len(re.findall(r"why:? +no reason was given\b", text)) for name, text in texts.items()}
    assert counts == {"console": 2, "comment.md": 4, "report.agent.md": 2, "report.xml": 2, "report.html": 0, "annotations": 2}
    failures = [*ET.fromstring(written["report.xml"].encode()).iter("failure")]
    assert [it.get("message") for it in failures] == ["javascript: no reason was given"] * 2
    assert all("why: no reason was given" in (it.text or "") for it in failures)
    assert [name for name, text in written.items() if re.search(r"why:? *$", text, re.MULTILINE)] == []
