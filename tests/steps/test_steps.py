"""`gradegate calibrate` as a user meets it: labels in, figures, disagreements and the noise line out."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
import yaml

from support.calibrated import Scripted, case, config, label, lines
from support.patience import PATIENCE

TOKEN = re.compile(r"\b[0-9a-f]{32}\b")


def outputs(count, letter="x"):
    return [f"{letter}{number}" for number in range(count)]


# --- the table ------------------------------------------------------------------------------------------------


def test_the_first_ask_is_held_against_the_label(calibrate, llm):
    llm.reply = Scripted(a="PFF", b="FPP", c="PPP", d="FFF", e="FFF")
    labels = lines(label("a"), label("b"), label("c", "fail"), label("d", "fail"), label("e", "fail"))
    ran = calibrate(config(llm), labels, "-j", "1")
    assert ran.code == 0, ran.err
    overall = ran.data["overall"]
    cells = ("both_pass", "person_pass_grader_fail", "person_fail_grader_pass", "both_fail", "labels", "errors")
    assert [overall[cell] for cell in cells] == [1, 1, 1, 2, 5, 0]
    assert (overall["agreement"], overall["tpr"], overall["tnr"]) == (0.6, 0.5, pytest.approx(2 / 3))
    assert (overall["a"], overall["b"]) == (0.5, pytest.approx(1 / 3))
    assert overall["too_few"] == ["pass", "fail"]
    differing = [it["output"] for it in ran.data["outputs"] if it["differs"]]
    assert differing == ["answer-b", "answer-c"]
    assert "person: pass, grader: fail, 1 of 3 asks failed" in ran.out
    assert "person: fail, grader: pass, 3 of 3 asks passed" in ran.out
    assert ran.out.endswith("3 of 5 labelled outputs\n")


def test_an_error_is_apart_and_never_a_vote(calibrate, llm):
    llm.reply = Scripted(a="EPP", b="PEE", c="EEE")
    ran = calibrate(config(llm), lines(label("a"), label("b"), label("c")), "-j", "1")
    assert ran.code == 0, ran.err
    overall = ran.data["overall"]
    assert (overall["labels"], overall["errors"], overall["both_pass"]) == (1, 2, 1)
    assert (overall["minority"], overall["votes"]) == (0, 2)  # of a: most asks of b did not pass
    assert ran.out.count("NO VERDICT") == 2
    assert "2 outputs got no verdict at the first ask, and no table counts them" in ran.out


def test_assertions_are_counted_each_and_in_all(calibrate, llm):
    llm.reply = Scripted(a="P", b="F", c="F")
    polite = {"type": "llm-rubric", "value": "is polite", "metric": "tone"}
    tests = case("case"), case("other", {"type": "llm-rubric", "value": "is short"}, polite)
    labels = lines(label("a"), label("b", description="other", assertion="tone"), label("c", "fail", description="other", assertion="tone"))
    ran = calibrate(config(llm, *tests), labels)
    found = [(it["assertion"], it["metric"], it["labels"], it["agreement"]) for it in ran.data["assertions"]]
    assert found == [("llm-rubric", "", 1, 1.0), ("llm-rubric", "tone", 2, 0.5)]
    assert ran.data["overall"]["labels"] == 3
    assert re.search(r"^llm-rubric \(tone\)  2 ", ran.out, re.MULTILINE)


def test_a_negated_assertion_passes_what_does_not_hold(calibrate, llm):
    llm.reply = Scripted(a="P")
    tests = case("case", {"type": "not-llm-rubric", "value": "is rude"})
    ran = calibrate(config(llm, tests), lines(label("a", "fail", assertion="not-llm-rubric")))
    assert ran.data["overall"]["both_fail"] == 1


# --- what is asked --------------------------------------------------------------------------------------------


def test_every_ask_is_another_request_and_differs_in_its_token_alone(calibrate, llm):
    llm.reply = Scripted(a="P", b="P")
    labels = lines(label("a"), label("a"), label("b"), label("b", description="other"))
    ran = calibrate(config(llm, case("case"), case("other")), labels, "--asks", "4")
    assert (ran.code, len(llm.requests)) == (0, 16)
    bodies = [json.dumps(body) for body in llm.bodies]
    assert len(set(bodies)) == 16
    assert len({TOKEN.sub("", body) for body in bodies}) == 2
    assert ran.data["asks"] == 4


def test_all_first_asks_go_before_any_second_one(calibrate, llm):
    script = llm.reply = Scripted(a="P", b="P", c="P")
    calibrate(config(llm), lines(label("a"), label("b"), label("c")), "-j", "1", "--asks", "2")
    assert script.asked == ["a", "b", "c", "a", "b", "c"]


def test_only_what_is_labelled_is_asked(calibrate, llm):
    llm.reply = Scripted(a="P")
    tests = case("case", *[{"type": "llm-rubric", "value": value} for value in ("is polite", "is short")]), case("x")
    ran = calibrate(config(llm, *tests), lines(label("a", assertion="llm-rubric#2")), "--asks", "1")
    assert (ran.code, len(llm.requests)) == (0, 1)
    assert "is short" in llm.prompts[0]
    assert [path for path, _, _ in llm.requests] == ["/v1/chat/completions"]  # of the grader: the target has no key


def test_a_test_that_is_repeated_is_asked_no_more_often(calibrate, llm):
    llm.reply = Scripted(a="P")
    ran = calibrate(config(llm, case("case", options={"repeat": 4}), evaluateOptions={"repeat": 2}), lines(label("a")))
    assert (ran.code, len(llm.requests)) == (0, 3)


def test_a_variable_that_only_other_tests_define_is_no_mistake(calibrate, llm):
    llm.reply = Scripted(a="P")
    tests = [{"description": "case"}, {"description": "other", "vars": {"extra": "y"}}]
    written = config(llm, *tests, prompts=["x"])
    written["defaultTest"]["assert"] = [{"type": "llm-rubric", "value": "is polite {{extra}}"}]
    ran = calibrate(written, lines(label("a")))
    assert ran.code == 0, ran.err


def test_the_grader_of_the_command_line_grades(calibrate, llm):
    llm.reply = Scripted(a="P")
    written = {"prompts": ["{{q}}"], "providers": [{**llm.spec("named"), "label": "judge"}], "tests": [case("case")]}
    ran = calibrate(written, lines(label("a")), "-g", "judge")  # the name of a target means it with its settings
    assert (ran.code, llm.bodies[0]["model"]) == (0, "named")


def test_the_output_of_a_recorded_conversation_is_its_last_answer(calibrate, llm):
    llm.reply = Scripted(mine="P")
    said = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "theirs"}]
    ran = calibrate(config(llm, case("case", turns=said)), lines(label("mine")), "--asks", "1")
    assert ran.code == 0, ran.err
    assert "answer-mine" in llm.prompts[0]
    assert "theirs" not in llm.prompts[0]


def test_no_output_is_said_before_another(calibrate, llm):
    llm.reply = Scripted(a="P", b="F")
    prompt = "{% for item in _conversation %}{{ item.output }}{% endfor %} {{q}}"
    tests = case("case"), case("other")
    labels = lines(label("a"), label("b", description="other"))
    written = {**config(llm, *tests), "prompts": [prompt]}
    ran = calibrate(written, labels, "--asks", "1", "-j", "1")
    assert (ran.code, len(llm.requests)) == (0, 2)
    assert [it["prompt"] for it in ran.data["outputs"]] == [" why?", " why?"]


def test_a_test_that_restricts_its_prompts_is_graded_with_the_first_of_them(calibrate, llm):
    llm.reply = Scripted(a="F")
    prompts = [{"raw": f"this is {name}", "label": name} for name in ("one", "two")]
    written = {**config(llm, {**case("case"), "prompts": ["two"]}), "prompts": prompts}
    ran = calibrate(written, lines(label("a")), "--asks", "1")
    assert ran.code == 0, ran.err
    assert ran.data["outputs"][0]["prompt"] == "this is two"


# --- noise ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "asks", "noise", "said"),
    [
        (["P"] * 20, 3, 0.05, "0 of 60 votes went against the majority, so at most 4.9% do"),
        (["P"] * 19 + ["F"], 3, None, "there are 57"),  # 57 votes: an output that mostly fails has none
        (["P"] * 19 + ["PF"], 3, None, "there are 57"),  # P F F: that one mostly fails
        (["P"] * 27 + ["PPF"] * 3, 3, 0.09, "3 of 90 votes"),  # the vector: at most 0.0839
        (["PPPFF"] * 12, 5, 0.25, "more than a gate takes"),
        (["P"] * 100, 2, None, "with --asks 3 or more"),
        (["P"] * 100, 1, None, "with --asks 3 or more"),
        (["PFPF"] * 2 + ["P"] * 15, 4, 0.05, "0 of 60 votes"),  # ties are in neither number
        (["P"] * 400, 3, 0.01, "0 of 1,200 votes"),
    ],
)
def test_noise_is_suggested_from_sixty_votes(calibrate, llm, script, asks, noise, said):
    names = outputs(len(script))
    llm.reply = Scripted(**dict(zip(names, script, strict=True)))
    ran = calibrate(config(llm), lines(*map(label, names)), "-j", "1", "--asks", str(asks))
    assert (ran.code, ran.data["noise"]) == (0, noise)
    assert said in ran.out
    assert (f"gate:\n  noise: {noise}\n" in ran.out) == (noise is not None)


def test_what_no_model_grades_hides_no_noise(calibrate, llm):
    llm.reply = Scripted(a="P")
    tests = case("case"), case("plain", {"type": "contains", "value": "answer"})
    labels = lines(label("a"), *[label("a", description="plain", assertion="contains")] * 50)
    ran = calibrate(config(llm, *tests), labels)
    assert (ran.data["overall"]["both_pass"], ran.data["overall"]["votes"]) == (51, 3)
    assert len(llm.requests) == 3


def test_a_grader_that_flips_at_a_known_rate_is_found_out_whatever_the_threads_do(calibrate, llm):
    """The grader flips by the hash of its request, so each ask has a verdict of its own and repeats it."""

    def flips(prompt):
        return int(hashlib.sha256(prompt.encode()).hexdigest(), 16) % 100 < 10

    def reply(path, body):
        prompt = body["messages"][-1]["content"]
        said = re.search(r"answer-(good|bad)\d", prompt)[1] == "good"
        return json.dumps({"reason": "r", "pass": said != flips(prompt), "score": 1.0})

    llm.reply = reply
    labels = lines(*[label(it) for it in outputs(100, "good")], *[label(it, "fail") for it in outputs(60, "bad")])
    ran = calibrate(config(llm), labels, "-j", "8")
    again = calibrate(config(llm), labels, "-j", "1")
    assert ran.data["overall"] == again.data["overall"]
    overall = ran.data["overall"]
    low, high = overall["tpr_interval"]
    assert low <= 0.9 <= high
    low, high = overall["tnr_interval"]
    assert low <= 0.9 <= high
    assert 0.08 <= ran.data["noise"] <= 0.15
    assert overall["too_few"] == []
    assert "Corrected for its mistakes" in ran.out


def test_a_grader_that_never_moves_is_pointed_out(calibrate, llm):
    llm.reply = lambda path, body: json.dumps({"reason": "same", "pass": True, "score": 1})
    ran = calibrate(config(llm), lines(*map(label, "abc")))
    assert "All asks of each output gave the same reason" in ran.out


# --- exit codes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("answer", "code"), [((500, {}), 3), ("no idea", 3), ((401, {}), 2)])
def test_where_nothing_could_be_graded_it_cannot_tell(calibrate, llm, answer, code):
    llm.reply = lambda path, body: answer
    ran = calibrate(config(llm), lines(label("a"), label("b")))
    assert ran.code == code
    assert ran.data["overall"]["errors"] == 2
    assert "Inconclusive: the grader gave no verdict on 2 labelled outputs" in ran.out
    assert ran.data["noise"] is None


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_graded(llm, tmp_path):
    def reply(path, body):
        if len(llm.requests) > 3:
            os.kill(process.pid, signal.SIGINT)
            time.sleep(600)
        return json.dumps({"reason": "r", "pass": True, "score": 1})

    llm.reply = reply
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(config(llm)))
    (tmp_path / "l.jsonl").write_text(lines(*map(label, outputs(10))))
    command = [sys.executable, "-m", "gradegate", "calibrate", "c.yaml", "l.jsonl", "-j", "1", "-o", "o.json"]
    environ = {name: value for name, value in os.environ.items() if name != "GITHUB_WORKSPACE"}
    process = subprocess.Popen(command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, out
    data = json.loads((tmp_path / "o.json").read_text())
    assert data["interrupted"] == "interrupted"
    assert (data["overall"]["both_pass"], data["overall"]["errors"]) == (3, 7)
    assert "The run stopped early: interrupted" in out
