"""Replies that a pull request's own runs kept, through the action: an unchanged push asks nothing."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from support.fake_github import serve
from support.fake_llm import FakeLlm
from support.job import Job, checked_out
from support.kept import KEY, PASS, PROPOSED, TRUSTED

ROOT = Path(__file__).parents[2]

CONFIG = """\
prompts: ["Say {{x}}"]
providers: ["openai:chat:fake"]
defaultTest: {options: {provider: "openai:chat:judge"}}
tests:
  - {description: first, vars: {x: one}, assert: [{type: llm-rubric, value: is polite about one}]}
  - {description: second, vars: {x: two}, assert: [{type: llm-rubric, value: is polite about two}]}
"""
BAD = '{"pass": false, "score": 0, "reason": "rude"}'


@pytest.fixture
def job(tmp_path: Path, llm: FakeLlm, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    with serve() as github:
        made = checked_out(tmp_path / "repo", github, llm, monkeypatch)
        (made.root / "evals" / "promptfooconfig.yaml").write_text(CONFIG)
        made.commit()
        llm.reply = lambda path, body: "hello" if body["model"] == "fake" else PASS
        made.environ |= {"GITHUB_ACTIONS": "true", "OPENAI_API_KEY": KEY}
        yield made


def pushed(job: Job) -> tuple[int, int]:
    """A push that changes nothing: the exit code, and how many calls it took."""
    job.commit()
    before = len(job.llm.requests)
    code, _ = job.run(when="always", cache="../kept", output="results.json")
    return code, len(job.llm.requests) - before


def test_a_second_push_asks_nothing(job: Job) -> None:
    assert pushed(job) == (0, 4)
    assert pushed(job) == (0, 0)
    assert pushed(job) == (0, 0)


def test_only_a_failure_is_asked_again(job: Job) -> None:
    job.llm.reply = lambda path, body: "hello" if body["model"] == "fake" else BAD if "about two" in str(body["messages"]) else PASS
    assert pushed(job) == (1, 4 + 2)
    assert pushed(job) == (1, 2)


def test_a_cache_that_the_pull_request_commits_is_not_believed_now_and_not_when_it_was_kept(job: Job, tmp_path: Path) -> None:
    """Written with a key of its author's; the pull request commits it, and a later push finds it restored."""
    job.environ["OPENAI_API_KEY"] = "sk-of-the-author-0123456789"
    assert pushed(job) == (0, 4)
    job.environ["OPENAI_API_KEY"] = KEY
    job.llm.reply = lambda path, body: "hello" if body["model"] == "fake" else BAD
    planted = (tmp_path / "kept" / PROPOSED).read_bytes()
    (job.root / ".gradegate").mkdir()
    (job.root / ".gradegate" / PROPOSED).write_bytes(planted)
    job.commit()
    before = len(job.llm.requests)
    code, _ = job.run(when="always", cache=".gradegate", output="results.json")
    assert (code, len(job.llm.requests) - before) == (1, 4 + 4)
    assert "its folder is in the commit" in (job.root / "results.json").read_text()
    (tmp_path / "kept" / PROPOSED).write_bytes(planted)
    assert pushed(job) == (1, 4 + 4)
    assert "4 kept answers not believed" in (job.root / "results.json").read_text()


def test_the_secret_of_the_cache_is_a_variable(job: Job) -> None:
    job.environ["OPENAI_API_KEY"] = "k" * 19  # with which no code can be made
    assert [pushed(job) for _ in range(2)] == [(0, 4), (0, 4)]
    job.environ["GRADEGATE_CACHE_SECRET"] = "s" * 32
    assert [pushed(job) for _ in range(2)] == [(0, 4), (0, 0)]
    job.environ["GRADEGATE_CACHE_SECRET"] = "t" * 32
    assert pushed(job) == (0, 4)
    job.environ["GRADEGATE_CACHE_SECRET"] = "t" * 31
    assert pushed(job) == (2, 0)


def test_the_secret_of_the_cache_stands_nowhere(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    secret = "cache-canary-0123456789-0123456789"
    job.llm.reply = lambda path, body: f"it is {secret}" if body["model"] == "fake" else PASS
    job.environ["GRADEGATE_CACHE_SECRET"] = secret
    pushed(job)
    said = capsys.readouterr()
    shown = said.out + said.err + (job.root / "results.json").read_text() + json.dumps(job.github.comments)
    assert "it is" in shown
    assert secret not in shown


def test_every_example_with_a_cache_removes_what_the_checkout_brought_there() -> None:
    seen = 0
    for path in sorted((ROOT / "examples").glob("*.yml")):
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            steps = job["steps"]
            kept = [step["with"]["path"] for step in steps if str(step.get("uses")).startswith("actions/cache")]
            if not kept:
                continue
            seen += 1
            first = next(at for at, step in enumerate(steps) if str(step.get("uses")).startswith("actions/cache"))
            (cache,) = (step["with"]["cache"] for step in steps if "cache" in step.get("with", {}))
            assert f"rm -rf {cache}" in [step.get("run") for step in steps[:first]], path.name
            assert {*kept} == {f"{cache}/{PROPOSED}", f"{cache}/{TRUSTED}"}, path.name
    assert seen


def test_a_folder_of_a_workspace_whose_commit_nobody_can_read_is_not_believed(job: Job) -> None:
    """A pull request may have brought the folder: without its commit nobody can say."""
    job.commit()

    def run() -> tuple[int, int]:
        before = len(job.llm.requests)
        code, _ = job.run(when="always", cache=".gradegate", output="results.json")
        return code, len(job.llm.requests) - before

    assert [run(), run()] == [(0, 4), (0, 0)]
    job.environ["GITHUB_EVENT_NAME"] = "push"
    assert run() == (0, 0)
    (job.root / ".git").rename(job.root / "elsewhere")
    assert run() == (0, 4)
    assert "the commit that is checked out cannot be read" in (job.root / "results.json").read_text()
