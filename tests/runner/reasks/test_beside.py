"""A run beside its base, through the whole command: which answers are graded again, how often, and what comes of it."""

import json
import time
from pathlib import Path

import pytest

from gradegate.gate.statistics import required_lead
from support.interrupts import interrupt_run
from support.scenes import VERDICTS, script

VECTORS = json.loads((Path(__file__).parents[2] / "conformance" / "decisions.json").read_text())["pair"]
NEW = {"name": "regressions", "max-new-failures": 0}
FILLER, BASE, HEAD = "nothing to see here", "the base says so", "the head says so"


def script_replies(llm, answer, **verdicts):
    llm.requests.clear()
    said = {"head": HEAD, "base": BASE}
    judged = {"verdicts": {said[side]: replies for side, replies in verdicts.items()}}
    llm.reply = script(
        [{"when": ["'app'", "it 0"], "say": answer}, {"when": "'app'", "say": FILLER}, {"when": FILLER, "say": VERDICTS["P"]}, judged]
    )


def config(llm, *rules, tests=1, noise=0.1):
    rubric = {"type": "llm-rubric", "value": "is good"}
    return {
        "prompts": [{"raw": "Say it {{n}}", "label": "say"}],
        "providers": [llm.spec("app", temperature=0)],
        "defaultTest": {"options": {"provider": llm.spec("judge")}},
        "tests": [{"description": f"case {n}", "vars": {"n": n}, "assert": [rubric]} for n in range(tests)],
        "gate": {"rules": list(rules), "reask": {"noise": noise}},
    }


def record_baseline(gate, llm, said, conf):
    """What a run of the base recorded, in a file of its own."""
    script_replies(llm, BASE, base=said)
    ran = gate({**conf, "gate": {"rules": [{"name": "all", "min-pass-rate": 0}]}})
    (ran.folder / "before").mkdir(exist_ok=True)
    (ran.folder / "before" / "results.json").write_text((ran.folder / "results.json").read_text())


def cases_and_noise(votes):
    """How many cases, and what noise, it takes for that lead."""
    shares = ((tests, share / 1000) for tests in (1, 2) for share in range(251))
    return next(pair for pair in shares if required_lead(*pair).votes == votes)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"{v['lead']}-{v['base']}-{v['head_replies']}-{v['base_replies']}")
def test_a_pair_is_judged_as_the_specification_does(vector, gate, llm):
    rule = {"name": "drop", "max-drop": 0} if vector.get("max_drop_rule") else NEW
    tests, noise = cases_and_noise(vector["lead"])
    conf = config(llm, rule, tests=tests, noise=noise)
    said = {"pass": "P", "fail": "F", "error": "E", "none": "P"}[vector["base"]]
    named = [{**test, "description": f"another {n}"} for n, test in enumerate(conf["tests"])]
    record_baseline(gate, llm, said, {**conf, "tests": named} if vector["base"] == "none" else conf)
    script_replies(llm, HEAD, head=vector["head_replies"], base=vector["base_replies"])
    ran = gate(conf, "--baseline", "before", reask="grader")
    assert (ran.results["reask"]["lead"], ran.grades[0]["status"]) == (vector["lead"], vector["status"])
    assert [sum(side in text for text in llm.prompts) for side in (HEAD, BASE)] == [vector["head_asks"], vector["base_asks"]]
    if rule is NEW:
        is_majority = tests == 1 and vector["status"] in ("pre-existing", "unsteady")
        assert ran.code == (3 if is_majority else {"new-failure": 1, "undecided": 3}.get(vector["status"], 0))
        is_unsteady = vector["status"] == "unsteady" and not is_majority
        assert ("1 unsteady failure not counted" in ran.results["reason"]) == is_unsteady
    assert ran.code != 0 or vector["status"] in ("ok", "fixed", "pre-existing", "unsteady")


@pytest.mark.slow
def test_a_signal_while_the_base_is_graded_again_calls_nothing_new(gate, llm, tmp_path):
    conf = config(llm, NEW)
    record_baseline(gate, llm, "P", conf)
    script_replies(llm, HEAD, head="FFF", base="P")
    reply = llm.reply
    llm.reply = lambda path, body: time.sleep(600) if BASE in str(body) else reply(path, body)
    # the target, three asks, and one of the base
    results = interrupt_run(llm, tmp_path, conf, 5, "--baseline", "before")
    (grade,) = results["cases"][0]["grades"]
    assert (results["outcome"], grade["outcome"], grade["status"]) == ("inconclusive", "fail", "undecided")
    assert results["rules"][0]["reason"] == "it is not known whether 1 failure is new"
