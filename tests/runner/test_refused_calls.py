"""What a model refuses is an error of its case, unless it answers no call of the run: then the setup is wrong."""

import json

import pytest

from gradegate.cli import main as cli
from support.each import each
from support.fake_llm import serve
from support.kept import PASS

REFUSAL = (401, {"error": {"message": "no such key"}})
REDIRECT = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: https://elsewhere.example/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
YES = [{"type": "equals", "value": "yes"}]


@pytest.fixture
def other():
    """Another host on loopback."""
    with serve() as fake:
        yield fake


def cases(count, **more):
    return {"prompts": ["case {{n}}"], "tests": [{"vars": {"n": n}} for n in range(count)], "defaultTest": {"assert": YES}, **more}


def refusing(*numbers, answer=REFUSAL):
    """A host that refuses these cases, and answers all others."""
    refused = {f"case {number}" for number in numbers}
    return lambda path, body: answer if body["messages"][-1]["content"] in refused else "yes"


@each(
    ("answer", "refused", "code"),
    [
        (REFUSAL, [0], 3),
        (REFUSAL, [3], 3),
        (REFUSAL, [0, 1, 2], 3),
        (REFUSAL, [0, 1, 2, 3], 2),
        (REDIRECT, [2], 3),
        (REDIRECT, [0, 1, 2, 3], 2),
        ((404, {"error": {"message": "no such model"}}), [1], 3),
    ],
)
def test_a_refusal_among_good_calls_is_an_error_of_its_case(gate, llm, answer, refused, code):
    llm.reply = refusing(*refused, answer=answer)
    ran = gate(cases(4, providers=[llm.spec()]), "-j", "1")
    outcomes = ["error" if number in refused else "pass" for number in range(4)]
    assert (ran.code, ran.results["outcome"], [case["outcome"] for case in ran.cases]) == (code, "inconclusive", outcomes)
    assert ran.results["setup"] is (code == 2)
    assert ("the setup is wrong" in ran.out) is (code == 2)
    models = [f"openai:chat:fake at 127.0.0.1:{llm.port}" if number in refused else "" for number in range(4)]
    assert [grade["refused_by"] for grade in ran.grades] == models


def test_a_refusal_that_comes_before_any_success_waits_for_the_end(gate, llm):
    llm.together = 2  # the refusal is there before the first good answer
    llm.reply = refusing(0)
    assert gate(cases(2, providers=[llm.spec()]), "-j", "2").code == 3


def test_a_blocking_rule_that_is_missed_wins_over_a_refusal(gate, llm):
    llm.reply = lambda path, body: REFUSAL if "0" in body["messages"][-1]["content"] else "no"
    assert gate(cases(2, providers=[llm.spec()])).code == 1


@each(("refused", "code"), [("app", 2), ("judge", 2), ("", 0)])
def test_a_host_that_refuses_everything_is_a_wrong_setup_whatever_others_answer(gate, llm, other, refused, code):
    llm.reply = lambda path, body: REFUSAL if refused == "app" else "hello"
    other.reply = lambda path, body: REFUSAL if refused == "judge" else PASS
    rubric = {"assert": [{"type": "llm-rubric", "value": "is polite"}], "options": {"provider": other.spec("judge")}}
    assert gate(cases(3, providers=[llm.spec("app")], defaultTest=rubric)).code == code


@each("refused", ["app", "judge"])
def test_a_wrong_key_beside_one_that_the_same_host_accepts_is_a_wrong_setup(gate, llm, refused):
    llm.reply = lambda path, body: REFUSAL if body["model"] == refused else PASS
    rubric = {"assert": [{"type": "llm-rubric", "value": "is polite"}], "options": {"provider": llm.spec("judge", apiKey="another")}}
    config = cases(2, defaultTest=rubric, providers=[llm.spec("app"), llm.spec("third")])
    ran = gate(config)
    assert (ran.code, ran.results["setup"]) == (2, True)


def test_a_reply_of_the_cache_says_nothing_about_the_key(gate, llm):
    llm.reply = lambda path, body: "yes"
    config = cases(2, providers=[llm.spec()])
    assert gate(config, "--cache", "kept").code == 0
    llm.reply = lambda path, body: REFUSAL
    asked = len(llm.requests)
    ran = gate({**config, "tests": [*config["tests"], {"vars": {"n": 2}}]}, "--cache", "kept")
    assert (ran.code, [case["outcome"] for case in ran.cases], len(llm.requests) - asked) == (2, ["pass", "pass", "error"], 1)


@each(("refused", "code"), [(range(6), 2), (range(5), 3), ([0], 3)])
def test_a_merge_decides_as_one_run(sharded, llm, refused, code):
    llm.reply = refusing(*refused)
    run = sharded(cases(6, providers=[llm.spec()]), of=6)  # no shard has both
    one, merged = run.one(), run.run()
    assert (one[0], merged[0]) == (code, code)
    for results in (one[1], merged[1]):
        assert (results["outcome"], results["setup"], results["reason"]) == ("inconclusive", code == 2, one[1]["reason"])
    models = [[grade["refused_by"] for case in results["cases"] for grade in case["grades"]] for results in (one[1], merged[1])]
    assert models[0] == models[1]


@each(("refused", "code"), [([0], 3), ([0, 1], 2)])
def test_results_are_read_as_they_were_decided(gate, llm, refused, code):
    llm.reply = refusing(*refused)
    ran = gate(cases(2, providers=[llm.spec()]))
    for results in (ran.results, older(ran.results)):
        (ran.folder / "results.json").write_text(json.dumps(results))
        cli.main(["view", "results.json"])
        shown = (ran.folder / "results.html").read_text()
        assert "Inconclusive" in shown
        assert ("the setup is wrong" in shown) is (code == 2)


def older(results):
    """As a version wrote it that did not say who refused."""
    copy = json.loads(json.dumps(results))
    for case in copy["cases"]:
        for grade in case["grades"]:
            del grade["refused_by"]
    return copy
