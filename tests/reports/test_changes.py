"""How every report says what a pull request does to its own gate."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

from gradegate.deciding.gate import decide
from gradegate.errors import Origin
from gradegate.reporting.report import REPORTS, Links
from gradegate.results.file import reread
from gradegate.values.changes import ChangeKind, GateChange, GateChanges
from gradegate.values.result import Decision, GateOutcome, RunResult, cases_of
from gradegate.values.suite import Policy
from support import samples
from support.each import each
from support.runner import commands

CONFIG = samples.CONFIG


def written(name: str, decision: Decision, links: Links = samples.LINKS) -> str:
    report = REPORTS.find(name)
    assert report is not None
    return report.render(decision, links).text


def only_changed(decision: Decision) -> Decision:
    found = tuple(change for change in decision.changes.found if change.kind is ChangeKind.CHANGED)
    return replace(decision, changes=replace(decision.changes, found=found))


@each("name", ["comment", "summary"])
def test_the_page_is_headed_so_right_after_the_verdict(name: str) -> None:
    text = written(name, samples.weakened())
    lines = [line for line in text.splitlines() if line not in ("", ">")]
    assert lines.pop(1).startswith(CONFIG)
    assert lines[0].startswith("### ⚠️ gradegate: PASSED")
    assert lines[1:3] == ["> [!WARNING]", "> **This pull request weakens its own gate in 2 places**"]
    assert [line.split(":")[0] for line in lines[3:5]] == ["> - removed", "> - weaker"]
    assert f"/{CONFIG}#L21)" in lines[4]
    assert lines[5].startswith("> If this is intended, do nothing")
    assert lines[6] == "This pull request changes its own gate in 1 place:"  # apart, without a warning
    assert lines[7].startswith("- changed: `llm")
    assert text.lower().count("weakens its own gate") == 1


@each("also", [False, True])
def test_a_weakened_gate_that_blocks_is_said_once(also: bool) -> None:
    """Beside another reason, too, and that is still told."""
    rows = [samples.failing() if also else samples.passing()]
    policy = Policy((replace(samples.FACTS, min_pass_rate=0.9),))
    decision = decide(RunResult(cases_of(rows)), (policy,), GateChanges(samples.CHANGES, block=True))
    assert decision.outcome is GateOutcome.BLOCKED
    text = written("comment", decision)
    assert text.lower().count("weakens its own gate") == 1
    assert ("facts – missed, pass rate 0% is below 90%" in text) is also
    assert ("| ❌ | facts | 0% passed (0 of 1) | at least 90% pass |" in text) is also


def test_a_gate_that_is_only_other_than_before_is_no_alarm() -> None:
    text = written("comment", only_changed(samples.weakened()))
    assert "weaken" not in text.replace("this pull request weakens its own gate in 2 places", "")
    assert "\nThis pull request changes its own gate in 1 place:\n" in text
    assert "[!WARNING]" not in text


def test_a_block_says_why_nobody_approved_it_and_an_approval_says_who() -> None:
    decision = samples.weakened()
    blocked = replace(decision, changes=GateChanges(samples.CHANGES, block=True, refused="nobody set the label `ok`"))
    assert "somebody other than the author must approve it: nobody set the label" in written("comment", blocked)
    unnamed = replace(decision, changes=GateChanges(samples.CHANGES, block=True))
    assert "Set `approve-label`" in written("comment", unnamed)
    approved = replace(decision, changes=GateChanges(samples.CHANGES, block=True, approved="the label `ok` of mona"))
    for name in ("comment", "console", "html"):
        text = written(name, approved)
        assert "approved by the label" in text
        assert "If this is intended" not in text
        assert "no longer blocks" in text


def many() -> Decision:
    found = tuple(GateChange(ChangeKind.REMOVED, f"`case {number}`: gone", Origin(CONFIG)) for number in range(5000))
    return replace(samples.weakened(), changes=GateChanges(found))


@each("name", ["comment", "summary", "console", "junit", "html"])
def test_a_long_list_is_cut_with_its_number(name: str) -> None:
    text = written(name, many())
    assert "more in results.json" in text
    assert text.count("gone") < 4000


def test_the_console_says_it_above_the_verdict() -> None:
    lines = written("console", samples.weakened()).splitlines()
    first = lines.index(f"GATE REMOVED  {CONFIG}: the rule `style` is gone")
    assert lines[first + 1 : first + 3] == [
        f"GATE WEAKER  {CONFIG}:21: `factuality` of `New York`: no longer blocks",
        f"GATE CHANGED  {CONFIG}:49: `llm-rubric` of `Oregon`: has a different value",
    ]
    assert lines[first + 3].startswith("This pull request weakens its own gate in 2 places, and changes it in 1 more. If")


def test_annotations_stand_at_the_lines_before_all_others() -> None:
    marks = [(c.name, c.properties["file"], c.properties.get("line")) for c in commands(written("annotations", samples.weakened()))]
    assert marks[:3] == [("warning", CONFIG, None), ("warning", CONFIG, "21"), ("notice", CONFIG, "49")]


def test_junit_has_properties() -> None:
    (properties,) = ET.fromstring(written("junit", samples.weakened())).iter("properties")
    assert [(item.get("name"), item.get("value")) for item in properties] == [
        ("gate", "This pull request weakens its own gate in 2 places, and changes it in 1 more"),
        ("gate removed", f"{CONFIG}: the rule `style` is gone"),
        ("gate weaker", f"{CONFIG}:21: `factuality` of `New York`: no longer blocks"),
        ("gate changed", f"{CONFIG}:49: `llm-rubric` of `Oregon`: has a different value"),
    ]


def test_html_has_a_section_before_the_rules() -> None:
    text = written("html", samples.weakened())
    assert text.index("This pull request weakens its own gate in 2 places, and changes it in 1 more</h2>") < text.index("<h2>Passed")
    assert "`factuality` of `New York`: no longer blocks" in text


def test_results_have_them_and_are_read_back() -> None:
    text = written("json", samples.weakened())
    assert json.loads(text)["gate_changes"][1] == {
        "kind": "weaker",
        "text": "`factuality` of `New York`: no longer blocks",
        "file": CONFIG,
        "line": 21,
    }
    assert reread(text.encode(), "results.json")[0].changes.found == samples.CHANGES


@each("name", ["comment", "console", "junit", "html", "annotations"])
def test_a_gate_that_is_left_alone_is_not_spoken_of(name: str) -> None:
    assert "own gate" not in written(name, samples.passed())
