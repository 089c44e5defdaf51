"""What a run would take, said before anything is asked."""

import json

import pytest

from gradegate.cli import main as cli
from gradegate.core.numbers import format_count
from gradegate.core.policy import NO_LIMITS, Limits
from gradegate.runner.estimate import CallCount, Cost, Estimate
from gradegate.runner.estimate import estimate_lines as lines_of
from gradegate.structs import replace
from support.each import each, table
from support.kept import config


def validate_lines(llm, gate, written, *arguments: str) -> list[str]:
    ran = gate(written, *arguments, command="validate")
    assert (ran.code, llm.requests, ran.results) == (0, [], {})
    lines = ran.out.splitlines()
    return lines[next(at for at, line in enumerate(lines) if line.startswith("target: ")) :]


def test_validate_warns_first_and_sums_up_last(llm, gate):
    written = config(llm, 5)
    written["tests"].append({"vars": {"text": "unchecked"}})
    lines = gate(written, "--repeat", "2", command="validate", reask="").out.splitlines()
    warned = [number for number, line in enumerate(lines) if "warning: " in line]
    assert warned == list(range(len(warned))) != []
    assert "target: 12 calls" in lines
    assert lines[-1] == "valid: 12 answers and 10 assertions planned"
    assert llm.requests == []


def test_the_estimate_is_what_the_run_sends(llm, gate):
    def reply(path, body):
        if path.endswith("/embeddings"):
            rows = [{"index": i, "embedding": [1.0]} for i in range(len(body["input"]))]
            return {"data": rows, "usage": {"prompt_tokens": 1}}
        return (
            '{"question": "why?", "evades": false}'
            if '"question"' in json.dumps(body)
            else '{"pass": true, "score": 1, "reason": "polite"}'
        )

    llm.reply = reply
    embedder = {"id": "openai:embeddings:e", "config": {"apiBaseUrl": llm.base, "apiKey": "k", "cost": 0.001}}
    options = {"options": {"provider": {"text": llm.spec("judge", cost=0.001), "embedding": embedder}}}
    written = config(llm, 4, defaultTest=options)
    written["tests"][0]["assert"] += [{"type": "similar", "value": "hello"}, {"type": "equals", "value": "x"}]
    written["tests"][1]["assert"] = [{"type": "answer-relevance", "threshold": 0}]
    written["tests"][2]["providerOutput"] = "recorded"
    lines = validate_lines(llm, gate, written)
    gate(written)
    target = sum(body["model"] == "fake" for body in llm.bodies)
    assert lines[:2] == [f"target: {target} calls", f"grader: {len(llm.requests) - target} calls"]


SAYS = {"reason": "r", "score": 10, "verdict": "yes", "pass": True, "verdicts": [{"verdict": "yes", "reason": ""}] * 3}


def conversation_turns(answered: bool) -> list[dict[str, str]]:
    """A conversation of three messages, with its answers or without."""
    reply = [{"role": "assistant", "content": "yes"}] if answered else []
    return [turn for text in "abc" for turn in ({"role": "user", "content": text}, *reply)]


@pytest.mark.parametrize("answered", [True, False], ids=["recorded", "held"])
@pytest.mark.parametrize(
    "asserted", table(__file__, "a_conversation_is_estimated_by_its_exchanges"), ids=lambda it: "-".join(map(str, it.values()))
)
def test_a_conversation_is_estimated_by_its_exchanges(llm, gate, answered, asserted):
    def reply(path, body):
        asked = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", ())
        return json.dumps({key: SAYS[key] for key in asked})

    llm.reply = reply
    written = config(llm, 1)
    del written["tests"][0]["vars"]
    written["tests"][0] |= {"turns": conversation_turns(answered), "assert": [{"provider": llm.spec("judge"), **asserted}]}
    written["prompts"] = ["You help."]
    lines = validate_lines(llm, gate, written)
    gate(written, "--grader-retries", "0")
    judged = sum(body["model"] == "judge" for body in llm.bodies)
    assert lines[:2] == [f"target: {format_count(len(llm.bodies) - judged, 'call')}", f"grader: {format_count(judged, 'call')}"]


def test_new_answers_to_failures_have_their_price(llm, gate):
    def most(reask: str) -> float:
        line = validate_lines(llm, gate, config(llm, 10), "--reask", reask)[3]
        return float(line.partition("; ")[2].split()[0])

    assert most("answers") > 1.2 * most("grader")


FREE = Estimate(CallCount(6, 6), CallCount(4, 4), grades=4, expected=0.25, most=8, cost=Cost(1.5, 2.5))


