"""Our own pull requests: the inputs of .github/workflows/evals.yml, given to the action by the runner of these tests."""

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.events import pull_request
from support.fake_github import FakeGitHub
from support.processes import start_process
from support.step import Local, Step

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent
WORKFLOW = ROOT / ".github" / "workflows" / "evals.yml"
STEPS: list[dict[str, Any]] = yaml.safe_load(WORKFLOW.read_text())["jobs"]["gate"]["steps"]
(GATE,) = [step for step in STEPS if step.get("id") == "gate"]
WRONG, RIGHT = "Maternity leave is 12 weeks", "Maternity leave is 16 weeks"


@pytest.fixture
def action(tmp_path: Path, github: FakeGitHub) -> Step:
    made = Step(tmp_path / "step", Local(), github, pull_request(), environ={"GRADEGATE_NETWORK": "host"})
    shutil.copytree(ROOT / "examples", made.workspace / "examples", ignore=shutil.ignore_patterns("out"))
    shutil.copytree(made.workspace / "examples", made.workspace / ".base" / "examples")
    return made


@pytest.fixture
def gated(action: Step) -> Iterator[Any]:
    """Runs the steps as the workflow has them, on a port that is free."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    for path in action.workspace.rglob("examples/gate/promptfooconfig.yaml"):
        path.write_text(path.read_text().replace("8000", port))
    processes = ExitStack()

    def run() -> Any:
        (application,) = [step["run"] for step in STEPS if "serve.py" in step.get("run", "")]
        program = application.split()[1]
        command = [sys.executable, program, port]
        processes.enter_context(start_process(command, cwd=action.workspace, stderr=subprocess.DEVNULL))
        inputs = {name: str(value).replace("8000", port) for name, value in GATE["with"].items()}
        inputs["base-checkout"] = ".base"
        return action.run(github_token="ghs_actions", **{name.replace("-", "_"): at for name, at in inputs.items()})

    with processes:
        yield run


def test_a_pull_request_that_keeps_the_answers_passes_and_gets_a_comment(gated: Any, github: FakeGitHub) -> None:
    left = gated()
    assert (left.code, left.outputs["decision"], left.outputs["passed"]) == (0, "pass", "3"), left.log
    assert len(github.comments) == 1


def test_a_pull_request_that_makes_an_answer_wrong_is_not_merged(gated: Any, action: Step) -> None:
    application = action.workspace / "examples" / "answers" / "app.py"
    assert RIGHT in application.read_text()
    application.write_text(application.read_text().replace(RIGHT, WRONG))
    left = gated()
    assert left.code != 0
    assert left.outputs["decision"] == "inconclusive"  # the scripted grader knows the right answer alone


def test_a_pull_request_that_takes_a_case_away_is_told_so(gated: Any, action: Step, github: FakeGitHub) -> None:
    config = action.workspace / "examples" / "gate" / "promptfooconfig.yaml"
    before, _, after = config.read_text().partition("  - description: does not guess")
    config.write_text(before + "gate:" + after.partition("\ngate:")[2])
    assert gated().code == 0
    assert "does not guess" in str(github.comments)


def test_the_workflow_has_no_secret_and_takes_the_action_of_its_own_commit() -> None:
    text = WORKFLOW.read_text()
    assert "secrets." not in text
    assert GATE["uses"] == "$/"
    assert yaml.safe_load(text)["jobs"]["gate"]["permissions"] == {"contents": "read", "pull-requests": "write"}
