"""The action as a process of this machine."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from gradegate.github.comment import Stamp
from support.each import table
from support.events import pull_request
from support.fake_github import FakeGitHub
from support.fake_llm import FakeLlm
from support.intruder import intrude
from support.patience import PATIENCE
from support.processes import start_process
from support.scenarios import Scenarios, answers, play, step
from support.step import CANARY, Local, Step

pytestmark = pytest.mark.slow


@pytest.fixture
def action(tmp_path: Path, github: FakeGitHub, llm: FakeLlm) -> Step:
    return step(tmp_path, Local(), github, llm, pull_request())


class TestAction(Scenarios):
    """All of them, without a container."""


@pytest.mark.parametrize("name", table(__file__, "scenes"))
def test_a_scene(action: Step, llm: FakeLlm, name: str) -> None:
    play(table(__file__, "scenes")[name], action, llm)


PYTHON = "/usr/bin/python3"


@pytest.mark.skipif(os.geteuid() != 0 or not Path(PYTHON).exists(), reason="takes root, and a Python for everybody")
def test_code_of_a_pull_request_gets_nothing_that_the_step_has(github: FakeGitHub, llm: FakeLlm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        action = step(Path(folder), Local(), github, llm, pull_request())
        left, got = intrude(action)
        modes = {name: (action.root / name).stat().st_mode & 0o777 for name in ("home", "workflow", "file_commands")}
    assert got == []
    assert left.code == 0, left.log
    assert CANARY not in left.log + str(github.comments)
    assert set(modes.values()) == {0o755}


@pytest.mark.parametrize(("link", "to"), table(__file__, "no_report_is_written_through_a_link_that_a_pull_request_commits"))
def test_no_report_is_written_through_a_link_that_a_pull_request_commits(action: Step, link: str, to: str) -> None:
    action.write({".git/config": "precious"})
    (action.workspace / "evals" / link).symlink_to(to)
    left = action.run()
    assert left.outputs["decision"] == "inconclusive"  # the model answers without a verdict, with and without the link
    assert left.code == 3
    if link == "out":
        assert "evals/out/junit.xml" not in left.outputs["reports"].splitlines()
        assert any("is a symbolic link, and reports follow none" in c.data for c in left.shown if c.name == "warning")
    else:  # it was removed before the run
        assert not (action.workspace / "evals" / link).is_symlink()
        assert f"evals/{link}" in left.outputs["reports"].splitlines()
    assert (action.workspace / ".git" / "config").read_text() == "precious"
    assert "pull_request" in (action.root / "workflow" / "event.json").read_text()
    assert list((action.root / "home").iterdir()) == []
    assert '"version"' not in left.log


@pytest.mark.parametrize("directory", ["..", "/tmp", "link", "evals/../../home"])
def test_a_working_directory_outside_the_workspace_is_a_mistake(action: Step, llm: FakeLlm, directory: str) -> None:
    (action.workspace / "link").symlink_to("../home")
    left = action.run(working_directory=directory)
    assert left.code == 2
    assert llm.requests == []
    assert "give a folder inside the workspace" in left.log


TARGET = """\
prompts: ["say {{x}}"]
providers:
  - id: http://127.0.0.1:PORT/x
    config: {body: {p: "{{prompt}}"}}
tests: [{vars: {x: "1"}, assert: [{type: contains, value: ok}]}]
"""


def test_a_target_at_another_port_of_the_runner_than_the_one_that_is_ready_is_not_called(action: Step, llm: FakeLlm) -> None:
    action.environ = {}  # no address of a vendor opens a port
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(0.2)
        port = other.getsockname()[1]
        action.write({"evals/promptfooconfig.yaml": TARGET.replace("PORT", str(port))})
        left = action.run(ready=f"{llm.base} 9")
        assert (left.code, left.outputs["decision"], llm.requests) == (2, "mistake", [])
        with pytest.raises(TimeoutError):
            other.accept()
    (error,) = (it for it in left.shown if it.name == "error")
    assert (error.properties["file"], error.properties["line"]) == ("evals/promptfooconfig.yaml", "3")
    assert f"would ask 127.0.0.1:{port}: it is on this machine" in error.data
    assert f"the input `ready: http://127.0.0.1:{port}` or the input `allowed-hosts: 127.0.0.1:{port}`" in error.data
    action.write({"evals/promptfooconfig.yaml": TARGET.replace("PORT", str(llm.port))})
    left = action.run(ready=f"{llm.base} 9")
    assert left.code == 0, left.log
    assert [body for body in llm.bodies if body] == [{"p": "say 1"}]


def test_reports_can_be_changed_by_later_steps_that_are_not_root(action: Step) -> None:
    before = os.umask(0o077)
    try:
        action.run()
    finally:
        os.umask(before)
    out = action.workspace / "evals" / "out"
    assert (out.stat().st_mode & 0o777, (out / "junit.xml").stat().st_mode & 0o777) == (0o777, 0o666)


@dataclass(frozen=True)
class Cancelled(Local):
    """Starts the action and sends it a signal when the model has been asked, or at the first request to GitHub after that."""

    llm: FakeLlm
    number: signal.Signals
    github: FakeGitHub | None = None

    def launch(self, root: Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", "-m", "gradegate", "action"]
        variables = {"PATH": os.environ["PATH"], **environ}
        pipe = subprocess.PIPE
        with start_process(command, cwd=root / "workspace", env=variables, stdout=pipe, stderr=pipe, text=True) as run:
            if self.github:
                self.github.before = lambda _: run.send_signal(self.number) if self.llm.requests else None
            else:
                while not self.llm.requests:
                    assert run.poll() is None
                    time.sleep(0.01)
                run.send_signal(self.number)
            out, err = run.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(command, run.returncode, out, err)


def test_a_job_that_is_cancelled_while_it_publishes_says_all_that_it_found(action: Step, llm: FakeLlm) -> None:
    llm.reply = answers("D")
    action.launcher = Cancelled(llm, signal.SIGTERM, action.github)
    left = action.run()
    assert left.code == 143, left.log
    assert left.outputs["decision"] == "blocked"
    assert "gradegate-results.json" in left.outputs["reports"]
    assert "1 of 2 cases failed" in left.summary
    (comment,) = action.github.comments
    assert "1 of 2 cases failed" in comment["body"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_cancelled_job_leaves_its_comment_in_a_final_state_within_its_last_seconds(
    action: Step, llm: FakeLlm, number: signal.Signals, code: int
) -> None:
    action.github.add("github-actions[bot]", f"{Stamp().line}\nall passed", "Bot")
    action.launcher = Cancelled(llm, number)
    llm.latency = 600
    left = action.run()
    assert llm.in_flight == len(llm.requests)  # the model still holds its answers: nobody waited for them
    assert left.code == code, left.log
    assert (left.outputs["decision"], left.outputs["errored"]) == ("inconclusive", "2")
    (comment,) = action.github.comments
    assert "all passed" not in comment["body"]
    assert "inconclusive" in comment["body"]
