"""The workflow that `gradegate init` writes, run as the runner runs it: the step with its inputs, on a pull request."""

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.events import pull_request
from support.fake_github import FakeGitHub
from support.patience import PATIENCE
from support.starting import TEMPLATES, spoil
from support.step import Left, Local, Step

pytestmark = pytest.mark.slow
FILLED = {"${{ github.event_name == 'pull_request' && '.base' || '' }}": ".base"}  # by the runner, on a pull request


@dataclass(frozen=True)
class Repository:
    """A checkout in which `gradegate init` was typed in ``folder``."""

    step: Step
    folder: str

    def type(self, *words: str, below: str = "") -> None:
        """A command of a person, or of a step of the workflow."""
        programs = {"gradegate": [sys.executable, "-m", "gradegate"], "python": [sys.executable]}
        command = [*programs[words[0]], *words[1:]]
        place = self.step.workspace / below
        subprocess.run(command, cwd=place, env={"PATH": os.environ["PATH"]}, check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL)

    def jobs(self) -> dict[str, Any]:
        (path,) = (self.step.workspace / ".github" / "workflows").iterdir()
        return dict(yaml.safe_load(path.read_text())["jobs"])

    def run(self) -> Left:
        """What each job does: that of the program, where there is one, and the gate."""
        jobs = self.jobs()
        for step in jobs.get("answer", {}).get("steps", ()):
            if "run" in step and not step["run"].startswith("pip"):
                self.type(*shlex.split(step["run"]), below=step.get("working-directory", ""))
        made = self.step.workspace / self.folder / "answers.jsonl"
        if made.exists():
            (self.step.workspace / ".answers").mkdir(exist_ok=True)
            shutil.copy(made, self.step.workspace / ".answers")
        (gate,) = (step for step in jobs["gate"]["steps"] if step.get("id") == "gate")
        self.step.environ = dict.fromkeys(gate["env"], "")  # secrets that nobody has set yet
        self.step.environ["GITHUB_RUN_ID"] = str(4711 + self.step.runs)
        given = {name.replace("-", "_"): FILLED.get(value, value) for name, value in gate["with"].items()}
        return self.step.run(**given, github_token="ghs_actions")

    def merge(self) -> None:
        """The base of the next pull request is as everything is now."""
        workspace = self.step.workspace
        shutil.copytree(workspace, workspace / ".base", ignore=shutil.ignore_patterns(".base", ".answers"))


@pytest.fixture(params=["", "apps/my bot"], ids=["root", "folder"])
def repository(request: pytest.FixtureRequest, tmp_path: Path, github: FakeGitHub) -> Repository:
    step = Step(tmp_path, Local(), github, pull_request())
    (step.workspace / ".git").mkdir()
    (step.workspace / request.param).mkdir(parents=True, exist_ok=True)
    return Repository(step, request.param)


@pytest.mark.parametrize("template", TEMPLATES)
def test_it_passes_comments_and_blocks(repository: Repository, github: FakeGitHub, template: str) -> None:
    repository.type("gradegate", "init", "--template", template, below=repository.folder)
    repository.merge()
    left = repository.run()
    assert (left.code, left.outputs["decision"]) == (0, "pass"), left.log
    (comment,) = github.comments
    assert "weaken" not in comment["body"]
    spoiled = repository.step.workspace / repository.folder
    program = spoiled / "answer_cases.py"
    if template == "answers":
        program.write_text(program.read_text().replace("30 days, as long as they are unused", "90 days, worn or not"))
    else:
        spoil(spoiled)
    left = repository.run()
    assert (left.code, left.outputs["decision"]) == (1, "blocked"), left.log
    (comment,) = github.comments
    assert "90 days" in comment["body"] or "lowers taxes" in comment["body"]


def test_the_pull_request_that_brings_the_gate_passes_and_says_that_its_base_has_none(repository: Repository) -> None:
    """As docs/start.md has it."""
    (repository.step.workspace / ".base" / ".git").mkdir(parents=True)
    repository.type("gradegate", "init", below=repository.folder)
    left = repository.run()
    assert (left.code, left.outputs["decision"]) == (0, "advisory"), left.log
    assert "not all of the base can be compared: there is no promptfooconfig.yaml here" in left.log
