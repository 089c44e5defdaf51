"""The plans of two checkouts compared: every way to weaken a gate is a finding, and nothing else is."""

import copy
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from dulwich import porcelain
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradegate.cli import main as cli
from gradegate.config.context import build_context
from gradegate.core.settings import Settings
from gradegate.errors import ConfigError
from gradegate.gate.decision import GUARD
from gradegate.runner.prepare import prepare
from support.cells import unmet
from support.checkouts import (
    BASE,
    CONFIG,
    ENVIRON,
    FILES,
    Files,
    after,
    change_text,
    compare_checkouts,
    edit_by,
    edit_config,
    findings,
    write,
)
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
    found = compare_checkouts({CONFIG: base, **FILES}, {CONFIG: head, **FILES}).found
    kind = "changed" if ignored == "on neither side" else "weaker"
    less = [(change.kind.value, change.text) for change in found if "budget" in change.text]
    assert sorted(less) == sorted((kind, f"the budget is smaller: {text}") for text in said)
    assert {change.origin.file for change in found if "budget" in change.text} <= {CONFIG}


def test_of_several_configs_the_lowest_budget_counts():
    def files(*budgets):
        return {f"{n}.yaml": edit_config(lambda c, b=b: c["gate"].update(budget={"calls": b})) for n, b in enumerate(budgets)}

    def less(base, head):
        return [str(it.origin) for it in compare_checkouts({**base, **FILES}, {**head, **FILES}, configs=("*.yaml",)).found]

    assert less(files(9, 90), files(9, 9)) == []
    assert less(files(9, 90), files(90, 9)) == []
    assert less(files(9, 90), files(9, 8)) == ["1.yaml"]
    assert less(files(9), files(9, 8)) == ["1.yaml"]


@each(("name", "edit"), table(__file__, "a_weaker_gate_is_a_finding").items())
def test_a_weaker_gate_is_a_finding(name, edit):
    found = after(lambda c: edit_by(c, edit), {"judge.yaml": "- reply: pass\n"})
    assert any(edit["said"] in finding for finding in found), found


@each(("name", "row"), table(__file__, "comparisons").items())
def test_what_is_found_between_two_configs(name, row):
    files, sides = row.get("files", {}), []
    for side in ("base", "head"):
        config = copy.deepcopy(table(__file__, "configs")[row["of"]] if row.get("of") else BASE)
        for edit in (row.get("both", {}), row.get(side, {})):
            edit_by(config, edit)
        own = {} if row.get("of", "") is None else {CONFIG: config}
        sides.append({**own, **FILES, **files.get("both", {}), **files.get(side, {})})
    found = findings(*sides, **row.get("options", {}))
    assert not unmet(row["found"], found), found


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
    assert compare_checkouts({CONFIG: text}, {CONFIG: plain}).found == ()
    assert compare_checkouts({CONFIG: BASE, **FILES}, {CONFIG: _reversed(BASE), **FILES}).found == ()


def test_many_tests_with_the_same_variables_are_told_apart_by_what_they_assert():
    tests = [{"assert": [{"type": "contains", "value": f"word {number}"}]} for number in range(1200)]
    base = {"prompts": ["Say it"], "providers": ["echo"], "tests": tests}
    assert compare_checkouts({CONFIG: base}, {CONFIG: {**base, "tests": tests[::-1]}}).found == ()
    (found,) = compare_checkouts({CONFIG: base}, {CONFIG: {**base, "tests": tests[:0:-1]}}).found
    assert found.kind.value == "removed"


ROOT = Path(__file__).parents[3]
KEPT = [*sorted((ROOT / "tests" / "side_by_side" / "configs").glob("*.yaml")), *sorted((ROOT / "examples").glob("*/*.*"))]


@each("path", KEPT, ids=lambda path: path.name)
def test_a_config_is_never_accused_beside_its_own_copy(tmp_path, path):
    root = tmp_path / path.parent.name
    if not root.exists():
        for side in ("base", "head"):
            shutil.copytree(path.parent, root / side)
    environ = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"), "sk-0123456789")
    try:
        changes = compare_checkouts({}, {}, root, configs=(path.name,), graders={"*": "openai:chat:judge"}, environ=environ)
    except ConfigError:
        return  # not all are meant to be planned
    assert changes.found == ()


# --- which configs --------------------------------------------------------------------------------------------


