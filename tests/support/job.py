"""A pull request that is checked out, and the action at it, in this process."""

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gradegate.cli import main as cli
from support.events import pull_request
from support.fake_github import FakeGitHub
from support.fake_llm import FakeLlm
from support.runner import read_outputs

GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
CONFIG = """\
prompts: ["file://prompts/current.txt"]
providers: ["openai:chat:m"]
tests: "file://cases/*.yaml"
"""
CASE = '- assert: [{type: contains, value: "file://expected.txt"}]\n'
FILES = {
    "evals/promptfooconfig.yaml": CONFIG,
    "evals/prompts/v1.txt": "hello",
    "evals/cases/a.yaml": CASE,
    "evals/expected.txt": "fine",
    "evals/README.md": "about",
    "src/app.py": "pass",
    "app/main.py": "pass",
    ".github/workflows/evals.yml": "on: pull_request",
}


@dataclass
class Job:
    """A pull request that is checked out, and the action at it."""

    root: Path
    github: FakeGitHub
    llm: FakeLlm
    patch: pytest.MonkeyPatch
    environ: dict[str, str] = field(default_factory=dict)
    payload: dict[str, Any] = field(default_factory=pull_request)
    sha: str = ""  # that the workflow runs at, where it is not the head
    command: tuple[str, ...] = ("action",)

    def git(self, *words: str) -> str:
        done = subprocess.run([*GIT, *words], cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self) -> None:
        self.git("add", "-A", "-f")
        self.git("commit", "-q", "--allow-empty", "-m", "x")
        sha = self.git("rev-parse", "HEAD")
        self.payload["pull_request"]["head"]["sha"] = sha
        self.github.pull = {"head": {"sha": sha, "ref": "topic"}, "base": {"sha": "b" * 40, "ref": "main"}}

    def run(self, event: str = "pull_request", **inputs: str) -> tuple[int, dict[str, str]]:
        given = {"config": "evals/promptfooconfig.yaml", "when": "changed", "github-token": "ghs_actions"}
        if inputs.get("when", "changed") == "changed":  # the model is on loopback, where it may be an application
            given["paths"] = "app/**"
        given |= {name.replace("_", "-"): value for name, value in inputs.items()}
        outside = self.root.parent
        (outside / "event.json").write_text(json.dumps(self.payload))
        for name in ("output", "summary"):
            (outside / name).write_text("")
        environ = {
            **{f"INPUT_{name.upper()}": value for name, value in given.items()},
            "GITHUB_API_URL": self.github.url,
            "GITHUB_BASE_REF": "main",
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(outside / "event.json"),
            "GITHUB_GRAPHQL_URL": f"{self.github.url}/graphql",
            "GITHUB_OUTPUT": str(outside / "output"),
            "GITHUB_REPOSITORY": self.github.repository,
            "GITHUB_SHA": self.sha or self.payload["pull_request"]["head"]["sha"],
            "GITHUB_STEP_SUMMARY": str(outside / "summary"),
            "GITHUB_WORKSPACE": str(self.root),
            "OPENAI_API_KEY": "sk-canary-0123456789",
            "OPENAI_BASE_URL": self.llm.base,
            **self.environ,
        }
        for name in [name for name in os.environ if name.startswith("INPUT_")]:
            self.patch.delenv(name)  # of an earlier run
        for name, value in environ.items():
            self.patch.setenv(name, value)
        return cli.main([*self.command]), read_outputs((outside / "output").read_text())

    def ran(self, *changed: tuple[str, ...] | str, **inputs: str) -> bool:
        """Whether a model was asked for a pull request that changes these files."""
        self.github.files.clear()
        for change in changed:
            self.github.changes(*([change] if isinstance(change, str) else change))
        before = len(self.llm.requests)
        code, outputs = self.run(**inputs)
        assert (code, outputs["decision"]) == (0, "pass")
        return len(self.llm.requests) > before


def checked_out(root: Path, github: FakeGitHub, llm: FakeLlm, patch: pytest.MonkeyPatch) -> Job:
    """A repository with one config, its prompt behind a link, its cases behind a pattern; the model answers "fine"."""
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "evals" / "prompts" / "current.txt").symlink_to("v1.txt")
    patch.chdir(root)
    patch.setattr("gradegate.github.comment.SETTLE", 0.0)  # nobody else writes comments
    llm.reply = lambda path, body: "fine"
    made = Job(root, github, llm, patch)
    made.git("init", "-q", "-b", "main")
    made.commit()
    return made
