"""Labelled outputs show whether the grader has moved: asked where a rule would be missed, and never a reason to pass."""

import json
import re
from pathlib import Path

import yaml

from gradegate.cli import main as cli
from support.flips import BAD, GOOD, suite
from support.scenes import scenes
from support.shards import Sharded, timeless

FILE = "labels.jsonl"

test_a_scene = scenes(__file__)


def grader(*failing: str, sentinels: str = ""):
    """Fails the answers that hold one of these words, and says P, F or E of the sentinels by number."""

    def reply(path: str, body: dict) -> str:
        said = json.dumps(body["messages"])
        if found := re.findall(r"sentinel (\d+)\b", said):
            return {"P": GOOD, "F": BAD, "E": "I cannot say."}[sentinels[int(found[-1])]]
        return BAD if any(re.search(rf"{word}\b", said) for word in failing) else GOOD

    return reply


def labels(words: str = "P" * 10) -> str:
    """Labelled outputs of the first case, P or F each."""
    lines = [{"description": "case 0", "assertion": "llm-rubric", "output": f"sentinel {n}"} for n in range(len(words))]
    labelled = [{**line, "label": "pass" if word == "P" else "fail"} for line, word in zip(lines, words, strict=True)]
    return "".join(json.dumps(line) + "\n" for line in labelled)


def config(llm):
    return suite(llm.spec(), 20, gate={"sentinels": FILE, "noise": 0.05, "rules": [{"name": "facts", "min-pass-rate": 1}]})


def asked(llm) -> int:
    return sum("sentinel" in json.dumps(request[1]["messages"]) for request in llm.requests)


def test_a_merge_knows_what_the_first_shard_asked(llm, gate, tmp_path, capsys):
    llm.reply = grader("case 3", sentinels="F" * 10)
    (tmp_path / FILE).write_text(labels())
    run = Sharded(tmp_path, config(llm))
    code, one = run.one()
    llm.requests.clear()
    run.ask()
    assert asked(llm) == 10
    run.name_open()
    run.ask("--open", "gradegate-parts/open.jsonl")
    merged, results = run.merge()
    assert (code, merged, asked(llm)) == (3, 3, 10)
    assert timeless(results["sentinels"]) == one["sentinels"]


def test_calibrate_writes_a_file_of_them(llm, gate, capsys):
    llm.reply = grader(sentinels=("P" * 9 + "F") * 4)
    gate(config(llm), command="validate", **{FILE: labels(("P" * 9 + "F") * 4).replace("pass", "pass", 1), "few.jsonl": labels("PPPP")})
    written = config(llm)
    del written["gate"]["sentinels"]
    Path("c.yaml").write_text(yaml.safe_dump(written))
    options = ["--sentinels", "kept.jsonl", "--asks", "1", "--reask", "0"]
    Path("five.jsonl").write_text(labels("PPPPF"))
    assert cli.main(["calibrate", "c.yaml", "five.jsonl", *options]) == 0  # the fifth is not said to be bad by the grader
    head, *lines = Path("kept.jsonl").read_text().splitlines()
    assert json.loads(head) == {"agreement": 0.8}
    assert [json.loads(line)["output"] for line in lines] == [f"sentinel {n}" for n in range(5)]
    assert cli.main(["calibrate", "c.yaml", FILE, *options]) == 0
    head, *lines = Path("kept.jsonl").read_text().splitlines()
    assert json.loads(head) == {"agreement": 1.0}
    assert len(lines) == 30
    assert {json.loads(line)["label"] for line in lines} == {"pass", "fail"}
    # Of each four of the forty, the last is left out.
    assert [json.loads(line)["output"] for line in lines] == [f"sentinel {n}" for n in range(40) if n % 4 != 3]
    assert cli.main(["calibrate", "c.yaml", "few.jsonl", *options]) == 2
    assert "a model grades 4 labelled outputs, and sentinels are 5 to 30" in capsys.readouterr().err
    assert cli.main(["calibrate", "c.yaml", "kept.jsonl", "--asks", "1"]) == 0  # what was written can be read
    llm.reply = grader("case 3", sentinels=("P" * 9 + "F") * 4)
    ran = gate(written, "--sentinels", "kept.jsonl", confirm="")
    assert (ran.code, ran.results["sentinels"]["verdicts"], ran.results["sentinels"]["agreement"]) == (1, 30, 0.99)
