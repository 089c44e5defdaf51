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
from support.checkouts import BASE, CONFIG, FILES, after, compared, edit_by, edited, findings, said, write
from support.each import each, table


def assertions(config: Any, test: int) -> list[Any]:
    return config["tests"][test]["assert"]


@each("ignored", ["on neither side", "before", "now"])
@each(("before", "now", "said"), table(__file__, "a_budget_that_is_lower_is_a_finding"))
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
        return {f"{n}.yaml": edited(lambda c, b=b: c["gate"].update(budget={"calls": b})) for n, b in enumerate(budgets)}

    def less(base, head):
        return [str(it.origin) for it in compared({**base, **FILES}, {**head, **FILES}, configs=("*.yaml",)).found]

    assert less(files(9, 90), files(9, 9)) == []
    assert less(files(9, 90), files(90, 9)) == []
    assert less(files(9, 90), files(9, 8)) == ["1.yaml"]
    assert less(files(9), files(9, 8)) == ["1.yaml"]


@each(("name", "edit"), table(__file__, "a_weaker_gate_is_a_finding").items())
def test_a_weaker_gate_is_a_finding(name, edit):
    found = after(lambda c: edit_by(c, edit), {"judge.yaml": "- reply: pass\n"})
    assert any(edit["said"] in finding for finding in found), found


def held_against(base: Any, head: Any) -> list[str]:
    return findings({CONFIG: base, **FILES}, {CONFIG: head, **FILES})


@each(
    ("old", "new", "text"),
    [
        ({"gate/confirm": "off"}, {}, "weaker: failures are asked again in a milder way: `gate.confirm` off became grader"),
        ({"gate/confirm": "off"}, {"gate/confirm": "answers"}, "`gate.confirm` off became answers"),
        ({"gate/noise": 0.05}, {}, "`gate.noise` 0.05 became 0.1"),
        ({"gate/rules/0/min-cases": 5}, {}, "the rule `all` asks for less: min-cases 5 became nothing"),
        ({"gate/rules/0/confidence": 0.9}, {}, "the rule `all` asks for less: confidence 0.9 became nothing"),
        ({"gate/runs": {"pass": 2}}, {"gate/runs": {"pass": 1}}, ": passes by 1 of 2 runs, where it took 2 of 2"),
        ({"gate/rules/0/runs": {"pass": 2}}, {"gate/rules/0/runs": {"pass": 1}}, "rule `all` asks for less: runs 2/repeat became 1/repeat"),
        ({"tests/4/assert/0/confirm": "off"}, {}, "`g-eval` of `many`: its failures are asked again in a milder way: off became grader"),
    ],
)
def test_a_base_that_asked_for_more_is_held_against(old, new, text):
    base, head = (edited(lambda c, side=side: edit_by(c, {"set": side})) for side in (old, new))
    assert any(text in finding for finding in held_against(base, head))


def _reversed(config: Any) -> Any:
    if isinstance(config, dict):
        return {key: _reversed(value) for key, value in reversed(config.items())}
    return [_reversed(item) for item in config] if isinstance(config, list) else config


@each(("name", "edit"), table(__file__, "a_gate_that_is_as_strict_is_none").items())
def test_a_gate_that_is_as_strict_is_none(name, edit):
    assert after(lambda c: edit_by(c, edit)) == []


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