def _contains(value: str) -> dict[str, Any]:
    return {"vars": {"q": value}, "assert": [{"type": "contains", "value": value}]}


ONE = {"prompts": ["{{q}}"], "providers": ["echo"], "tests": [_contains("a")]}
TWO = {"prompts": ["{{q}}"], "providers": ["echo"], "tests": [_contains("b"), _contains("c")]}


def test_a_config_that_became_a_link_to_another_is_gone(tmp_path):
    base = {"evals/one.yaml": ONE, "evals/two.yaml": TWO}
    (tmp_path / "head" / "evals").mkdir(parents=True)
    (tmp_path / "head" / "evals" / "two.yaml").symlink_to("one.yaml")
    assert findings(base, {"evals/one.yaml": ONE}, tmp_path, configs=("evals/*.yaml",)) == [
        "removed: the config `evals/two.yaml` no longer runs"
    ]


def test_a_pattern_does_not_find_the_base_below_the_head(tmp_path):
    files = {"evals/one.yaml": ONE, "there/evals/one.yaml": ONE}
    changes = compare_checkouts({}, files, tmp_path, configs=("**/*.yaml",), base_checkout="there")
    assert changes.found == ()
    (tmp_path / "head" / "evals" / "one.yaml").rename(tmp_path / "head" / "evals" / "one.off")
    files = {"evals/two.yaml": TWO}
    assert findings({}, files, tmp_path, configs=("**/*.yaml",), base_checkout="there") == [
        "removed: the config `evals/one.yaml` no longer runs"
    ]


def test_a_working_directory_is_the_same_in_both(tmp_path):
    workspace = tmp_path / "head"
    head = {"evals/promptfooconfig.yaml": ONE, "evals/q.txt": "a"}
    base = {f".base/{name}": content for name, content in head.items()}
    environ = {"GITHUB_WORKSPACE": str(workspace)}
    options = {"cwd": workspace / "evals", "base_checkout": str(workspace / ".base"), "environ": environ}
    assert compare_checkouts({}, {**head, **base}, tmp_path, **options).found == ()
    base[".base/evals/promptfooconfig.yaml"] = TWO
    assert len(compare_checkouts({}, {**head, **base}, tmp_path, **options).found) == 1


# --- a base that cannot be compared ---------------------------------------------------------------------------


def _linked(root: Path) -> str:
    (root / "head" / "linked").symlink_to(root / "base")
    return "linked"


def _below_a_link(root: Path) -> str:
    (root / "base" / "inner").mkdir()
    (root / "head" / "linked").symlink_to(root / "base")
    return "linked/inner"


BAD_BASES = {
    "the head itself": (lambda root: ".", "the base `.` is the checkout under test"),
    "above the head": (str, "is the checkout under test"),
    "a link": (_linked, "the base `linked` is a symbolic link"),
    "below a link": (_below_a_link, "the base `linked/inner` is a symbolic link"),
    "empty": (lambda root: (root / "empty").mkdir() or str(root / "empty"), "there is no promptfooconfig.yaml here"),
}


@pytest.mark.parametrize("name", BAD_BASES)
def test_a_base_that_cannot_be_compared_is_a_finding(tmp_path, name):
    make, text = BAD_BASES[name]
    compare_checkouts({CONFIG: ONE}, {CONFIG: ONE}, tmp_path)
    found = compare_checkouts({CONFIG: ONE}, {CONFIG: ONE}, tmp_path, base_checkout=make(tmp_path)).found
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
    found = compare_checkouts({CONFIG: ONE}, {CONFIG: ONE}, tmp_path, environ=environ).found
    assert [change.kind.value for change in found] == ["weaker"] * number
    assert all("is at the commit of the pull request" in change.text for change in found)


def test_a_base_reads_nothing_of_the_head(tmp_path):
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / CONFIG).symlink_to(f"../head/{CONFIG}")
    assert findings({}, {CONFIG: ONE}, tmp_path) == [f"weaker: not all of the base can be compared: `{CONFIG}` leads out of the base"]


def test_the_policy_of_a_base_that_cannot_be_planned_still_blocks():
    base = {**ONE, "gate": {"weakening": "block"}, "providers": ["nonsense"]}
    assert compare_checkouts({CONFIG: base}, {CONFIG: ONE}).block


