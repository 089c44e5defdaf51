"""What a run would take, said before anything is asked."""

import json

import pytest

from gradegate.cli import main as cli
from gradegate.core.numbers import many
from support.each import table
from support.kept import config


def said(llm, gate, written, *arguments: str) -> list[str]:
    ran = gate(written, "--estimate", *arguments)
    assert (ran.code, llm.requests, ran.results) == (0, [], {})
    return ran.out.splitlines()


def test_validate_warns_first_says_the_same_and_sums_up_last(llm, gate, capsys):
    written = config(llm, 5)
    written["tests"].append({"vars": {"text": "unchecked"}})
    estimated = said(llm, gate, written, "--repeat", "2", "--confirm", "grader")
    assert cli.main(["validate", "--repeat", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    warned = [number for number, line in enumerate(lines) if "warning: " in line]
    assert warned == list(range(len(warned))) != []
    assert [line for line in lines if line in estimated] == estimated[:-1]
    assert lines[-1] == "valid: 12 answers and 10 assertions planned"
    assert llm.requests == []


def test_the_estimate_is_what_the_run_sends(llm, gate):
    def reply(path, body):
        if path.endswith("/embeddings"):
            rows = [{"index": i, "embedding": [1.0]} for i in range(len(body["input"]))]
            return {"data": rows, "usage": {"prompt_tokens": 1}}
        return '{"question": "why?"}' if '"question"' in json.dumps(body) else '{"pass": true, "score": 1, "reason": "polite"}'

    llm.reply = reply
    embedder = {"id": "openai:embeddings:e", "config": {"apiBaseUrl": llm.base, "apiKey": "k", "cost": 0.001}}
    options = {"options": {"provider": {"text": llm.spec("judge", cost=0.001), "embedding": embedder}}}
    written = config(llm, 4, defaultTest=options)
    written["tests"][0]["assert"] += [{"type": "similar", "value": "hello"}, {"type": "equals", "value": "x"}]
    written["tests"][1]["assert"] = [{"type": "answer-relevance", "threshold": 0}]
    written["tests"][2]["providerOutput"] = "recorded"
    lines = said(llm, gate, written)
    gate(written)
    target = sum(body["model"] == "fake" for body in llm.bodies)
    assert lines[:2] == [f"target: {target} calls", f"grader: {len(llm.requests) - target} calls"]


SAYS = {"reason": "r", "score": 10, "verdict": "yes", "pass": True, "verdicts": [{"verdict": "yes", "reason": ""}] * 3}


def talk(answered: bool) -> list[dict[str, str]]:
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
    written["tests"][0] |= {"turns": talk(answered), "assert": [{"provider": llm.spec("judge"), **asserted}]}
    written["prompts"] = ["You help."]
    lines = said(llm, gate, written)
    gate(written, "--reask", "0")
    judged = sum(body["model"] == "judge" for body in llm.bodies)
    assert lines[:2] == [f"target: {many(len(llm.bodies) - judged, 'call')}", f"grader: {many(judged, 'call')}"]


def test_new_answers_to_failures_have_their_price(llm, gate):
    def most(confirm: str) -> float:
        line = said(llm, gate, config(llm, 10), "--confirm", confirm)[3]
        return float(line.partition("; ")[2].split()[0])

    assert most("answers") > 1.2 * most("grader")
