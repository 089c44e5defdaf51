"""Reports of a calibration: nothing in them is live, no secret is in them, and what does not fit is said."""

import gc
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.deciding.agreement import Calibration, Judged
from gradegate.errors import Origin
from gradegate.steps.calibration import as_json, console
from gradegate.structs import replace
from gradegate.values.account import AskedModel, KeyUse
from gradegate.values.result import Asserted, Grade, Outcome, RunResult
from gradegate.values.suite import Note
from support import samples
from support.calibrated import Scripted, case, config, label, lines

TEXTS = st.lists(st.sampled_from(samples.NASTY) | st.text(st.characters(), max_size=20), max_size=3).map("".join)
KEY = "sk-canary-0123456789abcdef"


def judged(text, outcome, passes=False):
    asserted = Asserted("llm-rubric", metric=text, origin=Origin(text, 3))
    grade = Grade(asserted, outcome, 0.5, reason=text)
    row = replace(samples.passing(), description=text, output=text, prompt=text, vars={"q": text}, grades=(grade,))
    return Judged(passes, Origin(text or "l", 7), (row, row))


def filled(text):
    """A calibration with one text in every place that somebody else writes."""
    run = RunResult((), notes=(Note(text),), models=(AskedModel(text, text),), keys=(KeyUse(text, text),))
    return Calibration((judged(text, Outcome.PASS), judged(text, Outcome.ERROR)), 2, run)


@given(TEXTS)
def test_no_text_is_live_in_any_report(text):
    for line in console(filled(text)).text.split("\n"):
        assert not line.lstrip().startswith("::")
        assert "##[" not in line
        assert "\x1b" not in line
    data = json.loads(as_json(filled(text)).text)
    assert data["outputs"][0]["differs"]


@pytest.mark.parametrize("suffix", [".json", ""])
def test_no_report_shows_a_secret(calibrate, llm, monkeypatch, suffix):
    key = "sk-canary-15"  # one of 16 characters is sent to no model
    monkeypatch.setenv("OPENAI_API_KEY", key)
    script = Scripted(a="F")
    llm.reply = lambda path, body: script(path, body).replace("ask ", f"the key {key} ")
    labels = lines(label("a", output=f"answer-a {key}"))
    path = f"report{suffix}"
    ran = calibrate(config(llm), labels, *(["-o", path] if suffix else []))
    assert ran.code == 0, ran.err
    text = ran.read(path) if suffix else ran.out
    assert "answer-a" in text
    assert key not in text
    assert "***" in text


def test_no_report_shows_a_key_that_is_written_into_the_config(calibrate, llm):
    llm.reply = Scripted(a="F")
    rubric = {"type": "llm-rubric", "value": "is polite", "provider": llm.spec(apiKey=KEY)}
    written = config(llm, case("case"), case("not labelled", rubric))
    ran = calibrate(written, lines(label("a", output=f"answer-a {KEY}")), "-o", "x.json")
    assert ran.code == 0, ran.err
    assert "got: answer-a ***" in ran.out
    assert KEY not in ran.out + ran.read("x.json") + ran.read("calibration.json")


def test_no_mistake_shows_a_secret(calibrate, llm, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    ran = calibrate(config(llm), lines(label("a", description=KEY)))
    assert (ran.code, KEY in ran.err) == (2, False)


def test_a_long_text_leaves_out_outputs_and_says_so():
    many = Calibration((judged("y" * 3000, Outcome.PASS),) * 1500, 2, RunResult(()))
    assert len(json.loads(as_json(many).text)["outputs"]) == 1500
    assert "500 more outputs; the JSON report has all of them" in console(many).text


def test_a_report_that_cannot_be_written_changes_nothing(calibrate, llm):
    llm.reply = Scripted(a="P")
    ran = calibrate(config(llm), lines(label("a")), "-o", "c.yaml/x.json")
    assert ran.code == 0
    assert "c.yaml/x.json could not be written" in ran.err
    assert ran.data["overall"]["both_pass"] == 1


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
    assert (ran.code, "spoilt" in ran.read("calibration.json")) == (0, False), ran.err
