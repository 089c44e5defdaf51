"""The plans of two checkouts compared: every way to weaken a gate is a finding, and nothing else is."""

from __future__ import annotations

import copy
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradegate import cli
from gradegate.deciding.gate import GUARD
from gradegate.errors import ConfigError
from support.checkouts import BASE, CONFIG, FILES, after, compared, edited, said, write


def assertions(config: Any, test: int) -> list[Any]:
    return config["tests"][test]["assert"]


WEAKENINGS = {
    "a case of two of one name dropped": (lambda c: c["tests"].pop(1), "removed: `one`: gone"),
    "a case given easy variables": (
        lambda c: c["tests"][1]["vars"].update(q="easy"),
        "removed: `one`: what was asked is gone: it has other variables",
    ),
    "a case given further variables": (
        lambda c: c["tests"][1]["vars"].update(hint="x"),
        "changed: `one`: has further variables",
    ),
    "a threshold for a case": (
        lambda c: c["tests"][0].update(threshold=0.01),
        "weaker: `one`: its mean decides now, from 0.01, where every assertion had to pass",
    ),
    "a lower threshold of a case": (
        lambda c: c["tests"][2].update(threshold=0.3),
        "weaker: `mean`: asks for less: threshold 0.6 became 0.3",
    ),
    "no threshold of a case": (lambda c: c["tests"][2].pop("threshold"), "weaker: `mean`: its threshold 0.6 is gone"),
    "a threshold for a set": (
        lambda c: assertions(c, 3)[1].update(threshold=0.01),
        "weaker: `assert-set` of `set`: its mean decides now, from 0.01, where every assertion had to pass",
    ),
    "a lower threshold of a set": (
        lambda c: assertions(c, 3)[0].update(threshold=0.1),
        "weaker: `assert-set` of `set`: asks for less: threshold 0.5 became 0.1",
    ),
    "a threshold below the default": (
        lambda c: assertions(c, 4)[0].update(threshold=0.01),
        "weaker: `g-eval` of `many`: asks for less: threshold 0.7 became 0.01",
    ),
    "no limit at all": (
        lambda c: assertions(c, 4)[0].update(threshold="none"),
        "weaker: `g-eval` of `many`: is reported alone: the threshold 0.7 became `threshold: none`",
    ),
    "a threshold below the default, in a set": (
        lambda c: assertions(c, 3)[0]["assert"][1].update(threshold=0.01),
        "weaker: `g-eval` of `set`: asks for less: threshold 0.7 became 0.01",
    ),
    "a threshold of 0 where any score above passed": (
        lambda c: assertions(c, 4)[1].update(threshold=0),
        "weaker: `factuality` of `many`: asks for less: threshold none became 0",
    ),
    "a lower threshold": (
        lambda c: assertions(c, 0)[2].update(threshold=0.2),
        "weaker: `llm-rubric` of `one`: asks for less: threshold 0.8 became 0.2",
    ),
    "a higher limit from above": (
        lambda c: assertions(c, 0)[1].update(threshold=9000),
        "weaker: `latency` of `one`: asks for less: threshold 900 became 9000",
    ),
    "a higher distance": (
        lambda c: assertions(c, 4)[3].update(threshold=4),
        "weaker: `similar:euclidean` of `many`: asks for less: threshold 0.4 became 4",
    ),
    "a higher threshold under not-": (
        lambda c: assertions(c, 4)[2].update(threshold=0.9),
        "weaker: `not-similar` of `many`: asks for less: threshold 0.3 became 0.9",
    ),
    "fewer categories of moderation": (
        lambda c: assertions(c, 4)[4].update(value=["hate"]),
        "changed: `moderation` of `many`: has another value",
    ),
    "a member of a set dropped": (lambda c: assertions(c, 3)[1]["assert"].pop(0), "removed: `equals` of `set`: gone"),
    "a member of a set made advice": (
        lambda c: assertions(c, 3)[0]["assert"][0].update(blocking=False),
        "weaker: `contains` of `set`: no longer blocks",
    ),
    "a set made advice": (
        lambda c: assertions(c, 3)[0].update(blocking=False),
        "weaker: `assert-set` of `set`: no longer blocks",
    ),
    "a set dropped": (lambda c: assertions(c, 3).pop(), "removed: `assert-set` of `set`: gone"),
    "an assertion dropped": (lambda c: assertions(c, 0).pop(0), "removed: `equals` of `one`: gone"),
    "an assertion made advice": (
        lambda c: assertions(c, 1)[0].update(blocking=False),
        "weaker: `contains` of `one`: no longer blocks",
    ),
    "an assertion of another type": (
        lambda c: assertions(c, 0)[0].update(type="contains"),
        "removed: `equals` of `one`: gone",
    ),
    "no weight": (
        lambda c: assertions(c, 1)[0].update(weight=0),
        "weaker: `contains` of `one`: no longer counts: its weight became 0",
    ),
    "hardly any weight": (
        lambda c: assertions(c, 2)[0].update(weight=0.0001),
        "weaker: `contains` of `mean`: counts for less of the mean: 50 % became 0.005 %",
    ),
    "hardly any weight where no mean decides": (
        lambda c: assertions(c, 1)[0].update(weight=0.0001),
        "changed: `contains` of `one`: weighs less: 1 became 0.0001",
    ),
    "weight for something else": (
        lambda c: assertions(c, 2).append({"type": "regex", "value": ".*", "weight": 1000}),
        "weaker: `contains` of `mean`: counts for less of the mean: 50 % became 0.199 %",
    ),
    "a derived metric": (
        lambda c: c.update(derivedMetrics=[{"name": "m", "value": "__count * 2"}]),
        "changed: `derivedMetrics` is another",
    ),
    "less time to answer": (
        lambda c: c["evaluateOptions"].update(timeoutMs=1),
        "changed: `evaluateOptions.timeoutMs` is another",
    ),
    "an impossible member of a set that must not hold": (
        lambda c: assertions(c, 5)[1]["assert"].append({"type": "equals", "value": "never"}),
        "weaker: `not-assert-set` of `talk`: what must not hold is something else",
    ),
    "a metric renamed away from its rule": (
        lambda c: assertions(c, 0)[2].update(metric="other"),
        "weaker: `llm-rubric` of `one`: the rule `tone` no longer looks at it",
    ),
    "a value reworded": (
        lambda c: assertions(c, 0)[2].update(value="is there"),
        "changed: `llm-rubric` of `one`: has another value",
    ),
    "a grading prompt reworded": (
        lambda c: assertions(c, 4)[5].update(rubricPrompt="Pass {{output}}"),
        "changed: `llm-rubric` of `many`: has another grading prompt",
    ),
    "a grading prompt for all": (
        lambda c: c["defaultTest"]["options"].update(rubricPrompt="Say pass"),
        "has another grading prompt",
    ),
    "scores of a grader": (
        lambda c: c["defaultTest"]["options"].update(factuality={"disagree": 1}),
        "changed: `factuality` of `many`: has other options",
    ),
    "scores of a grader in one test": (
        lambda c: c["tests"][4].update(options={"factuality": {"disagree": 1}}),
        "changed: `factuality` of `many`: has other options",
    ),
    "a transform": (
        lambda c: assertions(c, 1)[0].update(type="context-recall", contextTransform="output"),
        "removed: `contains` of `one`: gone",
    ),
    "another grader": (
        lambda c: c["defaultTest"]["options"].update(provider="openai:chat:lenient"),
        "is graded otherwise: `openai:chat:lenient` takes the place of `openai:chat:judge`",
    ),
    "another grader of one assertion": (
        lambda c: assertions(c, 0)[2].update(provider="openai:chat:lenient"),
        "is graded otherwise: `openai:chat:lenient` takes the place of `openai:chat:judge`",
    ),
    "a grader elsewhere": (
        lambda c: c["defaultTest"]["options"].update(
            provider={"id": "openai:chat:judge", "config": {"apiBaseUrl": "https://example.org/v1", "apiKey": "k"}}
        ),
        "weaker: `llm-rubric` of `one`, `many`: is graded otherwise: `openai:chat:judge` is asked at example.org",
    ),
    "a grader that is a file": (
        lambda c: c["defaultTest"]["options"].update(provider="scripted:judge.yaml"),
        "is graded otherwise: `scripted:judge.yaml` gives replies from a file",
    ),
    "a target removed": (
        lambda c: c["providers"].pop(),
        "removed: the target `openai:chat:gpt-5-mini` is asked no more",
    ),
    "a target replaced": (
        lambda c: c["providers"].__setitem__(1, "openai:chat:o9"),
        "changed: the target is another: `openai:chat:o9` takes the place of `openai:chat:gpt-5-mini`",
    ),
    "a target that is a file": (
        lambda c: c["providers"].__setitem__(1, "scripted:judge.yaml"),
        "weaker: the target is another: `scripted:judge.yaml` gives replies from a file",
    ),
    "another model behind the same id": (
        lambda c: c["providers"][0]["config"]["passthrough"].update(model="m-2"),
        "changed: the target is another: `app` is set otherwise: `passthrough.model`",
    ),
    "a header of a target": (
        lambda c: c["providers"][0]["config"].update(headers={"X-Easy": "1"}),
        "changed: the target is another: `app` is set otherwise: `headers.X-Easy`",
    ),
    "a target elsewhere by its env": (
        lambda c: c["providers"][0].update(env={"OPENAI_BASE_URL": "https://example.org/v1"}),
        "weaker: the target is another: `openai:chat:gpt-5` is asked at example.org",
    ),
    "all targets elsewhere by the env": (
        lambda c: c.update(env={"OPENAI_BASE_URL": "https://example.org/v1"}),
        "changed: `env` sets `OPENAI_BASE_URL` otherwise",
    ),
    "a prompt removed": (lambda c: c["prompts"].pop(), "removed: the prompt `long` is asked no more"),
    "a prompt for fewer targets": (
        lambda c: c["providers"][0].update(prompts=["short"]),
        "removed: `one`, `mean`, `set` and 4 more tests: no longer asked of `app`",
    ),
    "fewer repeats": (lambda c: c.pop("evaluateOptions"), "asked 1 time, not 2"),
    "fewer repeats of one test": (
        lambda c: c["tests"][0].update(options={"repeat": 1}),
        "weaker: `one`: asked 1 time, not 2",
    ),
    "a case for fewer targets": (
        lambda c: c["tests"][0].update(providers=["app"]),
        "removed: `one`: no longer asked of `openai:chat:gpt-5-mini`",
    ),
    "a case for fewer prompts": (
        lambda c: c["tests"][0].update(prompts=["short"]),
        "removed: `one`: no longer asked of",
    ),
    "a case with a target of its own": (
        lambda c: c["tests"][0].update(provider="echo"),
        "removed: `one`: no longer asked of `app`",
    ),
    "a recorded answer": (
        lambda c: c["tests"][1].update(providerOutput="x"),
        "weaker: `one`: its answer is recorded, where a model was asked",
    ),
    "a recorded answer for all": (
        lambda c: c["defaultTest"].update(providerOutput="x"),
        "its answer is recorded, where a model was asked",
    ),
    "a recorded conversation": (
        lambda c: c["tests"][5]["turns"].insert(1, {"role": "assistant", "content": "bye"}),
        "weaker: `talk`: its answer is recorded, where a model was asked",
    ),
    "another conversation": (lambda c: c["tests"][5]["turns"].pop(0), "removed: `talk`: what was asked is gone"),
    "a prefix": (
        lambda c: c["tests"][1].update(options={"prefix": "Say x. "}),
        "changed: `one`: its `prefix`, `suffix`, `transform` or scoring function is another",
    ),
    "assertions of all tests dropped": (
        lambda c: c["defaultTest"].pop("assert"),
        "removed: `not-contains` of `one`, `mean`, `set` and 4 more tests: gone",
    ),
    "assertions of all tests turned off for one": (
        lambda c: c["tests"][0].update(options={"disableDefaultAsserts": True}),
        "removed: `not-contains` of `one`: gone",
    ),
    "a file of tests dropped": (lambda c: c["tests"].pop(), "removed: `q=six`, `q=seven`: gone"),
    "a rule that asks for less": (
        lambda c: c["gate"]["rules"][0].update({"min-pass-rate": 0.6}),
        "weaker: the rule `all` asks for less: min-pass-rate 0.9 became 0.6",
    ),
    "a rule that asks for another thing": (
        lambda c: c["gate"]["rules"].__setitem__(1, {**c["gate"]["rules"][1], "min-score": None, "min-pass-rate": 0.1}),
        "weaker: the rule `tone` asks for less: min-score 0.7 became nothing",
    ),
    "a rule that advises": (
        lambda c: c["gate"]["rules"][1].update(blocking=False),
        "weaker: the rule `tone` no longer blocks",
    ),
    "a rule of two of one name dropped": (lambda c: c["gate"]["rules"].pop(0), "removed: the rule `all` is gone"),
    "a rule that looks elsewhere": (
        lambda c: c["gate"]["rules"][0].update(select={"assertion": "equals"}),
        "weaker: the rule `all` looks at other grades",
    ),
    "a rule dropped": (lambda c: c["gate"]["rules"].pop(1), "removed: the rule `tone` is gone"),
    "no gate": (lambda c: c.pop("gate"), "removed: the rule `all` is gone"),
    "failures that are asked again": (
        lambda c: c["gate"].update(confirm="answers"),
        "weaker: failures are asked again in a milder way: `gate.confirm` grader became answers",
    ),
    "more noise": (
        lambda c: c["gate"].update(noise=0.2),
        "weaker: more flips of the grader are forgiven: `gate.noise` 0.1 became 0.2",
    ),
    "second opinions": (
        lambda c: c["gate"].update({"second-opinions": ["openai:chat:kind"]}),
        "changed: `gate.second-opinions` is another",
    ),
    "failures of one assertion that are asked again": (
        lambda c: assertions(c, 4)[0].update(confirm="answers"),
        "weaker: `g-eval` of `many`: its failures are asked again in a milder way: grader became answers",
    ),
    "second opinions of one assertion": (
        lambda c: assertions(c, 4)[0].update({"second-opinions": ["openai:chat:kind"]}),
        "changed: `g-eval` of `many`: its `second-opinions` are others",
    ),
    "failures of a set that are asked again": (
        lambda c: assertions(c, 3)[0].update(confirm="answers"),
        "weaker: `g-eval` of `set`: its failures are asked again in a milder way: grader became answers",
    ),
    "errors that weigh less": (
        lambda c: c["gate"].update(errors={"ignore-up-to": 0.5}),
        "weaker: errors weigh less than before (`gate.errors`)",
    ),
}


