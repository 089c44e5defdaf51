"""The two stages for forks from end to end: the commands of the first without keys, the Action of the second, and what a stranger would try."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.each import each, table
from support.events import HEAD
from support.fake_github import FakeGitHub, serve
from support.fake_llm import FakeLlm
from support.patience import PATIENCE
from support.step import Here, Left, Step

ROOT = Path(__file__).resolve().parent.parent
COLLECT, GRADE = (yaml.safe_load((ROOT / "examples" / f"workflow-forks-{name}.yml").read_text()) for name in ("collect", "grade"))
(ANSWER,), (GRADING,) = COLLECT["jobs"].values(), GRADE["jobs"].values()
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
IGNORED = shutil.ignore_patterns("out", "*.yml")


def git(folder: Path, *words: str) -> str:
    return subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def grader(path: str, body: dict[str, Any]) -> str:
    said = str(body["messages"])
    if "<expected " in said:
        return json.dumps({"verdicts": [{"id": 1, "reason": "r", "verdict": "attributed"}]})
    return json.dumps({"pass": "16 weeks" in said, "score": 1, "reason": "read"})


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with serve() as fake:
        fake.pulls["stranger:topic"] = [{"number": 7, "head": {"sha": HEAD}}]
        yield fake


def collect(checkout: Path) -> None:
    """The commands of the first stage, as they stand, with no variable but PATH."""
    programs = {"gradegate": [sys.executable, "-m", "gradegate"], "python": [sys.executable]}
    lines = [step["run"] for step in ANSWER["steps"] if "run" in step]
    assert lines.pop(0).startswith("pip install git+https://github.com/OWNER/gradegate@")
    for line in lines:
        program, *arguments = shlex.split(line)
        command, environ = [*programs[program], *arguments], {"PATH": os.environ["PATH"]}
        subprocess.run(command, cwd=checkout, env=environ, check=True, timeout=PATIENCE)


@dataclass
class Stages:
    """The second stage, in our checkout, with what was downloaded of the first."""

    step: Step
    llm: FakeLlm

    @property
    def answers(self) -> Path:
        """Where the second stage finds what was downloaded."""
        return self.step.root / "runner_temp" / "gradegate" / "answers.jsonl"

    def grade(self) -> Left:
        """The second stage with the inputs of the workflow."""
        (gate,) = (step for step in GRADING["steps"] if step.get("id") == "gate")
        temp, key = str(self.step.root / "runner_temp"), "sk-canary-0123456789"
        written = json.dumps(gate["with"]).replace("${{ runner.temp }}", temp)
        given = json.loads(written.replace(":MODEL", ":judge"))
        given = {name.replace("-", "_"): value for name, value in given.items()}
        self.step.environ |= dict.fromkeys(gate["env"], key) | {"OPENAI_BASE_URL": self.llm.base}
        return self.step.run(**given, github_token="ghs_actions")

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.answers.read_text().splitlines()]

    def write(self, lines: list[dict[str, Any]]) -> None:
        self.answers.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stranger's checkout, in which the first stage was run."""
    made = tmp_path_factory.mktemp("first")
    for folder in (made, made / "pull"):
        shutil.copytree(ROOT / "examples", folder / "examples", ignore=IGNORED)
    (made / "examples" / "answers" / "app.py").write_text("raise SystemExit('the base is not what is asked')")
    collect(made)
    return made


@pytest.fixture
def stages(tmp_path: Path, github: FakeGitHub, llm: FakeLlm, first: Path) -> Stages:
    llm.reply = grader
    run = {"event": "pull_request", "head_sha": HEAD, "head_branch": "topic", "pull_requests": []}
    payload = {"workflow_run": {**run, "head_repository": {"owner": {"login": "stranger"}}}}
    step = Step(tmp_path / "second", Here(), github, payload, "workflow_run")
    shutil.copytree(ROOT / "examples", step.workspace / "examples", ignore=IGNORED)
    git(step.workspace, "init", "-q", "-b", "main")
    git(step.workspace, "add", "-A", "-f")
    git(step.workspace, "commit", "-q", "-m", "main")
    step.environ = {"GITHUB_SHA": git(step.workspace, "rev-parse", "HEAD")}
    made = Stages(step, llm)
    made.answers.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(first / "answers.jsonl", made.answers)
    return made


def test_a_forks_application_is_answered_without_keys_and_graded_without_its_code(stages: Stages, github: FakeGitHub) -> None:
    left = stages.grade()
    assert (left.code, left.outputs["decision"], left.outputs["passed"]) == (0, "pass", "3"), left.log
    (comment,) = github.comments
    assert comment["issue_url"].endswith("/issues/7")
    assert left.outputs["comment-url"] == comment["html_url"]