@each(
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
    found = held_against(SELECTING, head)
    assert bool(found) == bool(expected)
    assert all(f"the rule `{expected}` no longer looks at it" in text for text in found)


def test_many_tests_with_the_same_variables_are_told_apart_by_what_they_assert():
    tests = [{"assert": [{"type": "contains", "value": f"word {number}"}]} for number in range(1200)]
    base = {"prompts": ["Say it"], "providers": ["echo"], "tests": tests}
    assert compared({CONFIG: base}, {CONFIG: {**base, "tests": tests[::-1]}}).found == ()
    (found,) = compared({CONFIG: base}, {CONFIG: {**base, "tests": tests[:0:-1]}}).found
    assert found.kind.value == "removed"


ROOT = Path(__file__).parents[2]
KEPT = [*sorted((ROOT / "tests" / "side_by_side" / "configs").glob("*.yaml")), *sorted((ROOT / "examples").glob("*/*.*"))]


@each("path", KEPT, ids=lambda path: path.name)
def test_a_config_is_never_accused_beside_its_own_copy(tmp_path, path):
    root = tmp_path / path.parent.name
    if not root.exists():
        for side in ("base", "head"):
            shutil.copytree(path.parent, root / side)
    environ = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"), "sk-0123456789")
    try:
        changes = compared({}, {}, root, configs=(path.name,), graders={"*": "openai:chat:judge"}, environ=environ)
    except ConfigError:
        return  # not all are meant to be planned
    assert changes.found == ()


# --- files ----------------------------------------------------------------------------------------------------


FILE_EDITS = {
    "a row of a table missing": ({"more.csv": "q,__expected\nsix,contains: 6\n"}, "removed: `q=seven`: gone"),
    "a document of a variable": ({"doc.txt": "easy"}, "removed: `set`: what was asked is gone: it has other variables"),
}


@each("name", FILE_EDITS)
def test_a_file_that_a_config_reads_counts(name):
    files, text = FILE_EDITS[name]
    assert after(lambda c: None, files) == [text]


def test_tests_that_move_to_a_file_whole_are_none_and_with_a_row_missing_are():
    base = {"prompts": ["{{q}}"], "providers": ["echo"], "tests": [_contains("a"), _contains("b")]}
    head = {**base, "tests": "file://tests.csv"}
    base["tests"][0]["vars"]["n"] = base["tests"][1]["vars"]["n"] = 5
    rows = "q,n,__expected\na,5,contains: a\nb,5,contains: b\n"
    assert compared({CONFIG: base}, {CONFIG: head, "tests.csv": rows}).found == ()
    assert findings({CONFIG: base}, {CONFIG: head, "tests.csv": rows.replace("b,5,contains: b\n", "")}) == ["removed: `q=b, n=5`: gone"]


def _contains(value: str) -> dict[str, Any]:
    return {"vars": {"q": value}, "assert": [{"type": "contains", "value": value}]}


def test_a_rubric_in_a_file_counts():
    test = {"vars": {"q": "a"}, "assert": [{"type": "llm-rubric", "value": "file://rubric.txt"}]}
    config = {"prompts": ["{{q}}"], "providers": ["echo"], "tests": [test]}
    assert findings({CONFIG: config, "rubric.txt": "names the capital"}, {CONFIG: config, "rubric.txt": "x"}, graders={"*": "echo"}) == [
        "changed: `llm-rubric` of `q=a`: has another value"
    ]


def test_the_replies_of_a_script_count():
    config = {"prompts": ["{{q}}"], "providers": ["scripted:r.yaml"], "tests": [_contains("a")]}
    assert findings({CONFIG: config, "r.yaml": "- reply: b\n"}, {CONFIG: config, "r.yaml": "- reply: a\n"}) == [
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
    assert findings(base, {"evals/one.yaml": ONE}, **pattern) == ["removed: the config `evals/deep/two.yaml` is run no more"]
    assert findings(base, {"evals/one.yaml": ONE, "evals/zwei.yaml": TWO}, **pattern) == [
        "changed: the config `evals/deep/two.yaml` is named `evals/zwei.yaml` now"
    ]


def test_a_config_that_became_a_link_to_another_is_gone(tmp_path):
    base = {"evals/one.yaml": ONE, "evals/two.yaml": TWO}
    (tmp_path / "head" / "evals").mkdir(parents=True)
    (tmp_path / "head" / "evals" / "two.yaml").symlink_to("one.yaml")
    assert findings(base, {"evals/one.yaml": ONE}, tmp_path, configs=("evals/*.yaml",)) == [
        "removed: the config `evals/two.yaml` is run no more"
    ]


def test_a_config_planted_before_the_one_of_the_base_is_a_finding():
    assert findings({"gradegate.yaml": ONE}, {"gradegate.yaml": ONE, CONFIG: TWO}) == [
        "removed: the config `gradegate.yaml` is run no more"
    ]


def test_a_pattern_does_not_find_the_base_below_the_head(tmp_path):
    files = {"evals/one.yaml": ONE, "there/evals/one.yaml": ONE}
    changes = compared({}, files, tmp_path, configs=("**/*.yaml",), base="there")
    assert changes.found == ()
    (tmp_path / "head" / "evals" / "one.yaml").rename(tmp_path / "head" / "evals" / "one.off")
    files = {"evals/two.yaml": TWO}
    assert findings({}, files, tmp_path, configs=("**/*.yaml",), base="there") == ["removed: the config `evals/one.yaml` is run no more"]


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
    "the head itself": (lambda root: ".", "the base `.` is the checkout that it should be compared with"),
    "above the head": (str, "is the checkout that it should be compared with"),
    "a link": (_linked, "the base `linked` is a symbolic link"),
    "below a link": (_below_a_link, "the base `linked/inner` is a symbolic link"),
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


@each(
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


@each(
    ("config", "text"),
    [
        ("tests: [", "not all of the base can be compared"),
        ({**ONE, "tests": [{"vars": {"q": "a"}, "assert": [{"type": "contians"}]}]}, "unknown assertion type `contians`"),
        ({**ONE, "providers": ["openai:chat:m"], "tests": [{"vars": "file://../x.yaml"}]}, "leads out of the workspace"),
    ],
)
def test_a_base_that_is_mistaken_is_a_finding_and_stops_nothing(config, text):
    (found,) = compared({CONFIG: config}, {CONFIG: ONE}).found
    assert found.kind.value == "weaker"
    assert text in found.text


def test_a_base_reads_nothing_of_the_head(tmp_path):
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / CONFIG).symlink_to(f"../head/{CONFIG}")
    assert findings({}, {CONFIG: ONE}, tmp_path) == [f"weaker: not all of the base can be compared: `{CONFIG}` leads out of the base"]


def test_one_config_that_the_base_lacks_leaves_the_others_to_be_compared():
    found = compared({"one.yaml": TWO}, {"one.yaml": ONE, "new.yaml": ONE}, configs=("one.yaml", "new.yaml")).found
    assert {change.kind.value for change in found} == {"weaker", "removed"}
    assert len(found) == 2


def test_the_policy_of_a_base_that_cannot_be_planned_still_blocks():
    base = {**ONE, "gate": {"changes": "block"}, "providers": ["nonsense"]}
    assert compared({CONFIG: base}, {CONFIG: ONE}).block


@each("side", ["base", "head", "run"])
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


@each(
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


def test_a_base_that_is_nowhere_is_a_mistake_and_no_weakened_gate(gate):
    for base in ("nowhere", CONFIG, "loop"):
        Path("loop").is_symlink() or Path("loop").symlink_to("loop")
        ran = gate(ONE, "--base", base, "--changes", "block")
        assert (ran.code, ran.results) == (2, {})
        assert f"the base `{base}` is not a folder -> correct the path" in ran.err
        assert "own gate" not in ran.out + ran.err


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
    {"type": st.just("assert-set"), "assert": st.lists(DETERMINISTIC | GRADED, min_size=1, max_size=3)}, optional={"threshold": LIMITS}
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
            {"rules": st.lists(st.fixed_dictionaries({"name": st.sampled_from("ab"), "min-pass-rate": LIMITS}), max_size=3)}
        ),
    }
)
quiet = settings(suppress_health_check=[HealthCheck.too_slow])


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
        lambda: config["providers"].pop() if len(config["providers"]) > 1 else config.update(providers=["openai:chat:z"]),
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
        assert compared({CONFIG: config, **files}, {CONFIG: head, **files}, graders={"*": "openai:chat:judge"}).found, head
    except ConfigError:
        return  # not even planned: the check fails


