"""`gradegate calibrate`: what is asked, the noise line, labels as nobody should write them, and reports in which nothing is live."""

import gc
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from types import SimpleNamespace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gradegate.cli import main as cli
from gradegate.core.policy import Note
from gradegate.errors import Origin
from gradegate.gate.calibration import Calibration, JudgedOutput
from gradegate.results.accounts import AskedModel, KeyUse
from gradegate.results.grades import Grade, GradedAssertion, Outcome
from gradegate.results.run_result import RunResult
from gradegate.runner.calibration.calibrate import calibration_exit_code, console_report, json_report
from gradegate.runner.calibration.labels import parse_labels
from gradegate.structs import replace
from support import samples
from support.each import each
from support.patience import PATIENCE
from support.processes import start_process
from support.scenes import scenes

test_a_scene = scenes(__file__)
TOKEN = re.compile(r"\b[0-9a-f]{32}\b")


@pytest.fixture
def calibrate(bare, capsys):
    """Config, labels and arguments to what came of them; retries are off, and unreadable graders are asked once."""

    def run(written, labels, *arguments):
        (bare / "c.yaml").write_text(yaml.safe_dump(written))
        (bare / "labels.jsonl").write_text(labels)
        code = cli.main(["calibrate", "c.yaml", "labels.jsonl", "-o", "calibration.json", "--grader-retries", "0", *arguments])
        out, err = capsys.readouterr()
        return SimpleNamespace(code=code, out=out, err=err, data=json.loads((bare / "calibration.json").read_text()))

    return run


def script_replies(**said):
    """Replies of a grader by answer, ask by ask: P or F, and the last again."""
    asked = Counter()

    def reply(path, body):
        prompt = "\n".join(message["content"] for message in body["messages"])
        output = next(name for name in said if re.search(rf"\banswer-{name}\b", prompt))
        asked[output] += 1
        word = said[output][: asked[output]][-1]
        return json.dumps({"reason": f"ask {asked.total()}", "pass": word == "P", "score": float(word == "P")})

    return reply


def config(llm, *tests):
    """A config whose target has no key, so that it cannot be asked."""
    options = {"options": {"provider": llm.spec()}}
    return {"prompts": ["{{q}}"], "providers": ["openai:chat:m"], "defaultTest": options, "tests": [*tests] or [case("case")]}


def case(description, *assertions):
    asserted = [*assertions] or [{"type": "llm-rubric", "value": "is polite"}]
    return {"description": description, "vars": {"q": "why?"}, "assert": asserted}


def label(answer, word="pass", **keys):
    return {"description": "case", "assertion": "llm-rubric", "output": f"answer-{answer}", "label": word, **keys}


def lines(*labels):
    return "".join(json.dumps(it) + "\n" for it in labels)


def outputs(count, letter="x"):
    return [f"{letter}{number}" for number in range(count)]


def test_every_ask_is_another_request_and_differs_in_its_token_alone(calibrate, llm):
    llm.reply = script_replies(a="P", b="P")
    labels = lines(label("a"), label("a"), label("b"), label("b", description="other"))
    ran = calibrate(config(llm, case("case"), case("other")), labels, "--asks", "4")
    assert (ran.code, len(llm.requests)) == (0, 16)
    bodies = [json.dumps(body) for body in llm.bodies]
    assert len(set(bodies)) == 16
    assert len({TOKEN.sub("", body) for body in bodies}) == 2
    assert ran.data["asks"] == 4


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
    llm.reply = script_replies(**dict(zip(names, script, strict=True)))
    ran = calibrate(config(llm), lines(*map(label, names)), "-j", "1", "--asks", str(asks))
    assert (ran.code, ran.data["noise"]) == (0, noise)
    assert said in ran.out
    assert (f"gate:\n  reask: {{ask: grader, noise: {noise}}}\n" in ran.out) == (noise is not None)


def test_what_no_model_grades_hides_no_noise(calibrate, llm):
    llm.reply = script_replies(a="P")
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
    with start_process(command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, out
    data = json.loads((tmp_path / "o.json").read_text())
    assert data["interrupted"] == "interrupted"
    assert (data["overall"]["both_pass"], data["overall"]["errors"]) == (3, 7)
    assert "The run stopped early: interrupted" in out


# --- properties -----------------------------------------------------------------------------------------------


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)
KEYS = st.sampled_from(["description", "assertion", "output", "label", "vars", "note"])
ROWS = st.dictionaries(KEYS, JSON | st.sampled_from(["pass", "fail", "llm-rubric", ""]))


