"""A run beside its base, through the whole command: which answers are graded again, how often, and what comes of it."""

import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from gradegate.deciding.chances import lead
from support.each import table
from support.patience import PATIENCE

VECTORS = json.loads((Path(__file__).parent.parent / "conformance" / "decisions.json").read_text())["pair"]
NEW = {"name": "regressions", "max-new-failures": 0}
SAID = {"P": '{"pass": true, "score": 1, "reason": "fine"}', "F": '{"pass": false, "score": 0, "reason": "bad"}', "E": "?"}
FILLER = "nothing to see here"
BASE, HEAD = "the base says so", "the head says so"


class Scripted:
    """A target that gives one answer, and a grader that says of each answer what its script says, ask by ask."""

    def __init__(self, llm):
        self.llm, self.answer, self.scripts, self.asks = llm, "", {}, Counter()
        self.target = lambda prompt: self.answer if "it 0" in prompt else FILLER
        llm.reply = self._reply

    def _reply(self, path, body):
        if body["model"] in ("app", "other"):
            return self.target(str(body["messages"]))
        text = "\n".join(str(message["content"]) for message in body["messages"])
        if FILLER in text:
            return SAID["P"]
        answer = next(answer for answer in self.scripts if answer in text)
        number = self.asks[answer]
        self.asks[answer] += 1
        return SAID[self.scripts[answer][number]]


@pytest.fixture
def scripted(llm):
    return Scripted(llm)


def config(llm, *rules, tests=1, noise=0.1, **gate):
    return {
        "prompts": [{"raw": "Say it {{n}}", "label": "say"}],
        "providers": [llm.spec("app", temperature=0)],
        "defaultTest": {"options": {"provider": llm.spec("judge")}},
        "tests": [
            {"description": f"case {n}", "vars": {"n": n}, "assert": [{"type": "llm-rubric", "value": "is good"}]} for n in range(tests)
        ],
        "gate": {"rules": list(rules or (NEW,)), "noise": noise, **gate},
    }


def based(gate, scripted, said, conf):
    """What a run of the base recorded, in a file of its own."""
    scripted.answer, scripted.scripts = BASE, {BASE: said}
    ran = gate({**conf, "gate": {"rules": [{"name": "all", "min-pass-rate": 0}]}}, "--confirm", "off")
    (ran.folder / "base.json").write_text((ran.folder / "results.json").read_text())
    scripted.asks.clear()


@pytest.fixture
def run(gate):
    """The command with failures asked again, which other tests leave out."""
    return lambda conf, *arguments, **files: gate(conf, *arguments, "--confirm", "grader", **files)


def leading(votes):
    """How many cases, and what noise, it takes for that lead."""
    shares = ((tests, share / 1000) for tests in (1, 2) for share in range(251))
    return next(pair for pair in shares if lead(*pair).votes == votes)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"{v['lead']}-{v['base']}-{v['head_replies']}-{v['base_replies']}")
def test_a_pair_is_judged_as_the_specification_does(vector, gate, run, scripted, llm):
    rule = {"name": "drop", "max-drop": 0} if vector.get("max_drop_rule") else NEW
    tests, noise = leading(vector["lead"])
    conf = config(llm, rule, tests=tests, noise=noise)
    said = {"pass": "P", "fail": "F", "error": "E", "none": "P"}[vector["base"]]
    named = [{**test, "description": f"another {n}"} for n, test in enumerate(conf["tests"])]
    before = {**conf, "tests": named} if vector["base"] == "none" else conf
    based(gate, scripted, said, before)
    scripted.answer, scripted.scripts = HEAD, {HEAD: vector["head_replies"], BASE: vector["base_replies"]}
    ran = run(conf, "--baseline", "base.json")
    grade = ran.grades[0]
    assert ran.results["confirm"]["lead"] == vector["lead"]
    assert grade["status"] == vector["status"]
    assert (scripted.asks[HEAD], scripted.asks[BASE]) == (vector["head_asks"], vector["base_asks"])
    if rule is NEW:
        code = {"new-failure": 1, "undecided": 3}.get(vector["status"], 0)
        assert ran.code == code
        assert ("1 unsteady one not counted" in ran.results["reason"]) == (vector["status"] == "unsteady")
    assert ran.code != 0 or vector["status"] in ("ok", "fixed", "pre-existing", "unsteady")