PACE = {"max-cost-increase": 0.1, "max-latency-increase": 0.5}
GATE = [{"name": "regressions", "max-new-failures": 0, "max-drop": 0.02, **PACE}, {"name": "all", "min-pass-rate": 0.9}]


@each(
    ("rules", "less"),
    [
        (GATE, []),
        ([{**GATE[0], "max-new-failures": 1}, GATE[1]], ["weaker: the rule `regressions` lets more through: max-new-failures 0 became 1"]),
        ([{**GATE[0], "max-drop": 0.5}, GATE[1]], ["weaker: the rule `regressions` lets more through: max-drop 0.02 became 0.5"]),
        (
            [{"name": "regressions", "max-new-failures": 0, **PACE}, GATE[1]],
            ["weaker: the rule `regressions` lets more through: max-drop 0.02 became nothing"],
        ),
        ([{**GATE[0], "max-drop": 0.01}, GATE[1]], []),
        (
            [{"name": "regressions", "max-new-failures": 0, "max-drop": 0.02, "max-cost-increase": 0.3}, GATE[1]],
            [
                "weaker: the rule `regressions` lets more through: max-cost-increase 0.1 became 0.3",
                "weaker: the rule `regressions` lets more through: max-latency-increase 0.5 became nothing",
            ],
        ),
        ([GATE[1]], ["removed: the rule `regressions` is gone"]),
    ],
)  # fmt: skip
def test_rules_that_look_at_the_base_are_held_to_theirs(rules, less):
    config = {**BASE, "gate": {"rules": GATE}}
    assert held_against(config, {**config, "gate": {"rules": rules}}) == less


