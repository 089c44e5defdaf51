"""What a person sees at a terminal: as much as was asked for, the reason of a block in sight, and no colour but ours."""

import io
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gradegate.core.policy import Note
from gradegate.reports.delivery.report import Links
from gradegate.reports.format.console import QUIET, WHOLE, Line, Tone, View, console_lines, write_line
from gradegate.reports.format.streams import uses_colours
from gradegate.results.run_result import Decision, GateOutcome
from gradegate.structs import replace
from support import samples, screens
from support.each import each, table
from support.runner import commands
from support.terminal import CONTROL, rows, run

NORMAL = View()
# `PS1` takes the last row of a screen when the command has ended.
LAST = 23


def shown(decision: Decision, view: View = NORMAL, *written: str) -> str:
    return "".join(line.head + line.text + "\n" for line in console_lines(decision, view, Links(), written))


def last_screen(text: str) -> str:
    return "\n".join(rows(text)[-LAST:])


def test_the_reason_of_a_block_is_on_the_last_screen() -> None:
    text = shown(screens.many(), View(columns=80), "results.json", "junit.xml")
    assert len(rows(text)) > 60
    seen = last_screen(text).replace("\n", "")
    assert "rule facts (blocking): missed; 86.6% passed (260 of 300); required: at least 90% pass" in seen
    assert "rule regressions (blocking): missed; 30 new failures" in seen
    assert "blocked by Delivery abroad, Broken on arrival, New address and 37 more: the list is above" in seen
    assert "written: results.json, junit.xml" in seen
    assert "300 cases: 260 passed, 40 failed." in seen
    assert seen.endswith("Blocked: 40 of 300 cases failed; see results.json")


def test_no_note_and_no_metric_pushes_the_reason_off_the_screen() -> None:
    made = screens.many()
    notes = tuple(Note(f"note {number} " + "that says a lot " * 20) for number in range(200))
    metrics = tuple(replace(metric, name=f"m{n}") for n in range(300) for metric in samples.derived())
    crowded = replace(made, run=replace(made.run, notes=notes, derived=metrics))
    seen = last_screen(shown(crowded, View(columns=80)))
    assert seen.partition("models: ")[2] == last_screen(shown(made, View(columns=80))).partition("models: ")[2] != ""


def test_a_list_of_what_did_not_pass_stands_before_the_evidence() -> None:
    text = shown(screens.many(), View(columns=80)).split("\n")
    assert text[0] == "BLOCKS: 40 cases"
    listed = text[1 : text.index("FAILED  Delivery abroad  [openai:chat:gpt-5, Answer as the support desk]")]
    entries = [line for line in listed if line.startswith("  ")]
    assert len(entries) == 9  # of one assertion and reason each
    assert all(len(line) <= 80 and "evals/support.yaml:" in line for line in entries)
    assert entries[0].startswith("  Delivery abroad and 6 further cases · evals/support.yaml:32 · factuality:")
    assert sum(line.startswith("FAILED  ") for line in text) == 9
    assert "  asked: Do you deliver to Norway, and what does it cost?" in text
    few = shown(screens.many(), View(evidence=5)).split("\n")
    assert "FAILED  13 more cases; -v shows all of them, and -o results.json keeps them" in few
    assert sum(line.startswith("FAILED  ") for line in shown(screens.many(), WHOLE).split("\n")) == 40


@each("made", [*map(screens.__dict__.get, "mixed many weakened inconclusive not_run untouched".split()), samples.advisory, samples.odd])
def test_the_last_line_is_one_that_a_terminal_shows_whole(made: Callable[[], Decision]) -> None:
    for written in ((), ("a.json",), (f"{'deep/' * 40}report.html",)):
        text = shown(made(), NORMAL, *written)
        last = text.splitlines()[-1]
        assert len(last) <= 110
        assert last.endswith("; see a.json") or all(path in text for path in written)
        assert "deep/" not in last


def test_one_failure_is_no_list() -> None:
    text = shown(samples.decision(GateOutcome.BLOCKED, "a case fails", samples.failing(), rules=(samples.MISSED,)))
    assert text.startswith("FAILED  New York")


def test_quiet_says_the_verdict_and_the_reports() -> None:
    text = shown(screens.many(), QUIET, "results.json")
    assert text == "Blocked: 40 of 300 cases failed; see results.json\n"


def test_verbose_says_every_case_and_every_text_whole() -> None:
    answer = "word " * 5_000 + "end"
    long = replace(samples.failing(), output=answer)
    failing = [replace(long, case=number) for number in range(30)]
    text = shown(samples.decision(GateOutcome.BLOCKED, "", samples.passing(), *failing), WHOLE)
    assert text.count(answer) == 30
    assert "PASSED  California  [openai:chat:gpt-5, What is the capital of {{state}}?]" in text


@each(("environ", "terminal", "expected"), table(__file__, "who_gets_colours"))
def test_who_gets_colours(environ: dict[str, str], terminal: bool, expected: bool) -> None:
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    assert uses_colours(Stream(), environ) is expected


