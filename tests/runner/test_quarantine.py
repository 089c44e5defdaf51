"""Tests in quarantine: their failures only advise, and what the votes say against the quarantine is said."""

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from support.each import each
from support.earlier import FOLDER, by, earlier, remember
from support.flips import script_replies, suite

VECTORS = json.loads((Path(__file__).parent.parent / "conformance" / "history.json").read_text())


def config_with_quarantine(llm, cases=3):
    config = suite(llm.spec(), cases)
    config["tests"][0]["flaky"] = (datetime.now(UTC).date() + timedelta(30)).isoformat()
    return config


def run(gate, llm, config, replies):
    llm.reply = by("m1", script_replies(replies))
    return gate(config, "--baseline", FOLDER, reask="")


def notes(ran):
    return [note["text"] for note in ran.results["notes"] if "case 0` is in quarantine, but" in note["text"]]


def test_what_the_votes_say_does_not_change_what_counts(gate, llm):
    for vector in VECTORS["quarantine"]:
        fails, passes = vector["fails"], vector["passes"]
        config = config_with_quarantine(llm, vector["grades"])
        earlier(gate, llm, config, 1)
        # One run in three fails at most, so nothing is broken before; the other cases decide how often an ask fails.
        votes = [*filter(None, ["F" * fails, "P" * (passes - 1), "P"])]
        remember(gate().folder, {number: ["P" * 60] for number in range(vector["grades"])} | {0: votes})
        ran = run(gate, llm, config, {0: vector["replies"]})
        grade = ran.grades[0]
        found = (grade["outcome"], max(1, len(grade["votes"])), not grade["quarantine"], "broken, not flaky" in str(notes(ran)))
        assert found == (vector["conclusion"], vector["asks"], vector["counts"], vector["says_broken"]), vector


@pytest.mark.parametrize(("replies", "code", "outcome"), [("FP" * 10, 0, "pass"), ("FFFFP" * 4, 0, "error"), ("FEE", 3, "error")])
def test_a_quarantine_forgives_flaking(gate, llm, replies, code, outcome):
    config = suite(llm.spec(), 3)
    earlier(gate, llm, config, 1)
    remember(gate().folder, {0: ["FFPP"] * 15})
    ran = run(gate, llm, config, {0: replies})
    assert (ran.code, ran.grades[0]["outcome"]) == (0 if outcome == "pass" else 3, outcome)
    ran = run(gate, llm, config_with_quarantine(llm), {0: replies})
    assert (ran.code, ran.grades[0]["outcome"]) == (code, outcome)
    assert "case 0: llm-rubric: flaky: 30 of 60 asks failed on the default branch" in ran.out


@each(
    ("before", "replies", "said"),
    [
        (["FFPPP", *"PPPPPPPPPPPPPPP"], "F" * 20, "broken, not flaky: 4 of 4 asks failed here, 2 of 20 before"),
        (["P"] * 12, "FF", "broken, not flaky: 2 of 2 asks failed here, 0 of 12 before"),
        (["FFFP"] * 15, "F", "broken, not flaky: 45 of 60 asks failed on the default branch"),
        (["FFFP"] * 15, "P", "broken, not flaky: 45 of 60 asks failed on the default branch"),
        (["P"] * 12, "P", "not flaky: 0 of 12 asks failed on the default branch: remove the quarantine"),
        (["P"] * 12, "FP" * 10, "not flaky: 0 of 12 asks failed on the default branch: remove the quarantine"),
        (["FPP"] * 4, "P", ""),
        (["P"] * 9, "F", ""),  # too few votes
    ],
)
def test_a_break_only_advises_and_is_said(gate, llm, before, replies, said):
    earlier(gate, llm, suite(llm.spec(), 3), 1)
    remember(gate().folder, {0: before})
    ran = run(gate, llm, config_with_quarantine(llm), {0: replies})
    assert (ran.code, notes(ran)) == (0, [f"`case 0` is in quarantine, but it is {said}"] if said else [])
    assert said in ran.out
    (gate().folder / FOLDER / "history.jsonl").unlink()


def test_a_failure_that_no_rule_needs_to_be_asked_again_is_forgiven_too(gate, llm):
    config = config_with_quarantine(llm) | {"gate": {"min-pass-rate": 0.5}}
    earlier(gate, llm, config, 1)
    remember(gate().folder, {0: ["P"] * 12})
    ran = run(gate, llm, config, {0: "F"})
    assert (ran.code, ran.results["rules"][0]["failed"], bool(ran.grades[0]["quarantine"])) == (0, 0, True)


def test_the_days_of_a_quarantine(gate, llm):
    """Its last day may be today and at most so far ahead; the last week is announced."""
    llm.reply = by("m1", script_replies({}))
    today = datetime.now(UTC).date()
    for vector in VECTORS["quarantine_dates"]:
        ahead = date.fromisoformat(vector["until"]) - date.fromisoformat(vector["today"])
        config = suite({"id": "echo"}, 2, {"type": "contains", "value": "nowhere"})
        config["tests"][1]["assert"] = [{"type": "contains", "value": "case 1"}]
        config["defaultTest"] = {}
        config["tests"][0] |= {"assert": [{"type": "contains", "value": "nowhere"}], "flaky": (today + ahead).isoformat()}
        ran = gate(config)
        if vector["mistake"]:
            assert (ran.code, f"`flaky` is {ahead.days} days ahead" in ran.err) == (2, True), vector
            continue
        said = " ".join(note["text"] for note in ran.results["notes"])
        assert (ran.code, bool(ran.grades[0]["quarantine"])) == ((0, True) if vector["active"] else (1, False)), vector
        assert ("it ends in" in said) is vector["warns"], vector