@each("side", ["base", "head", "run"])
def test_either_side_and_the_run_can_say_that_changes_block(side):
    strict = {**ONE, "gate": {"weakening": "block"}}
    base, head = (strict if side == name else ONE for name in ("base", "head"))
    changes = compare_checkouts({CONFIG: base}, {CONFIG: head}, weakening="block" if side == "run" else "report")
    assert changes.block
    expected = ["weaker: a weaker gate no longer blocks (`gate.weakening`)"] if side == "base" else []
    assert [change_text(change) for change in changes.found] == expected


def test_findings_stand_at_their_lines_in_the_head():
    base = {**ONE, "tests": [{"vars": {"q": "a"}, "assert": [{"type": "g-eval", "value": "x"}]}]}
    head = (
        "prompts: ['{{q}}']\nproviders: [echo]\ntests:\n  - vars: {q: a}\n    assert:\n      - type: g-eval\n"
        "        value: x\n        threshold: 0.1\n"
    )
    (found,) = compare_checkouts({CONFIG: base}, {CONFIG: head}, graders={"*": "echo"}).found
    assert str(found.origin) == f"{CONFIG}:6"


# --- what the run says -----------------------------------------------------------------------------------------

EASIER = {**ONE, "tests": [{**_contains("a"), "threshold": 0.5}]}
OTHER = {**ONE, "tests": [{"vars": {"q": "a"}, "assert": [{"type": "equals", "value": "a"}]}]}
OTHERWISE = {**ONE, "tests": [{"vars": {"q": "a"}, "assert": [{"type": "equals", "value": "b"}]}]}


@each(
    ("base", "head", "arguments", "code", "outcome"),
    [
        (ONE, ONE, (), 0, "pass"),
        (ONE, ONE, ("--weakening", "block"), 0, "pass"),
        (ONE, EASIER, (), 0, "advisory"),
        (ONE, EASIER, ("--weakening", "block"), 1, "blocked"),
        (OTHERWISE, OTHER, (), 0, "pass"),
        (OTHERWISE, OTHER, ("--weakening", "block"), 1, "blocked"),
        ({**ONE, "gate": {"weakening": "block"}}, EASIER, (), 1, "blocked"),
        (ONE, {**EASIER, "gate": {"weakening": "block"}}, (), 1, "blocked"),
    ],
)
def test_a_run_is_blocked_or_says_so(gate, base, head, arguments, code, outcome):
    ran = gate(head, "--base-checkout", ".base", *arguments, **{f".base/{CONFIG}": yaml.safe_dump(base)})
    assert (ran.code, ran.results["outcome"]) == (code, outcome), ran.out
    assert [result["rule"]["name"] for result in ran.results["rules"]].count(GUARD) == (code == 1)
    assert bool(ran.results["changes"]["found"]) == ("own gate" in ran.out) == (base is not head)


BLOCK = {"gate": {"weakening": "block"}}


@each(
    ("base", "head", "arguments", "code"),
    [
        ("nowhere", ONE, (), 0),
        ("nowhere", ONE, ("--weakening", "block"), 1),
        ("nowhere", {**ONE, **BLOCK}, (), 1),
        (CONFIG, ONE, ("--weakening", "block"), 1),
        ("loop", ONE, ("--weakening", "block"), 1),
    ],
)
def test_an_absent_base_blocks_where_the_run_or_the_head_says_so(gate, base, head, arguments, code):
    Path("loop").is_symlink() or Path("loop").symlink_to("loop")
    ran = gate(head, "--base-checkout", base, *arguments)
    assert ran.code == code
    assert [change["kind"] for change in ran.results["changes"]["found"]] == ["weaker"]
    assert f"the base checkout `{base}` is not a folder" in ran.out


def commit(folder: Path, files: Files) -> None:
    """A repository with one commit of these files."""
    write(folder, files)
    porcelain.init(str(folder))
    porcelain.add(str(folder), [str(folder / name) for name in files])
    porcelain.commit(str(folder), message=b"base", author=b"a <a@b>", committer=b"a <a@b>")


def test_a_gate_that_the_base_commit_does_not_have_is_new(gate, tmp_path):
    commit(tmp_path / ".base", {"other.yaml": ONE})
    ran = gate({**ONE, **BLOCK}, "--base-checkout", ".base", "--weakening", "block")
    assert (ran.code, ran.results["outcome"], ran.results["changes"]["found"]) == (0, "pass", [])
    (note,) = ran.results["notes"]
    assert note["text"].startswith("the base has no such gate, so this one is new and is compared with nothing")


