"""The examples with agents from end to end: the jobs of their workflows, with a few lines in place of each SDK."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from support.each import tables
from support.patience import PATIENCE

ROOT = Path(__file__).resolve().parent.parent
AGENTS = tables(Path(__file__).with_suffix(".yaml"))


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_answers_without_keys_and_is_graded_without_its_code(name, tmp_path, llm):
    agent, jobs = AGENTS[name], yaml.safe_load((ROOT / "examples" / f"workflow-{name}.yml").read_text())["jobs"]
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for file, text in agent["modules"].items():
        (tmp_path / "sdk" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "sdk" / file).write_text(text)

    def run(command, **environ):
        programs = {"gradegate": [sys.executable, "-m", "gradegate"], "python": [sys.executable]}
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT / 'src'}:{tmp_path / 'sdk'}", **environ}
        words = shlex.split(command)
        return subprocess.run([*programs[words[0]], *words[1:]], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=PATIENCE)

    assert "secrets" not in json.dumps(jobs["answer"])
    for step in jobs["answer"]["steps"]:
        if not step.get("run", "pip").startswith("pip"):
            ended = run(step["run"], **{key: text.replace("MODEL", "small") for key, text in step.get("env", {}).items()})
            assert (ended.returncode, ended.stderr) == (0, "")
    (tmp_path / "recorded").mkdir()
    (tmp_path / "answers.jsonl").rename(tmp_path / "recorded" / "answers.jsonl")
    shutil.rmtree(tmp_path / "sdk")
    llm.reply = lambda path, body: json.dumps({"pass": any(it in str(body) for it in agent["grader"]), "score": 1, "reason": "read"})
    given = next(step["with"] for step in jobs["grade"]["steps"] if step.get("id") == "gate")
    command = f"gradegate run {given['config']} --answers {given['answers']} --grader openai:chat:m -o r.json"
    ended = run(command, OPENAI_API_KEY="k", OPENAI_BASE_URL=llm.base)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    cases = json.loads((tmp_path / "r.json").read_text())["cases"]
    assert [case["outcome"] for case in cases] == ["pass", "pass"]
    graded = [grade["assertion"]["type"] for case in cases for grade in case["grades"]]
    assert sum(it.startswith("trajectory:") for it in graded) >= 2
    assert llm.requests


def test_an_agent_that_comes_to_no_end_is_an_error_of_its_case(tmp_path):
    (tmp_path / "claude_agent_sdk.py").write_text(AGENTS["claude-agent"]["modules"]["claude_agent_sdk.py"])
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "prompt": "18?"}\n{"id": "b", "prompt": "none"}\n{"id": "c", "prompt": "17?"}\n')
    script = ROOT / "examples" / "claude-agent" / "answer_cases.py"
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, script, "cases.jsonl", "answers.jsonl"], cwd=tmp_path, env=env, check=True, timeout=PATIENCE)
    told = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    assert [line.get("error", line.get("output")) for line in told] == [
        "error_max_turns: None",
        "TypeError: 'NoneType' object is not subscriptable",
        "The order is in Lyon.",
    ]
