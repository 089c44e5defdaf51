"""Runs of a case: k of n must pass, and no run is made that could be spared; through the command."""

import json
from pathlib import Path

from gradegate import cli
from support.flips import scripted_runs, suite_of_runs

VECTORS = json.loads((Path(__file__).parent.parent / "conformance" / "history.json").read_text())["runs"]
OUTCOMES = {"pass": 0, "fail": 1, "error": 3}
NOISE = 0.22  # with which 3 to 5 grades take a lead of 5, as in the vectors


def asked(llm, model):
    return sum(body["model"] == model for body in llm.bodies)


def calls_of(config, folder, capsys):
    (folder / "promptfooconfig.yaml").write_text(json.dumps(config))
    assert cli.main(["cases", "promptfooconfig.yaml"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_vectors(gate, llm, tmp_path, capsys):
    wrong = []
    for number, vector in enumerate(VECTORS):
        llm.requests.clear()
        llm.reply = scripted_runs([vector["replies"]])
        config = suite_of_runs(llm, 1, noise=NOISE, runs={"of": vector["of"], "pass": vector["pass"]})
        arguments, files = ["-j", "1"], {}
        if vector["recorded"] is not None:
            (call,) = calls_of(config, tmp_path, capsys)
            answers = [{"id": call["id"], "output": f"case 0, run {run + 1}"} for run in range(vector["recorded"])]
            arguments, files = [*arguments, "--answers", "a.jsonl"], {"a.jsonl": "\n".join(map(json.dumps, answers))}
        ran = gate(config, *arguments, confirm=vector["confirm"], **files)
        rows = ran.cases
        found = {
            "verdict": rows[0]["verdict"],
            "runs": rows[0]["runs"],
            "passed": rows[0]["passed"],
            "asks": asked(llm, "judge"),
            "not_asked_again": ran.results["confirm"]["not_asked_again"] if vector["lead"] else 0,
            "lead": ran.results["confirm"]["lead"] if vector["lead"] else None,
            "code": ran.code,
            "calls": asked(llm, "target"),
            "rows": len(rows),
        }
        calls = 0 if vector["recorded"] is not None else vector["runs"]
        wanted = {key: vector[key] for key in found if key in vector}
        wanted |= {"code": OUTCOMES[vector["verdict"]], "calls": calls, "rows": vector["runs"]}
        wrong += [(number, vector, found)] if found != wanted else []
    assert wrong == []
