"""What comes of each event, and which files are read then: the tables of docs/github.md, and the pull request behind a second stage."""

import re
from pathlib import Path
from typing import Any

import pytest

from gradegate.security.environment import JUDGED_EVENTS
from support.each import each, table
from support.events import BASE, HEAD, pull_request
from support.fake_github import FakeGitHub, Token
from support.fake_llm import FakeLlm
from support.job import Job

PAGE = (Path(__file__).parents[2] / "docs" / "github.md").read_text()


def section(heading: str) -> str:
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


OUTCOMES = re.findall(r"^\| (`.+?) \| (.+?) \| (.+?) \| (.+?) \|$", section("Events"), re.MULTILINE)
FILES = re.findall(r"^\| (.+?) \| ((?:the|files) .+?) \|$", section("Which files are read"), re.MULTILINE)
CHECKOUT, COMMIT = "the checkout", "files of `GITHUB_SHA`"
NAMED = [(event, what) for events, what in FILES for event in re.findall(r"`([a-z_]+)`", events)]
NAMED += [(event, COMMIT) for event in table(__file__, "events_that_the_page_does_not_name")]
CLOSED = [("invented_in_2027", what) for events, what in FILES if "any other" in events]
MISTAKE, NOT_RUN = "`mistake`, 2", "`not-run`, 3"
POSTED, READ_ONLY, NOBODYS = "posted", "refused: the token only reads", "none: there is no pull request"
FILTERS, ALL = "filters", "everything is run"


def stage(sha: str = HEAD, **more: Any) -> dict[str, Any]:
    """A `workflow_run` after the first stage of a fork's pull request: it lists no pull requests."""
    run = {"event": "pull_request", "head_sha": sha, "head_branch": "topic/#1 &x", "pull_requests": [], "id": 1}
    return {"workflow_run": {**run, "head_repository": {"owner": {"login": "stranger"}}, **more}}


def payload(job: Job, event: str, whose: str) -> dict[str, Any]:
    if event.startswith("pull_request"):
        return pull_request("stranger/octo-repo" if "fork" in whose else "octo-org/octo-repo")
    return {
        "merge_group": {"merge_group": {"head_sha": HEAD, "base_sha": BASE}},
        "push": {"before": BASE, "after": HEAD},
        "workflow_run": stage(),
        "issue_comment": {"issue": {"number": 7, "pull_request": {}}, "comment": {"body": "/evals"}},
    }.get(event, {})


def events() -> list[tuple[str, str, str, str, str]]:
    """A row for each event that is named in the first cell, with the words behind it."""
    return [
        (event, first.rpartition("`")[2].strip(), keys, comment, only)
        for first, keys, comment, only in OUTCOMES
        for event in re.findall(r"`([a-z_]+)`", first)
    ]


def test_the_table_names_the_events_that_people_use() -> None:
    named = [(event, whose) for event, whose, *_ in events()]
    assert [whose for event, whose in named if event == "pull_request"] == ["of the repository", "of a fork", "of Dependabot"]
    assert {event for event, _ in named} == set(
        "pull_request merge_group push workflow_dispatch schedule workflow_run pull_request_target issue_comment".split()
    )
    assert {keys for _, _, keys, *_ in events()} == {MISTAKE, NOT_RUN}
    assert {comment for *_, comment, _ in events()} == {POSTED, READ_ONLY, NOBODYS}
    assert {only for *_, only in events()} == {FILTERS, ALL}


@pytest.mark.parametrize(("event", "whose", "keys", "comment", "only"), events())
def test_each_outcome(job: Job, event: str, whose: str, keys: str, comment: str, only: str) -> None:
    job.payload = payload(job, event, whose)
    job.sha = job.git("rev-parse", "HEAD")
    if "pull_request" in job.payload:
        job.payload["pull_request"]["head"]["sha"] = job.sha
    job.environ["GITHUB_ACTOR"] = "dependabot[bot]" if "Dependabot" in whose else "mona"
    job.github.pulls["stranger:topic/#1 &x"] = [{"number": 7, "head": {"sha": HEAD}}]
    if comment == READ_ONLY:
        job.github.tokens["ghs_actions"] = Token("github-actions[bot]", writes=False)
    job.github.changes("README.md")

    code, outputs = job.run(event, when="always")
    assert (code, outputs["decision"], outputs["passed"]) == (0, "pass", "1")
    assert bool(outputs["comment-url"]) is (comment == POSTED)
    assert [seen.path for seen in job.github.asked("POST") if "/issues/" in seen.path] == (
        [] if comment == NOBODYS else [f"/repos/{job.github.repository}/issues/7/comments"]
    )
    assert job.run(event)[1]["passed"] == ("0" if only == FILTERS else "1")
    job.environ |= {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}
    code, outputs = job.run(event, when="always")
    assert f"`{outputs['decision']}`, {code}" == keys


