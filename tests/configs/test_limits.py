"""Thresholds where no tool reads any: a mistake with the very lines of the gate that they are meant for."""

import yaml

from gradegate.configs.keys import GateKeys
from support.each import each
from support.graded import mistakes

TEST = {"prompts": ["{{q}}"], "providers": ["echo"], "tests": [{"vars": {"q": "a"}, "assert": [{"type": "contains", "value": "a"}]}]}
RATE = "gate: {rules: [{name: pass rate, min-pass-rate: %s}]}"


@each(
    ("keys", "cure"),
    [
        ({"passRateThreshold": 0.85}, RATE % 0.85),
        ({"threshold": 0.8}, RATE % 0.8),
        ({"passThreshold": 80}, RATE % 0.8),
        ({"pass_rate_threshold": "80%"}, RATE % 0.8),
        ({"minPassRate": 1}, RATE % 1),
        ({"min-pass-rate": 0.9}, RATE % 0.9),
        ({"passRate": 95}, RATE % 0.95),
        ({"failOnThreshold": "high"}, RATE % 0.9),
        ({"thresholds": {"a": 1}}, RATE % 0.9),
        ({"threshold": 1e9}, RATE % 0.9),
        ({"threshold": True}, RATE % 0.9),
        ({"threshold": "9" * 6000}, RATE % 0.9),
        ({"max-new-failures": True}, "gate: {rules: [{name: pass rate, max-new-failures: 0}]}"),
        ({"minScore": 0.7}, "gate: {rules: [{name: mean score, min-score: 0.7}]}"),
        ({"scoreThreshold": 0.7}, "gate: {rules: [{name: mean score, min-score: 0.7}]}"),
        ({"max-new-failures": 2}, "gate: {rules: [{name: pass rate, max-new-failures: 2}]}"),
        ({"maxNewFailures": "few"}, "gate: {rules: [{name: pass rate, max-new-failures: 0}]}"),
        ({"failonthreshold": 0.8}, RATE % 0.8),
        ({"gate": {"threshold": 0.5}}, "rules: [{name: pass rate, min-pass-rate: 0.5}]"),
        ({"gate": {"min-pass-rate": 0.5}}, "rules: [{name: pass rate, min-pass-rate: 0.5}]"),
    ],
)
def test_a_threshold_that_decides_nothing_is_a_mistake_with_its_rule(gate, keys, cure):
    said = mistakes(gate({**TEST, **keys}))
    assert f"decides nothing there -> write `{cure}`" in said
    assert "1 mistake; nothing was asked" in said
    rules = yaml.safe_load("{" + cure + "}")
    GateKeys.model_validate(rules.get("gate", rules))


@each(("key", "cure"), [("threshold", "min-pass-rate: 0.5` or `min-score`"), ("minScore", "min-score: 0.5`")])
def test_so_is_one_of_a_rule(gate, key, cure):
    said = mistakes(gate({**TEST, "gate": {"rules": [{"name": "a", key: 0.5}]}}))
    assert f"`{key}` is no key of a rule -> write `{cure}" in said


@each("key", ["evaluateOptions", "commandLineOptions"])
def test_one_in_options_is_meant_for_the_top(gate, key):
    said = mistakes(gate({**TEST, key: {"threshold": 0.5}}))
    assert f"`threshold` decides nothing there -> write `{RATE % 0.5}` at the top of the file" in said


@each("key", ["x-threshold", "_threshold", "scoreboard"])
def test_other_keys_are_passed_over(gate, key):
    assert gate({**TEST, key: 1}).code == 0
