"""Runs of a case: k of n must pass, and no run is made that could be spared; through the command."""

import json
import re
from pathlib import Path

from gradegate import cli
from support.flips import BAD, GOOD

VECTORS = json.loads((Path(__file__).parent.parent / "conformance" / "history.json").read_text())["runs"]
OUTCOMES = {"pass": 0, "fail": 1, "error": 3}
SAID = {"P": GOOD, "F": BAD, "E": "I cannot say."}
RUN = re.compile(r"case (\d+), run (\d+)")
NOISE = 0.22  # with which 3 to 5 grades take a lead of 5, as in the vectors


def scripted(cases):
    """A target that numbers its answers, and a grader that says what is written for each, an ask after the other."""
    made = [0] * len(cases)
    left = [[iter(run) for run in case] for case in cases]

    def reply(path, body):
        if body["model"] == "target":
            case = int(re.findall(r"case (\d+)", json.dumps(body["messages"]))[-1])
            made[case] += 1
            return f"case {case}, run {made[case]}"
        case, run = map(int, RUN.findall(json.dumps(body["messages"]))[-1])
        return SAID[next(left[case][run - 1])]

    return reply


def suite(llm, cases, **gate):
    return {
        "prompts": ["case {{n}}"],
        "providers": [llm.spec("target")],
        "defaultTest": {"options": {"provider": llm.spec("grader")}, "assert": [{"type": "llm-rubric", "value": "is good"}]},
        "tests": [{"description": f"case {number}", "vars": {"n": number}} for number in range(cases)],
        "gate": {"noise": NOISE, **gate},
    }


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
        llm.reply = scripted([vector["replies"]])
        config = suite(llm, 1, runs={"of": vector["of"], "pass": vector["pass"]})
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
            "asks": asked(llm, "grader"),
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
