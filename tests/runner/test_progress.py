"""How far a run is and what it has cost: lines in a log, a bar at a terminal that takes the width there is."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from gradegate.core.usage import NO_USAGE, Usage
from gradegate.runner import progress as module
from gradegate.runner.progress import format_cost, progress
from gradegate.structs import replace
from support import samples
from support.terminal import CONTROL, run


@pytest.mark.parametrize(
    ("usage", "said"),
    [
        (NO_USAGE, ""),
        (Usage(calls=2, cost=0.0412), "0.0412 USD"),
        (Usage(calls=2, cost=0.0412, unpriced=1), "more than 0.0412 USD"),
        (Usage(calls=2, unpriced=2), "cost unknown"),
        (Usage(calls=2), ""),
    ],
)
def test_what_was_spent_so_far(usage: Usage, said: str) -> None:
    assert format_cost(usage) == said


def test_a_log_gets_lines_with_what_target_and_grader_cost(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(module, "EVERY", 0.0)  # else a line is due in fifteen seconds
    graded = replace(samples.passing().grades[0], usage=Usage(calls=1, cost=0.02))
    row = replace(samples.passing(), usage=Usage(calls=1, cost=0.01), grades=(graded,))
    with progress(1200, in_ci=True) as advance:
        advance(row)
        advance(row)
    assert capsys.readouterr().err == ("1 of 1,200 answers graded, 0.03 USD so far\n2 of 1,200 answers graded, 0.06 USD so far\n")


def test_quiet_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(module, "EVERY", 0.0)
    with progress(2, in_ci=True, quiet=True) as advance:
        advance(samples.passing())
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_a_bar_fits_leaves_nothing_and_hides_no_cursor(tmp_path: Path, columns: int) -> None:
    tests = [{"vars": {"said": f"{n}"}, "assert": [{"type": "equals", "value": f"{n}"}]} for n in range(30)]
    made = {"prompts": ["{{said}}"], "providers": ["echo"], "tests": tests}
    (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(made))
    environ = {name: text for name, text in os.environ.items() if name not in ("CI", "COLUMNS", "NO_COLOR")}
    command = [sys.executable, "-m", "gradegate", "run"]
    code, text = run(command, tmp_path, {**environ, "TERM": "xterm"}, columns, errors=True)
    assert code == 0
    assert "30/30" in text
    assert "answers" in text
    assert "\x1b[?25l" not in text  # a process that is ended at once could not bring the cursor back
    drawn = re.split(r"[\r\n]", CONTROL.sub("", text))
    assert max(map(len, drawn)) <= columns
    assert text.endswith("\x1b[2K")  # the line is taken away
    assert run([*command, "-q"], tmp_path, {**environ, "TERM": "xterm"}, columns, errors=True) == (0, "")
    assert "\x1b" not in run(command, tmp_path, {**environ, "TERM": "dumb"}, columns, errors=True)[1]


def test_a_terminal_without_rich_gets_lines_colours_and_the_same_verdict(tmp_path: Path) -> None:
    made = {"prompts": ["x"], "providers": ["echo"], "tests": [{"assert": [{"type": "equals", "value": "y"}]}]}
    (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(made))
    environ = {name: text for name, text in os.environ.items() if name not in ("CI", "COLUMNS", "NO_COLOR")}
    told = []
    for before in ("", "sys.modules['rich'] = None; "):
        command = [sys.executable, "-c", f"import sys; {before}from gradegate.cli import main as cli; sys.exit(cli.main(['run']))"]
        code, text = run(command, tmp_path, {**environ, "TERM": "xterm"}, 80)
        told.append((code, re.sub(r"[0-9.]+ s\b", "", text)))
    assert told[0] == told[1]
    assert told[0][0] == 1
    assert "\x1b[1;31mBlocked\x1b[0m: 1 of 1 case failed" in told[0][1]