def test_the_asks_of_the_base_differ_from_those_of_the_run_where_both_answers_are_the_same(gate, run, scripted, llm):
    conf = config(llm)
    based(gate, scripted, "P", conf)
    scripted.answer, scripted.scripts = BASE, {BASE: "FFFPP"}  # lead 3: three of the head, two of the base
    llm.requests.clear()
    ran = run(conf, "--baseline", "base.json")
    assert ran.grades[0]["status"] == "new-failure"
    asked = [json.dumps(body) for body in llm.bodies if body["model"] == "judge"]
    assert len(set(asked)) == len(asked) == 5


def test_what_is_new_is_said_in_every_report(gate, run, scripted, llm):
    conf = config(llm)
    based(gate, scripted, "P", conf)
    scripted.answer, scripted.scripts = HEAD, {HEAD: "FFF", BASE: "PP"}
    ran = run(conf, "--baseline", "base.json", "-o", "junit.xml", "-o", "page.md", "-o", "page.html")
    assert ran.code == 1
    words = "regressions: 1 new failure, confirmed here and passing on the base (0 days old)"
    assert f"Blocked: {words}" in ran.out
    assert "Beside the base (0 days old): 1 new failure, of 1 compared case." in ran.out
    assert words in (ran.folder / "page.md").read_text()
    assert words in (ran.folder / "page.html").read_text()
    assert '<property name="status" value="new-failure" />' in (ran.folder / "junit.xml").read_text()
    (rule,) = ran.results["rules"]
    assert (rule["new_failures"], rule["max_new_failures"]) == (1, 0)
    head = ran.results["baseline"]
    assert (head["compared"], head["new_failures"], head["removed"], head["age_days"]) == (1, 1, [], 0)


def test_old_failures_do_not_block_and_cost_one_ask_each(gate, run, scripted, llm):
    scripted.target = lambda prompt: scripted.answer
    conf = config(llm, tests=30)
    based(gate, scripted, "F" * 30, conf)
    scripted.answer, scripted.scripts = HEAD, {HEAD: "F" * 30}
    ran = run(conf, "--baseline", "base.json")
    assert (ran.code, scripted.asks[HEAD]) == (0, 30)
    assert ran.results["rules"][0]["reason"] == "no new failure; 30 known ones not counted"
    assert "KNOWN, DOES NOT BLOCK  case 0" in ran.out
    assert ran.out.endswith("Passed: no new failure; 30 known ones not counted\n")  # named once
    head = ran.results["confirm"]
    assert (head["not_asked_again"], head["pre_existing"]) == (30, 30)
    own = {**conf, "gate": {**conf["gate"], "rules": [NEW, {"name": "some", "min-pass-rate": 0}]}}
    scripted.asks.clear()
    ran = run(own, "--baseline", "base.json")
    assert (ran.code, ran.results["confirm"]["pre_existing"]) == (0, 0)
    assert ran.out.endswith("30 known ones not counted; pass rate 0%, at least 0%; 30 failures not asked again\n")


def test_old_failures_are_named_once_where_new_ones_block(gate, run, scripted, llm):
    scripted.target = lambda prompt: scripted.answer if "it 0" in prompt else f"{scripted.answer} too"
    conf = config(llm, tests=3)
    scripted.scripts = {f"{BASE} too": "FF", BASE: "P"}
    scripted.answer = BASE
    gate({**conf, "gate": {"rules": [{"name": "all", "min-pass-rate": 0}]}}, "--confirm", "off")
    (Path.cwd() / "base.json").write_bytes((Path.cwd() / "results.json").read_bytes())
    scripted.asks.clear()
    scripted.answer = HEAD
    scripted.scripts = {f"{HEAD} too": "FF", HEAD: "FFF", BASE: "PP"}
    ran = run(conf, "--baseline", "base.json")
    said = "1 new failure, confirmed here and passing on the base (0 days old); 2 known ones not counted"
    assert (ran.code, ran.results["reason"]) == (1, f"regressions: {said}")


