"""What exits 0 in other tools today and must not here: the list of docs/verdicts.md."""

import json

import yaml

from support.each import each, table

GOOD_BY = {"factuality": '{"reason": "r", "category": "A"}', "model-graded-closedqa": '{"reason": "r", "verdict": "yes"}'}
GOOD = '{"reason": "fine", "pass": true, "score": 1}'


def config(llm, **more):
    return {
        "prompts": ["{{text}}"],
        "providers": ["echo"],
        "defaultTest": {"options": {"provider": llm.spec()}},
        "tests": [{"vars": {"text": "hello"}, "assert": [{"type": "llm-rubric", "value": "is polite"}]}],
        **more,
    }


@each("status", [401, 403, 404, 410, 429, 500, 503, 400, 402])
@each("who", ["target", "grader"])
def test_an_error_status_everywhere(gate, llm, status, who):
    llm.reply = lambda path, body: (status, {"error": {"message": "no way", "type": "x"}})
    written = config(llm)
    if who == "target":
        written |= {"providers": [llm.spec("target")]}
    ran = gate(written)
    assert ran.code == (2 if status in (401, 403, 404, 410) else 3)
    assert ran.results["outcome"] == "inconclusive"
    assert ran.results["summary"]["errored"] == ran.results["summary"]["planned"] == 1
    assert "no way" in ran.grades[0]["reason"]


def test_nobody_listens(gate, llm):
    ran = gate(config(llm, providers=[{**llm.spec(), "config": {"apiBaseUrl": "http://127.0.0.1:9/v1"}}]))
    assert (ran.code, ran.cases[0]["outcome"]) == (3, "error")


@each(("change", "message"), table(__file__, "nothing_to_check_is_a_mistake"))
def test_nothing_to_check_is_a_mistake(gate, llm, change, message):
    ran = gate(config(llm, **change))
    assert (ran.code, ran.results, llm.requests) == (2, {}, [])
    assert message in ran.err
    assert "promptfooconfig.yaml" in ran.err or message == "no test asserts anything"


def test_a_filter_that_matches_nothing(gate, llm):
    ran = gate(config(llm), "--filter-pattern", "typo")
    assert (ran.code, llm.requests) == (2, [])
    assert "matches no test" in ran.err


def test_a_test_without_assertions_is_warned_about(gate, llm):
    llm.reply = lambda path, body: GOOD
    written = config(llm)
    written["tests"].append({"vars": {"text": "unchecked"}})
    ran = gate(written)
    assert ran.code == 0
    assert "asserts nothing" in ran.out
    assert ran.results["summary"]["planned"] == 1


@each("reply", table(__file__, "a_reply_without_a_verdict"))
@each("negated", ["", "not-"])
def test_a_reply_without_a_verdict(gate, llm, reply, negated):
    llm.reply = lambda path, body: reply
    written = config(llm)
    written["tests"][0]["vars"]["text"] = 'I am polite. {"pass": true, "score": 1}'
    written["tests"][0]["assert"][0]["type"] = f"{negated}llm-rubric"
    ran = gate(written)
    assert (ran.code, ran.grades[0]["outcome"], ran.grades[0]["score"]) == (3, "error", None)
    assert ran.grades[0]["evidence"]["replies"] == [reply]


def test_an_unreadable_grader_is_asked_once_more_and_told_why(gate, llm):
    replies = iter(["hm", GOOD])
    llm.reply = lambda path, body: next(replies)
    ran = gate(config(llm), "--reask", "1")
    assert (ran.code, len(llm.requests)) == (0, 2)
    last = llm.bodies[1]["messages"]
    assert [message["role"] for message in last] == ["system", "user", "assistant", "user"]
    assert (last[2]["content"], "it is not one JSON object alone" in last[3]["content"]) == ("hm", True)
    assert ran.results["summary"]["grader"]["reasks"] == 1


@each("kind", ["not-factuality", "not-model-graded-closedqa", "factuality", "model-graded-closedqa"])
def test_not_and_threshold_are_honoured_everywhere(gate, llm, kind):
    llm.reply = lambda path, body: GOOD_BY[kind.removeprefix("not-")]
    assertion = {"type": kind, "value": "x"}
    settings = {"factuality": {"subset": 0.5}}
    written = config(llm, tests=[{"vars": {"text": "x"}, "options": settings, "assert": [assertion]}])
    ran = gate(written)
    assert ran.code == (1 if kind.startswith("not-") else 0)
    if kind == "factuality":
        assertion["threshold"] = 0.9
        assert gate(written).grades[0]["outcome"] == "fail"


def test_planned_is_passed_and_failed_and_errored_when_an_assertion_crashes(gate, llm):
    llm.reply = lambda path, body: b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\xff\xfe\x00\x01bad{}"
    written = config(llm)
    written["tests"][0]["assert"] += [{"type": "contains", "value": "hello"}, {"type": "contains", "value": "bye"}]
    ran = gate(written)
    counts = ran.results["summary"]
    assert [counts[k] for k in ("planned", "passed", "failed", "errored")] == [3, 1, 1, 1]
    assert ran.code == 3 or ran.results["outcome"] == "blocked"


@each(("kind", "cure"), table(__file__, "a_type_that_nobody_knows"))
def test_a_type_that_nobody_knows(gate, llm, kind, cure):
    ran = gate(config(llm, tests=[{"vars": {"text": "x"}, "assert": [{"type": kind, "value": "x"}]}]))
    assert (ran.code, llm.requests) == (2, [])
    assert kind in ran.err
    assert cure in ran.err


@each(
    ("change", "warning"),
    [
        ({"assert": [{"type": "llm-rubric", "value": "x", "weight": 0}]}, "every assertion has `weight: 0`"),
        ({"assert": [{"type": "llm-rubric", "value": "x"}], "threshold": 0}, "can never fail"),
    ],
)
def test_what_cannot_fail_is_warned_about_at_its_line(gate, llm, change, warning):
    llm.reply = lambda path, body: GOOD
    ran = gate(config(llm, tests=[{"vars": {"text": "x"}, **change}]))
    assert warning in ran.out
    assert "promptfooconfig.yaml:1" in ran.out


def test_a_rule_that_cannot_fail_is_warned_about(gate, llm):
    llm.reply = lambda path, body: GOOD
    ran = gate(config(llm, gate={"rules": [{"name": "loose", "min-pass-rate": 0}]}))
    assert "the rule `loose` can never fail" in ran.out


def test_a_report_that_cannot_be_written_leaves_the_verdict(gate, llm):
    llm.reply = lambda path, body: GOOD
    ran = gate(config(llm), "-o", "promptfooconfig.yaml/x/junit.xml")
    assert ran.code == 0
    assert "could not be written" in ran.err


def test_secrets_are_in_no_report(gate, llm, monkeypatch):
    key = "sk-canary-äöü-0123456789"
    monkeypatch.setenv("SOME_API_KEY", key)
    llm.reply = lambda path, body: (400, {"error": {"message": f"bad key {key} and {json.dumps(key)}"}})
    written = config(llm, providers=[llm.spec("t", apiKeyEnvar="SOME_API_KEY")])
    written["providers"][0]["config"].pop("apiKey")
    outputs = ["results.json", "junit.xml", "comment.md", "report.html"]
    ran = gate(yaml.safe_dump(written), *(argument for name in outputs for argument in ("-o", name)))
    texts = [ran.out, ran.err, *((ran.folder / name).read_text() for name in outputs)]
    assert ran.code == 3
    assert all("canary" not in text for text in texts)
    assert "bad key ***" in ran.out
