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


def grader(*failing: str, verdicts: str = ""):
    """Fails the answers that hold one of these words, and says P, F or E of the labelled outputs by number."""

    def reply(path: str, body: dict) -> str:
        said = json.dumps(body["messages"])
        if found := re.findall(r"sample (\d+)\b", said):
            return {"P": GOOD, "F": BAD, "E": "I cannot say."}[verdicts[int(found[-1])]]
        return BAD if any(re.search(rf"{word}\b", said) for word in failing) else GOOD

    return reply


def labels(words: str = "P" * 10) -> str:
    """Labelled outputs of the first case, P or F each."""
    lines = [{"description": "case 0", "assertion": "llm-rubric", "output": f"sample {n}"} for n in range(len(words))]
    labelled = [{**line, "label": "pass" if word == "P" else "fail"} for line, word in zip(lines, words, strict=True)]
    return "".join(json.dumps(line) + "\n" for line in labelled)


def config(llm):
    return suite(llm.spec(), 20, gate={"labels": FILE, "reask": {"noise": 0.05}, "rules": [{"name": "facts", "min-pass-rate": 1}]})


def count_label_requests(llm) -> int:
    return sum("sample" in json.dumps(request[1]["messages"]) for request in llm.requests)


def test_a_merge_asks_them_as_one_run_does(llm, gate, tmp_path, capsys):
    llm.reply = grader("case 3", verdicts="F" * 10)
    (tmp_path / FILE).write_text(labels())
    run = Sharded(tmp_path, config(llm))
    code, one = run.one()
    llm.requests.clear()
    run.ask()
    assert count_label_requests(llm) == 0
    merged, results = run.merge()
    assert (code, merged, count_label_requests(llm)) == (3, 3, 10)
    assert timeless(results["labels"]) == one["labels"]


def test_a_merge_without_the_grader_s_key_blocks_by_no_grader_that_may_have_moved(llm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUDGE_API_KEY", "sk-a-key-of-the-judge")
    llm.reply = grader("case 3", verdicts="P" * 10)
    (tmp_path / FILE).write_text(labels())
    written = config(llm)
    written["defaultTest"]["options"]["provider"]["config"]["apiKey"] = "{{env.JUDGE_API_KEY}}"
    run = Sharded(tmp_path, written, options=("--reask", "off"))
    run.ask()
    assert run.merge()[0] == 1
    monkeypatch.delenv("JUDGE_API_KEY")
    requests = len(llm.requests)
    code, results = run.merge()
    assert (code, results["labels"]["undone"], len(llm.requests)) == (3, True, requests)


def test_calibrate_writes_a_file_of_labels(llm, gate, capsys):
    forty = ("P" * 9 + "F") * 4
    llm.reply = grader(verdicts=forty)
    gate(config(llm), command="validate", **{FILE: labels(forty), "few.jsonl": labels("PPPP")})
    written = config(llm)
    del written["gate"]["labels"]
    Path("c.yaml").write_text(yaml.safe_dump(written))
    options = ["--write-labels", "kept.jsonl", "--asks", "1", "--grader-retries", "0"]
    Path("five.jsonl").write_text(labels("PPPPF"))
    assert cli.main(["calibrate", "c.yaml", "five.jsonl", *options]) == 0  # the fifth is not said to be bad by the grader
    head, *lines = Path("kept.jsonl").read_text().splitlines()
    assert json.loads(head) == {"agreement": 0.8}
    assert [json.loads(line)["output"] for line in lines] == [f"sample {n}" for n in range(5)]
    assert cli.main(["calibrate", "c.yaml", FILE, *options]) == 0
    head, *lines = Path("kept.jsonl").read_text().splitlines()
    assert json.loads(head) == {"agreement": 1.0}
    assert [json.loads(line)["output"] for line in lines] == [f"sample {n}" for n in range(40)]
    assert cli.main(["calibrate", "c.yaml", "few.jsonl", *options]) == 2
    assert "a model grades 4 labelled outputs, and a file for `labels` has at least 5" in capsys.readouterr().err
    assert cli.main(["calibrate", "c.yaml", "kept.jsonl", "--asks", "1"]) == 0  # what was written can be read


def test_a_run_grades_thirty_labels_chosen_by_their_hashes(llm, gate):
    forty = ("P" * 9 + "F") * 4
    llm.reply = grader("case 3", verdicts=forty)
    chosen = []
    for lines in (labels(forty), "".join(reversed(labels(forty).splitlines(keepends=True)))):
        llm.requests.clear()
        ran = gate(config(llm), reask="", **{FILE: '{"agreement": 1.0}\n' + lines})
        assert (ran.code, ran.results["labels"]["verdicts"], ran.results["labels"]["agreement"]) == (1, 30, 0.99)
        chosen.append({found for *_, body in [request[:2] for request in llm.requests] for found in re.findall(r"sample (\d+)", str(body))})
    assert chosen[0] == chosen[1]
    assert len(chosen[0]) == 30
    assert chosen[0] != {str(n) for n in range(30)}
