"""Failing grades are asked again until no rule can change, through the command."""

import json
from pathlib import Path

import pytest

from support.flips import flipping, script_replies, suite

CONFORMANCE = Path(__file__).parents[2] / "conformance"
VECTORS = [row for name in ("decisions", "history") for row in json.loads((CONFORMANCE / f"{name}.json").read_text())["suite"]]
CODES = {"pass": 0, "blocked": 1, "inconclusive": 3}


@pytest.mark.parametrize("vector", VECTORS, ids=range(len(VECTORS)))
def test_the_suites_of_the_specification(gate, llm, vector):
    llm.reply = script_replies(dict(enumerate(vector["replies"])))
    rule = {"name": "r", "min-pass-rate": vector["min_pass_rate"]}
    config = suite(llm.spec(), len(vector["replies"]), gate={"reask": {"noise": vector["noise"]}, "rules": [rule]})
    ran = gate(config, "-j", "8", reask="")
    said = ran.results["reask"]
    # A rule is missed whatever errors there are, so that it blocks; elsewhere the suite's errors make it inconclusive.
    assert ran.code == CODES[vector["outcome"]]
    assert len(llm.requests) == vector["grader_asks"] == said["asks"]
    assert (said["asked_again"], said["overturned"]) == (vector["asked_again"], vector["overturned"])
    assert (said["confirmed"], said["undecided"]) == (vector["stand"], vector["undecided"])
    once = vector["failed_once"] if "failed_once" in vector else vector["not_asked_again"]
    assert (said["not_asked_again"], said["lead"]) == (once, vector["lead"])
    summary = ran.results["summary"]
    assert (summary["passed"], summary["errored"]) == (vector["passed"], vector["errored"])
    assert summary["planned"] == summary["passed"] + summary["failed"] + summary["errored"]
    assert summary["grader"]["calls"] == len(llm.requests)


@pytest.mark.parametrize("seed", range(3))
def test_a_good_branch_passes_although_the_grader_flips(gate, llm, seed):
    llm.reply = flipping(0.05, seed)
    assert gate(suite(llm.spec(), 100), "-j", "8", reask="").code == 0
    assert 100 <= len(llm.requests) <= 135  # 1.11 a case on average
    assert gate(suite(llm.spec(), 100), "-j", "8", reask="off").code == 1


@pytest.mark.parametrize("seed", range(3))
def test_a_broken_case_blocks_although_the_grader_flips(gate, llm, seed):
    llm.reply = flipping(0.02, seed, broken={41})
    ran = gate(suite(llm.spec(), 100), "-j", "8", reask="")
    assert ran.code == 1
    assert [case["description"] for case in ran.cases if case["outcome"] == "fail"] == ["case 41"]


def test_the_same_replies_give_the_same_asks_whatever_the_threads_do(gate, llm):
    config = suite(llm.spec(), 60, gate={"rules": [{"name": "r", "min-pass-rate": 0.9}]})
    found = []
    for jobs in ("1", "50"):
        llm.requests.clear()
        llm.reply = flipping(0.25, 5, broken=range(4))
        ran = gate(config, "-j", jobs, reask="")
        asked = sorted(json.dumps(body) for body in llm.bodies)
        grades = [(grade["outcome"], grade["votes"], grade["confirmed"]) for grade in ran.grades]
        found.append((ran.code, asked, grades, ran.results["reask"], ran.results["reason"]))
    assert found[0] == found[1]
    assert ran.results["reask"]["asked_again"] > 0