@pytest.mark.parametrize("ignored", ["on neither side", "before", "now"])
@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (None, {"calls": 9}, ["`gate.budget.calls` none became 9"]),
        ({"calls": 90}, {"calls": 9}, ["`gate.budget.calls` 90 became 9"]),
        (
            {"seconds": 2},
            {"seconds": 0.5, "calls": 3000},
            ["`gate.budget.seconds` 2 became 0.5", "`gate.budget.calls` none became 3,000"],
        ),
        ({"calls": 9}, {"calls": 90}, []),
        ({"calls": 9, "seconds": 1}, {"seconds": 1}, []),
        ({"calls": 9}, None, []),
        ({"calls": 9, "seconds": 5}, {"calls": 9, "seconds": 5}, []),
    ],
)
def test_a_budget_that_is_lower_is_a_finding(ignored, before, now, said):
    base, head = copy.deepcopy(BASE), copy.deepcopy(BASE)
    for config, side, budget in ((base, "before", before), (head, "now", now)):
        config["gate"] |= {"errors": {"ignore-up-to": 0.02} if side == ignored else "inconclusive"}
        config["gate"] |= {"budget": budget} if budget else {}
    found = compared({CONFIG: base, **FILES}, {CONFIG: head, **FILES}).found
    kind = "changed" if ignored == "on neither side" else "weaker"
    less = [(change.kind.value, change.text) for change in found if "budget" in change.text]
    assert sorted(less) == sorted((kind, f"less may be asked: {text}") for text in said)
    assert {change.origin.file for change in found if "budget" in change.text} <= {CONFIG}


