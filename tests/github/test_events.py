"""At which events the gate reads what lies in the workspace: each row of the table in docs/github-events.md."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gradegate import cli
from gradegate.access.environment import FREE
from support.each import each
from support.events import pull_request
from support.fake_github import FakeGitHub
from support.fake_llm import FakeLlm
from support.runner import read_outputs

PAGE = (
    (Path(__file__).parents[2] / "docs" / "github-events.md").read_text().partition("\n## Which files are read\n")[2].partition("\n## ")[0]
)
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| .+ \|$", PAGE, re.MULTILINE)[1:]
CHECKOUT, COMMIT = "the checkout", "files of `GITHUB_SHA`"
NAMED = [(event, what) for events, what in ROWS for event in re.findall(r"`([a-z_]+)`", events)]
CLOSED = [("invented_in_2027", what) for events, what in ROWS if "any other" in events]
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
CONFIG = """\
prompts: ["file://prompt.txt"]
providers: ["openai:chat:m"]
tests:
  - assert: [{type: contains, value: fine}]
"""


def git(folder: Path, *words: str) -> str:
    return subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def commit(root: Path, prompt: str) -> str:
    (root / "gradegate.yaml").write_text(CONFIG)
    (root / "prompt.txt").write_text(prompt)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", prompt)
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    return root


Act = Callable[..., tuple[int, dict[str, str]]]


@pytest.fixture
def act(workspace: Path, github: FakeGitHub, llm: FakeLlm, monkeypatch: pytest.MonkeyPatch) -> Act:
    """Run the action in-process at an event and a commit; gives its exit code and its outputs."""
    llm.reply = lambda path, body: "fine"
    monkeypatch.chdir(workspace)
    (workspace.parent / "event.json").write_text(json.dumps(pull_request()))
    for name in ("output", "summary"):
        (workspace.parent / name).touch()

    def run(event: str, sha: str, *command: str) -> tuple[int, dict[str, str]]:
        environ = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": github.url,
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(workspace.parent / "event.json"),
            "GITHUB_GRAPHQL_URL": f"{github.url}/graphql",
            "GITHUB_OUTPUT": str(workspace.parent / "output"),
            "GITHUB_REPOSITORY": github.repository,
            "GITHUB_SHA": sha,
            "GITHUB_STEP_SUMMARY": str(workspace.parent / "summary"),
            "GITHUB_WORKSPACE": str(workspace),
            "INPUT_GITHUB-TOKEN": "ghs_actions",
            "INPUT_OPENAI-API-KEY": "sk-canary-0123456789",
            "INPUT_OPENAI-BASE-URL": llm.base,
            "OPENAI_API_KEY": "sk-canary-0123456789",
            "OPENAI_BASE_URL": llm.base,
        }
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        return cli.main(list(command or ("action",))), read_outputs((workspace.parent / "output").read_text())

    return run


def test_the_table_names_every_free_event_and_closes_with_what_nobody_knows() -> None:
    assert {event for event, what in NAMED if what == CHECKOUT} == FREE
    assert {what for _, what in ROWS} == {CHECKOUT, COMMIT}
    assert len(NAMED) == len(dict(NAMED)) > 25
    assert CLOSED


@each(("event", "what"), NAMED + CLOSED)
def test_each_row(act: Act, workspace: Path, llm: FakeLlm, github: FakeGitHub, event: str, what: str) -> None:
    base = commit(workspace, "ours")
    assert act(event, base)[0] == 0
    assert len(llm.requests) == 1
    commit(workspace, "theirs")
    code, outputs = act(event, base)
    if what == CHECKOUT:
        assert (code, outputs["outcome"], len(llm.requests)) == (0, "pass", 2)
    else:
        assert (code, outputs["outcome"], len(llm.requests)) == (2, "mistake", 1)
        assert "can run with secrets for anybody" in github.comments[0]["body"]


@pytest.mark.parametrize("command", [("action",), ("run", "gradegate.yaml"), ("validate", "gradegate.yaml")])
def test_files_laid_over_the_checkout_reach_nobody_by_no_command(
    act: Act, workspace: Path, llm: FakeLlm, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    base = commit(workspace, "ours")
    (workspace / "prompt.txt").write_text("theirs")
    assert act("pull_request_target", base, *command)[0] == 2
    assert llm.requests == []
    told = capsys.readouterr().err
    assert "`prompt.txt` is not as it is in the commit" in told
    assert "docs/github-events.md" in told


def test_one_wrong_checkout_is_said_once_for_many_configs(act: Act, workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = commit(workspace, "ours")
    (workspace / "second.yaml").write_text(CONFIG)
    commit(workspace, "theirs")
    assert act("workflow_run", base, "run", "gradegate.yaml", "second.yaml")[0] == 2
    assert "\n1 mistake;" in capsys.readouterr().err


@pytest.mark.parametrize(("configs", "code"), [((), 2), (("*.yaml",), 2), (("evals/../*.yaml",), 2), (("b.yaml",), 0)])
def test_a_config_that_was_deleted_is_missed_where_configs_are_looked_for(
    act: Act, workspace: Path, configs: tuple[str, ...], code: int
) -> None:
    for name in ("promptfooconfig.yaml", "b.yaml", "evals/c.yaml"):
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text(CONFIG)
    base = commit(workspace, "ours")
    assert act("workflow_run", base, "run", *configs)[0] == 0
    (workspace / "promptfooconfig.yaml").unlink()
    assert act("workflow_run", base, "run", *configs)[0] == code
    assert act("push", base, "run", *configs)[0] == 0