def test_a_rule_over_the_run_has_old_failures_asked_again_as_any_other(gate, run, scripted, llm):
    """What is old for one rule blocks by another, and nothing blocks unconfirmed."""
    conf = config(llm, NEW, {"name": "all", "min-pass-rate": 1})
    based(gate, scripted, "F", conf)
    scripted.answer, scripted.scripts = HEAD, {HEAD: "FPP"}
    ran = run(conf, "--baseline", "base.json")
    assert (ran.code, ran.grades[0]["status"]) == (0, "fixed")
    scripted.asks.clear()
    scripted.scripts = {HEAD: "FFF"}
    ran = run(conf, "--baseline", "base.json")
    assert (ran.code, ran.grades[0]["status"], ran.grades[0]["confirmed"]) == (1, "pre-existing", True)


def test_waves_stop_when_enough_failures_are_new(gate, run, scripted, llm):
    scripted.target = lambda prompt: scripted.answer
    conf = config(llm, tests=70)
    based(gate, scripted, "P" * 70, conf)
    scripted.answer, scripted.scripts = HEAD, {HEAD: "F" * 999, BASE: "P" * 999}
    ran = run(conf, "--baseline", "base.json")
    assert ran.code == 1
    assert ran.results["rules"][0]["new_failures"] == 8 + 50  # the first wave, and what is asked to its end then
    assert scripted.asks == {HEAD: 70 + 58 * 3, BASE: 58 * 3}  # the lead is 4


def test_cases_that_are_gone_are_listed_and_new_ones_counted(gate, run, scripted, llm):
    based(gate, scripted, "P", config(llm, tests=3))
    scripted.answer, scripted.scripts = HEAD, {HEAD: "P"}
    conf = config(llm, tests=2)
    conf["tests"][1]["description"] = "brand new"
    ran = run(conf, "--baseline", "base.json")
    assert ran.results["baseline"]["removed"] == ["case 1", "case 2"]
    assert ran.results["baseline"]["new"] == 1


@pytest.mark.parametrize(
    ("edit", "status"),
    [
        (lambda test: test["assert"][0].update(value="is splendid"), "new-failure"),
        (lambda test: test["assert"][0].update(threshold=0.3), "new-failure"),
        (lambda test: test["assert"][0].update(weight=2), "new-failure"),
        (lambda test: test.update(threshold=0.9), "new-failure"),
        (lambda test: test.update(vars={"n": "0 x"}), "new-failure"),
        (lambda test: test["assert"][0].update(rubricPrompt="Grade {{output}} by {{rubric}}"), "new-failure"),
        (lambda test: test.update(metadata={"note": "other"}), "pre-existing"),
    ],
)
def test_what_is_asked_for_has_to_be_the_same(gate, run, scripted, llm, edit, status):
    conf = config(llm)
    based(gate, scripted, "F", conf)
    edit(conf["tests"][0])
    scripted.answer, scripted.scripts = HEAD, {HEAD: "FFFFF"}
    assert run(conf, "--baseline", "base.json").grades[0]["status"] == status


def test_another_prompt_target_or_grader_is_what_is_compared(gate, run, scripted, llm):
    conf = config(llm)
    conf["prompts"] = ["Say it {{n}}"]
    based(gate, scripted, "F", conf)
    conf["prompts"] = ["Well, say it {{n}}"]
    conf["providers"] = [{**llm.spec("app", temperature=1)}]
    conf["defaultTest"]["options"]["provider"] = llm.spec("judge-2")
    scripted.answer, scripted.scripts = HEAD, {HEAD: "F"}
    ran = run(conf, "--baseline", "base.json")
    assert (ran.code, ran.grades[0]["status"]) == (0, "pre-existing")
    notes = [note["text"] for note in ran.results["notes"]]
    assert any("made with other models: `openai:chat:judge` there, `openai:chat:judge-2` here" in note for note in notes)


def test_without_a_baseline_every_failure_is_new(gate, run, scripted, llm):
    scripted.answer, scripted.scripts = HEAD, {HEAD: "FFF"}
    ran = run(config(llm))
    assert (ran.code, ran.grades[0]["status"], scripted.asks[HEAD]) == (1, "new-failure", 3)
    assert "there is no baseline to compare with, so every failure counts as new" in ran.out
    assert ran.results["baseline"] is None