def test_of_several_configs_the_lowest_budget_counts():
    def files(*budgets):
        return {
            f"{n}.yaml": edited(lambda c, b=b: c["gate"].update(budget={"calls": b})) for n, b in enumerate(budgets)
        }

    def less(base, head):
        return [str(it.origin) for it in compared({**base, **FILES}, {**head, **FILES}, configs=("*.yaml",)).found]

    assert less(files(9, 90), files(9, 9)) == []
    assert less(files(9, 90), files(90, 9)) == []
    assert less(files(9, 90), files(9, 8)) == ["1.yaml"]
    assert less(files(9), files(9, 8)) == ["1.yaml"]


@pytest.mark.parametrize("name", WEAKENINGS)
def test_a_weaker_gate_is_a_finding(name):
    edit, text = WEAKENINGS[name]
    found = after(edit, {"judge.yaml": "- reply: pass\n"})
    assert any(text in finding for finding in found), found


def held_against(base: Any, head: Any) -> list[str]:
    return [said(change) for change in compared({CONFIG: base, **FILES}, {CONFIG: head, **FILES}).found]


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ({"confirm": "off"}, {}, "weaker: failures are asked again in a milder way: `gate.confirm` off became grader"),
        ({"confirm": "off"}, {"confirm": "answers"}, "`gate.confirm` off became answers"),
        ({"noise": 0.05}, {}, "`gate.noise` 0.05 became 0.1"),
    ],
)
def test_a_base_that_asked_less_often_is_held_against(old, new, text):
    base, head = (copy.deepcopy(BASE) for _ in range(2))
    base["gate"].update(old)
    head["gate"].update(new)
    assert any(text in finding for finding in held_against(base, head))


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"min-cases": 5}, "the rule `all` asks for less: min-cases 5 became nothing"),
        ({"confidence": 0.9}, "the rule `all` asks for less: confidence 0.9 became nothing"),
    ],
)
def test_a_rule_that_loses_a_key_is_held_against(keys, text):
    base, head = (copy.deepcopy(BASE) for _ in range(2))
    base["gate"]["rules"][0].update(keys)
    assert any(text in finding for finding in held_against(base, head))


def test_an_assertion_that_was_asked_once_and_goes_with_the_gate_is_a_finding():
    base, head = (copy.deepcopy(BASE) for _ in range(2))
    assertions(base, 4)[0].update(confirm="off")
    text = "`g-eval` of `many`: its failures are asked again in a milder way: off became grader"
    assert any(text in finding for finding in held_against(base, head))


def _reversed(config: Any) -> Any:
    if isinstance(config, dict):
        return {key: _reversed(value) for key, value in reversed(config.items())}
    return [_reversed(item) for item in config] if isinstance(config, list) else config


