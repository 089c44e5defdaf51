"""What the command exits with, for every decision."""

from gradegate.gate.exit_codes import exit_code
from gradegate.results.run_result import GateOutcome, RunResult
from gradegate.structs import replace
from support.decided import decided
from support.each import each


@each(
    ("outcome", "setup", "interrupted", "code"),
    [
        ("pass", False, "", 0),
        ("advisory", False, "", 0),
        ("blocked", False, "", 1),
        ("blocked", True, "", 1),
        ("inconclusive", False, "", 3),
        ("inconclusive", True, "", 2),
        ("not-run", False, "", 3),
        ("not-run", True, "", 3),
        ("inconclusive", False, "interrupted", 130),
        ("inconclusive", False, "terminated", 143),
        ("blocked", False, "terminated", 143),  # a signal wins over what was decided
        ("inconclusive", True, "interrupted", 130),
    ],
)
def test_each_decision_has_its_exit_code(outcome, setup, interrupted, code):
    decision = replace(decided("P"), outcome=GateOutcome(outcome), setup=setup, run=RunResult((), interrupted=interrupted))
    assert exit_code(decision) == code
