"""Pull requests to which GitHub gives no secrets: the outcome `not-run`, and what every other end leaves behind."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradegate.errors import ConfigError, Mistake, Terminated
from gradegate.github.step_files import LastOutputs
from support.each import each, table, tables
from support.events import pull_request
from support.fake_github import FakeGitHub, Token, serve
from support.fake_llm import FakeLlm
from support.runner import read_outputs
from support.scenarios import play, step
from support.step import Here, Step

FORK = pull_request("stranger/octo-repo")


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with serve() as fake:
        fake.tokens["ghs_actions"] = Token("github-actions[bot]", writes=False)
        yield fake


@pytest.fixture
def action(tmp_path: Path, github: FakeGitHub, llm: FakeLlm) -> Step:
    """A step as the pull request of a fork has it: every secret of the workflow is empty."""
    made = step(tmp_path, Here(), github, llm, FORK)
    made.environ = {}
    return made


@pytest.mark.parametrize("name", tables(Path(__file__).with_suffix(".yaml")))
def test_a_scene(action: Step, llm: FakeLlm, name: str) -> None:
    play(table(__file__, name), action, llm)


@pytest.mark.parametrize(("graded", "code", "outcome"), [(False, 0, "pass"), (True, 3, "not-run")])
def test_recorded_answers_need_a_key_only_where_a_model_grades(action: Step, graded: bool, code: int, outcome: str) -> None:
    config = action.workspace / "evals" / "promptfooconfig.yaml"
    text = config.read_text() if graded else re.sub(r"type: factuality\n +value: .*", "type: is-json", config.read_text())
    config.write_text(text)
    command = [sys.executable, "-I", "-m", "gradegate", "cases", str(config)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, cwd=action.workspace).stdout.splitlines()
    made = (json.dumps({"id": json.loads(line)["id"], "output": "{}"}) for line in lines)
    action.write({"evals/answers.jsonl": "\n".join(made)})
    left = action.run(answers="answers.jsonl")
    assert (left.code, left.outputs["decision"]) == (code, outcome)


@each(
    ("error", "outcome"),
    [
        (ConfigError(Mistake("the folder is gone")), "mistake"),
        (KeyboardInterrupt(), "inconclusive"),
        (Terminated(), "inconclusive"),
        (RuntimeError("sk-canary-0123456789"), "inconclusive"),
    ],
)
def test_an_end_before_anything_was_published_is_accounted_for(tmp_path: Path, error: BaseException, outcome: str) -> None:
    environ = {
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "OPENAI_API_KEY": "sk-canary-0123456789",
    }
    with pytest.raises(type(error)), LastOutputs(environ):
        raise error
    assert read_outputs((tmp_path / "output").read_text()) == {"decision": outcome}
    summary = (tmp_path / "summary").read_text()
    assert "could not run" in summary
    assert "canary" not in summary


def test_what_was_published_is_not_published_again(tmp_path: Path) -> None:
    ending = LastOutputs({"GITHUB_OUTPUT": str(tmp_path / "output")}, is_published=True)
    with pytest.raises(ConfigError), ending:
        raise ConfigError(Mistake("said already"))
    assert not (tmp_path / "output").exists()


def test_a_mistake_in_a_file_that_is_not_there_is_annotated_nowhere(action: Step) -> None:
    action.write({"evals/promptfooconfig.yaml": "prompts: [x]\nproviders: [echo]\ntests: file://gone.yaml\n"})
    left = action.run(config="promptfooconfig.yaml\ngone-too.yaml")
    errors = [command for command in left.shown if command.name == "error"]
    files = [command.properties["file"] for command in errors if "file" in command.properties]
    assert errors
    assert all((action.workspace / name).is_file() for name in files)