HARMLESS = {
    "nothing": lambda c: None,
    "tests in another order": lambda c: c["tests"].reverse(),
    "assertions in another order": lambda c: [t["assert"].reverse() for t in c["tests"] if isinstance(t, dict)],
    "members in another order": lambda c: [a["assert"].reverse() for a in assertions(c, 3)],
    "prompts in another order": lambda c: c["prompts"].reverse(),
    "targets in another order": lambda c: c["providers"].reverse(),
    "rules in another order": lambda c: c["gate"]["rules"].reverse(),
    "a prompt's text": lambda c: c["prompts"][0].update(raw="Kindly say {{q}}"),
    "a prompt's label and place kept by the other": lambda c: c["prompts"][0].update(label="brief", raw="{{q}}!"),
    "a prompt more": lambda c: c["prompts"].append("Say it: {{q}}"),
    "a target more": lambda c: c["providers"].append("openai:chat:o9"),
    "a target's label": lambda c: c["providers"][0].update(label="our app"),
    "a case more": lambda c: c["tests"].append({"vars": {"q": "new"}, "assert": [{"type": "equals", "value": "x"}]}),
    "a case twice": lambda c: c["tests"].append(copy.deepcopy(c["tests"][0])),
    "a case renamed": lambda c: c["tests"][0].update(description="first"),
    "a case without a name": lambda c: c["tests"][1].pop("description"),
    "an assertion more": lambda c: assertions(c, 0).append({"type": "contains", "value": "h"}),
    "an assertion more for all, where no mean decides": lambda c: (
        c["tests"].pop(2),
        c["tests"].insert(2, {**BASE["tests"][2], "options": {"disableDefaultAsserts": False}}),
    ),
    "a set more": lambda c: assertions(c, 0).append(
        {"type": "assert-set", "assert": [{"type": "contains", "value": "h"}]}
    ),
    "a higher threshold": lambda c: assertions(c, 0)[2].update(threshold=0.9),
    "a threshold above the default": lambda c: assertions(c, 4)[0].update(threshold=0.95),
    "the default written out": lambda c: assertions(c, 4)[0].update(threshold=0.7),
    "a lower limit from above": lambda c: assertions(c, 0)[1].update(threshold=100),
    "a lower distance": lambda c: assertions(c, 4)[3].update(threshold=0.1),
    "a lower threshold under not-": lambda c: assertions(c, 4)[2].update(threshold=0.1),
    "a higher threshold of a case": lambda c: c["tests"][2].update(threshold=0.9),
    "a higher threshold of a set": lambda c: assertions(c, 3)[0].update(threshold=1),
    "more weight": lambda c: assertions(c, 1)[0].update(weight=3),
    "more repeats": lambda c: c["evaluateOptions"].update(repeat=5),
    "more calls at once": lambda c: c["evaluateOptions"].update(maxConcurrency=9),
    "a rule more": lambda c: c["gate"]["rules"].append({"name": "new", "min-pass-rate": 1}),
    "a stricter rule": lambda c: c["gate"]["rules"][0].update({"min-pass-rate": 1}),
    "failures that are not asked again": lambda c: c["gate"].update(confirm="off"),
    "failures of one assertion that are not asked again": lambda c: assertions(c, 4)[0].update(confirm="off"),
    "less noise": lambda c: c["gate"].update(noise=0.05),
    "the default of asking again written out": lambda c: c["gate"].update(confirm="grader", noise=0.1),
    "a rule that takes more cases": lambda c: c["gate"]["rules"][0].update({"min-cases": 2, "confidence": 0.9}),
    "a rule that blocks": lambda c: c["gate"]["rules"][2].update(blocking=True),
    "errors that block": lambda c: c["gate"].update(errors="block"),
    "changes that block": lambda c: c["gate"].update(changes="block"),
    "a description of the file": lambda c: c.update(description="new", tags={"a": "b"}),
    "metadata": lambda c: c["tests"][0].update(metadata={"team": "search"}),
    "a repeat that is the default": lambda c: c["tests"][0].update(options={"repeat": 2}),
    "a provider as a mapping": lambda c: c["providers"].__setitem__(1, {"id": "openai:chat:gpt-5-mini"}),
    "an annotation of our own": lambda c: c.update({"x-team": "search"}),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_a_gate_that_is_as_strict_is_none(name):
    assert after(HARMLESS[name]) == []


def test_keys_in_another_order_comments_and_anchors_are_none():
    text = (
        "# a comment\nprompts: ['Say {{q}}']\nproviders: [echo]\ntests:\n  - vars: {q: a}\n    assert: &asserts\n"
        "      - {type: contains, value: a}\n  - vars: {q: b}\n    assert: *asserts\n"
    )
    plain = {
        "tests": [
            {"assert": [{"value": "a", "type": "contains"}], "vars": {"q": "b"}},
            {"assert": [{"value": "a", "type": "contains"}], "vars": {"q": "a"}},
        ],
        "providers": ["echo"],
        "prompts": ["Say {{q}}"],
    }
    assert compared({CONFIG: text}, {CONFIG: plain}).found == ()
    assert compared({CONFIG: BASE, **FILES}, {CONFIG: _reversed(BASE), **FILES}).found == ()


SELECTING = {
    **BASE,
    "gate": {
        "rules": [
            {"name": "named", "select": {"description": "mean"}, "min-pass-rate": 1},
            {"name": "ours", "select": {"provider": "app"}, "min-pass-rate": 1},
            {"name": "both", "select": {"description": "m*"}, "min-pass-rate": 1},
        ]
    },
}


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda c: c["tests"].reverse(), []),
        (lambda c: c["tests"].append({**c["tests"][2], "description": "other"}), []),
        (lambda c: c["tests"][2].update(description="my"), "named"),
        (lambda c: c["providers"][0].update(label="that"), "ours"),
    ],
)
def test_a_name_that_a_rule_selects_by_must_stay(edit, expected):
    head = copy.deepcopy(SELECTING)
    edit(head)
    head["tests"].append({**_contains("new"), "description": "mean"})
    head["providers"].append({"id": "openai:chat:new", "label": "app"})
    found = [said(change) for change in compared({CONFIG: SELECTING, **FILES}, {CONFIG: head, **FILES}).found]
    assert bool(found) == bool(expected)
    assert all(f"the rule `{expected}` no longer looks at it" in text for text in found)


def test_many_tests_with_the_same_variables_are_told_apart_by_what_they_assert():
    tests = [{"assert": [{"type": "contains", "value": f"word {number}"}]} for number in range(1200)]
    base = {"prompts": ["Say it"], "providers": ["echo"], "tests": tests}
    assert compared({CONFIG: base}, {CONFIG: {**base, "tests": tests[::-1]}}).found == ()
    (found,) = compared({CONFIG: base}, {CONFIG: {**base, "tests": tests[:0:-1]}}).found
    assert found.kind.value == "removed"


ROOT = Path(__file__).parents[2]
KEPT = [*sorted((ROOT / "tests" / "side_by_side" / "configs").glob("*.yaml")), *sorted((ROOT / "examples").glob("*/*"))]


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name)
def test_a_config_is_never_accused_beside_its_own_copy(tmp_path, path):
    for side in ("base", "head"):
        shutil.copytree(path.parent, tmp_path / side)
    environ = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"), "sk-0123456789")
    try:
        changes = compared({}, {}, tmp_path, configs=(path.name,), graders={"*": "openai:chat:judge"}, environ=environ)
    except ConfigError:
        return  # not all are meant to be planned
    assert changes.found == ()


# --- files ----------------------------------------------------------------------------------------------------


