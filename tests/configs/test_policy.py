"""The gate block of a config: which rules it comes to, and what is said about a rule that decides nothing."""

import pytest

from support.graded import mistakes

TEST = {"assert": [{"type": "contains", "value": "x"}]}


def config(gate=None):
    return {"prompts": ["x"], "providers": ["echo"], "tests": [TEST, TEST], **({"gate": gate} if gate else {})}


@pytest.mark.parametrize(
    ("block", "names"),
    [
        (None, ["every case passes"]),
        ({"errors": "block"}, ["every case passes"]),
        ({"rules": []}, ["every case passes"]),
        ({"rules": [{"name": "a", "min-pass-rate": 1}, {"name": "b", "min-score": 0.5}]}, ["a", "b"]),
    ],
)
def test_without_rules_every_case_must_pass(gate, block, names):
    ran = gate(config(block))
    assert ran.code == 0
    assert [rule["name"] for rule in ran.results["rules"]] == names


def test_a_rule_without_a_threshold_is_a_mistake(gate):
    said = mistakes(gate(config({"rules": [{"name": "a", "min-score": 1}, {"name": "b"}]})))
    assert (
        "the rule `b` has no threshold -> give `min-pass-rate`, `min-score`, `max-new-failures` or `max-drop`" in said
    )
    assert "the rule `a`" not in said


@pytest.mark.parametrize("key", ["min-pass-rate", "min-score"])
@pytest.mark.parametrize(("limit", "said"), [(0, True), (0.001, False)])
def test_a_rule_that_can_never_fail_is_said(gate, key, limit, said):
    ran = gate(config({"rules": [{"name": "a", key: limit}]}))
    assert (ran.code, f"the rule `a` can never fail: {key} is 0" in ran.out) == (0, said)
