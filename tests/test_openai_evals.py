"""The example of an eval that comes from OpenAI's platform runs, grader by grader."""

import json
import shutil
from pathlib import Path

import pytest

from gradegate import cli

EXAMPLE = Path(__file__).parents[1] / "examples" / "openai-evals"


def replied(path, body):
    said = json.dumps(body["messages"])
    if "Reply with good or poor" in said:
        return "good"
    if "Score from 0 to 1" in said:
        return json.dumps({"reason": "it fits", "pass": True, "score": 0.9})
    return next(office for word, office in (("lamp", "Roads"), ("form", "Schools"), ("dog", "Taxes")) if word in said)


@pytest.fixture
def folder(tmp_path, monkeypatch, llm):
    monkeypatch.chdir(shutil.copytree(EXAMPLE, tmp_path / "evals"))
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    llm.reply = replied
    return tmp_path / "evals"


def test_each_grader_of_the_eval_gives_its_verdict(folder, llm):
    assert cli.main(["run", "--grader", "openai:chat:g", "-o", "r.json"]) == 0
    cases = json.loads((folder / "r.json").read_text())["cases"]
    graded = [[(grade["metric"], grade["outcome"]) for grade in case["grades"]] for case in cases]
    assert graded == [[("label", "pass"), ("tone", "pass"), ("fit", "pass")]] * 3
    asked = [body["messages"] for body in llm.bodies if body["model"] == "gpt-4.1-mini"]
    assert [messages[0]["role"] for messages in asked] == ["developer"] * 3


def test_a_wrong_label_blocks(folder, llm):
    llm.reply = lambda path, body: "Roads" if body["model"] == "gpt-4.1-mini" else replied(path, body)
    assert cli.main(["run", "--grader", "openai:chat:g", "--confirm", "off"]) == 1
