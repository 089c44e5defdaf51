"""Tests in quarantine: flaking is forgiven and said, a break is not."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from support.earlier import FOLDER, by, earlier
from support.flips import scripted, suite


def quarantined(llm, cases=3):
    config = suite(llm.spec(), cases)
    config["tests"][0]["flaky"] = (datetime.now(UTC).date() + timedelta(30)).isoformat()
    return config


def run(gate, llm, config, replies):
    llm.reply = by("m1", scripted(replies))
    return gate(config, "--baseline", FOLDER, reask="")


def flaking(gate, llm, config):
    """A history in which 36 of 60 asks of case 0 fail."""
    earlier(gate, llm, config, 12)
    path = gate().folder / FOLDER / "history.jsonl"
    first, *others = path.read_text().splitlines(keepends=True)
    path.write_text("".join([first.replace('"votes":"P"', '"votes":"FFFPP"'), *others]))


@pytest.mark.parametrize(("replies", "code", "outcome"), [("FP" * 10, 0, "pass"), ("FFFFP" * 4, 0, "error"), ("FEE", 3, "error")])
def test_a_history_forgives_flaking(gate, llm, replies, code, outcome):
    config = suite(llm.spec(), 3)
    flaking(gate, llm, config)
    ran = run(gate, llm, config, {0: replies})
    assert (ran.code, ran.grades[0]["outcome"]) == (0 if outcome == "pass" else 3, outcome)
    ran = run(gate, llm, quarantined(llm), {0: replies})
    assert (ran.code, ran.grades[0]["outcome"]) == (code, outcome)
    assert "case 0: llm-rubric: flaky: 36 of 60 asks failed on the default branch" in ran.out


def test_a_break_is_not_forgiven(gate, llm):
    config = suite(llm.spec(), 1)
    earlier(gate, llm, config, 1, {0: "FPP"})
    earlier(gate, llm, config, 15)
    ran = run(gate, llm, quarantined(llm, cases=1), {0: "F" * 20})
    past = ran.grades[0]["history"]
    assert (ran.code, past["flaky"], past["fails"], past["bayes_factor"] > 200) == (1, True, 1, True)


def test_what_is_not_flaky_counts_and_its_quarantine_is_named(gate, llm):
    earlier(gate, llm, suite(llm.spec(), 3), 12)
    ran = run(gate, llm, quarantined(llm), {0: "FF"})
    assert ran.code == 1
    assert "still counts, because it is not flaky: 0 of 12 asks failed on the default branch: remove the quarantine" in json.dumps(
        ran.results["notes"]
    )


def test_a_test_that_was_never_flaky_is_not_forgiven_where_its_asks_contradict_each_other(gate, llm):
    earlier(gate, llm, suite(llm.spec(), 3), 12)
    ran = run(gate, llm, quarantined(llm), {0: "FP" * 10})
    assert (ran.code, ran.grades[0]["outcome"], ran.grades[0]["quarantine"]) == (3, "error", "")
    assert "10 of 20 asks failed, and 0 of 12 before" in ran.grades[0]["reason"]