@pytest.mark.parametrize("configs", [(CONFIG,), ("*.yaml",), ()])
@pytest.mark.parametrize("spoil", ["not checked out", "a dangling link", "not a repository", "not readable"])
def test_a_gate_that_the_base_commit_has_is_never_new(gate, tmp_path, spoil, configs):
    base = tmp_path.parent / f"{tmp_path.name}-base"
    base.mkdir()
    if spoil == "a dangling link":
        (base / CONFIG).symlink_to("nowhere.yaml")
    commit(base, {"other.txt": "x", **({} if spoil == "a dangling link" else {CONFIG: ONE})})
    if spoil == "a dangling link":
        porcelain.add(str(base), [str(base / CONFIG)])
        porcelain.commit(str(base), message=b"link", author=b"a <a@b>", committer=b"a <a@b>")
    if spoil == "not checked out":
        (base / CONFIG).unlink()
    if spoil == "not a repository":
        shutil.rmtree(base / ".git")
        (base / CONFIG).unlink()
    if spoil == "not readable":
        (base / CONFIG).write_text("tests: [")
    write(tmp_path, {CONFIG: ONE})
    context = build_context(Settings(configs=configs, base_checkout=str(base), cwd=tmp_path), ENVIRON)
    if spoil == "a dangling link" and configs != (CONFIG,):
        return  # a pattern and the search of a folder pass over links that lead nowhere, here and there
    assert [change.kind.value for change in prepare(context).changes.found] == ["weaker"]


def test_a_gate_that_was_renamed_is_compared_with_its_former_self(gate, tmp_path):
    commit(tmp_path / ".base", {"evals/former.yaml": ONE})
    commit(tmp_path, {CONFIG: EASIER})
    ran = gate(None, "--base-checkout", ".base")
    assert [(change["kind"], change["text"]) for change in ran.results["changes"]["found"]] == [
        ("weaker", "`q=a`: now the mean decides, with threshold 0.5; before, every assertion had to pass"),
        ("changed", f"the config `evals/former.yaml` is now named `{CONFIG}`"),
    ]
    assert ran.results["notes"] == []


@pytest.mark.parametrize("baseline", ["live", ".base/before"])
def test_old_failures_stay_known_when_the_config_and_the_prompt_file_are_renamed(gate, tmp_path, baseline):
    rules = {"gate": {"rules": [{"name": "regressions", "max-new-failures": 0}]}}
    texts = ["Say something about {{q}}, in one sentence.\n\nNo more than that.\n", "Say nothing about {{q}}.\n"]
    before = {**OTHERWISE, **rules, "prompts": ["file://a/one.txt", "file://a/two.txt"]}
    files = {"a/one.txt": texts[0], "a/two.txt": texts[1]}
    recorded = gate(before, name="former.yaml", **files)
    commit(tmp_path / ".base", {"former.yaml": before, "before/results.json": json.dumps(recorded.results), **files})
    for name in ("former.yaml", "results.json", *files):
        (tmp_path / name).unlink()
    now = {**before, "prompts": ["file://b/uno.txt", "file://b/due.txt"]}
    commit(tmp_path, {CONFIG: now, "b/uno.txt": texts[0] + "Please.\n", "b/due.txt": texts[1] + "?"})
    ran = gate(None, "--base-checkout", ".base", "--baseline", baseline)
    assert (ran.code, [grade["status"] for grade in ran.grades]) == (3, ["pre-existing"] * 2), ran.out
    assert "is compared with `a/one.txt` of the base" in ran.out


def test_a_base_that_the_pull_request_committed_is_a_finding(gate, tmp_path):
    commit(tmp_path, {CONFIG: EASIER, f".base/{CONFIG}": EASIER})
    ran = gate(None, "--base-checkout", ".base", "--weakening", "block")
    assert (ran.code, "git tracks the base `.base`" in ran.out) == (1, True)


def test_a_gate_that_is_to_block_needs_a_base_at_a_pull_request(gate, monkeypatch):
    monkeypatch.setenv("GITHUB_EVENT_NAME", "pull_request")
    ran = gate({**ONE, **BLOCK})
    assert (ran.code, "`weakening: block` needs --base-checkout, which is empty" in ran.err) == (2, True)


def test_validate_says_it_too(tmp_path, capsys, monkeypatch):
    write(tmp_path, {CONFIG: EASIER, f"base/{CONFIG}": ONE})
    monkeypatch.chdir(tmp_path)
    assert cli.main(["validate", "--base-checkout", "base"]) == 0
    assert f"{CONFIG}:6: gate weaker: `q=a`: now the mean decides" in capsys.readouterr().out