FILE_EDITS = {
    "a row of a table missing": ({"more.csv": "q,__expected\nsix,contains: 6\n"}, "removed: `q=seven`: gone"),
    "a document of a variable": ({"doc.txt": "easy"}, "removed: `set`: what was asked is gone: it has other variables"),
}


@pytest.mark.parametrize("name", FILE_EDITS)
def test_a_file_that_a_config_reads_counts(name):
    files, text = FILE_EDITS[name]
    assert after(lambda c: None, files) == [text]


def test_tests_that_move_to_a_file_whole_are_none_and_with_a_row_missing_are():
    base = {"prompts": ["{{q}}"], "providers": ["echo"], "tests": [_contains("a"), _contains("b")]}
    head = {**base, "tests": "file://tests.csv"}
    base["tests"][0]["vars"]["n"] = base["tests"][1]["vars"]["n"] = 5
    rows = "q,n,__expected\na,5,contains: a\nb,5,contains: b\n"
    assert compared({CONFIG: base}, {CONFIG: head, "tests.csv": rows}).found == ()
    found = compared({CONFIG: base}, {CONFIG: head, "tests.csv": rows.replace("b,5,contains: b\n", "")}).found
    assert [said(change) for change in found] == ["removed: `q=b, n=5`: gone"]


def _contains(value: str) -> dict[str, Any]:
    return {"vars": {"q": value}, "assert": [{"type": "contains", "value": value}]}


def test_a_rubric_in_a_file_counts():
    test = {"vars": {"q": "a"}, "assert": [{"type": "llm-rubric", "value": "file://rubric.txt"}]}
    config = {"prompts": ["{{q}}"], "providers": ["echo"], "tests": [test]}
    found = compared(
        {CONFIG: config, "rubric.txt": "names the capital"}, {CONFIG: config, "rubric.txt": "x"}, graders={"*": "echo"}
    ).found
    assert [said(change) for change in found] == ["changed: `llm-rubric` of `q=a`: has another value"]


def test_the_replies_of_a_script_count():
    config = {"prompts": ["{{q}}"], "providers": ["scripted:r.yaml"], "tests": [_contains("a")]}
    found = compared({CONFIG: config, "r.yaml": "- reply: b\n"}, {CONFIG: config, "r.yaml": "- reply: a\n"}).found
    assert [said(change) for change in found] == [
        "changed: the target is another: `scripted:r.yaml` is set otherwise: `its file`"
    ]


# --- which configs --------------------------------------------------------------------------------------------

ONE = {"prompts": ["{{q}}"], "providers": ["echo"], "tests": [_contains("a")]}
TWO = {"prompts": ["{{q}}"], "providers": ["echo"], "tests": [_contains("b"), _contains("c")]}


def test_a_config_of_a_pattern_must_stay():
    base = {"evals/one.yaml": ONE, "evals/deep/two.yaml": TWO}
    pattern = {"configs": ("evals/**/*.yaml",)}
    assert compared(base, base, **pattern).found == ()
    assert compared(base, {**base, "evals/three.yaml": ONE}, **pattern).found == ()
    gone = compared(base, {"evals/one.yaml": ONE}, **pattern).found
    assert [said(change) for change in gone] == ["removed: the config `evals/deep/two.yaml` is run no more"]
    renamed = compared(base, {"evals/one.yaml": ONE, "evals/zwei.yaml": TWO}, **pattern).found
    assert [said(change) for change in renamed] == [
        "changed: the config `evals/deep/two.yaml` is named `evals/zwei.yaml` now"
    ]


def test_a_config_that_became_a_link_to_another_is_gone(tmp_path):
    base = {"evals/one.yaml": ONE, "evals/two.yaml": TWO}
    (tmp_path / "head" / "evals").mkdir(parents=True)
    (tmp_path / "head" / "evals" / "two.yaml").symlink_to("one.yaml")
    found = compared(base, {"evals/one.yaml": ONE}, tmp_path, configs=("evals/*.yaml",)).found
    assert [said(change) for change in found] == ["removed: the config `evals/two.yaml` is run no more"]


def test_a_config_planted_before_the_one_of_the_base_is_a_finding():
    found = compared({"gradegate.yaml": ONE}, {"gradegate.yaml": ONE, CONFIG: TWO}).found
    assert [said(change) for change in found] == ["removed: the config `gradegate.yaml` is run no more"]


def test_a_pattern_does_not_find_the_base_below_the_head(tmp_path):
    files = {"evals/one.yaml": ONE, "there/evals/one.yaml": ONE}
    changes = compared({}, files, tmp_path, configs=("**/*.yaml",), base="there")
    assert changes.found == ()
    (tmp_path / "head" / "evals" / "one.yaml").rename(tmp_path / "head" / "evals" / "one.off")
    files = {"evals/two.yaml": TWO}
    found = compared({}, files, tmp_path, configs=("**/*.yaml",), base="there").found
    assert [said(change) for change in found] == ["removed: the config `evals/one.yaml` is run no more"]


def test_a_working_directory_is_the_same_in_both(tmp_path):
    workspace = tmp_path / "head"
    head = {"evals/promptfooconfig.yaml": ONE, "evals/q.txt": "a"}
    base = {f".base/{name}": content for name, content in head.items()}
    environ = {"GITHUB_WORKSPACE": str(workspace)}
    options = {"cwd": workspace / "evals", "base": str(workspace / ".base"), "environ": environ}
    assert compared({}, {**head, **base}, tmp_path, **options).found == ()
    base[".base/evals/promptfooconfig.yaml"] = TWO
    assert len(compared({}, {**head, **base}, tmp_path, **options).found) == 1


# --- a base that cannot be compared ---------------------------------------------------------------------------


def _linked(root: Path) -> str:
    (root / "head" / "linked").symlink_to(root / "base")
    return "linked"


def _below_a_link(root: Path) -> str:
    (root / "base" / "inner").mkdir()
    (root / "head" / "linked").symlink_to(root / "base")
    return "linked/inner"


BAD_BASES = {
    "nowhere": (lambda root: "nowhere", "the base `nowhere` is not a folder"),
    "a file": (lambda root: CONFIG, f"the base `{CONFIG}` is not a folder"),
    "the head itself": (lambda root: ".", "the base `.` is the checkout that it should be compared with"),
    "above the head": (str, "is the checkout that it should be compared with"),
    "a link": (_linked, "the base `linked` is a symbolic link"),
    "below a link": (_below_a_link, "the base `linked/inner` is a symbolic link"),
    "a loop of links": (lambda root: (root / "head" / "loop").symlink_to("loop") or "loop", "is a symbolic link"),
    "empty": (lambda root: (root / "empty").mkdir() or str(root / "empty"), "there is no promptfooconfig.yaml here"),
}


