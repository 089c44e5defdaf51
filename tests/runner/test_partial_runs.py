"""A run of the default branch that leaves something out replaces neither the baseline nor the history, and says so."""

import json

import pytest

from support.earlier import FOLDER, by, on_default_branch
from support.flips import script_replies, suite

NOTE = "the options select tests or targets, so baseline and history stay as they are"
SELECTIONS = [
    ("--select", "description=case 1"),
    ("--select", "metadata.kind=odd"),
    ("--select", "provider=first"),
    ("--select", "first=1"),
    ("--filter-pattern", "case 1"),
    ("--filter-first-n", "1"),
    ("--filter-metadata", "kind=odd"),
    ("--filter-providers", "first"),
    ("--provider", "first"),
    ("--failed", "old.json"),
]


@pytest.fixture
def config(llm):
    """Three cases for two targets."""
    config = suite(llm.spec(), 3, gate={"rules": [{"name": "new", "max-new-failures": 0}]})
    config["providers"] = [{"id": "echo", "label": "first"}, {"id": "echo", "label": "second"}]
    config["tests"][1]["metadata"] = {"kind": "odd"}
    return config


def run(gate, llm, config, *arguments, replies=None):
    llm.reply = by("m1", script_replies(replies or {}))
    return on_default_branch(gate, config, *arguments)


def files(ran):
    return {path.name: path.read_bytes() for path in (ran.folder / FOLDER).iterdir()}


def notes(ran):
    return [note["text"] for note in ran.results["notes"]]


@pytest.mark.parametrize("option", SELECTIONS)
def test_a_selection_leaves_what_there_is(gate, llm, config, option):
    first = run(gate, llm, config, replies={2: "F" * 40})
    (first.folder / "old.json").write_text(json.dumps(first.results))
    before = files(first)
    assert sorted(before) == ["history.jsonl", "results.json"]

    ran = run(gate, llm, config, *option)
    assert 0 < len(ran.results["cases"]) < 6
    assert files(ran) == before
    assert NOTE in notes(ran)

    whole = run(gate, llm, config)
    assert files(whole).keys() == before.keys()
    assert all(files(whole)[name] != before[name] for name in before)
    assert NOTE not in notes(whole)


@pytest.mark.parametrize("option", SELECTIONS[:-1])
def test_a_selection_begins_no_baseline(gate, llm, config, option):
    ran = run(gate, llm, config, *option)
    assert not (ran.folder / FOLDER).exists()
    assert NOTE in notes(ran)


def test_a_budget_that_ends_leaves_what_there_is(gate, llm, config):
    before = files(run(gate, llm, config))
    assert files(run(gate, llm, config, "--budget", "2 calls")) == before


def test_of_another_branch_nothing_is_said(gate, llm, config):
    ran = run(gate, llm, config)
    llm.reply = by("m1", script_replies({}))
    assert NOTE not in notes(gate(config, "--baseline", FOLDER, "--filter-first-n", "1", reask=""))
    assert ran.code == 0