def test_only_our_own_words_have_a_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    hostile = "\x1b[32mPassed\x1b[0m [bold]x[/bold] \u202e\n::error::forged\n##[error]forged"
    out = io.StringIO()
    for head in ("FAILED", ""):
        for tone in Tone:
            write_line(Line(f"  {hostile}".replace("\x1b", "\\x1b") if not head else hostile, tone, head), str, out)
    for line in console_lines(samples.odd(), View(columns=80), Links()):
        write_line(line, str, out)
    text = out.getvalue()
    assert set(CONTROL.findall(text)) <= {"\x1b[1;31m", "\x1b[32m", "\x1b[33m", "\x1b[2m", "\x1b[0m"}
    plain = CONTROL.sub("", text)
    assert "\x1b" not in plain
    assert "[bold]x[/bold]" in plain
    assert commands(text) == []
    assert commands(plain) == []
    for begun in re.split(r"\x1b\[0m", text)[:-1]:
        assert begun.count("\x1b") == 1  # each colour ends before anything else begins


CASES = 300


def config(folder: Path) -> None:
    """Forty of 300 cases answer something else than is expected."""
    tests = [
        {
            "description": f"case {number}",
            "vars": {"said": f"answer {number}"},
            "assert": [{"type": "equals", "value": "expected" if number % 7 == 0 and number < 280 else f"answer {number}"}],
        }
        for number in range(CASES)
    ]
    rule = {"name": "answers", "min-pass-rate": 0.9}
    made = {"prompts": ["{{said}}"], "providers": ["echo"], "tests": tests, "gate": {"rules": [rule]}}
    (folder / "promptfooconfig.yaml").write_text(json.dumps(made))


@pytest.mark.slow
def test_at_a_terminal_of_24_lines_the_end_says_why(tmp_path: Path) -> None:
    config(tmp_path)
    environ = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    command = [sys.executable, "-m", "gradegate", "run", "-o", "results.json"]
    code, text = run(command, tmp_path, {**environ, "TERM": "xterm-256color"})
    assert code == 1
    assert "\x1b[1;31mBlocked\x1b[0m: " in text
    seen = last_screen(text)
    assert "rule answers (blocking): missed; 86.6% passed (260 of 300)" in seen
    assert "Blocked: 40 of 300 cases failed; see results.json" in seen
    assert len(CONTROL.sub("", text).split("\n")[1]) <= 80  # the list
    code, text = run(command, tmp_path, {**environ, "TERM": "xterm-256color", "NO_COLOR": "1"})
    assert "\x1b" not in text


def test_a_mistake_has_its_place_in_colour(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("prompts: [a\nproviders: [echo]\n")
    environ = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    command = [sys.executable, "-m", "gradegate", "run", "c.yaml"]
    code, text = run(command, tmp_path, {**environ, "TERM": "xterm"}, errors=True)
    assert code == 2
    assert text.startswith("\x1b[1;31mc.yaml:1: \x1b[0mnot valid YAML, column 10: a list is opened here")
    assert text.count("\x1b") == 2


def test_verbose_and_quiet_on_the_command_line(gate) -> None:  # type: ignore[no-untyped-def]
    made = {"prompts": ["x", "y"], "providers": ["echo"], "tests": [{"assert": [{"type": "equals", "value": "x"}]}]}
    quiet = gate(made, "-q")
    assert re.fullmatch(r"written: \S*results\.json\nBlocked: 1 of 2 cases failed\n", quiet.out)
    assert quiet.err == ""
    assert "PASSED  case 1  [echo, x]" in gate(made, "-v").out
    assert "PASSED" not in gate(made).out
    assert gate(made, "--verbose", "--no-table").err == "gradegate: --no-table has no effect: no table is shown\n"


def test_cases_of_one_name_are_counted_and_not_listed_again(gate) -> None:  # type: ignore[no-untyped-def]
    case = {"description": "greets", "assert": [{"type": "equals", "value": "z"}]}
    made = {"prompts": ["x", "y"], "providers": ["echo"], "tests": [case, {**case, "description": "leaves"}]}
    assert "blocked by greets (2 cases), leaves (2 cases): the list is above" in gate(made).out


def test_the_last_line_counts_failures_once_and_names_configs(gate, llm) -> None:  # type: ignore[no-untyped-def]
    llm.reply = lambda path, body: "I cannot say."
    checks = {
        "fails": {"type": "equals", "value": "z"},
        "errs": {"type": "llm-rubric", "value": "is good"},
        "advises": {"type": "equals", "value": "z", "blocking": False},
    }

    def config(*kinds: str) -> dict[str, object]:
        tests = [{"assert": [checks[kind]]} for kind in kinds]
        default = {"options": {"provider": llm.spec()}}
        return {"prompts": ["x"], "providers": ["echo"], "defaultTest": default, "tests": tests}

    last = gate(config("fails", "errs")).out.splitlines()[-1]
    assert last == "Blocked: 1 of 2 cases failed"
    last = gate(config("fails", "errs", "advises")).out.splitlines()[-1]
    assert last == "Blocked: 1 of 3 cases block"
    Path("a.yaml").write_text(json.dumps(config("fails", "errs")))
    last = gate(config("fails"), "a.yaml").out.splitlines()[-1]
    assert last == "Blocked: 2 of 3 cases failed; promptfooconfig.yaml: 1 of 1 case failed; a.yaml: 1 of 2 cases failed"


def test_a_quiet_run_without_a_verdict_says_why() -> None:
    why = f"parts of the run are missing or damaged: {'shard 3/3 is missing, ' * 9}and more"
    decision = samples.decision(GateOutcome.INCONCLUSIVE, why, samples.passing(), samples.passing())
    assert shown(decision, QUIET).startswith("Inconclusive: parts of the run are missing or damaged: shard 3/3 is missing,")
    *_, before, last = shown(decision).splitlines()
    assert before.startswith("why: parts of the run")
    assert last == "Inconclusive: 2 of 2 cases passed"
