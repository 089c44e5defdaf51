"""A pull request that weakens its own gate: said in the report, and blocked where the policy says so."""

import pytest
import yaml

BASE = {
    "prompts": ["x"],
    "providers": ["echo"],
    "tests": [
        {"description": "one", "assert": [{"type": "equals", "value": "x"}, {"type": "latency", "threshold": 900}]},
        {"description": "two", "threshold": 0.9, "assert": [{"type": "contains", "value": "x", "weight": 2}]},
    ],
    "gate": {"rules": [{"name": "all", "min-pass-rate": 0.9}]},
}


def edited(edit):
    head = yaml.safe_load(yaml.safe_dump(BASE))
    edit(head)
    return head


CHANGES = [
    (
        lambda c: c["gate"]["rules"][0].update({"min-pass-rate": 0.5}),
        "the rule `all` asks for less: min-pass-rate 0.9 became 0.5",
    ),
    (lambda c: c["gate"]["rules"][0].update({"blocking": False}), "the rule `all` no longer blocks"),
    (
        lambda c: c["gate"]["rules"][0].update({"select": {"assertion": "equals"}}),
        "the rule `all` looks at other grades",
    ),
    (lambda c: c["gate"].update({"rules": [{"name": "new", "min-pass-rate": 1}]}), "the rule `all` is gone"),
    (lambda c: c.pop("gate"), "the rule `all` is gone"),
    (lambda c: c["gate"].update({"errors": {"ignore-up-to": 0.5}}), "errors weigh less than before"),
    (lambda c: c["tests"].pop(), "1 of 2 cases are gone or changed: `two`"),
    (lambda c: c["tests"][1].pop("threshold"), "the threshold of `two` became lower"),
    (lambda c: c["tests"][0]["assert"].pop(0), "`equals` of `one` is gone or changed"),
    (lambda c: c["tests"][0]["assert"][0].update({"blocking": False}), "`equals` no longer blocks"),
    (lambda c: c["tests"][1]["assert"][0].update({"weight": 0}), "its weight became 0"),
    (lambda c: c["tests"][0]["assert"][1].update({"threshold": 5000}), "asks for less: threshold 900 became 5000"),
    (
        lambda c: c.update({"providers": ["scripted:r.yaml"]}),
        "a model is asked that was not asked before: scripted:r.yaml",
    ),
]


@pytest.mark.parametrize(("edit", "said"), CHANGES)
@pytest.mark.parametrize("policy", ["report", "block"])
def test_a_weaker_gate_is_said_and_blocked_where_the_base_says_so(gate, tmp_path, edit, said, policy):
    base = yaml.safe_load(yaml.safe_dump(BASE))
    base["gate"]["changes"] = policy
    files = {".base/promptfooconfig.yaml": yaml.safe_dump(base), "r.yaml": "- reply: x\n"}
    ran = gate(edited(edit), "--base", ".base", **files)
    assert said in ran.out
    assert ran.code == (1 if policy == "block" else 0)
    assert [rule["name"] for rule in ran.results["rules"]].count("the gate is not weakened") == (policy == "block")


@pytest.mark.parametrize(
    "edit",
    [
        lambda c: None,
        lambda c: c["gate"]["rules"][0].update({"min-pass-rate": 1}),
        lambda c: c["tests"].append({"description": "three", "assert": [{"type": "equals", "value": "x"}]}),
        lambda c: c["tests"][0]["assert"][1].update({"threshold": 800}),
    ],
)
def test_the_same_or_a_stricter_gate_is_not(gate, edit):
    ran = gate(edited(edit), "--base", ".base", **{".base/promptfooconfig.yaml": yaml.safe_dump(BASE)})
    assert (ran.code, "checks less" in ran.out) == (0, False)


def test_a_base_without_the_config_is_said(gate):
    ran = gate(BASE, "--base", ".base", **{".base/other.txt": ""})
    assert (ran.code, "not compared with the base" in ran.out) == (0, True)
    assert gate(BASE, "--base", "nowhere").code == 2