def test_no_report_shows_a_secret_of_the_base(gate):
    secret = "very-secret-key-of-the-base"
    provider = {"id": "openai:chat:m", "label": f"x {secret}", "config": {"apiKey": secret}}
    base = yaml.safe_dump({**ONE, "providers": [provider]})
    ran = gate(ONE, "--base-checkout", ".base", **{f".base/{CONFIG}": base})
    assert ran.results["changes"]["found"]
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
    assert compare_checkouts({CONFIG: config}, {CONFIG: head}, graders={"*": "openai:chat:judge"}).found == ()


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
        assert compare_checkouts({CONFIG: config, **files}, {CONFIG: head, **files}, graders={"*": "openai:chat:judge"}).found, head
    except ConfigError:
        return  # not even planned: the check fails


def test_at_events_with_secrets_no_second_checkout_is_read(gate, monkeypatch):
    monkeypatch.setenv("GITHUB_EVENT_NAME", "pull_request_target")
    ran = gate(ONE, "--base-checkout", ".base", **{".base/promptfooconfig.yaml": yaml.safe_dump(ONE)})
    assert (ran.code, "`base-checkout` is not read at the event `pull_request_target`" in ran.err) == (2, True)


# --- code changes ---------------------------------------------------------------------------------------------


def test_without_leave_nothing_of_either_side_runs(tmp_path):
    files = {CONFIG: {"prompts": ["x"], "providers": ["echo"], "tests": ["file://gen.py:f"]}, "gen.py": "def f(): return []\n"}
    with pytest.raises(ConfigError, match="code of the repository"):
        compare_checkouts(files, {**files, "gen.py": f"open({str(tmp_path / 'ran')!r}, 'w')\n"})
    assert not (tmp_path / "ran").exists()


LABELLED = {"id": "echo", "label": "app"}
WORDED = {"label": "p", "raw": "Say {{q}}"}


def seen(*assertions, target=LABELLED, prompt=WORDED, options=None, files=None):
    """What another label of the target and another text of the prompt come to, each by itself."""
    found = []
    for change in ({"providers": [{**target, "label": "lenient"}]}, {"prompts": [{**prompt, "raw": "Do say {{q}}"}]}):
        test = {"vars": {"q": "a"}, "assert": list(assertions), "options": options or {}}
        base = {"providers": [target], "prompts": [prompt], "tests": [test]}
        one, two = ({CONFIG: made, **(files or {})} for made in (base, {**base, **change}))
        found.append(any("settings that its code reads" in change_text(c) for c in compare_checkouts(one, two, allow_exec=True).found))
    return found


@each(("kind", "value", "expected"), table(__file__, "what_code_reads_of_target_and_prompt_is_part_of_the_gate"))
def test_what_code_reads_of_target_and_prompt_is_part_of_the_gate(kind, value, expected):
    files = {
        "node.mjs": 'import { known } from "./known.mjs"; export default (output, context) => known(context)\n',
        "pack.cjs": "module.exports = require('./main')",
        "main/package.json": '{"main": "./real.js"}',
        "main/real.js": "module.exports = (output, { prompt }) => prompt.includes('Do')\n",
        "known.mjs": "export const known = ({ vars, prompt }) => prompt.includes('Do')\n",
        "check.js": "module.exports = (output, { provider }) => provider.label === 'lenient'",
        "check.py": "from other import known\ndef get_assert(output, context): return known(context)\n",
        "other.py": "def known(context): return 'Do' in context['prompt']\n",
    }
    assert seen({"type": kind, "value": value}, files=files) == expected
    inside = {"type": "assert-set", "assert": [{"type": kind, "value": value}]}
    assert seen(inside, files=files) == expected


def test_what_transforms_read_of_the_prompt_is_part_of_the_gate():
    check = {"type": "equals", "value": "a"}
    code = "context.prompt.raw.includes('Do') ? 'a' : output"
    assert seen(check) == [False, False]
    assert seen(check, options={"transform": code}) == [False, True]
    assert seen(check, target={**LABELLED, "transform": code}) == [False, True]
    label = "context.prompt.label"
    assert seen({**check, "transform": label}) == [False, True]
    assert seen({"type": "javascript", "value": "true", "transform": label}) == [False, True]
