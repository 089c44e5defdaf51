"""Thirty days of one repository, event by event (`test_story.yaml`). Nobody repairs anything on the way: what an event leaves, the next ones find."""

import io
import json
import re
import subprocess
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from gradegate.github import action
from gradegate.github.client import connect
from gradegate.structs import replace
from support.events import pull_request
from support.fake_github import FakeGitHub
from support.fake_llm import FakeLlm
from support.flips import BAD, GOOD
from support.job import GIT
from support.step import Here, Left, Step

STORY = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
WORKFLOW = ".github/workflows/evals.yml"
FILES = {
    "README.md": "A shop.\n",
    "evals/prompt.txt": "You answer customers of a shop.\n\nTopic: {{topic}}\n",
    "evals/support.yaml": STORY["config"],
    WORKFLOW: "on: [pull_request, push, schedule]\njobs:\n  evals:\n    steps: []\n",
}
ANSWER = re.compile(r"an answer about (\w+) in run (\d+)")
MARKUP = re.compile(r"\*\*|`|\\|\u200b|\u2060|</?[a-z]+>")
# Where the program looks at the clock.
CLOCKS = ("config.cases", "runner.comparison", "runner.conclusion", "runner.run", "runner.reasks.base_regrade")


@dataclass
class Models:
    """What the target and the judge say in one run; the judge is told of whom and of which run an answer is."""

    run: int = 0
    down: str = ""
    asks: dict[bool, Mapping[str, str]] = field(default_factory=dict)  # by whether the answer is of this run
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)

    def reply(self, path: str, body: dict[str, Any]) -> Any:
        """A chat answer."""
        text = str(body["messages"][-1]["content"])
        if body["model"] == self.down:
            return 500, {"error": {"message": "down"}}
        if body["model"] != "judge":
            return f"an answer about {text.split()[-1]} in run {self.run}"
        topic, run = ANSWER.findall(json.dumps(body["messages"]))[-1]
        script = self.asks[int(run) == self.run].get(topic, "P")
        number = self.asked[topic, run]
        self.asked[topic, run] += 1
        return GOOD if script[min(number, len(script) - 1)] == "P" else BAD


