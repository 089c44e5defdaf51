"""The results of the base are a file that anybody may have written: read as far as it can be used, and never further."""

import json
import os
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate import __version__
from gradegate.files import limits as bounds
from gradegate.files.plain_files import UnusableError as Unusable
from gradegate.results import results_file as recorded
from gradegate.results.baseline import with_counterparts
from gradegate.results.grades import Counterpart, Outcome
from gradegate.results.results_file import load_baseline
from support.checkouts import edit_by
from support.each import each, table
from support.patience import PATIENCE

CONFIG = table(__file__, "CONFIG")


@pytest.fixture
def results(gate):
    ran = gate(CONFIG)
    return ran.folder / "results.json"


def test_a_recorded_run_is_read_as_it_was_written(results):
    base = load_baseline(results)
    assert [answer.description for answer in base.answers] == ["one", "", "talk"]
    assert [answer.vars for answer in base.answers] == [{}, {"q": "b"}, {}]  # what the others are called by
    assert [answer.outcome for answer in base.answers] == [Outcome.PASS, Outcome.FAIL, Outcome.PASS]
    assert base.answers[0].output == "Say a"
    assert [turn.content for turn in base.answers[2].turns] == ["hi", "yo"]
    assert [grade.outcome for grade in base.answers[1].grades] == [Outcome.FAIL, Outcome.PASS]
    assert base.models == ("echo",)
    assert base.started


def test_how_the_file_is_laid_out_does_not_matter(results):
    base, content = load_baseline(results), json.loads(results.read_text())
    for indent in (None, 2):
        results.write_text(json.dumps(content, indent=indent))
        assert load_baseline(results) == base


def said_by(base):
    """What the first answer of the base says of a run that gives the same."""
    (grade,) = with_counterparts(base.answers[0], base.answers[0]).grades
    return grade.base


def test_a_first_verdict_is_that_of_the_first_vote(results):
    content = json.loads(results.read_text())
    content["cases"][0]["grades"][0]["votes"] = [{"outcome": "fail"}, {"outcome": "pass"}, {"outcome": "pass"}]
    results.write_text(json.dumps(content))
    assert said_by(load_baseline(results)) == Counterpart(Outcome.PASS, Outcome.FAIL)


@each("output", ["", None, " \n"])
def test_an_answer_that_is_empty_was_none_whatever_is_said_of_it(results, output):
    content = json.loads(results.read_text())
    content["cases"][0]["output"] = output
    results.write_text(json.dumps(content))
    assert said_by(load_baseline(results)) == Counterpart(Outcome.ERROR, Outcome.ERROR)


@pytest.mark.parametrize(("edit", "words"), table(__file__, "what_is_no_results_json_says_where"))
def test_what_is_no_results_json_says_where(results, edit, words):
    content = json.loads(results.read_text())
    edit_by(content, edit)
    results.write_text(json.dumps(content))
    with pytest.raises(Unusable, match=words):
        load_baseline(results)


@each(
    "content",
    [
        b"",
        b"\0",
        b"[]",
        b"null",
        b"\xff\xfe{}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"version":2,"made":{},"cases":[\n',
        b'{"version":2,"made":{},"cases":[\n{}\n]}\n',
        b'{"version":2,"made":{},"cases":[\n' + b"[" * 100_000 + b"\n]}\n",
        b'{"version":2,"made":{"started":' + b"9" * 10_000 + b'},"cases":[]}',
        b'{"version":2,"made":{"commit":"\\ud800"},"cases":[]}',
        b'"cases":[\n]}\n',
    ],
)
def test_whatever_else_a_file_holds_is_refused(tmp_path, content):
    (tmp_path / "base.json").write_bytes(content)
    with pytest.raises(Unusable):
        load_baseline(tmp_path / "base.json")


@given(st.binary(max_size=200), st.booleans())
def test_no_bytes_are_a_traceback(tmp_path_factory, content, headed):
    path = tmp_path_factory.mktemp("base") / "base.json"
    path.write_bytes((b'{"version":2,"made":{},"cases":[\n' if headed else b"") + content)
    try:
        load_baseline(path)
    except Unusable as e:
        assert str(e)  # noqa: PT017  # most bytes are refused, and some are a run without cases


def test_a_file_of_another_version_is_refused_with_both_versions(results):
    own = f'"tool":"{__version__}"'
    results.write_text(results.read_text().replace(own, '"tool":"9.0.0"').replace('"outcome":', '"verdict":'))
    with pytest.raises(Unusable, match=re.escape(f"gradegate 9.0.0 wrote it, and this is {__version__}")):
        load_baseline(results)


def test_neither_a_folder_nor_a_pipe_nor_a_device_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    started = time.monotonic()
    for path in (tmp_path, tmp_path / "pipe", "/dev/zero", tmp_path / "absent"):
        with pytest.raises(Unusable):
            load_baseline(path)
    assert time.monotonic() - started < PATIENCE


def test_a_file_that_is_too_large_is_refused(results, monkeypatch):
    monkeypatch.setattr(recorded, "MAX_BASELINE", 100)
    with pytest.raises(Unusable, match="more than"):
        load_baseline(results)
    monkeypatch.setattr(recorded, "MAX_BASELINE", bounds.MAX_BASELINE)
    monkeypatch.setattr(recorded, "MAX_ANSWERS", 2)
    with pytest.raises(Unusable, match="more than 2 cases"):
        load_baseline(results)
    results.write_text(json.dumps(json.loads(results.read_text())))
    with pytest.raises(Unusable, match="more than 2 cases"):
        load_baseline(results)


def test_a_file_with_as_many_cases_and_bytes_as_are_taken_is_read(results, monkeypatch):
    monkeypatch.setattr(recorded, "MAX_ANSWERS", 3)
    assert len(load_baseline(results).answers) == 3
    results.write_text(json.dumps(json.loads(results.read_text())))
    monkeypatch.setattr(recorded, "MAX_FILE", results.stat().st_size)
    assert len(load_baseline(results).answers) == 3
    monkeypatch.setattr(recorded, "MAX_FILE", results.stat().st_size - 1)
    with pytest.raises(Unusable, match="is not laid out as gradegate writes it"):
        load_baseline(results)


def test_a_file_that_breaks_off_is_refused(results):
    whole = results.read_bytes()
    for length in (len(whole) - 3, len(whole) // 2, 100):
        results.write_bytes(whole[:length])
        with pytest.raises(Unusable):
            load_baseline(results)