@each(
    "limits, line",
    [
        (NO_LIMITS, None),
        (Limits(calls=10), "budget: at most 10 calls"),
        (Limits(calls=9), "budget: at most 9 calls; 10 calls are planned, so the last ones would not run"),
        (Limits(calls=11), "budget: at most 11 calls"),
        (Limits(calls=1), "budget: at most 1 call; 10 calls are planned, so the last ones would not run"),
        (Limits(usd=0.5), "budget: at most 0.5 USD"),
        (Limits(seconds=60.0), "budget: at most 60 s"),
        (Limits(calls=10, usd=0.5, seconds=60.0), "budget: at most 10 calls, 0.5 USD, 60 s"),
    ],
)
def test_a_budget_of_as_many_calls_as_are_planned_is_enough(limits, line):
    lines = [*lines_of(FREE, limits)]
    assert lines[4:] == ([] if line is None else [line])


@each(
    "change, index, line",
    [
        ({}, 0, "target: 6 calls"),
        ({"target": CallCount(6, 5)}, 0, "target: 5 to 6 calls"),
        ({"target": CallCount(6, 5)}, 1, "grader: 4 calls"),
        ({"grader": CallCount(4, 3)}, 1, "grader: 3 to 4 calls"),
        ({}, 2, "re-asks: 0.2 expected, at most 8 (of 4 grades)"),
        ({"labels": 1}, 2, "labels: 1 call of graders, where a rule is missed or a history is written"),
        ({}, 3, "cost: about 1.5 USD; 2.5 USD with all possible re-asks"),
        ({"cost": Cost(1.5, 1.5)}, 3, "cost: about 1.5 USD"),
        ({"cost": Cost(1.5, 1.6)}, 3, "cost: about 1.5 USD; 1.6 USD with all possible re-asks"),
        ({"cost": Cost(None, silent=("shop",))}, 3, "cost: unknown; shop does not say what an answer costs"),
        ({"cost": Cost(None, silent=tuple("abcde"))}, 3, "cost: unknown; a, b, c, d, e does not say what an answer costs"),
        ({"cost": Cost(None, silent=tuple("abcdef"))}, 3, "cost: unknown; a, b, c, d, e and 1 more does not say what an answer costs"),
        (
            {"cost": Cost(None, unpriced=("m",))},
            3,
            "cost: unknown; no price is known of m (give `inputCost` and `outputCost`, US dollars per token, in its `config`)",
        ),
    ],
)
def test_a_line_says_a_range_only_where_its_ends_differ(change, index, line):
    assert [*lines_of(replace(FREE, **change))][index] == line


@each(
    "rate, line",
    [
        (0.0, None),
        (4.0, "time: about 115 s at the 4 calls a second of the last run"),
        (1.234, "time: about 6 min at the 1.2 calls a second of the last run"),
    ],
)
def test_the_time_of_a_run_is_that_at_the_rate_of_the_last_one(rate, line):
    lines = [*lines_of(replace(FREE, target=CallCount(200), grader=CallCount(250), expected=10.0), rate=rate)]
    assert [it for it in lines if it.startswith("time")] == ([line] if line else [])


def test_the_rate_is_that_of_the_last_run_in_the_folder(llm, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(config(llm, 3)))
    cli.main(["validate"])
    assert "\ntime: " not in capsys.readouterr().out
    llm.latency = 0.6  # a run of less than a second needs no estimate
    cli.main(["run"])
    seconds = json.loads((tmp_path / ".gradegate/last.json").read_text())["summary"]["seconds"]
    capsys.readouterr()
    cli.main(["validate"])
    assert f"at the {len(llm.requests) / seconds:.2g} calls a second of the last run\n" in capsys.readouterr().out
    (tmp_path / ".gradegate/last.json").write_text("{}")
    assert cli.main(["validate"]) == 0
    assert "\ntime: " not in capsys.readouterr().out


@each(
    "repeat, said",
    [
        (1, None),
        (2, "With `runs: 2/2`, 5.9% are"),
        (3, "With `runs: 2/3`, 0.26% are"),
        (4, "With `runs: 3/4`, 0.52% are"),
        (20, "With `runs: 11/20`, less than 0.01% are"),
        (21, None),
    ],
)
def test_the_majority_is_named_in_place_of_up_to_twenty_repetitions(tmp_path, monkeypatch, capsys, repeat, said):
    monkeypatch.chdir(tmp_path)
    tests = [{"assert": [{"type": "contains", "value": "x"}], "options": {"repeat": repeat}}]
    for gate, is_strict in (
        ({}, True),
        ({"rules": [{"name": "r", "min-pass-rate": 1}]}, True),
        ({"rules": [{"name": "r", "min-pass-rate": 0.99}]}, False),
    ):
        written = {"prompts": ["x"], "providers": ["echo"], "tests": tests, "gate": gate}
        (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(written))
        assert cli.main(["validate"]) == 0
        out = capsys.readouterr().out
        assert ("makes each of 1 case pass" in out) is (said is not None and is_strict)
        assert said is None or not is_strict or said in out