def test_a_gate_that_no_longer_asks_the_base_is_weaker():
    config = {**BASE, "gate": {"rules": GATE, "compare": "base"}}
    assert held_against(config, {**config, "gate": {"rules": GATE}}) == ["weaker: the base is no longer asked beside it (`gate.compare`)"]


REPLIES = {"r.yaml": "- reply: x\n"}


def differences(base: Any, head: Any) -> list[str]:
    return findings({CONFIG: base, **REPLIES}, {CONFIG: head, **REPLIES}, graders={"*": "scripted:r.yaml"})


TALK = {
    "prompts": ["{% for i in _conversation %}{{i.output}}{% endfor %} {{q}}"],
    "providers": ["echo"],
    "tests": [
        {"metadata": {"conversationId": "c"}, "vars": {"q": word}, "assert": [{"type": "contains", "value": "x"}]}
        for word in ("one", "two")
    ],
}


@each(
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


@each(
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


@each(
    ("base", "head"),
    [
        (with_script({}), with_script({}, assertion={"value": "output.length > 0"})),
        (
            with_script(JS, assertion={"value": "file://checks.js"}),
            with_script({"checks.js": "module.exports = () => true"}, assertion={"value": "file://checks.js"}),
        ),
        (with_script(JS, assertion={"value": "file://checks.js:a"}), with_script(JS, assertion={"value": "file://checks.js:b"})),
        (with_script({}), with_script({}, assertion={"value": "output.length > 3", "transform": "'long'"})),
        (with_script({}, assertion={"value": "1", "config": {"n": 1}}), with_script({}, assertion={"value": "1", "config": {"n": 2}})),
        (with_script({}), with_script({}, options={"transform": "'a good answer'"})),
        (with_script({}), with_script({}, provider={"transform": "'a good answer'"})),
        (with_script({}), with_script({}, options={"transformVars": "({q: 'easy'})"})),
        (
            with_script(SCORING, assertScoringFunction="file://checks.js"),
            with_script({"checks.js": SCORING["checks.js"] + " "}, assertScoringFunction="file://checks.js"),
        ),
        (
            with_script(JS, derivedMetrics=[{"name": "f1", "value": "file://checks.js"}]),
            with_script({"checks.js": JS["checks.js"] + " "}, derivedMetrics=[{"name": "f1", "value": "file://checks.js"}]),
        ),
    ],
)
def test_a_script_that_became_another_is_a_finding(base, head):
    assert compared(base, base).found == ()
    assert compared(base, head).found
