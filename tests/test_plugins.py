"""A grader is one file: dropped into a folder, it runs through the command, is listed, and stands in the schema."""

import json
import re

import pytest

from gradegate.commands.list import listing
from gradegate.commands.schema import schema
from gradegate.grading.grader import GRADERS
from support.each import each, table
from support.graded import Script, config, mistakes
from support.plugins import load_folder

GRADER = table(__file__, "GRADER")


@pytest.fixture
def dropped(tmp_path, monkeypatch):
    monkeypatch.setattr(GRADERS, "_plugins", dict(GRADERS))
    folder = tmp_path / "more graders"
    folder.mkdir()
    (folder / "is_short.py").write_text(GRADER)
    load_folder(folder)


@each(("assertion", "outcome", "score"), table(__file__, "it_runs_with_options_threshold_and_not"))
def test_it_runs_with_options_threshold_and_not(gate, llm, dropped, assertion, outcome, score):
    llm.reply = Script("Yes")
    grade = gate(config(llm, {"type": "is-short", **assertion})).grades[0]
    assert (grade["outcome"], grade["score"]) == (outcome, score)


def test_an_unreadable_reply_and_a_wrong_option_need_no_code_of_its_own(gate, llm, dropped):
    llm.reply = Script("Perhaps")
    assert gate(config(llm, {"type": "is-short", "value": 2})).grades[0]["outcome"] == "error"
    text = mistakes(gate(config(llm, {"type": "is-short", "value": "two"}, {"type": "is-shrt", "value": 2})))
    assert "`is-short`: `value` must be a whole number" in text
    assert 'did you mean "is-short"?' in text


def test_list_and_schema_know_it(dropped):
    assert "is-short  " in listing()
    assert "The answer has at most so many words." in listing()
    *types, opposite = json.loads(schema("config"))["$defs"]["AssertionKeys"]["properties"]["type"]["anyOf"]
    assert {"const": "is-short", "description": "The answer has at most so many words."} in types
    assert re.match(opposite["pattern"], "not-is-short")


def test_without_its_file_it_is_unknown(gate, llm):
    assert "unknown assertion type `is-short`" in mistakes(gate(config(llm, {"type": "is-short", "value": 2})))
