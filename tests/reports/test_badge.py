"""badge.json, as shields.io reads it."""

import json

from gradegate.gate.decision import decide
from gradegate.reports.delivery.report import Links
from gradegate.results.gate_changes import GateChanges
from gradegate.results.run_result import RunResult
from support import samples, screens


def blocked_by_a_weaker_gate():
    """All cases pass, and the pull request may not weaken its gate."""
    changes = GateChanges(samples.CHANGES, block=True)
    return decide(RunResult((samples.passing(),)), (), changes)


BADGES = (
    (samples.passed_decision, "2 of 2 cases passed", "brightgreen"),
    (samples.advisory, "2 of 2 cases passed", "yellowgreen"),
    (samples.weakened_decision, "1 of 1 case passed", "yellowgreen"),
    (samples.blocked_decision, "1 of 6 cases failed", "red"),
    (blocked_by_a_weaker_gate, "blocked", "red"),
    (samples.inconclusive, "3 errors in 4 cases", "orange"),
    (screens.not_run, "not run", "lightgrey"),
)


def test_the_badge_says_what_blocks_or_how_many_cases_passed():
    wrong = []
    for decision, message, color in BADGES:
        badge = json.loads(samples.render_report("badge", decision(), Links()))
        expected = {"schemaVersion": 1, "label": "evals", "message": message, "color": color}
        if badge != expected:
            wrong.append((badge, expected))
    assert wrong == []


def test_the_name_of_the_file_chooses_the_badge(gate):
    config = {"prompts": ["yes"], "providers": ["echo"], "tests": [{"assert": [{"type": "equals", "value": "yes"}]}]}
    ran = gate(config, "-o", "site/badge.json")
    badge = json.loads((ran.folder / "site" / "badge.json").read_text())
    assert badge["message"] == "1 of 1 case passed"