@dataclass
class Repository:
    """A repository on GitHub with a workflow of one job, and the pull requests by the number of their branches."""

    step: Step
    models: Models
    patch: pytest.MonkeyPatch
    stale: dict[int, str] = field(default_factory=dict)  # what a force-push replaced, by pull request
    head: str = ""  # that the workflow is about; of a pull request it is the commit before its merge

    def git(self, *words: str) -> str:
        """What git says."""
        done = subprocess.run([*GIT, *words], cwd=self.step.workspace, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def change(self, event: Mapping[str, Any]) -> None:
        """Do what the event says to the repository, and check out the commit that the workflow runs at."""
        branch = f"pr-{event['at']['pr']}" if "pr" in event["at"] else "main"
        if branch not in self.git("branch", "--format", "%(refname:short)").split():
            self.git("branch", branch, "main")
        self.git("checkout", "-q", branch)
        if "force" in event:
            self.stale[event["at"].get("pr", 0)] = self.git("rev-parse", "HEAD")
            self.git("reset", "-q", "--hard", "HEAD~" if branch == "main" else "main")
        for old, new in event.get("move", {}).items():
            (self.step.workspace / new).parent.mkdir(exist_ok=True)
            self.git("mv", old, new)
        for name, (old, new) in event.get("edit", {}).items():
            text = (self.step.workspace / name).read_text()
            assert text.count(old) == 1, f"{old!r} is not once in {name}"
            self.step.write({name: text.replace(old, new)})
        if "edit" in event:
            self.git("commit", "-q", "-a", "-m", event["story"])
        if "merge" in event:
            self.git("merge", "-q", "--no-ff", "-m", event["story"], f"pr-{event['merge']}")
        self.head = self.git("rev-parse", "HEAD")
        if "stale" in event:
            self.head = self.stale[event["at"]["pr"]]
        if branch != "main":
            self.git("checkout", "-q", "--detach", "main")
            self.git("merge", "-q", "--no-ff", "-m", "what GitHub would merge", self.head)
        self.step.github.commits = self.git("rev-list", "--reverse", "main").split()

    def run(self, event: Mapping[str, Any], job: str, number: int) -> Left:
        """Start the action as the workflow does."""
        about, github = event["at"], self.step.github
        at_main, sha = "pr" not in about, self.git("rev-parse", "HEAD")
        ref = "refs/heads/main" if at_main else f"refs/pull/{about['pr']}/merge"
        kind = {"pull": "pull_request", "nightly": "schedule"}.get(about["event"], "push")
        owner = {"repository": {"full_name": github.repository, "default_branch": "main"}}
        self.step.event, self.step.payload = kind, {"after": sha, **owner}
        if kind == "schedule":
            self.step.payload = {"schedule": "0 0 * * *"}
        if not at_main:
            base, side = self.git("rev-parse", "main"), {"repo": {"full_name": github.repository}}
            sides = {"head": {"sha": self.head, **side}, "base": {"sha": base, **side}}
            self.step.payload = {**pull_request(number=about["pr"], **sides), "number": about["pr"], **owner}
            self.git("clone", "-q", "--no-checkout", str(self.step.workspace), ".base")
            self.git("-C", ".base", "checkout", "-q", base)
        self.step.environ |= {
            "GITHUB_JOB": "evals",
            "GITHUB_REF": ref,
            "GITHUB_RUN_ATTEMPT": "2" if "again" in event else "1",
            "GITHUB_RUN_ID": str(number),
            "GITHUB_SHA": sha,
            "GITHUB_WORKFLOW_REF": f"{github.repository}/{WORKFLOW}@{ref}",
            "GRADEGATE_MATRIX": json.dumps({"model": job} if "jobs" in event else None),
            "MODEL": job,
            "RUNNER_TEMP": str(self.step.root / "runner_temp"),
        }
        (config,) = (self.step.workspace / "evals").glob("*.yaml")
        left = self.step.run(
            config=f"evals/{config.name}", select=event.get("select", ""), base_checkout="" if at_main else ".base", allowed_env="MODEL"
        )
        if not at_main:
            subprocess.run(["rm", "-r", self.step.workspace / ".base"], check=True)
        return left

    def upload(self, number: int, name: str) -> None:
        """What the action's second step does."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for path in (self.step.root / "runner_temp" / name).iterdir():
                archive.write(path, path.name)
        self.step.github.left(number, name, packed.getvalue())

    def play(self, event: Mapping[str, Any]) -> Iterator[str]:
        """What does not come of an event as it should."""
        self.change(event)
        for number, day in enumerate(event["at"].get("days") or [event["at"]["day"]], event["at"]["run"]):
            for clock in CLOCKS:
                self.patch.setattr(f"gradegate.{clock}.datetime", clock_of(day))
            jobs = {job: {**event, **more} for job, more in event.get("jobs", {"small": {}}).items()}
            for job, what in jobs.items():
                self.models.__init__(number, what.get("down", ""), {True: what.get("judge", {}), False: what.get("base_judge", {})})
                left = self.run(what, job, number)
                wrong = list(self.differences(what, left, number))
                if wrong:
                    yield "\n".join([f"run {number}, {job}: {event['story']}", *wrong, plain(self.report(what, left)), left.log[-3000:]])
                if name := left.outputs.get("artifact"):
                    self.upload(number, name)
            if "again" not in event:
                branch, kind = ("topic", "pull_request") if "pr" in event["at"] else ("main", self.step.event)
                self.step.github.ran(number, self.step.environ["GITHUB_SHA"], event=kind, branch=branch)
            if "pr" in event["at"] and len(self.comments(event)) != len(jobs):
                yield f"run {number}: {len(self.comments(event))} comments for {len(jobs)} jobs"

    def comments(self, event: Mapping[str, Any]) -> list[str]:
        """The texts of the comments on the pull request of an event."""
        return [it["body"] for it in self.step.github.comments if it["issue_url"].endswith(f"/{event['at']['pr']}")]

    def report(self, event: Mapping[str, Any], left: Left) -> str:
        """What people read: the comment of the job, or the summary where there is no pull request."""
        if "pr" not in event["at"]:
            return left.summary
        (address,) = re.findall(r"#issuecomment-\d+", left.log)[-1:] or [""]
        return next((it["body"] for it in self.step.github.comments if it["html_url"].endswith(address)), "")

    def differences(self, event: Mapping[str, Any], left: Left, number: int) -> Iterator[str]:
        """What is not as the event says."""
        found = re.findall(r"Found the files of run (\d+) of main", left.log)
        base = number - 1 if event.get("base") == "before" else event.get("base")
        text = plain(self.report(event, left))
        pairs = {
            "ends": (f"{left.outputs.get('decision')} {left.code}", event["ends"]),
            "base": ([int(it) for it in found], [base] if base else []),
            "leaves": ("artifact" in left.outputs, event.get("leaves", False)),
            "stamp": (f" run={number} " in self.report(event, left), "pr" in event["at"] and "stale" not in event),
        }
        yield from (f"{name} is {there!r}, and not {wanted!r}" for name, (there, wanted) in pairs.items() if there != wanted)
        yield from (f"{words!r} is not said" for words in event.get("says", ()) if words not in text)
        yield from (f"{words!r} is said" for words in event.get("lacks", ()) if words in text)
        yield from (f"{words!r} is not in the log" for words in event.get("log", ()) if words not in left.log)


def clock_of(day: int) -> type[datetime]:
    """A clock that stands at noon of a day in March."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime(2026, 3, day, 12, tzinfo=UTC)

    return Clock


def plain(page: str) -> str:
    """A page of Markdown as it reads, without links and signs; cells of a table are parted by ` | `."""
    text = re.sub(r"\[([^\[\]]*)\]\([^()\s]*\)", r"\1", page.replace("&nbsp;", " ").replace("<br>", "\n"))
    return MARKUP.sub("", text)


@pytest.fixture
def repository(tmp_path: Path, github: FakeGitHub, llm: FakeLlm, monkeypatch: pytest.MonkeyPatch) -> Repository:
    models = Models()
    made = Repository(Step(tmp_path, Here(), github, {}), models, monkeypatch)
    made.step.write(FILES)
    made.step.inputs = {"baseline": "auto", "github_token": "ghs_actions", "output": "out/results.json"}
    made.step.environ = {"OPENAI_API_KEY": "sk-canary-0123456789", "OPENAI_BASE_URL": llm.base}
    made.git("init", "-q", "-b", "main")
    (made.step.workspace / ".git" / "info" / "exclude").write_text("/.base\n/out\n")
    made.git("add", "-A")
    made.git("commit", "-q", "-m", "the evals")
    llm.reply = models.reply
    monkeypatch.setattr(action, "connect", lambda *about, **more: replace(connect(*about, **more), pause=lambda seconds: None))
    return made


def test_every_event_of_thirty_days_ends_as_documented(repository: Repository) -> None:
    wrong = [text for event in STORY["events"] for text in repository.play(event)]
    assert not wrong, "\n\n".join(wrong)