def test_a_test_without_a_name_is_said_to_have_none(tmp_path):
    def one(threshold: str) -> str:
        asserted = f"{{type: contains, value: x, threshold: {threshold}}}"
        return f"prompts: [x]\nproviders: [echo]\ntests: [{{assert: [{asserted}, {{type: equals, value: x}}]}}]\n"

    found = compared({CONFIG: one("1")}, {CONFIG: one("none")}, tmp_path).found
    assert found[0].text.startswith("`contains` of a test without description and variables: is reported alone")


@pytest.mark.parametrize("name", BAD_BASES)
def test_a_base_that_cannot_be_compared_is_a_finding(tmp_path, name):
    make, text = BAD_BASES[name]
    compared({CONFIG: ONE}, {CONFIG: ONE}, tmp_path)
    found = compared({CONFIG: ONE}, {CONFIG: ONE}, tmp_path, base=make(tmp_path)).found
    assert [change.kind.value for change in found] == ["weaker"]
    assert text in found[0].text


@pytest.mark.parametrize(
    ("event", "at", "number"),
    [
        ("pull_request", "GITHUB_SHA", 1),  # a checkout without `ref`
        ("pull_request", "head", 1),
        ("pull_request", "base", 0),
        ("push", "GITHUB_SHA", 0),  # the default branch, beside itself
    ],
)
def test_a_base_at_the_commit_that_is_judged_is_a_finding(tmp_path, event, at, number):
    environ = {"GITHUB_EVENT_NAME": event, "GITHUB_ACTIONS": "true", "GITHUB_SHA": "d" * 40}
    write(tmp_path / "head", {".git/HEAD": "a" * 40})
    write(tmp_path / "base", {".git/HEAD": {"GITHUB_SHA": "d" * 40, "head": "a" * 40, "base": "b" * 40}[at]})
    found = compared({CONFIG: ONE}, {CONFIG: ONE}, tmp_path, environ=environ).found
    assert [change.kind.value for change in found] == ["weaker"] * number
    assert all("is at the commit of the pull request" in change.text for change in found)


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ("tests: [", "not all of the base can be compared"),
        (
            {**ONE, "tests": [{"vars": {"q": "a"}, "assert": [{"type": "contians"}]}]},
            "unknown assertion type `contians`",
        ),
        (
            {**ONE, "providers": ["openai:chat:m"], "tests": [{"vars": "file://../x.yaml"}]},
            "leads out of the workspace",
        ),
    ],
)
def test_a_base_that_is_mistaken_is_a_finding_and_stops_nothing(config, text):
    (found,) = compared({CONFIG: config}, {CONFIG: ONE}).found
    assert found.kind.value == "weaker"
    assert text in found.text


def test_a_base_reads_nothing_of_the_head(tmp_path):
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / CONFIG).symlink_to(f"../head/{CONFIG}")
    found = compared({}, {CONFIG: ONE}, tmp_path).found
    assert [said(change) for change in found] == [
        f"weaker: not all of the base can be compared: `{CONFIG}` leads out of the base"
    ]


def test_one_config_that_the_base_lacks_leaves_the_others_to_be_compared():
    found = compared({"one.yaml": TWO}, {"one.yaml": ONE, "new.yaml": ONE}, configs=("one.yaml", "new.yaml")).found
    assert {change.kind.value for change in found} == {"weaker", "removed"}
    assert len(found) == 2


def test_the_policy_of_a_base_that_cannot_be_planned_still_blocks():
    base = {**ONE, "gate": {"changes": "block"}, "providers": ["nonsense"]}
    assert compared({CONFIG: base}, {CONFIG: ONE}).block


@pytest.mark.parametrize("side", ["base", "head", "run"])
def test_either_side_and_the_run_can_say_that_changes_block(side):
    strict = {**ONE, "gate": {"changes": "block"}}
    base, head = (strict if side == name else ONE for name in ("base", "head"))
    changes = compared({CONFIG: base}, {CONFIG: head}, changes="block" if side == "run" else "report")
    assert changes.block
    expected = ["weaker: a weaker gate no longer blocks (`gate.changes`)"] if side == "base" else []
    assert [said(change) for change in changes.found] == expected


def test_findings_stand_at_their_lines_in_the_head():
    base = {**ONE, "tests": [{"vars": {"q": "a"}, "assert": [{"type": "g-eval", "value": "x"}]}]}
    head = (
        "prompts: ['{{q}}']\nproviders: [echo]\ntests:\n  - vars: {q: a}\n    assert:\n      - type: g-eval\n"
        "        value: x\n        threshold: 0.1\n"
    )
    (found,) = compared({CONFIG: base}, {CONFIG: head}, graders={"*": "echo"}).found
    assert str(found.origin) == f"{CONFIG}:6"


def test_no_finding_shows_a_value_that_may_be_secret():
    base = {**ONE, "providers": [{"id": "openai:chat:m", "config": {"headers": {"X-Auth": "first-token-1"}}}]}
    head = {**ONE, "providers": [{"id": "openai:chat:m", "config": {"headers": {"X-Auth": "other-token-2"}}}]}
    (found,) = compared({CONFIG: base}, {CONFIG: head}).found
    assert "`headers.X-Auth`" in found.text
    assert "token" not in found.text


# --- what the run says -----------------------------------------------------------------------------------------

EASIER = {**ONE, "tests": [{**_contains("a"), "threshold": 0.5}]}
OTHER = {**ONE, "tests": [{"vars": {"q": "a"}, "assert": [{"type": "equals", "value": "a"}]}]}
OTHERWISE = {**ONE, "tests": [{"vars": {"q": "a"}, "assert": [{"type": "equals", "value": "b"}]}]}


@pytest.mark.parametrize(
    ("base", "head", "arguments", "code", "outcome"),
    [
        (ONE, ONE, (), 0, "pass"),
        (ONE, ONE, ("--changes", "block"), 0, "pass"),
        (ONE, EASIER, (), 0, "advisory"),
        (ONE, EASIER, ("--changes", "block"), 1, "blocked"),
        (OTHERWISE, OTHER, (), 0, "pass"),
        (OTHERWISE, OTHER, ("--changes", "block"), 1, "blocked"),
        ({**ONE, "gate": {"changes": "block"}}, EASIER, (), 1, "blocked"),
        (ONE, {**EASIER, "gate": {"changes": "block"}}, (), 1, "blocked"),
    ],
)
def test_a_run_is_blocked_or_says_so(gate, base, head, arguments, code, outcome):
    ran = gate(head, "--base", ".base", *arguments, **{f".base/{CONFIG}": yaml.safe_dump(base)})
    assert (ran.code, ran.results["outcome"]) == (code, outcome), ran.out
    assert [rule["name"] for rule in ran.results["rules"]].count(GUARD) == (code == 1)
    assert bool(ran.results["gate_changes"]) == ("own gate" in ran.out) == (base is not head)


