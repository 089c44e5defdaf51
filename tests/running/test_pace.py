"""Cost and latency beside the base, through the whole command: what is measured, where it is said, and what holds it."""

import json

import pytest

from support.fake_llm import chat
from support.shards import Sharded, timeless

RULE = {"name": "pace", "max-cost-increase": 0.2}


@pytest.fixture
def priced(llm):
    """A target whose answer to a prompt with "new" costs thrice what another costs."""
    llm.reply = lambda path, body: {**chat("ok"), "usage": {"prompt_tokens": 0, "completion_tokens": 30 if "new" in str(body) else 10}}
    return llm


def config(llm, word, *rules, tests=6, **gate):
    return {
        "prompts": [{"raw": word + " {{n}}", "label": "p"}],
        "providers": [llm.spec("app", inputCost=0, outputCost=0.001)],
        "tests": [{"vars": {"n": n}, "assert": [{"type": "contains", "value": "ok"}]} for n in range(tests)],
        "gate": {"rules": [*rules, {"name": "all", "min-pass-rate": 1}], **gate},
    }


def recorded(gate, llm, *arguments, change=lambda case: None):
    """What a run of the base left, each case changed."""
    ran = gate(config(llm, "old"), *arguments)
    results = ran.results
    for case in results["cases"]:
        change(case)
    (ran.folder / "base.json").write_text(json.dumps(results))
    return ran


def test_a_dearer_prompt_blocks_and_every_report_says_by_how_much(gate, priced, tmp_path, monkeypatch):
    recorded(gate, priced)
    outputs = ("-o", "a.agent.md", "-o", "p.html", "-o", "c.md")
    ran = gate(config(priced, "new", RULE), "--baseline", "base.json", *outputs)
    assert (ran.code, ran.results["rules"][0]["outcome"]) == (1, "fail")
    assert (
        "an answer is 200% more expensive (200% to 200%) than on the base, over 6 answers: at most 20% is allowed"
        in ran.results["rules"][0]["reason"]
    )
    for text in (ran.out, *((tmp_path / name).read_text() for name in ("a.agent.md", "p.html", "c.md"))):
        assert "An answer is 200% more expensive (200% to 200%) and" in text
    cost = ran.results["baseline"]["cost"]
    assert (cost["compared"], cost["base"], cost["here"]) == (6, pytest.approx(0.01), pytest.approx(0.03))
    assert [case["took"]["usd"] for case in ran.cases] == [pytest.approx(0.03)] * 6
    assert not any(case["blocks"] for case in ran.cases)


def test_a_gate_of_pace_alone_says_that_nothing_was_measured(gate, priced):
    alone = config(priced, "old") | {"gate": {"rules": [RULE]}}
    ran = gate(alone)
    assert (ran.code, ran.results["rules"][0]["outcome"]) == (3, "error")


def test_the_base_asked_in_the_same_run_is_measured_alike(gate, priced):
    base = {"other/promptfooconfig.yaml": json.dumps(config(priced, "old"))}
    arguments = ("--base", "other", "--compare", "base")
    ran = gate(config(priced, "new", RULE), *arguments, **base)
    assert (ran.code, ran.results["baseline"]["cost"]["compared"]) == (1, 6)
    assert gate(config(priced, "old", RULE), *arguments, **base).code == 0


@pytest.mark.parametrize(("seconds", "limit", "word"), [(1e-9, 1e5, "slower"), (1e6, 0, "faster")])
def test_latency_is_measured_as_cost_is(gate, priced, seconds, limit, word):
    recorded(gate, priced, change=lambda case: case["took"].update(seconds=seconds))
    ran = gate(config(priced, "new", {"name": "pace", "max-latency-increase": limit}), "--baseline", "base.json")
    assert (ran.code, f" s {word} (" in ran.results["rules"][0]["reason"]) == (0, True)


@pytest.mark.parametrize(
    ("prepare", "arguments"),
    [
        ((), ()),  # no baseline
        (("--cache", "kept"), ("--baseline", "base.json", "--cache", "kept")),  # nothing is asked here
        ("old file", ("--baseline", "base.json")),
    ],
)
def test_what_was_not_measured_could_not_be_told(gate, priced, prepare, arguments):
    old = prepare == "old file"
    recorded(gate, priced, *(() if old else prepare), change=lambda case: old and case.pop("took"))
    ran = gate(config(priced, "old", RULE), *arguments)
    assert (ran.code, ran.results["rules"][0]["outcome"]) == (3, "error")
    assert "the cost was measured for fewer than 5 answers here and on the base" in ran.results["rules"][0]["reason"]


def test_one_answer_of_the_base_is_beside_one_run_of_a_case(gate, priced):
    recorded(gate, priced)
    ran = gate(config(priced, "new", RULE, runs={"of": 3, "pass": 3}), "--baseline", "base.json")
    assert (len(ran.cases), ran.results["baseline"]["cost"]["compared"]) == (18, 6)


def test_what_re_asks_cost_is_not_the_cost_of_an_answer(gate, priced):
    recorded(gate, priced)
    judged = config(priced, "old", RULE, confirm="answers")
    verdicts, answer = iter([False] + [True] * 100), priced.reply

    def reply(path, body):
        return json.dumps({"pass": next(verdicts), "score": 0, "reason": ""}) if body["model"] == "judge" else answer(path, body)

    priced.reply = reply
    for test in judged["tests"]:
        test["assert"].append({"type": "llm-rubric", "value": "x", "provider": priced.spec("judge")})
    ran = gate(judged, "--baseline", "base.json", confirm="")
    assert max(case["usage"]["calls"] for case in ran.cases) > 1
    assert [case["took"]["usd"] for case in ran.cases] == [pytest.approx(0.01)] * 6


def test_shards_merge_to_the_same(gate, priced, tmp_path):
    base = tmp_path / "other"
    base.mkdir()
    (base / "c.yaml").write_text(json.dumps(config(priced, "old")))
    run = Sharded(tmp_path, config(priced, "new", RULE, compare="base"), 3, ("--base", "other"))
    code, whole = run.one()
    run.ask()
    merged_code, merged = run.merge()
    assert (code, merged_code) == (1, 1)
    assert timeless(merged["rules"] + merged["cases"]) == timeless(whole["rules"] + whole["cases"])