@given(st.binary())
def test_any_bytes_are_labels_or_mistakes_at_lines(content):
    found = parse_labels(content, "l.jsonl")
    assert any(found)
    assert all(mistake.origin.file == "l.jsonl" and mistake.cure for mistake in found[1])


@given(st.lists(ROWS, min_size=1, max_size=5))
def test_any_objects_are_labels_or_mistakes_at_their_lines(rows):
    labels, mistakes = parse_labels("\n".join(map(json.dumps, rows)).encode(), "l.jsonl")
    placed = {it.origin.line for it in (*labels, *mistakes)}
    assert placed == set(range(1, len(rows) + 1))


PRINTED = st.text(st.characters(categories=("L", "N", "P")), min_size=1)


@given(st.text(), st.text(min_size=1), st.tuples(st.text(), PRINTED, st.text()).map("".join), st.booleans())
def test_what_a_label_says_is_kept_to_the_letter(description, assertion, output, passes):
    word = "pass" if passes else "fail"
    row = {"description": description, "assertion": assertion, "output": output, "label": word, "who": "extra"}
    ((found,), _) = parse_labels(json.dumps(row).encode(), "l.jsonl")
    assert (found.description, found.assertion, found.output, found.passes) == (description, assertion, output, passes)


# --- reports ----------------------------------------------------------------------------------------------------


TEXTS = st.lists(st.sampled_from(samples.NASTY) | st.text(st.characters(), max_size=20), max_size=3).map("".join)


def judged_output(text, outcome, passes=False):
    asserted = GradedAssertion("llm-rubric", metric=text, origin=Origin(text, 3))
    grade = Grade(asserted, outcome, 0.5, reason=text)
    row = replace(samples.passing(), description=text, output=text, prompt=text, vars={"q": text}, grades=(grade,))
    return JudgedOutput(passes, Origin(text or "l", 7), (row, row))


def calibration_with_text(text):
    """A calibration with one text in every place that somebody else writes."""
    run = RunResult((), notes=(Note(text),), models=(AskedModel(text, text),), keys=(KeyUse(text, text),))
    return Calibration((judged_output(text, Outcome.PASS), judged_output(text, Outcome.ERROR)), 2, run)


@given(TEXTS)
def test_no_text_is_live_in_any_report(text):
    for line in console_report(calibration_with_text(text)).text.split("\n"):
        assert not line.lstrip().startswith("::")
        assert "##[" not in line
        assert "\x1b" not in line
    data = json.loads(json_report(calibration_with_text(text)).text)
    assert data["outputs"][0]["differs"]


def output_with_asks(passes, outcomes, *, kind="llm-rubric", metric="", reasons=True, **more):
    """A labelled output with so many asks, P, F or E each; each has a reason of its own."""
    words = {"P": (Outcome.PASS, 1.0), "F": (Outcome.FAIL, 0.0), "E": (Outcome.ERROR, None)}
    rows = []
    for number, word in enumerate(outcomes):
        reason = f"ask {number}" if reasons else "same"
        grade = Grade(GradedAssertion(kind, metric=metric), *words[word], reason=reason, **more)
        rows.append(replace(samples.passing(), grades=(grade,)))
    return JudgedOutput(passes, Origin("l.jsonl", 1), tuple(rows))


def console_text(judged, asks=3, **run):
    return console_report(Calibration(tuple(judged), asks, RunResult((), **run))).text


@each(
    "count, asks, said, unsaid",
    [
        (20, 3, "0 of 60 votes went against the majority", "label more outputs"),
        (19, 3, "and there are 57: label more outputs, or ask more often with --asks", "went against"),
        (30, 2, "and with --asks 3 or more", "went against"),
        (30, 2, "and with --asks 3 or more", "label more outputs"),
        (30, 3, "0 of 90 votes went against the majority", "--asks 3 or more"),
    ],
)
def test_noise_is_suggested_from_three_asks_and_sixty_votes(count, asks, said, unsaid):
    text = console_text([output_with_asks(True, "P" * asks)] * count, asks)
    assert said in text
    assert unsaid not in text


@each(
    "judged, said",
    [
        (output_with_asks(True, "FPP"), "person: pass, grader: fail, 1 of 3 asks failed"),
        (output_with_asks(False, "PFP"), "person: fail, grader: pass, 2 of 3 asks passed"),
        (output_with_asks(True, "EPE"), "person: pass, grader: no verdict, 2 of 3 asks gave no verdict"),
        (output_with_asks(False, "E"), "person: fail, grader: no verdict, 1 of 1 ask gave no verdict"),
    ],
)
def test_a_disagreement_shows_the_votes_of_the_side_that_the_first_ask_took(judged, said):
    assert said in console_text([judged])


