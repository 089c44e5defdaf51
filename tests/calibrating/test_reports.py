"""Reports of a calibration: nothing in them is live, no secret is in them, and what does not fit is said."""

import json
from dataclasses import replace
from html.parser import HTMLParser

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given
from hypothesis import strategies as st

from gradegate.account import AskedModel, KeyUse
from gradegate.calibrating.agreement import Calibration, Judged
from gradegate.calibrating.reports import FORMS, console
from gradegate.errors import Origin
from gradegate.reporting.markdown import utf8
from gradegate.result import Asserted, Grade, Outcome, RunResult
from gradegate.suite import Note
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


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, tuple(name for name, _ in attrs)))


def markdown_tags(text):
    page = cmarkgfm.github_flavored_markdown_to_html(FORMS[".md"](filled(text)).text, Options.CMARK_OPT_UNSAFE)
    return [tag for tag, _ in Tags(page).found if tag not in ("code", "span")]


@given(TEXTS)
def test_no_text_is_live_in_any_report(text):
    assert markdown_tags(text) == markdown_tags("x")
    html = [Tags(FORMS[".html"](filled(it)).text).found for it in (text, "x")]
    assert html[0] == html[1]
    assert {tag for tag, _ in html[0]}.isdisjoint({"script", "img", "a", "iframe", "link"})
    for line in console(filled(text)).text.split("\n"):
        assert not line.lstrip().startswith("::")
        assert "##[" not in line
        assert "\x1b" not in line
    data = json.loads(FORMS[".json"](filled(text)).text)
    assert data["outputs"][0]["differs"]


@pytest.mark.parametrize("suffix", [".json", ".html", ".md", ""])
def test_no_report_shows_a_secret(calibrate, llm, monkeypatch, suffix):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    script = Scripted(a="F")
    llm.reply = lambda path, body: script(path, body).replace("ask ", f"the key {KEY} ")
    labels = lines(label("a", output=f"answer-a {KEY}"))
    path = f"report{suffix}"
    ran = calibrate(config(llm), labels, *(["-o", path] if suffix else []))
    assert ran.code == 0, ran.err
    text = ran.read(path) if suffix else ran.out
    assert "answer-a" in text
    assert KEY not in text
    assert "***" in text


def test_no_report_shows_a_key_that_is_written_into_the_config(calibrate, llm):
    llm.reply = Scripted(a="F")
    rubric = {"type": "llm-rubric", "value": "is polite", "provider": llm.spec(apiKey=KEY)}
    written = config(llm, case("case"), case("not labelled", rubric))
    ran = calibrate(written, lines(label("a", output=f"answer-a {KEY}")), "-o", "x.html")
    assert ran.code == 0, ran.err
    assert "got: answer-a ***" in ran.out
    assert KEY not in ran.out + ran.read("x.html") + ran.read("calibration.json")


def test_no_mistake_shows_a_secret(calibrate, llm, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    ran = calibrate(config(llm), lines(label("a", description=KEY)))
    assert (ran.code, KEY in ran.err) == (2, False)


def test_a_long_page_leaves_out_whole_outputs_and_says_so():
    many = Calibration((judged("y" * 3000, Outcome.PASS),) * 500, 2, RunResult(()))
    page = FORMS[".md"](many).text
    assert utf8(page) < 1_048_576
    assert "more outputs in the JSON report" in page
    assert len(json.loads(FORMS[".json"](many).text)["outputs"]) == 500
    text = console(replace(many, judged=many.judged * 3)).text
    assert "500 more outputs; the JSON report has all of them" in text


def test_a_report_that_cannot_be_written_changes_nothing(calibrate, llm):
    llm.reply = Scripted(a="P")
    ran = calibrate(config(llm), lines(label("a")), "-o", "c.yaml/x.md")
    assert ran.code == 0
    assert "c.yaml/x.md could not be written" in ran.err
    assert ran.data["overall"]["both_pass"] == 1