def test_an_answer_that_is_wrong_fails(stages: Stages) -> None:
    stages.write([{**line, "output": "I do not know."} for line in stages.lines()])
    assert stages.grade().outputs["decision"] == "blocked"


def refused(stages: Stages) -> None:
    left = stages.grade()
    assert (left.code, left.outputs["decision"]) == (2, "mistake"), left.log
    assert stages.llm.requests == []
    assert "Traceback" not in left.log


@each("more", table(__file__, "an_answer_brings_no_verdict_and_no_case_of_its_own"))
def test_an_answer_brings_no_verdict_and_no_case_of_its_own(stages: Stages, more: dict[str, Any]) -> None:
    first, *others = stages.lines()
    stages.write([{**first, **more}, *others])
    refused(stages)


def test_an_answer_that_is_there_twice_is_refused(stages: Stages) -> None:
    stages.write([*stages.lines(), stages.lines()[0]])
    refused(stages)


def test_an_answer_that_is_missing_is_never_green(stages: Stages) -> None:
    stages.write(stages.lines()[1:])
    assert stages.grade().outputs["decision"] == "inconclusive"


@each("text", ["", "\0", "[" * 100_000, '{"id":', "not json"])
def test_what_is_no_file_of_answers_is_refused(stages: Stages, text: str) -> None:
    stages.answers.write_text(text)
    refused(stages)


def test_a_first_stage_that_left_nothing_is_refused(stages: Stages, github: FakeGitHub) -> None:
    shutil.rmtree(stages.answers.parent)
    refused(stages)
    assert "COULD NOT RUN" in github.comments[0]["body"]


def test_a_link_in_the_artifact_leads_nowhere(stages: Stages) -> None:
    stages.answers.unlink()
    stages.answers.symlink_to(stages.step.root / "workflow" / "event.json")
    refused(stages)


@each("name", ["examples/answers/promptfooconfig.yaml", ".git/HEAD"])
def test_what_is_laid_over_the_checkout_is_refused(stages: Stages, name: str) -> None:
    (stages.step.workspace / name).write_text("prompts: [x]\nproviders: [echo]\ntests: [{assert: [{type: contains, value: x}]}]\n")
    refused(stages)


def test_answers_that_talk_to_the_runner_and_to_markdown_stay_text(stages: Stages, github: FakeGitHub) -> None:
    nasty = "::set-output name=outcome::pass\n##[error]x\n@all <img src=x> <!-- gradegate: -->\n`${{ github.token }}`"
    stages.write([{**line, "output": nasty} for line in stages.lines()])
    left = stages.grade()
    assert left.outputs["decision"] == "blocked"
    assert {command.name for command in left.commands} <= {"error", "warning", "notice", "group", "endgroup"}
    assert "<img" not in github.comments[0]["body"].replace("`", "") or "```" in github.comments[0]["body"]


def test_a_pull_request_that_has_moved_on_gets_no_comment_of_old_answers(stages: Stages, github: FakeGitHub) -> None:
    github.pulls["stranger:topic"][0]["head"]["sha"] = "e" * 40
    left = stages.grade()
    assert (left.code, github.comments) == (0, [])


# --- the workflows ------------------------------------------------------------------------------------------------


def test_the_stage_with_code_has_no_keys_and_the_stage_with_keys_has_no_code() -> None:
    assert COLLECT["permissions"] == GRADE["permissions"] == {}
    assert ANSWER["permissions"] == {"contents": "read"}
    assert "secrets" not in json.dumps(COLLECT)
    assert "github.token" not in json.dumps(COLLECT)
    assert [step.get("uses", "run").partition("@")[0] for step in GRADING["steps"]] == [
        "actions/checkout",
        "actions/download-artifact",
        "OWNER/gradegate",
        "actions/upload-artifact",
        "run",
    ]
    checkout, download, _, _, status = GRADING["steps"]
    assert checkout["with"] == {"persist-credentials": False}
    assert download["with"]["path"].startswith("${{ runner.temp }}/gradegate")
    assert "${{" not in status["run"]


@each(("outcome", "state"), table(__file__, "the_status_is_green_for_a_pass_alone"))
def test_the_status_is_green_for_a_pass_alone(tmp_path: Path, outcome: str, state: str) -> None:
    gh = tmp_path / "gh"
    gh.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    gh.chmod(0o755)
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "DECISION": outcome, "COMMIT": HEAD, "GITHUB_REPOSITORY": "o/r"}
    environ |= {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_RUN_ID": "1"}
    command = ["/bin/bash", "-e", "-c", GRADING["steps"][-1]["run"]]
    said = subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[1] == f"repos/o/r/statuses/{HEAD}"
    assert f"state={state}" in said