def test_a_deterministic_assertion_needs_no_second_look(gate):
    conf = {
        "prompts": ["{{word}}"],
        "providers": ["echo"],
        "tests": [{"description": "c", "vars": {"word": "a"}, "assert": [{"type": "contains", "value": "b"}]}],
        "gate": {"rules": [NEW]},
    }
    ran = gate(conf)
    (ran.folder / "base.json").write_text((ran.folder / "results.json").read_text())
    ran = gate(conf, "--baseline", "base.json")
    assert (ran.code, ran.grades[0]["status"]) == (0, "pre-existing")
    assert re.search("1 known one not counted", ran.results["rules"][0]["reason"])


@pytest.mark.parametrize(("base", "head", "status", "code"), table(__file__, "a_grade_is_held_to_its_limit_as_it_applies"))
def test_a_grade_is_held_to_its_limit_as_it_applies(gate, run, base, head, status, code):
    def conf(written, *rules):
        test = {"providerOutput": "something else", "assert": [{"type": "rouge-n", "value": "a b c", **written}]}
        return {"prompts": ["x"], "tests": [test], "gate": {"rules": list(rules)}}

    ran = gate(conf(base, {"name": "all", "min-pass-rate": 0, "blocking": False}))
    ran = run(conf(head, NEW), "--baseline", "base.json", **{"base.json": (ran.folder / "results.json").read_text()})
    assert (ran.code, ran.grades[0]["status"], ran.grades[0]["base"] is None) == (code, status, code == 1)
    assert "passing on the base" not in ran.out


def test_a_set_is_new_by_the_members_that_are(gate, run, scripted, llm):
    conf = config(llm)
    rubric = conf["tests"][0]["assert"][0]
    conf["tests"][0]["assert"] = [{"type": "assert-set", "assert": [rubric, {"type": "contains", "value": "says"}]}]
    based(gate, scripted, "P", conf)
    for said, status, code in (("PP", "new-failure", 1), ("FF", "unsteady", 0), ("EE", "undecided", 3)):
        scripted.asks.clear()
        scripted.answer, scripted.scripts = HEAD, {HEAD: "FFF", BASE: said}
        ran = run(conf, "--baseline", "base.json")
        assert (ran.code, [grade["status"] for grade in ran.grades]) == (code, [status, status, "ok"])
        assert scripted.asks[BASE] == 2


def test_one_new_failure_that_may_be_is_advisory(gate, run, scripted, llm):
    conf = config(llm, {**NEW, "max-new-failures": 1}, {"name": "drop", "max-drop": 0.5})  # wants to know of every failure
    based(gate, scripted, "P", conf)
    scripted.answer, scripted.scripts = HEAD, {HEAD: "FFF", BASE: "PP"}
    ran = run(conf, "--baseline", "base.json")
    assert (ran.code, ran.results["outcome"]) == (0, "advisory")
    assert ran.results["reason"] == "regressions: 1 new failure, at most 1 may be: `case 0`"


def test_a_rule_that_is_met_whatever_comes_asks_nothing_again(gate, run, scripted, llm):
    conf = config(llm, {**NEW, "max-new-failures": 1})
    based(gate, scripted, "P", conf)
    scripted.answer, scripted.scripts = HEAD, {HEAD: "F"}
    ran = run(conf, "--baseline", "base.json")
    assert (ran.code, scripted.asks, ran.results["outcome"]) == (0, {HEAD: 1}, "advisory")
    assert "regressions: 1 failure may be new, at most 1 may be: `case 0`" in ran.results["reason"]


def test_new_answers_are_held_against_the_recorded_one(gate, scripted, llm):
    conf = config(llm)
    based(gate, scripted, "P", conf)
    llm.requests.clear()
    scripted.answer, scripted.scripts = HEAD, {HEAD: "FFF", BASE: "PP"}
    ran = gate(conf, "--baseline", "base.json", "--confirm", "answers")
    assert (ran.code, ran.grades[0]["status"], scripted.asks) == (1, "new-failure", {HEAD: 3, BASE: 2})
    assert sum(body["model"] == "app" for body in llm.bodies) == 3  # none for the base


def test_a_failure_that_its_case_tolerates_is_not_asked_again(gate, run, scripted, llm):
    conf = config(llm)
    conf["tests"][0]["threshold"] = 0.4
    conf["tests"][0]["assert"].append({"type": "contains", "value": "says"})
    based(gate, scripted, "P", conf)
    scripted.answer, scripted.scripts = HEAD, {HEAD: "F"}
    ran = run(conf, "--baseline", "base.json")
    assert (ran.code, scripted.asks) == (0, {HEAD: 1})