def test_a_base_that_is_nowhere_stops_nothing_and_blocks_where_changes_do(gate):
    ran = gate(ONE, "--base", "nowhere")
    assert (ran.code, ran.results["outcome"]) == (0, "advisory")
    assert "the base `nowhere` is not a folder" in ran.out
    assert gate(ONE, "--base", "nowhere", "--changes", "block").code == 1


def test_validate_says_it_too(tmp_path, capsys, monkeypatch):
    write(tmp_path, {CONFIG: EASIER, f"base/{CONFIG}": ONE})
    monkeypatch.chdir(tmp_path)
    assert cli.main(["validate", "--base", "base"]) == 0
    assert f"{CONFIG}:6: gate weaker: `q=a`: its mean decides now" in capsys.readouterr().out


def test_no_report_shows_a_secret_of_the_base(gate):
    secret = "very-secret-key-of-the-base"
    provider = {"id": "openai:chat:m", "label": f"x {secret}", "config": {"apiKey": secret}}
    base = yaml.safe_dump({**ONE, "providers": [provider]})
    ran = gate(ONE, "--base", ".base", **{f".base/{CONFIG}": base})
    assert ran.results["gate_changes"]
    assert secret not in ran.out + ran.err + str(ran.results)


# --- properties -----------------------------------------------------------------------------------------------

LIMITS = st.sampled_from([0.2, 0.5, 0.75, 0.9])
DETERMINISTIC = st.fixed_dictionaries(
    {"type": st.sampled_from(["contains", "equals", "not-contains", "regex"]), "value": st.sampled_from("abcd")},
    optional={"weight": st.sampled_from([0.5, 1, 2]), "metric": st.sampled_from(["m", "n"])},
)
GRADED = st.fixed_dictionaries(
    {"type": st.sampled_from(["g-eval", "llm-rubric", "not-llm-rubric"]), "value": st.sampled_from("abcd")},
    optional={"threshold": LIMITS, "metric": st.sampled_from(["m", "n"]), "provider": st.just("openai:chat:other")},
)
SETS = st.fixed_dictionaries(
    {"type": st.just("assert-set"), "assert": st.lists(DETERMINISTIC | GRADED, min_size=1, max_size=3)},
    optional={"threshold": LIMITS},
)
TESTS = st.fixed_dictionaries(
    {
        "vars": st.fixed_dictionaries({"q": st.sampled_from("abc"), "r": st.sampled_from([["x", "y"], "z", 1])}),
        "assert": st.lists(DETERMINISTIC | GRADED | SETS, min_size=1, max_size=4),
    },
    optional={"description": st.sampled_from(["one", "two"]), "threshold": LIMITS},
)
CONFIGS = st.fixed_dictionaries(
    {
        "prompts": st.lists(st.sampled_from(["A {{q}}", "B {{q}}", "C {{r}}"]), min_size=1, max_size=3),
        "providers": st.lists(st.sampled_from(["echo", "openai:chat:m", "openai:chat:n"]), min_size=1, max_size=3),
        "tests": st.lists(TESTS, min_size=1, max_size=5),
        "gate": st.fixed_dictionaries(
            {
                "rules": st.lists(
                    st.fixed_dictionaries({"name": st.sampled_from("ab"), "min-pass-rate": LIMITS}), max_size=3
                )
            }
        ),
    }
)
quiet = settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)


def shuffled(value: Any, chance: random.Random) -> Any:
    """The same config with every list whose order means nothing, and all keys, in another order."""
    if isinstance(value, dict):
        return {key: shuffled(item, chance) for key, item in chance.sample(list(value.items()), len(value))}
    if isinstance(value, list):
        return [shuffled(item, chance) for item in chance.sample(value, len(value))]
    return value


@quiet
@given(CONFIGS, st.randoms(use_true_random=False))
def test_a_config_in_another_order_is_never_accused(config, chance):
    head = shuffled(config, chance)
    assert compared({CONFIG: config}, {CONFIG: head}, graders={"*": "openai:chat:judge"}).found == ()


def looser(config: dict[str, Any], chance: random.Random) -> None:
    """One edit that lets more pass."""
    test = chance.choice(config["tests"])
    assertion = chance.choice(test["assert"])
    rules = config["gate"]["rules"]
    edits = [
        lambda: config["tests"].remove(test) if len(config["tests"]) > 1 else test["vars"].update(q="easy"),
        lambda: test["assert"].remove(assertion) if len(test["assert"]) > 1 else test.update(providerOutput="a"),
        lambda: assertion.update(blocking=False),
        lambda: assertion.update(weight=0),
        lambda: assertion.update(weight=0.0001),
        lambda: test.update(threshold=0.01),
        lambda: test["vars"].update(q="easy"),
        lambda: test.update(providerOutput="a"),
        lambda: test.update(provider="scripted:r.yaml"),
        lambda: (
            config["providers"].pop() if len(config["providers"]) > 1 else config.update(providers=["openai:chat:z"])
        ),
        lambda: rules.clear() if rules else config["gate"].update(errors={"ignore-up-to": 0.5}),
        lambda: config["gate"].update(errors={"ignore-up-to": 0.5}),
    ]
    if assertion["type"] == "assert-set":
        edits += [lambda: assertion.update(threshold=0.01), lambda: assertion.update(assert_=None)]
        edits.pop()
    elif assertion["type"] == "g-eval":
        edits.append(lambda: assertion.update(threshold=0.01))
    elif assertion["type"] == "not-llm-rubric":
        edits.append(lambda: assertion.update(threshold=0.99))
    chance.choice(edits)()


@quiet
@given(CONFIGS, st.randoms(use_true_random=False))
def test_a_config_that_lets_more_pass_is_always_accused(config, chance):
    head = copy.deepcopy(config)
    looser(head, chance)
    files = {"r.yaml": "- reply: a\n"}
    try:
        assert compared({CONFIG: config, **files}, {CONFIG: head, **files}, graders={"*": "openai:chat:judge"}).found, (
            head
        )
    except ConfigError:
        return  # not even planned: the check fails


GATE = [{"name": "regressions", "max-new-failures": 0, "max-drop": 0.02}, {"name": "all", "min-pass-rate": 0.9}]


