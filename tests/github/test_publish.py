"""What the action leaves on GitHub and with the runner, for every decision and when nothing can be written."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gradegate.core.settings import ActionSettings, Settings
from gradegate.core.usage import Usage
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.github.client import connect
from gradegate.github.publish import Step, publish_decision, publish_mistakes
from gradegate.reports.delivery.report import Annotations, Comment, Summary
from gradegate.reports.format.escape import workflow_command
from gradegate.results.run_result import Counts, Decision, GateOutcome, RunResult
from gradegate.security.event import Event
from gradegate.structs import replace
from support.each import each, table
from support.fake_github import FakeGitHub, Token, serve
from support.job import Job
from support.outputs import OUTPUTS
from support.runner import commands, read_outputs, read_summary, shown_annotations

EVENT = Event("pull_request", "octo-org/octo-repo", 7, "a" * 40, "b" * 40, "octo-org/octo-repo", "octo-org/octo-repo")
DOCUMENTS = (
    Comment(("comment ", "text")),
    Summary(("summary text",)),
    Annotations((workflow_command("error", "wrong answer", file="evals.yaml", line=3) + "\n",)),
)


def decision(result: GateOutcome = GateOutcome.PASS, **more: Any) -> Decision:
    run = RunResult((), Usage(calls=2, prompt_tokens=30, completion_tokens=4, cost=0.01), Usage(calls=1, cost=0.002))
    return replace(Decision(result, "why", (), run, Counts(7, 2, 1), Counts(3, 1, 1)), **more)


@dataclass
class Stage:
    """A step of a job: its workspace and files, and a GitHub."""

    fake: FakeGitHub
    root: Path
    said: list[str] = field(default_factory=list)
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.environ = {
            "GITHUB_API_URL": self.fake.url,
            "GITHUB_GRAPHQL_URL": f"{self.fake.url}/graphql",
            "GITHUB_OUTPUT": str(self.root / "output"),
            "GITHUB_STEP_SUMMARY": str(self.root / "summary"),
            "GITHUB_WORKSPACE": str(self.root / "workspace"),
        }

    def step(self, event: Event = EVENT, cwd: str = "", **more: Any) -> Step:
        run = Settings(cwd=self.root / "workspace" / cwd)
        settings = ActionSettings(run, **{"token": "ghs_actions", **more})
        github = replace(connect(self.environ, settings.token), pause=lambda seconds: None)
        return Step(settings, event, self.environ, github, self.said.append)

    @property
    def log(self) -> str:
        return "\n".join(self.said)

    @property
    def outputs(self) -> dict[str, str]:
        return read_outputs((self.root / "output").read_text())

    @property
    def summary(self) -> str:
        path = self.root / "summary"
        return read_summary(path) if path.exists() else ""

    @property
    def warnings(self) -> list[str]:
        return [c.data for c in commands(self.log) if c.name == "warning"]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with serve() as fake:
        yield Stage(fake, tmp_path)


def test_a_decision_reaches_the_comment_the_summary_the_lines_and_the_outputs(stage: Stage) -> None:
    returned = publish_decision(stage.step(), decision(GateOutcome.BLOCKED), DOCUMENTS, ["r.json", "r.xml", "r.md", "r.html", "r.agent.md"])
    url = stage.fake.comments[0]["html_url"]
    assert stage.fake.comments[0]["body"].endswith("\ncomment text")
    assert stage.summary == "summary text\n"
    (line,) = shown_annotations(stage.log)
    assert (line.name, line.data, line.properties) == ("error", "wrong answer", {"file": "evals.yaml", "line": "3"})
    assert stage.outputs == returned
    assert returned == {
        "decision": "blocked",
        "passed": "3",
        "failed": "1",
        "errored": "1",
        "new-failures": "",
        "pass-rate": "0.7500",
        "cost-usd": "0.012000",
        "comment-url": url,
        "reports": "r.json\nr.xml\nr.md\nr.html\nr.agent.md",
    }
    assert set(OUTPUTS) == {*returned, "artifact"}  # of runs of the default branch
    assert f"Comment: {url}" in stage.said


def test_annotations_come_before_our_own_warnings_because_ten_are_shown(stage: Stage) -> None:
    text = "".join(workflow_command("warning", f"case {i}") + "\n" for i in range(10))
    publish_decision(stage.step(token=""), decision(), [Annotations((text,)), DOCUMENTS[0]], [])
    assert [c.data for c in shown_annotations(stage.log)] == [f"case {i}" for i in range(10)]
    assert len(stage.warnings) == 11


@each(
    ("counts", "rate"),
    [
        (Counts(0, 0, 5), ""),
        (Counts(0, 0, 0), ""),
        (Counts(3, 0, 5), "1.0000"),
        (Counts(99_999, 1, 0), "0.9999"),
        (Counts(0, 1, 0), "0.0000"),
        (Counts(29, 71, 0), "0.2900"),
    ],
)
def test_the_rate_reads_one_only_when_everything_passed(stage: Stage, counts: Counts, rate: str) -> None:
    assert publish_decision(stage.step(), decision(cases=counts), (), [])["pass-rate"] == rate


def test_a_cost_that_is_not_known_is_not_zero(stage: Stage) -> None:
    run = RunResult((), Usage(calls=1, unpriced=1, cost=0.5))
    assert publish_decision(stage.step(), decision(run=run), (), [])["cost-usd"] == ""


@pytest.mark.parametrize("result", GateOutcome)
@pytest.mark.parametrize("mode", ["always", "changes", "failures", "off"])
@pytest.mark.parametrize("existing", [False, True])
def test_the_mode_decides_about_the_comment_and_never_leaves_an_old_one_standing(
    stage: Stage, result: GateOutcome, mode: str, existing: bool
) -> None:
    if existing:
        publish_decision(stage.step(), decision(), [Comment(("old",))], [])
    outputs = publish_decision(stage.step(comment=mode), decision(result), DOCUMENTS, [])
    texts = [c["body"].partition("\n")[2] for c in stage.fake.comments]
    failing = result not in (GateOutcome.PASS, GateOutcome.ADVISORY)
    news = result is not GateOutcome.PASS or not existing  # the old one was of a run that passed
    written = mode == "always" or (mode == "changes" and news) or (mode == "failures" and (failing or existing))
    assert texts == (["comment text"] if written else ["old"] if existing else [])
    assert bool(outputs["comment-url"]) is (written or (existing and mode == "changes"))
    assert stage.warnings == []


def test_a_run_that_ends_late_leaves_the_comment_of_a_newer_one(stage: Stage) -> None:
    for number in ("10", "9"):
        stage.environ |= {"GITHUB_RUN_ID": number, "GITHUB_RUN_ATTEMPT": "1"}
        document = Comment((f"report of run {number}",))
        outputs = publish_decision(stage.step(comment_key="k"), decision(GateOutcome.BLOCKED), [document], [])
    (comment,) = stage.fake.comments
    head = f"<!-- gradegate:k run=10 attempt=1 commit={'a' * 40} findings="
    assert comment["body"].startswith(head)
    assert comment["body"].endswith("\nreport of run 10")
    assert outputs["comment-url"] == comment["html_url"]
    assert f"The comment was not changed: a newer run (10, of commit aaaaaaa) has written it. {comment['html_url']}" in stage.said
    assert stage.warnings == []


def test_what_could_not_run_is_news_once(stage: Stage) -> None:
    for number, words in (("5", "no tests"), ("6", "no tests"), ("7", "no grader")):
        stage.environ |= {"GITHUB_RUN_ID": number, "GITHUB_RUN_ATTEMPT": "1"}
        stage.environ["GITHUB_SERVER_URL"] = "https://github.com"
        publish_mistakes(stage.step(comment="changes"), ConfigError(Mistake(words)))
        (comment,) = stage.fake.comments
        assert f"run={number} " in comment["body"]
        assert words in comment["body"]
    assert "run 5" in stage.log


def test_two_jobs_keep_two_comments(stage: Stage) -> None:
    for key in ("a", "b", "a"):
        publish_decision(stage.step(comment_key=key), decision(), DOCUMENTS, [])
    assert len(stage.fake.comments) == 2


def test_a_comment_that_is_switched_off_is_not_written(stage: Stage) -> None:
    publish_decision(stage.step(comment="off"), decision(), DOCUMENTS, [])
    assert stage.fake.seen == []
    assert stage.outputs["decision"] == "pass"


@pytest.mark.parametrize(
    ("event", "settings", "words", "warned"),
    [
        (replace(EVENT, name="push", number=None), {}, "the event push is not about a pull request", False),
        (replace(EVENT, name="merge_group", number=None), {}, "the event merge_group is not about a pull", False),
        (replace(EVENT, number=None, problem="the event file x cannot be read"), {}, "cannot be read", True),
        (EVENT, {"token": ""}, "the input `github-token` is empty", True),
        (EVENT, {"token": "ghs_wrong"}, "401: Bad credentials", True),
    ],
)
def test_why_there_is_no_comment_is_said_and_the_rest_is_written(
    stage: Stage, event: Event, settings: dict[str, str], words: str, warned: bool
) -> None:
    outputs = publish_decision(stage.step(event, **settings), decision(GateOutcome.BLOCKED), DOCUMENTS, [])
    plain = [line for line in stage.said if not line.startswith("::")]
    assert any(words in line for line in plain)
    assert any(words in line for line in stage.warnings) is warned
    assert stage.fake.comments == []
    assert (outputs["decision"], outputs["comment-url"]) == ("blocked", "")
    assert stage.summary == "summary text\n"


def test_a_fork_gets_its_summary_and_its_verdict_without_a_comment(stage: Stage) -> None:
    stage.fake.tokens["ghs_actions"] = Token("github-actions[bot]", writes=False)
    outputs = publish_decision(stage.step(replace(EVENT, head_repository="mona/x")), decision(), DOCUMENTS, [])
    assert outputs["decision"] == "pass"
    assert any("comes from a fork" in warning for warning in stage.warnings)
    assert stage.summary == "summary text\n"


def test_files_that_cannot_be_written_are_said_and_nothing_else_suffers(stage: Stage) -> None:
    stage.environ["GITHUB_OUTPUT"] = str(stage.root / "no" / "output")
    stage.environ["GITHUB_STEP_SUMMARY"] = str(stage.root)
    assert publish_decision(stage.step(), decision(), DOCUMENTS, []) == {}
    assert [warning.partition(":")[0] for warning in stage.warnings] == ["The job summary was not written", "The outputs were not written"]
    assert len(stage.fake.comments) == 1


def test_words_of_a_server_are_no_commands(stage: Stage) -> None:
    stage.fake.trouble("GET", 418, "\n::set-env name=A::b\n##[set-env name=A]b")
    publish_decision(stage.step(), decision(), DOCUMENTS, [])
    assert {c.name for c in commands(stage.log)} == {"error", "warning"}


@each(("cwd", "path", "output"), table(__file__, "report_paths_are_relative_to_the_workspace"))
def test_report_paths_are_relative_to_the_workspace(stage: Stage, cwd: str, path: str, output: str) -> None:
    written = [path.format(root=stage.root), "second.json"]
    outputs = publish_decision(stage.step(cwd=cwd), decision(), (), written)
    assert outputs["reports"].splitlines() == [output, f"{cwd}/second.json".lstrip("/")]


def test_a_path_that_a_shell_could_run_is_no_output(stage: Stage) -> None:
    outputs = publish_decision(stage.step(), decision(), (), ["$(id).xml", "r.json"])
    assert "reports" not in outputs
    assert outputs == stage.outputs
    assert any("reports" in warning for warning in stage.warnings)


def test_mistakes_reach_their_lines_the_comment_and_the_outputs(stage: Stage) -> None:
    publish_decision(stage.step(), decision(), DOCUMENTS[:1], [])
    (stage.root / "output").unlink()
    for name in ("evals.yaml", "b.yaml"):
        (stage.root / "workspace" / name).parent.mkdir(exist_ok=True)
        (stage.root / "workspace" / name).touch()
    error = ConfigError(
        Mistake("no such type `relevance` ```", Origin("evals.yaml", 3), "use answer-relevance"),
        Mistake("no tests\n@all <!-- x -->", Origin("b.yaml")),
        Mistake("no grader"),
    )
    outputs = publish_mistakes(stage.step(comment="failures"), error)
    assert outputs == stage.outputs
    assert outputs == {"decision": "mistake", "comment-url": stage.fake.comments[0]["html_url"]}
    found = shown_annotations(stage.log)
    assert [c.properties for c in found] == [{"file": "evals.yaml", "line": "3"}, {"file": "b.yaml"}, {}]
    assert found[0].data == "no such type `relevance` ``` -> use answer-relevance"
    (comment,) = stage.fake.comments
    assert "### 🛑 gradegate: COULD NOT RUN" in comment["body"]
    assert "\n````text\nevals.yaml:3: no such type" in comment["body"]
    assert comment["body"].endswith("no grader\n````\n")
    assert "COULD NOT RUN" in stage.summary


@pytest.mark.parametrize(("actor", "head", "whose"), [("mona", "mona/x", "a fork"), ("dependabot[bot]", "", "Dependabot")])
def test_who_gets_no_secrets_is_told_so(stage: Stage, actor: str, head: str, whose: str) -> None:
    event = replace(EVENT, actor=actor, head_repository=head or EVENT.head_repository)
    publish_mistakes(replace(stage.step(), event=event), ConfigError(Mistake("OPENAI_API_KEY is not set")))
    said = f"This pull request comes from {whose}: GitHub gives its workflow no secrets"
    assert said in stage.summary
    assert [c.name for c in shown_annotations(stage.log) if said in c.data] == ["notice"]
    publish_mistakes(stage.step(), ConfigError(Mistake("x")))
    assert stage.summary.count("GitHub gives its workflow no secrets") == 1


def test_thousands_of_long_mistakes_fit_into_a_comment(stage: Stage) -> None:
    error = ConfigError(*(Mistake("x" * 5000) for _ in range(3000)))
    outputs = publish_mistakes(stage.step(), error)
    assert outputs["comment-url"]
    assert "and 2950 more; see the log" in stage.fake.comments[0]["body"]


@each("files", [["out/r.json", "r.html"], []])
def test_pages_lead_to_the_reports_that_are_written(job: Job, files: list[str]) -> None:
    """Of so many cases that neither the comment nor agent.md has room for all."""
    tests = [{"vars": {"n": number}, "assert": [{"type": "equals", "value": f"{number} {'long ' * 80}"}]} for number in range(150)]
    config = {"prompts": ["{{n}}"], "providers": ["echo"], "tests": tests}
    (job.root / "evals" / "promptfooconfig.yaml").write_text(json.dumps(config))
    job.environ |= {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_RUN_ID": "7"}
    code, _ = job.run(when="always", output="\n".join(["r.md", "r.agent.md", *files]))
    assert code == 1
    pages = [(job.root / name).read_text() for name in ("r.md", "r.agent.md")] + [job.github.comments[-1]["body"]]
    assert [page.count("[report](") for page in pages] == [len(files[1:])] * 3
    assert ["results.json" in page for page in pages] == [False] * 3
    for page in (pages[0], pages[2]):
        (rest,) = re.findall(r"more cases are not shown here, for lack of space;\*\* see \[the run\]\([^)]*\)(.*)", page)
        assert rest == (" and out/r.json." if files else ".")