@pytest.mark.parametrize("concurrency", [1, 20])
def test_a_drop_is_found_and_both_directions_are_asked_alike(gate, run, scripted, llm, concurrency):
    """Ten cases worse, two better of thirty: every failure is asked again, old ones until two votes lead."""
    conf = config(llm, {"name": "drop", "max-drop": 0}, tests=30, noise=0.01)

    def target(prompt):
        number = int(re.search(r"it (\d+)", prompt)[1])
        return f"{scripted.answer} <{number}>"

    scripted.target = target
    better, worse, old = range(2), range(5, 17), range(20, 24)
    before = {f"{BASE} <{n}>": "F" if n in better or n in old else "P" * 9 for n in range(30)}
    scripted.answer, scripted.scripts = BASE, before
    ran = gate(conf, "--confirm", "off")
    (ran.folder / "base.json").write_text((ran.folder / "results.json").read_text())
    scripted.asks.clear()
    after = {f"{HEAD} <{n}>": "F" * 9 if n in worse or n in old else "P" for n in range(30)}
    scripted.answer, scripted.scripts = HEAD, {**dict.fromkeys(before, "P" * 9), **after}
    ran = run(conf, "--baseline", "base.json", "-j", str(concurrency))
    (rule,) = ran.results["rules"]
    assert (ran.code, rule["worse"], rule["better"]) == (1, 12, 2)
    assert rule["p"] == pytest.approx(0.006470, abs=1e-6)
    votes = lead(30, 0.01).votes
    assert {scripted.asks[f"{HEAD} <{n}>"] for n in worse} == {votes}
    assert {scripted.asks[f"{HEAD} <{n}>"] for n in old} == {2}
    assert {scripted.asks[f"{BASE} <{n}>"] for n in worse} == {votes - 1}


@pytest.mark.slow
def test_a_signal_while_the_base_is_graded_again_calls_nothing_new(gate, scripted, llm, tmp_path):
    conf = config(llm)
    based(gate, scripted, "P", conf)
    scripted.answer, scripted.scripts = HEAD, {HEAD: "FFF", BASE: "P"}

    def reply(path, body):
        if BASE in str(body["messages"]):
            time.sleep(600)
        return scripted._reply(path, body)

    llm.reply = reply
    (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(conf))
    command = [sys.executable, "-m", "gradegate", "run", "promptfooconfig.yaml", "--baseline", "base.json", "-o", "after.json"]
    llm.requests.clear()
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + PATIENCE
    while len(llm.requests) < 5 and time.monotonic() < deadline:  # the target, three asks, and one of the base
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, out
    results = json.loads((tmp_path / "after.json").read_text())
    (grade,) = results["cases"][0]["grades"]
    assert (results["outcome"], grade["outcome"], grade["status"]) == ("inconclusive", "fail", "undecided")
    assert results["rules"][0]["reason"] == "whether 1 failure is new could not be told"


# --- the base asked in the same run ---------------------------------------------------------------------------


def beside(run, scripted, conf, base, *arguments, scripts):
    """A run of the command with a base whose prompt says "old"."""
    scripted.target = lambda prompt: BASE if "old" in prompt else HEAD
    scripted.scripts = scripts
    return run(conf, "--base", "other", *arguments, **{"other/promptfooconfig.yaml": json.dumps(base)})


@pytest.mark.parametrize("how", ["config", "option"])
def test_the_base_is_asked_beside_the_head(gate, run, scripted, llm, how):
    head, arguments = config(llm), ["--compare", "base"] if how == "option" else []
    if how == "config":
        head["gate"]["compare"] = "base"
    head["prompts"], base = ["new {{n}}"], {**config(llm), "prompts": ["old {{n}}"]}
    ran = beside(run, scripted, head, base, *arguments, scripts={HEAD: "FFF", BASE: "PPP"})
    assert (ran.code, ran.grades[0]["status"]) == (1, "new-failure")
    assert scripted.asks == {HEAD: 3, BASE: 3}  # the first of the base is its record
    assert "passing on the base (asked in this run)" in ran.out
    assert ran.results["baseline"]["fresh"] is True
    assert ran.results["summary"]["target"]["calls"] == 2
    assert ran.results["summary"]["grader"]["calls"] == 6
    assert len(ran.cases) == 1