@pytest.mark.parametrize(
    ("rules", "findings"),
    [
        (GATE, []),
        ([{**GATE[0], "max-new-failures": 1}, GATE[1]], ["weaker: the rule `regressions` lets more through: max-new-failures 0 became 1"]),
        ([{**GATE[0], "max-drop": 0.5}, GATE[1]], ["weaker: the rule `regressions` lets more through: max-drop 0.02 became 0.5"]),
        (
            [{"name": "regressions", "max-new-failures": 0}, GATE[1]],
            ["weaker: the rule `regressions` lets more through: max-drop 0.02 became nothing"],
        ),
        ([{**GATE[0], "max-drop": 0.01}, GATE[1]], []),
        ([GATE[1]], ["removed: the rule `regressions` is gone"]),
    ],
)  # fmt: skip
def test_rules_that_look_at_the_base_are_held_to_theirs(rules, findings):
    config = {**BASE, "gate": {"rules": GATE}}
    changes = compared({CONFIG: config, **FILES}, {CONFIG: {**config, "gate": {"rules": rules}}, **FILES})
    assert [said(change) for change in changes.found] == findings


def test_a_gate_that_no_longer_asks_the_base_is_weaker():
    config = {**BASE, "gate": {"rules": GATE, "compare": "base"}}
    changes = compared({CONFIG: config, **FILES}, {CONFIG: {**config, "gate": {"rules": GATE}}, **FILES})
    assert [said(it) for it in changes.found] == ["weaker: the base is no longer asked beside it (`gate.compare`)"]


REPLIES = {"r.yaml": "- reply: x\n"}


def differences(base: Any, head: Any) -> list[str]:
    found = compared({CONFIG: base, **REPLIES}, {CONFIG: head, **REPLIES}, graders={"*": "scripted:r.yaml"}).found
    return [said(change) for change in found]


TALK = {
    "prompts": ["{% for i in _conversation %}{{i.output}}{% endfor %} {{q}}"],
    "providers": ["echo"],
    "tests": [
        {"metadata": {"conversationId": "c"}, "vars": {"q": word}, "assert": [{"type": "contains", "value": "x"}]}
        for word in ("one", "two")
    ],
}


@pytest.mark.parametrize(
    "edit",
    [
        lambda c: c["tests"].insert(0, {**c["tests"][0], "vars": {"q": "zero"}, "providerOutput": "a cue"}),
        lambda c: c["tests"].insert(1, {**c["tests"][0], "vars": {"q": "between"}}),
        lambda c: c["tests"][1].pop("metadata"),
        lambda c: c["tests"][1].update(metadata={"conversationId": "other"}),
        lambda c: c["tests"][1].update(options={"disableConversationVar": True}),
        lambda c: c["tests"].reverse(),
    ],
)
def test_what_is_asked_before_a_case_in_its_conversation_counts(edit):
    found = differences(TALK, edited(edit, TALK))
    assert any("what is asked before it in its conversation is another" in finding for finding in found), found


def test_a_case_at_the_end_of_a_conversation_is_none():
    more = {**TALK["tests"][0], "vars": {"q": "three"}}
    assert differences(TALK, edited(lambda c: c["tests"].append(more), TALK)) == []


RIVALS = {
    "prompts": ["{{q}}"],
    "providers": [{"id": "echo", "label": "old"}, {"id": "echo", "label": "new"}],
    "tests": [{"vars": {"q": "x"}, "assert": [{"type": "contains", "value": "x"}, {"type": "max-score"}]}],
}


@pytest.mark.parametrize(
    "edit",
    [
        lambda c: c["tests"][0]["assert"].append({"type": "contains", "value": "y", "weight": 0}),
        lambda c: c["providers"].append({"id": "echo", "label": "third"}),
    ],
)
def test_what_takes_part_in_a_comparison_counts(edit):
    found = differences(RIVALS, edited(edit, RIVALS))
    assert any("what it is compared with, or by, is another" in finding for finding in found), found


def test_a_threshold_where_a_grader_said_yes_or_no_is_another_question():
    base = {"prompts": ["x"], "providers": ["echo"], "tests": [{"assert": [{"type": "llm-rubric", "value": "polite"}]}]}
    head = edited(lambda c: c["tests"][0]["assert"][0].update(threshold=0.01), base)
    assert any("its score decides too, from 0.01" in finding for finding in differences(base, head))


def test_at_events_with_secrets_no_second_checkout_is_read(gate, monkeypatch):
    monkeypatch.setenv("GITHUB_EVENT_NAME", "pull_request_target")
    ran = gate(TALK, "--base", ".base", **{".base/promptfooconfig.yaml": yaml.safe_dump(TALK)})
    assert (ran.code, "`base` is not read at the event `pull_request_target`" in ran.err) == (2, True)


def with_script(files, **keys):
    config = {"prompts": ["{{q}}"], "providers": [{"id": "echo", **keys.pop("provider", {})}]}
    asserted = [{"type": "javascript", **keys.pop("assertion", {"value": "output.length > 3"})}]
    config["derivedMetrics"] = keys.pop("derivedMetrics", [])
    config["tests"] = [{"description": "one", "vars": {"q": "hi"}, "assert": asserted, **keys}]
    return {"promptfooconfig.yaml": yaml.safe_dump(config), **files}


JS = {"checks.js": "module.exports = (output) => output.length > 3"}
SCORING = {"checks.js": "module.exports = (scores) => ({pass: true, score: 1, reason: ''})"}


@pytest.mark.parametrize(
    ("base", "head"),
    [
        (with_script({}), with_script({}, assertion={"value": "output.length > 0"})),
        (
            with_script(JS, assertion={"value": "file://checks.js"}),
            with_script({"checks.js": "module.exports = () => true"}, assertion={"value": "file://checks.js"}),
        ),
        (
            with_script(JS, assertion={"value": "file://checks.js:a"}),
            with_script(JS, assertion={"value": "file://checks.js:b"}),
        ),
        (with_script({}), with_script({}, assertion={"value": "output.length > 3", "transform": "'long'"})),
        (
            with_script({}, assertion={"value": "1", "config": {"n": 1}}),
            with_script({}, assertion={"value": "1", "config": {"n": 2}}),
        ),
        (with_script({}), with_script({}, options={"transform": "'a good answer'"})),
        (with_script({}), with_script({}, provider={"transform": "'a good answer'"})),
        (with_script({}), with_script({}, options={"transformVars": "({q: 'easy'})"})),
        (
            with_script(SCORING, assertScoringFunction="file://checks.js"),
            with_script({"checks.js": SCORING["checks.js"] + " "}, assertScoringFunction="file://checks.js"),
        ),
        (
            with_script(JS, derivedMetrics=[{"name": "f1", "value": "file://checks.js"}]),
            with_script(
                {"checks.js": JS["checks.js"] + " "}, derivedMetrics=[{"name": "f1", "value": "file://checks.js"}]
            ),
        ),
    ],
)
def test_a_script_that_became_another_is_a_finding(base, head):
    assert compared(base, base).found == ()
    assert compared(base, head).found