# --- the pull request behind a second stage -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "pulls"),
    [*table(__file__, "no_pull_request_is_guessed"), ({}, [{"number": 7, "head": {"sha": HEAD}}, {"number": 8, "head": {"sha": HEAD}}])],
)
def test_no_pull_request_is_guessed(job: Job, changed: dict[str, Any], pulls: list[dict[str, Any]]) -> None:
    job.payload, job.sha = stage(**changed), job.git("rev-parse", "HEAD")
    job.github.pulls["stranger:topic/#1 &x"] = pulls
    job.github.unlike = (".number: 'x'",) if any(pull["number"] == "x" for pull in pulls) else ()
    code, outputs = job.run("workflow_run", when="always")
    assert (code, outputs["decision"], outputs["comment-url"]) == (0, "pass", "")
    assert job.github.asked("POST") == []


def test_pull_requests_that_may_not_be_read_cost_the_comment_alone(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    job.payload, job.sha = stage(), job.git("rev-parse", "HEAD")
    job.github.trouble("GET", 403, "Resource not accessible by integration", path="/pulls")
    assert job.run("workflow_run", when="always")[0] == 0
    assert "pull-requests: write" in capsys.readouterr().out


# --- which files are read -----------------------------------------------------------------------------------------

PROMPT = "evals/prompts/v1.txt"


def commit(job: Job, prompt: str) -> None:
    (job.root / PROMPT).write_text(prompt)
    job.commit()


def act(job: Job, event: str, *command: str) -> tuple[int, dict[str, str]]:
    """The Action, or a command, on GitHub at an event and the commit of the job."""
    job.command, job.environ["GITHUB_ACTIONS"] = command or ("action",), "true"
    return job.run(event, when="always")


def test_the_table_names_every_free_event_and_closes_with_what_nobody_knows() -> None:
    assert {event for event, what in NAMED if what == CHECKOUT} == JUDGED_EVENTS
    assert {what for _, what in FILES} == {CHECKOUT, COMMIT}
    assert len(NAMED) == len(dict(NAMED)) > 25
    assert CLOSED


@each(("event", "what"), NAMED + CLOSED)
def test_each_row(job: Job, llm: FakeLlm, github: FakeGitHub, event: str, what: str) -> None:
    commit(job, "ours")
    job.sha = job.git("rev-parse", "HEAD")
    assert act(job, event)[0] == 0
    assert len(llm.requests) == 1
    commit(job, "theirs")
    code, outputs = act(job, event)
    if what == CHECKOUT:
        assert (code, outputs["decision"], len(llm.requests)) == (0, "pass", 2)
    else:
        assert (code, outputs["decision"], len(llm.requests)) == (2, "mistake", 1)
        assert "can run with secrets for anybody" in github.comments[0]["body"]


@pytest.mark.parametrize("command", ["action", "run evals/promptfooconfig.yaml", "validate evals/promptfooconfig.yaml"])
def test_files_laid_over_the_checkout_reach_nobody_by_no_command(job: Job, capsys: pytest.CaptureFixture[str], command: str) -> None:
    (job.root / PROMPT).write_text("theirs")
    assert act(job, "pull_request_target", *command.split())[0] == 2
    assert job.llm.requests == []
    told = capsys.readouterr().err
    assert f"`{PROMPT}` is not as it is in the commit" in told
    assert "docs/github.md" in told


def test_one_wrong_checkout_is_said_once_for_many_configs(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    job.sha = job.git("rev-parse", "HEAD")
    (job.root / "second.yaml").write_text(SMALL)
    commit(job, "theirs")
    assert act(job, "workflow_run", "run", "evals/promptfooconfig.yaml", "second.yaml")[0] == 2
    assert "\n1 mistake;" in capsys.readouterr().err


SMALL = '{prompts: [x], providers: ["openai:chat:m"], tests: [{assert: [{type: contains, value: fine}]}]}'


@pytest.mark.parametrize(("configs", "code"), [((), 2), (("*.yaml",), 2), (("evals/../*.yaml",), 2), (("b.yaml",), 0)])
def test_a_config_that_was_deleted_is_missed_where_configs_are_looked_for(job: Job, configs: tuple[str, ...], code: int) -> None:
    for name in ("promptfooconfig.yaml", "gradegate.yaml", "b.yaml", "evals/c.yaml"):
        (job.root / name).write_text(SMALL)
    job.commit()
    assert act(job, "workflow_run", "run", *configs)[0] == 0
    (job.root / "promptfooconfig.yaml").unlink()
    assert act(job, "workflow_run", "run", *configs)[0] == code
    assert act(job, "push", "run", *configs)[0] == 0