def test_what_fails_on_both_sides_is_old(gate, run, scripted, llm):
    head, base = {**config(llm), "prompts": ["new {{n}}"]}, {**config(llm), "prompts": ["old {{n}}"]}
    ran = beside(run, scripted, head, base, "--compare", "base", scripts={HEAD: "F", BASE: "F"})
    assert (ran.code, ran.grades[0]["status"], scripted.asks) == (0, "pre-existing", {HEAD: 1, BASE: 1})


def test_both_sides_are_asked_in_turns(gate, run, scripted, llm):
    head, base = ({**config(llm, tests=5), "prompts": ["new {{n}}"]}, {**config(llm, tests=5), "prompts": ["old {{n}}"]})
    beside(run, scripted, head, base, "--compare", "base", "-j", "1", scripts={HEAD: "P" * 5, BASE: "P" * 5})
    asked = [text.split()[0] for text, body in zip(llm.prompts, llm.bodies, strict=True) if body["model"] == "app"]
    assert asked == ["new", "old"] * 5


def test_a_base_that_cannot_be_asked_makes_nothing_greener(gate, run, scripted, llm):
    head = config(llm)
    scripts = {HEAD: "FFF"}
    ran = beside(run, scripted, head, {"prompts": []}, "--compare", "base", scripts=scripts)
    assert (ran.code, ran.grades[0]["status"]) == (1, "new-failure")
    assert "the base cannot be asked, so every failure counts as new" in ran.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--compare", "base"], "has no base to compare with"),
        (["--compare", "base", "--base", "x", "--baseline", "b.json"], "compare with one of them"),
    ],
)
def test_what_to_compare_with_has_to_be_said_once(gate, run, scripted, llm, arguments, words):
    assert words in gate(config(llm), *arguments, **{"x/promptfooconfig.yaml": "prompts: [x]"}).mistakes
    assert not llm.requests


# --- budget and cache -----------------------------------------------------------------------------------------


def test_a_budget_that_ends_on_the_way_decides_nothing(gate, run, scripted, llm):
    """One answer, three asks of the head and two of the base; with fewer the failure is neither new nor old."""
    conf = config(llm)
    based(gate, scripted, "P", conf)
    for most in range(1, 7):
        scripted.answer, scripted.scripts = HEAD, {HEAD: "FFF", BASE: "PP"}
        scripted.asks.clear()
        llm.requests.clear()
        ran = run(conf, "--baseline", "base.json", "--max-calls", str(most), "-j", "1")
        assert len(llm.requests) == most
        assert ran.code == (1 if most == 6 else 3), most
        assert (ran.grades[0]["status"] == "new-failure") is (most == 6)
        assert ran.grades[0]["status"] == ("new-failure" if most == 6 else "undecided")
        assert ran.results["baseline"]["undecided"] == (most != 6)


def test_what_is_asked_of_the_base_is_fresh_and_counts(gate, run, scripted, llm):
    head, base = {**config(llm), "prompts": ["new {{n}}"]}, {**config(llm), "prompts": ["old {{n}}"]}
    options = ("--compare", "base", "--cache", "kept")
    beside(run, scripted, head, base, *options, scripts={HEAD: "P", BASE: "P"})
    llm.requests.clear()
    scripted.asks.clear()
    ran = beside(run, scripted, head, base, *options, scripts={HEAD: "", BASE: "P"})
    assert ran.code == 0
    assert ["old" in str(body) for body in llm.bodies if body["model"] == "app"] == [True]
    scripted.asks.clear()
    llm.requests.clear()
    ran = beside(run, scripted, head, base, "--compare", "base", "--max-calls", "3", scripts={HEAD: "P", BASE: "P"})
    assert (len(llm.requests), ran.results["budget"]["used_up"]) == (3, "3 calls")


# --- what cannot be compared ----------------------------------------------------------------------------------


def test_a_base_that_has_no_case_of_the_run_is_said(gate, run, scripted, llm):
    head, base = config(llm), {**config(llm), "providers": [llm.spec("other", temperature=0)]}
    ran = beside(run, scripted, head, base, "--compare", "base", scripts={HEAD: "P"})
    assert any("the base has no case of this run" in note["text"] for note in ran.results["notes"])
    for side, prompt in ((head, "new {{n}}"), (base, "old {{n}}")):
        side["prompts"], side["providers"][0]["label"] = [prompt], "the app"
    ran = beside(run, scripted, head, base, "--compare", "base", scripts={HEAD: "P", BASE: "P"})
    assert not any("has no case" in note["text"] for note in ran.results["notes"])
    assert ran.results["baseline"]["compared"] == 1


