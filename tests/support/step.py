"""One step of a job as GitHub's runner starts it: its folders, its environment, and what it leaves behind."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest

from gradegate.cli import main as cli
from gradegate.sandbox.evaluate import reset_accounts
from support.fake_github import FakeGitHub
from support.patience import PATIENCE
from support.runner import Command, commands, read_outputs, read_summary, shown_annotations

FOLDERS = ("workspace", "home", "workflow", "file_commands", "runner_temp")
# What a container action also gets to see; nothing of it may reach a log, a report or a request.
CANARY = "canary-5f1c9a"


class Launcher(Protocol):
    """Starts the action; ``mounted`` is where it sees the folders of the step."""

    def mounted(self, root: Path) -> str: ...

    def launch(self, root: Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]: ...


class Local:
    """The action as a process of this machine, started like the image's entry point."""

    def mounted(self, root: Path) -> str:
        return str(root)

    def launch(self, root: Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-I", "-m", "gradegate", "action"],
            cwd=root / "workspace",
            env={"PATH": os.environ["PATH"], **environ},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )


class Here:
    """The action in the process of the tests, which takes a tenth of the time: for what needs no streams and signals of its own."""

    def mounted(self, root: Path) -> str:
        return str(root)

    def launch(self, root: Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        reset_accounts()
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            for name in os.environ:
                if name != "PATH":
                    patch.delenv(name)
            for name, value in environ.items():
                patch.setenv(name, value)
            patch.chdir(root / "workspace")
            code = cli.main(["action"])
        return subprocess.CompletedProcess([], code, out.getvalue(), err.getvalue())


@dataclass(frozen=True)
class Left:
    """What a step left behind, as the runner reads it."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str

    @property
    def shown(self) -> list[Command]:
        """Annotations on the page of the run."""
        return shown_annotations(self.log)

    @property
    def commands(self) -> list[Command]:
        """Every command that was obeyed."""
        return commands(self.log)


@dataclass
class Step:
    """A step of a job in ``root``; ``workspace`` is the checked-out pull request."""

    root: Path
    launcher: Launcher
    github: FakeGitHub
    payload: dict[str, Any]
    event: str = "pull_request"
    inputs: dict[str, str] = field(default_factory=dict)
    runs: int = 0
    environ: dict[str, str] = field(default_factory=dict)  # what this step's differs in

    def __post_init__(self) -> None:
        for name in FOLDERS:
            (self.root / name).mkdir(parents=True, exist_ok=True)

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def run(self, **inputs: str) -> Left:
        """Start the action. Inputs are spelled with underscores here and with hyphens for the runner."""
        self.runs += 1
        (self.root / "workflow" / "event.json").write_text(json.dumps(self.payload))
        files = {name: self.root / "file_commands" / f"{name}_{self.runs}" for name in ("output", "summary")}
        for path in files.values():
            path.touch()
        done = self.launcher.launch(self.root, self._environ({**self.inputs, **inputs}))
        log = done.stdout + "\n" + done.stderr
        return Left(done.returncode, log, read_outputs(files["output"].read_text()), read_summary(files["summary"]))

    def _environ(self, inputs: Mapping[str, str]) -> dict[str, str]:
        at = self.launcher.mounted(self.root)
        sha = self.payload.get("pull_request", {}).get("merge_commit_sha") or "c" * 40
        return {
            **{f"INPUT_{name.replace('_', '-').upper()}": value for name, value in inputs.items()},
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTOR": "mona",
            "GITHUB_API_URL": self.github.url,
            "GITHUB_EVENT_NAME": self.event,
            "GITHUB_EVENT_PATH": f"{at}/workflow/event.json",
            "GITHUB_GRAPHQL_URL": f"{self.github.url}/graphql",
            "GITHUB_OUTPUT": f"{at}/file_commands/output_{self.runs}",
            "GITHUB_REPOSITORY": self.github.repository,
            "GITHUB_JOB": "gate",
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_RUN_ID": "4711",
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_SHA": sha,
            "GITHUB_STEP_SUMMARY": f"{at}/file_commands/summary_{self.runs}",
            "GITHUB_WORKSPACE": f"{at}/workspace",
            "HOME": f"{at}/home",
            "RUNNER_TEMP": f"{at}/runner_temp",
            "ACTIONS_RUNTIME_TOKEN": f"{CANARY}-runtime",
            **self.environ,
        }
