"""What the command exits with, for every decision and for several configs in one run."""

import json
from pathlib import Path

import yaml

from gradegate.gate.exit_codes import exit_code
from gradegate.results.run_result import GateOutcome, RunResult
from gradegate.structs import replace
from support.decided import decide_rows
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
    decision = replace(decide_rows("P"), outcome=GateOutcome(outcome), setup=setup, run=RunResult((), interrupted=interrupted))
    assert exit_code(decision) == code


VECTORS = json.loads((Path(__file__).parents[1] / "conformance" / "history.json").read_text())["exits"]
ENDS = {
    "passed": ("echo", {"type": "contains", "value": "hello"}),
    "blocked": ("echo", {"type": "contains", "value": "nowhere"}),
    "advisory": ("echo", {"type": "contains", "value": "nowhere", "blocking": False}),
    "inconclusive": ({"id": "http://127.0.0.1:9/answer", "config": {"body": {"q": "{{prompt}}"}}}, {"type": "contains", "value": "hello"}),
}


@each("vector", VECTORS)
def test_the_worst_of_several_configs_is_the_exit_code(gate, tmp_path, vector):
    names = []
    for number, end in enumerate(vector["configs"]):
        provider, assertion = ENDS[end]
        config = {"prompts": ["{{q}}"], "providers": [provider], "tests": [{"vars": {"q": "hello"}, "assert": [assertion]}]}
        names.append(f"c{number}.yaml")
        (tmp_path / names[-1]).write_text(yaml.safe_dump(config))
    ran = gate(None, *names[1:], name=names[0])
    assert ran.code == vector["exit"]