def test_an_answer_of_the_base_with_a_hidden_secret_is_not_graded_again(gate, run, scripted, llm):
    """What is left of it is not what was graded: a PASS could be lost by that, and a new failure with it."""
    conf = config(llm)
    conf["providers"] = [llm.spec("app", temperature=0, apiKey="sesame-1234-sesame")]
    scripted.answer, scripted.scripts = f"{BASE} sesame-1234-sesame", {BASE: "P"}
    ran = gate({**conf, "gate": {"rules": [{"name": "all", "min-pass-rate": 0}]}})
    assert (ran.cases[0]["hidden"], ran.cases[0]["output"]) == (True, f"{BASE} ***")
    (ran.folder / "base.json").write_text((ran.folder / "results.json").read_text())
    scripted.asks.clear()
    scripted.answer, scripted.scripts = f"{HEAD} *** rules ***", {HEAD: "FFF", BASE: "PP"}
    ran = run(conf, "--baseline", "base.json")
    assert (ran.code, ran.grades[0]["status"], scripted.asks[BASE]) == (3, "undecided", 0)
    assert ran.cases[0]["hidden"] is False


def test_a_baseline_that_contradicts_itself_is_said(gate, run, scripted, llm, tmp_path):
    conf = config(llm)
    based(gate, scripted, "P", conf)
    path = tmp_path / "base.json"
    results = json.loads(path.read_text())
    results["cases"][0]["grades"][0]["outcome"] = "fail"
    path.write_text(json.dumps(results))
    scripted.answer, scripted.scripts = HEAD, {HEAD: "P"}
    ran = run(conf, "--baseline", "base.json")
    assert any("1 case of the baseline contradicts itself" in note["text"] for note in ran.results["notes"])


def test_a_function_that_overrules_a_failure_is_no_contradiction(gate):
    passing, failing = {"type": "contains", "value": "a"}, {"type": "contains", "value": "b"}
    test = {"assert": [passing, failing], "assertScoringFunction": "file://score.js"}
    made = {"prompts": ["a"], "providers": ["echo"], "tests": [test]}
    files = {"score.js": "module.exports = () => ({pass: true, score: 1, reason: ''})"}
    first = gate(made, **files)
    assert first.cases[0]["outcome"] == "pass"
    (first.folder / "base.json").write_text((first.folder / "results.json").read_text())
    ran = gate(made, "--baseline", "base.json", **files)
    assert ran.results["baseline"] is not None
    assert not any("contradict" in note["text"] for note in ran.results["notes"])


# --- a grader that contradicts itself -------------------------------------------------------------------------

TORN = "FF" + "PF" * 4 + "PP"  # both fail at first; neither side leads by three in nine asks of the one, the other passes


@pytest.fixture
def torn(gate, run, scripted, llm):
    """A run of two answers that passed on the base, with what the grader says of them, one ask after the other."""

    def asked(*rules, said=TORN):
        conf = config(llm, *rules, tests=2)
        scripted.target = lambda prompt: scripted.answer
        based(gate, scripted, "PP", conf)
        scripted.answer, scripted.scripts = HEAD, {HEAD: said, BASE: ""}
        return run(conf, "--baseline", "base.json", "-j", "1")

    return asked


def test_a_rule_that_bears_a_new_failure_bears_a_contradiction(torn):
    ran = torn({**NEW, "max-new-failures": 1})
    assert (ran.code, ran.results["outcome"]) == (0, "advisory")
    assert "1 failure may be new, at most 1 may be: `case 0`" in ran.results["reason"]
    assert [grade["outcome"] for grade in ran.grades] == ["error", "pass"]


@pytest.mark.parametrize(("rules", "said"), table(__file__, "what_could_not_be_told_in_any_other_way_stays_an_error"))
def test_what_could_not_be_told_in_any_other_way_stays_an_error(torn, rules, said):
    ran = torn(*rules, said=said)
    assert (ran.code, ran.results["outcome"]) == (3, "inconclusive")
