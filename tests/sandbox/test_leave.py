"""Who may have code of the repository run, and what it sees."""

import json
from pathlib import Path

import pytest

from gradegate.core.settings import Settings
from gradegate.errors import ConfigError
from gradegate.github.inputs import settings_from_inputs
from gradegate.sandbox import permission
from gradegate.sandbox.permission import NO_EXEC, ExecPolicy, exec_policy
from gradegate.security.environment import JUDGED_EVENTS, Environment
from gradegate.security.event import read_event
from support.each import each

STRANGERS = ["pull_request_target", "workflow_run", "issue_comment", "issues", "discussion", "check_run", "of_tomorrow"]


def event(folder: Path, head: object = "o/r", base: str = "o/r") -> str:
    repository = {"full_name": head} if isinstance(head, str) else head
    sha = "a" * 40
    pull = {"number": 1, "head": {"sha": sha, "repo": repository}, "base": {"sha": sha, "repo": {"full_name": base}}}
    path = folder / "event.json"
    path.write_text(json.dumps({"pull_request": pull}))
    return str(path)


def find_objection(environ: dict[str, str]) -> str:
    return permission.exec_objection(Environment(environ), read_event(environ))


def may_run(settings: Settings, environ: dict[str, str]) -> ExecPolicy:
    return exec_policy(settings, Environment(environ), read_event(environ))


@each("name", STRANGERS)
def test_events_that_strangers_start_beside_secrets_refuse_it(tmp_path: Path, name: str):
    environ = {"GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": event(tmp_path)}
    assert name in find_objection(environ)
    with pytest.raises(ConfigError, match="`allow-exec` is not allowed"):
        may_run(Settings(allow_exec=True), environ)
    assert may_run(Settings(), environ) == NO_EXEC


@each("name", sorted(JUDGED_EVENTS))
def test_forks_are_refused_at_every_event_of_a_pull_request(tmp_path: Path, name: str):
    environ = {"GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": event(tmp_path, "stranger/r")}
    assert ("fork" in find_objection(environ)) == name.startswith("pull_request")
    assert find_objection({**environ, "GITHUB_EVENT_PATH": event(tmp_path, "O/R")}) == ""


@each("head", [None, {}, 7, [], {"full_name": 3}, {"full_name": None}])
def test_what_the_event_does_not_say_is_refused(tmp_path: Path, head: object):
    assert find_objection({"GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": event(tmp_path, head)})
    assert find_objection({"GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(tmp_path / "none")})
    assert find_objection({"GITHUB_EVENT_NAME": "pull_request"})


def test_off_github_there_is_no_objection():
    assert find_objection({}) == ""
    assert "an unknown event (GITHUB_EVENT_NAME is not set)" in find_objection({"GITHUB_ACTIONS": "true"})


def test_code_sees_the_variables_that_were_named():
    environ = {"PATH": "/bin", "OPENAI_API_KEY": "sk", "DB": "x", "LC_ALL": "C", "GITHUB_TOKEN": "t", "PYTHONPATH": "p"}
    leave = may_run(Settings(allow_exec=True, exec_env=frozenset({"DB"})), environ)
    assert leave.env == {"PATH": "/bin", "DB": "x", "LC_ALL": "C", "LANG": "C.UTF-8"}
    assert "sk" not in repr(leave)


def test_the_interpreter_is_that_of_the_command_line_or_promptfoos():
    environ = {"PROMPTFOO_PYTHON": "python-a"}
    assert may_run(Settings(allow_exec=True), environ).python == "python-a"
    assert may_run(Settings(allow_exec=True, python="python-b"), environ).python == "python-b"


def test_in_the_action_it_runs_apart_and_the_runners_own_cannot_be_named(tmp_path: Path):
    inputs = {"INPUT_ALLOW-EXEC": "true", "INPUT_EXEC-ENV": "DB\nGITHUB_TOKEN ACTIONS_RUNTIME_TOKEN"}
    settings = settings_from_inputs(inputs, tmp_path)
    assert settings.run.separate_exec_user
    said = [mistake.what for mistake in settings.mistakes]
    assert [what for what in said if "`exec-env` is the runner" in what] == said
    assert len(said) == 2
    assert not settings_from_inputs({}, tmp_path).run.allow_exec
