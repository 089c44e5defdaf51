"""What exits 0 in other tools today and must not here: the list of docs/verdicts.md."""

import json

import yaml

from support.scenes import scenes

test_a_scene = scenes(__file__)


def config(llm, **more):
    return {
        "prompts": ["{{text}}"],
        "providers": ["echo"],
        "defaultTest": {"options": {"provider": llm.spec()}},
        "tests": [{"vars": {"text": "hello"}, "assert": [{"type": "llm-rubric", "value": "is polite"}]}],
        **more,
    }


def test_planned_is_passed_and_failed_and_errored_when_an_assertion_crashes(gate, llm):
    llm.reply = lambda path, body: b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\xff\xfe\x00\x01bad{}"
    written = config(llm)
    written["tests"][0]["assert"] += [{"type": "contains", "value": "hello"}, {"type": "contains", "value": "bye"}]
    ran = gate(written)
    counts = ran.results["summary"]
    assert [counts[k] for k in ("planned", "passed", "failed", "errored")] == [3, 1, 1, 1]
    assert ran.code == 3 or ran.results["outcome"] == "blocked"


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
