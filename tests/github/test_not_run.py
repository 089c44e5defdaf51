"""Pull requests to which GitHub gives no secrets: the outcome `not-run`, and what every other end leaves behind."""

import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradegate.errors import ConfigError, Mistake, Terminated
from gradegate.github.workflow import Ending
from support.each import each, table
from support.events import pull_request
from support.fake_github import FakeGitHub, Token, serve
from support.fake_llm import FakeLlm
from support.runner import read_outputs
from support.scenarios import answers, step
from support.step import Here, Left, Step

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
    made.inputs |= {"openai_api_key": "", "openai_base_url": ""}
    return made


def ended(left: Left) -> tuple[int, str, str]:
    assert left.outputs["exit-code"] == str(left.code)
    return left.code, left.outputs["outcome"], left.outputs.get("planned", "")


@each(("mode", "code"), [("fail", 3), ("neutral", 0)])
def test_keys_that_a_fork_does_not_get_are_no_mistake(action: Step, llm: FakeLlm, mode: str, code: int) -> None:
    left = action.run(on_missing_secrets=mode)
    assert ended(left) == (code, "not-run", "0")
    assert llm.requests == []
    assert "NOT RUN" in left.log
    assert "not run" in left.summary.splitlines()[0].lower()
    assert "comes from a fork" in left.summary
    assert "OPENAI_API_KEY" in left.summary.replace("\\", "")
    assert "docs/github-forks.md" in left.summary
    results = json.loads((action.workspace / left.outputs["results-path"]).read_text())
    assert (results["outcome"], results["cases"]) == ("not-run", [])
    (case,) = ET.parse(action.workspace / left.outputs["junit-path"]).iter("testcase")
    skipped = case.find("skipped")
    assert skipped is not None
    assert "comes from a fork" in (skipped.get("message") or "")


def test_dependabot_gets_none_either_and_its_token_may_comment_nothing(action: Step) -> None:
    action.payload = pull_request()
    action.environ = {"GITHUB_ACTOR": "dependabot[bot]"}
    left = action.run()
    assert ended(left)[:2] == (3, "not-run")
    assert "comes from Dependabot" in left.summary


@each("event", ["push", "workflow_dispatch", "merge_group", "pull_request"])
def test_elsewhere_a_missing_key_is_a_mistake(action: Step, event: str) -> None:
    action.event, action.payload = event, pull_request() if event == "pull_request" else {}
    left = action.run(on_missing_secrets="neutral")
    assert ended(left)[:2] == (2, "mistake")
    assert "no key for `openai:chat:candidate`" in left.log


def test_whatever_else_is_wrong_is_a_mistake_for_a_fork_too(action: Step) -> None:
    config = action.workspace / "evals" / "promptfooconfig.yaml"
    config.write_text(config.read_text().replace("type: factuality", "type: factualtiy", 1))
    left = action.run(on_missing_secrets="neutral")
    assert ended(left)[:2] == (2, "mistake")


@each(("old", "new", "said"), table(__file__, "what_shows_only_once_keys_are_there_is_a_mistake_for_a_fork_too"))
def test_what_shows_only_once_keys_are_there_is_a_mistake_for_a_fork_too(action: Step, old: str, new: str, said: str) -> None:
    config = action.workspace / "evals" / "promptfooconfig.yaml"
    config.write_text(config.read_text().replace(old, new, 1))
    left = action.run(on_missing_secrets="neutral")
    assert ended(left)[:2] == (2, "mistake")
    assert said in left.log


def test_a_baseline_of_the_pull_requests_own_is_a_mistake_for_a_fork_too(action: Step) -> None:
    (action.workspace / "results.json").write_text("{}")
    left = action.run(on_missing_secrets="neutral", baseline="results.json")
    assert ended(left)[:2] == (2, "mistake")
    assert "could have written the baseline" in left.log