@each(
    "judged, names",
    [
        ([output_with_asks(True, "P"), output_with_asks(True, "P")], ["llm-rubric"]),
        ([output_with_asks(True, "P", metric="tone")], ["llm-rubric (tone)"]),
        ([output_with_asks(True, "P"), output_with_asks(True, "P", kind="factuality")], ["llm-rubric", "factuality", "all"]),
    ],
)
def test_the_last_line_is_named_all_only_below_several_assertions(judged, names):
    header, *lines = console_text(judged).splitlines()
    assert header.startswith("Assertion")
    assert [line.split("  ")[0] for line in lines[: lines.index("")]] == names


@each(
    "count, errors, few",
    [
        (30, 30, []),
        (29, 30, ["Too few labels of `pass`"]),
        (30, 29, ["Too few labels of `fail`"]),
        (29, 29, ["Too few labels of `pass` and of `fail`"]),
    ],
)
def test_fewer_than_thirty_labels_of_a_kind_are_too_few(count, errors, few):
    text = console_text([*[output_with_asks(True, "P")] * count, *[output_with_asks(False, "F")] * errors], 1)
    assert [line.partition(":")[0] for line in text.splitlines() if line.startswith("Too few")] == few
    assert text.count(", too few") == (count < 30) + (errors < 30)


def test_a_share_is_shown_with_its_interval_or_as_none():
    *_, last = console_text([output_with_asks(True, "P")] * 2, 1).split("Minority votes  No verdict\n")
    assert "100% (34.2% to 100%)" in last
    assert "none, too few" in last  # no bad output was labelled


@each("asks, words, is_said", [(3, "PPP", True), (2, "PP", True), (1, "P", False)])
def test_only_several_asks_can_show_that_a_grader_never_moves(asks, words, is_said):
    text = console_text([output_with_asks(True, words, reasons=False)] * 3, asks)
    assert ("All asks of each output gave the same reason" in text) is is_said
    assert "All asks of each output" not in console_text([output_with_asks(True, words)] * 3, asks)


@each(
    "words, interrupted, setup, code",
    [
        (["P", "E"], "", True, 0),
        (["E"], "", False, 3),
        (["E"], "", True, 2),
        (["P"], "interrupted", False, 130),
        (["E"], "interrupted", True, 130),
        (["P"], "terminated", False, 143),
    ],
)
def test_an_interruption_wins_over_labels_and_labels_over_a_wrong_key(words, interrupted, setup, code):
    judged = tuple(output_with_asks(True, word, setup=setup) for word in words)
    rows = tuple(row for it in judged for row in it.rows)
    assert calibration_exit_code(Calibration(judged, 1, RunResult(rows, interrupted=interrupted))) == code


@each(
    "count, left_out", [(1000, ""), (1001, "DIFFERS  1 more output; the JSON report has all of them"), (1002, "DIFFERS  2 more outputs;")]
)
def test_a_thousand_outputs_of_one_kind_are_shown(count, left_out):
    text = console_text([output_with_asks(False, "P")] * count)
    assert (" more output" in text) is bool(left_out)
    assert left_out in text
    assert text.count("DIFFERS  l.jsonl:1") == 1000


def test_a_long_text_leaves_out_outputs_and_says_so():
    many = Calibration((judged_output("y" * 3000, Outcome.PASS),) * 1500, 2, RunResult(()))
    assert len(json.loads(json_report(many).text)["outputs"]) == 1500
    assert "500 more outputs; the JSON report has all of them" in console_report(many).text


LOITERS = """import os, threading, time
def spoil():
    while True:
        if os.path.exists({out!r}):
            open({out!r}, "a").write("spoilt")
        time.sleep(0.0005)
threading.Thread(target=spoil, daemon=True).start()
return True"""


def test_code_of_the_repository_has_ended_before_the_report_is_written(calibrate, llm, bare):
    """And the collector runs, as it does in a run."""
    code = {"type": "python", "value": LOITERS.format(out=str(bare / "calibration.json"))}
    gc.disable()
    try:
        ran = calibrate(config(llm, case("case", code)), lines(label("a", assertion="python")), "--allow-exec", "--asks", "1")
        assert gc.isenabled()
    finally:
        gc.enable()
    assert (ran.code, "spoilt" in (bare / "calibration.json").read_text()) == (0, False), ran.err
