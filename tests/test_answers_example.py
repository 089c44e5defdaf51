"""The examples of answers and of OpenAI from end to end: the commands of their workflows, and what the jobs may do."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from gradegate.cli import main as cli
from support.patience import PATIENCE

ROOT = Path(__file__).resolve().parent.parent
WORKFLOW = ROOT / "examples" / "workflow-answers.yml"


def jobs():
    return yaml.safe_load(WORKFLOW.read_text())["jobs"]


def commands():
    """What the first job runs of its own."""
    steps = [step["run"] for step in jobs()["answer"]["steps"] if "run" in step]
    assert steps[0].startswith("pip install git+https://github.com/OWNER/gradegate@")
    return [shlex.split(line) for line in steps[1:]]


@pytest.fixture
def run(tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("out"))
    programs = {"gradegate": [sys.executable, "-m", "gradegate"], "python": [sys.executable]}

    def run(command, **environ):
        program, *arguments = command
        keyless = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), **environ}
        return subprocess.run([*programs[program], *arguments], cwd=tmp_path, env=keyless, capture_output=True, text=True, timeout=PATIENCE)

    return run


def grader(path, body):
    said = str(body["messages"])
    if "<expected " in said:
        return json.dumps({"verdicts": [{"id": 1, "reason": "r", "verdict": "attributed"}]})
    return json.dumps({"pass": "16 weeks" in said, "score": 1, "reason": "read"})


def test_the_application_is_answered_without_keys_and_graded_without_its_code(run, tmp_path, llm):
    for command in commands():
        ended = run(command)
        assert (ended.returncode, ended.stderr) == (0, "")
    (tmp_path / "recorded").mkdir()
    (tmp_path / "answers.jsonl").rename(tmp_path / "recorded" / "answers.jsonl")
    (tmp_path / "examples" / "answers" / "app.py").write_text("raise SystemExit('the second job runs no code')")
    llm.reply = grader
    step = next(step["with"] for step in jobs()["grade"]["steps"] if step.get("id") == "gate")
    ended = run(
        ["gradegate", "run", step["config"], "--answers", step["answers"], "--grader", "openai:chat:m", "-o", "r.json"],
        OPENAI_API_KEY="k",
        OPENAI_BASE_URL=llm.base,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    results = json.loads((tmp_path / "r.json").read_text())
    assert [case["outcome"] for case in results["cases"]] == ["pass"] * 3
    assert set(results["made"]["answers"]) == {"recorded/answers.jsonl"}
    assert llm.requests


def test_the_job_with_code_has_no_keys_and_the_job_with_keys_runs_none():
    answer, grade = jobs()["answer"], jobs()["grade"]
    assert yaml.safe_load(WORKFLOW.read_text())["permissions"] == {}
    assert answer["permissions"] == {"contents": "read"}
    assert "secrets" not in json.dumps(answer)
    assert [step["run"] for step in grade["steps"] if "run" in step] == ["rm -rf recorded"]
    assert [step["uses"].partition("@")[0] for step in grade["steps"] if "uses" in step] == [
        "actions/checkout",
        "actions/download-artifact",
        "OWNER/gradegate",
        "actions/upload-artifact",
    ]
    assert grade["needs"] == "answer"


def test_the_workflow_is_safe_to_copy():
    subprocess.run([Path(sys.executable).with_name("zizmor"), "--offline", "--no-progress", "--no-config", WORKFLOW], check=True)


# --- openai evals ---------------------------------------------------------------------------------------------
EXAMPLE = Path(__file__).parents[1] / "examples" / "openai-evals"


def replied(path, body):
    said = json.dumps(body["messages"])
    if body["model"] == "g":
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
    graded = [[(grade["assertion"]["metric"], grade["outcome"]) for grade in case["grades"]] for case in cases]
    assert graded == [[("label", "pass"), ("tone", "pass"), ("fit", "pass")]] * 3
    asked = [body["messages"] for body in llm.bodies if body["model"] == "gpt-4.1-mini"]
    assert [messages[0]["role"] for messages in asked] == ["developer"] * 3


def test_a_wrong_label_blocks(folder, llm):
    llm.reply = lambda path, body: "Roads" if body["model"] == "gpt-4.1-mini" else replied(path, body)
    assert cli.main(["run", "--grader", "openai:chat:g", "--reask", "off"]) == 1