@each(("changes", "ended_as"), [("block", (1, "blocked", "0")), ("report", (0, "not-run", "0"))])
def test_a_weakened_gate_is_seen_without_keys(action: Step, llm: FakeLlm, changes: str, ended_as: tuple[int, str, str]) -> None:
    shutil.copytree(action.workspace, action.root / "base")
    shutil.move(action.root / "base", action.workspace / ".base")
    config = action.workspace / "evals" / "promptfooconfig.yaml"
    config.write_text(config.read_text().replace("type: factuality", "blocking: false\n        type: factuality", 1))
    left = action.run(on_missing_secrets="neutral", base=".base", changes=changes)
    assert ended(left) == ended_as
    assert llm.requests == []
    assert "weakens its own gate" in left.summary
    assert "comes from a fork" in left.summary
    results = json.loads((action.workspace / left.outputs["results-path"]).read_text())
    assert [change["kind"] for change in results["gate_changes"]] == ["weaker"]
    same = config.parent.parent / ".base" / "evals" / "promptfooconfig.yaml"
    config.write_text(same.read_text())
    assert ended(action.run(on_missing_secrets="neutral", base=".base", changes=changes)) == (0, "not-run", "0")


def test_a_gate_that_cannot_be_compared_without_keys_blocks_where_changes_do(action: Step) -> None:
    shutil.copytree(action.workspace, action.root / "base")
    shutil.move(action.root / "base", action.workspace / ".base")
    config = action.workspace / "evals" / "promptfooconfig.yaml"
    app = '[{id: http, config: {url: "{{ env.APP_URL }}", body: {q: "{{prompt}}"}}}]'
    config.write_text(config.read_text().replace('["openai:chat:candidate"]', app))
    assert ended(action.run(on_missing_secrets="neutral"))[:2] == (0, "not-run")
    left = action.run(on_missing_secrets="neutral", base=".base", changes="block")
    assert ended(left)[:2] == (1, "blocked")
    assert "cannot be compared" in left.summary


def test_a_fork_that_needs_no_key_is_judged(action: Step, llm: FakeLlm) -> None:
    action.write(
        {
            "evals/promptfooconfig.yaml": '{"prompts": ["x"], "providers": ["echo"], "tests": [{"assert": [{"type": "contains", "value": "y"}]}]}'
        }
    )
    assert ended(action.run())[:2] == (1, "blocked")


def test_a_fork_that_is_given_its_keys_is_judged(action: Step, llm: FakeLlm) -> None:
    llm.reply = answers("A")
    left = action.run(openai_api_key="sk-canary-0123456789", openai_base_url=llm.base)
    assert ended(left)[:2] == (0, "pass")


@pytest.mark.parametrize(("graded", "code", "outcome"), [(False, 0, "pass"), (True, 3, "not-run")])
def test_recorded_answers_need_a_key_only_where_a_model_grades(action: Step, graded: bool, code: int, outcome: str) -> None:
    config = action.workspace / "evals" / "promptfooconfig.yaml"
    text = config.read_text() if graded else re.sub(r"type: factuality\n +value: .*", "type: is-json", config.read_text())
    config.write_text(text)
    command = [sys.executable, "-I", "-m", "gradegate", "cases", str(config)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, cwd=action.workspace).stdout.splitlines()
    made = (json.dumps({"id": json.loads(line)["id"], "output": "{}"}) for line in lines)
    action.write({"evals/answers.jsonl": "\n".join(made)})
    assert ended(action.run(answers="answers.jsonl"))[:2] == (code, outcome)


def test_a_key_that_shows_only_once_another_is_there_is_no_mistake(action: Step) -> None:
    config = action.workspace / "evals" / "promptfooconfig.yaml"
    provider = '[{id: "openai:chat:candidate", config: {apiKeyEnvar: FIRST, headers: {X: "{{ env.SECOND }}"}}}]'
    config.write_text(config.read_text().replace('["openai:chat:candidate"]', provider))
    assert ended(action.run())[:2] == (3, "not-run")


@each(("provider", "variables"), table(__file__, "whatever_a_vendor_takes_from_the_environment_may_be_a_secret"))
def test_whatever_a_vendor_takes_from_the_environment_may_be_a_secret(action: Step, provider: str, variables: tuple[str, ...]) -> None:
    config = {"prompts": ["x"], "providers": [provider], "tests": [{"assert": [{"type": "contains", "value": "y"}]}]}
    if provider.startswith("huggingface"):
        config["providers"] = ["echo"]
        config["tests"] = [{"assert": [{"type": "classifier", "value": "a", "provider": provider}]}]
    action.write({"evals/promptfooconfig.yaml": json.dumps(config)})
    left = action.run()
    assert ended(left)[:2] == (3, "not-run"), left.log
    for name in variables:
        assert name in left.log


@each(("provider", "identity"), table(__file__, "forks_get_no_identity_either"))
def test_forks_get_no_identity_either(action: Step, provider: str, identity: dict[str, str]) -> None:
    config = {"prompts": ["x"], "providers": [provider], "tests": [{"assert": [{"type": "contains", "value": "y"}]}]}
    action.write({"evals/promptfooconfig.yaml": json.dumps(config)})
    action.environ |= identity
    assert ended(action.run())[:2] == (3, "not-run")


def test_a_report_is_never_written_over_what_the_run_reads(action: Step) -> None:
    action.write({"evals/cases.json": "[]"})
    config = action.workspace / "evals" / "promptfooconfig.yaml"
    config.write_text(config.read_text() + '  - "file://cases.json"\n')
    left = action.run(output="cases.json")
    assert (action.workspace / "evals" / "cases.json").read_text() == "[]"
    assert left.code == 2


# --- every end --------------------------------------------------------------------------------------------------


def test_a_wrong_input_leaves_outputs_and_a_summary(action: Step) -> None:
    left = action.run(on_missing_secrets="maybe", repeat="x")
    assert ended(left)[:2] == (2, "mistake")
    assert "on-missing-secrets" in left.summary


def test_an_event_that_cannot_be_read_leaves_outputs_and_a_summary(action: Step) -> None:
    action.payload = {"pull_request": {"number": "x"}}
    left = action.run()
    assert left.outputs["exit-code"] == str(left.code)
    assert left.summary


@each(
    ("error", "outcome", "code"),
    [
        (ConfigError(Mistake("the folder is gone")), "mistake", "2"),
        (KeyboardInterrupt(), "inconclusive", "130"),
        (Terminated(), "inconclusive", "143"),
        (RuntimeError("sk-canary-0123456789"), "inconclusive", "3"),
    ],
)
def test_an_end_before_anything_was_published_is_accounted_for(tmp_path: Path, error: BaseException, outcome: str, code: str) -> None:
    environ = {
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "OPENAI_API_KEY": "sk-canary-0123456789",
    }
    with pytest.raises(type(error)), Ending(environ):
        raise error
    assert read_outputs((tmp_path / "output").read_text()) == {"outcome": outcome, "exit-code": code}
    summary = (tmp_path / "summary").read_text()
    assert "could not run" in summary
    assert "canary" not in summary


def test_what_was_published_is_not_published_again(tmp_path: Path) -> None:
    ending = Ending({"GITHUB_OUTPUT": str(tmp_path / "output")}, settled=True)
    with pytest.raises(ConfigError), ending:
        raise ConfigError(Mistake("said already"))
    assert not (tmp_path / "output").exists()


def test_the_log_is_folded_and_the_verdict_is_not(action: Step, llm: FakeLlm) -> None:
    llm.reply = answers("D")
    left = action.run(openai_api_key="sk-canary-0123456789", openai_base_url=llm.base)
    lines = left.log.splitlines()
    opened, shut = lines.index("::group::Report"), lines.index("::endgroup::")
    verdict = next(number for number, line in enumerate(lines) if line.startswith("Blocked: "))
    assert opened < shut < verdict
    assert any(line.startswith("models:") for line in lines[opened:shut])


def test_a_mistake_in_a_file_that_is_not_there_is_annotated_nowhere(action: Step) -> None:
    action.write({"evals/promptfooconfig.yaml": "prompts: [x]\nproviders: [echo]\ntests: file://gone.yaml\n"})
    left = action.run(config="promptfooconfig.yaml\ngone-too.yaml")
    errors = [command for command in left.shown if command.name == "error"]
    files = [command.properties["file"] for command in errors if "file" in command.properties]
    assert errors
    assert all((action.workspace / name).is_file() for name in files)


@each(("event", "warned"), [("pull_request_target", True), ("pull_request", False)])
def test_pull_request_target_is_warned_of(action: Step, event: str, warned: bool) -> None:
    action.event = event
    left = action.run()
    warnings = [command.data for command in left.shown if command.name == "warning"]
    assert any("pull_request_target" in text for text in warnings) is warned
