"""The path filter: a pull request that changes nothing that a run depends on passes without one, and nothing else does."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gradegate.files.vouched import path_steps
from gradegate.github.changed_files import compile_path_pattern
from support.each import each, table
from support.events import pull_request
from support.fake_github import Token
from support.job import CASE, CONFIG, Job


def test_nothing_to_check_is_a_pass_that_says_so(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    job.github.changes("README.md", "added")
    code, outputs = job.run(output="results.json\njunit.xml")
    assert (code, outputs["decision"], outputs["passed"]) == (0, "pass", "0")
    assert job.llm.requests == []
    assert "Nothing to check: no case depends on the 1 file" in capsys.readouterr().out
    assert "nothing to check" in (job.root.parent / "summary").read_text().lower()
    (comment,) = job.github.comments
    assert "nothing to check" in comment["body"].lower()
    assert outputs["comment-url"]
    assert json.loads((job.root / "results.json").read_text())["outcome"] == "pass"
    assert "1 file that" in json.loads((job.root / "results.json").read_text())["reason"]


@each("changed", table(__file__, "a_change_of_what_a_run_depends_on_is_run"))
def test_a_change_of_what_a_run_depends_on_is_run(job: Job, changed: Any) -> None:
    assert job.ran("README.md", changed)


@each("changed", ["evals/README.md", "src/app.py", "evals/prompts/v2.txt", ("src/old.py", "removed"), "evals/cases"[:-1]])
def test_a_change_of_anything_else_is_not(job: Job, changed: Any) -> None:
    assert not job.ran(changed)


def test_without_the_input_everything_is_run(job: Job) -> None:
    assert job.ran("README.md", when="always")


@each(("paths", "changed", "ran"), [("src/**", "src/app.py", True), ("app", "src/app.py", False)])
def test_paths_name_further_files(job: Job, paths: str, changed: str, ran: bool) -> None:
    assert job.ran(changed, paths=paths) is ran


@each(("written", "path", "matches"), table(__file__, "patterns_are_those_of_a_workflow"))
def test_patterns_are_those_of_a_workflow(written: str, path: str, matches: bool) -> None:
    assert bool(compile_path_pattern(written).fullmatch(path)) is matches


@each("path", ["/src", "./src", "../src", "!src", "a/../b", "src\\x", "{a,b}", "*.jsx?"])
def test_a_path_that_can_match_nothing_is_a_mistake(job: Job, path: str) -> None:
    code, outputs = job.run(paths=path)
    assert (code, outputs["decision"]) == (2, "mistake")


@each("path", ["scr/**", "src/*.ts", "'src/**'", "- src/**", "src/**, app/**", "src/app.py/x", "lib"])
def test_a_path_that_no_file_has_runs_everything(job: Job, capsys: pytest.CaptureFixture[str], path: str) -> None:
    assert job.ran("README.md", paths=f"src/**\n{path}")
    assert f"the input `paths` has {path}, which matches no file of the commit" in find_reason(job, capsys)


@each("path", ["src", "src/", "src/*", "**/app.py", "*/*.py", "**/*.py", "src/app.py"])
def test_a_path_that_a_file_has_does_not(job: Job, path: str) -> None:
    assert not job.ran("README.md", paths=path)


def test_folders_that_a_clone_left_out_run_everything(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    tree = job.git("rev-parse", "HEAD:src")
    (job.root / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    assert job.ran("README.md", paths="src/**")
    assert "not all folders of the commit" in find_reason(job, capsys)


def test_a_folder_that_the_pull_request_deletes_is_a_change(job: Job) -> None:
    assert job.ran(("lib/gone.py", "removed"), paths="lib/**")


def test_paths_without_the_filter_are_a_mistake(job: Job) -> None:
    assert job.run(paths="src/**", when="always")[0] == 2


# --- what cannot be told runs everything ------------------------------------------------------------------------


def find_reason(job: Job, capsys: pytest.CaptureFixture[str]) -> str:
    out = capsys.readouterr().out
    return next(line for line in out.splitlines() if line.startswith("Everything runs"))


def test_every_page_of_the_list_is_read(job: Job) -> None:
    others = [f"docs/{number}.md" for number in range(250)]
    assert job.ran(*others, "evals/expected.txt")
    assert not job.ran(*others)
    job.github.links = False
    job.github.page_cap = 30  # a server with smaller pages than it was asked for
    assert job.ran(*others, "evals/expected.txt")


def test_more_files_than_github_lists_run_everything(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    assert not job.ran(*(f"docs/{number}.md" for number in range(3000)))
    assert job.ran(*(f"docs/{number}.md" for number in range(3001)))
    assert "3,000 of the 3,001 changed files" in find_reason(job, capsys)


@each("side", ["head", "base"])
def test_a_pull_request_that_has_moved_on_runs_everything(job: Job, capsys: pytest.CaptureFixture[str], side: str) -> None:
    job.github.pull[side] = {"sha": "e" * 40, "ref": "next"}
    assert job.ran("README.md")
    assert "has new commits" in find_reason(job, capsys)


@each("status", [403, 404, 401])
def test_a_list_that_may_not_be_read_runs_everything(job: Job, capsys: pytest.CaptureFixture[str], status: int) -> None:
    job.github.trouble("GET", status, path="/files")
    assert job.ran("README.md")
    assert "cannot be read" in find_reason(job, capsys)


@pytest.mark.parametrize("answer", ["{}", "[{}]", "[1]", "null", '"x"'])
def test_a_list_that_is_none_runs_everything(job: Job, answer: str) -> None:
    job.github.files = json.loads(answer) if answer.startswith("[") else []
    job.github.pull = job.github.pull if answer.startswith("[") else {"head": 1}
    job.github.unlike = ("/files: reply 200",) if answer.startswith("[") else ("head: 1 is not",)
    assert job.run()[0] == 0
    assert len(job.llm.requests) == 1


@pytest.mark.parametrize("event", ["push", "merge_group", "workflow_dispatch", "schedule"])
def test_events_without_a_pull_request_run_everything(job: Job, capsys: pytest.CaptureFixture[str], event: str) -> None:
    job.payload = pull_request() if event == "x" else {"pull_request": job.payload["pull_request"]}
    code, _ = job.run(event)
    assert (code, len(job.llm.requests)) == (0, 1)
    assert "is not about the head of a pull request" in find_reason(job, capsys)


def test_a_file_that_an_earlier_step_made_or_changed_runs_everything(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    (job.root / "evals" / "prompts" / "v1.txt").write_text("made by a step")
    assert job.ran("README.md")
    assert ".txt differs from the commit" in find_reason(job, capsys)


def test_a_name_that_github_cannot_list_runs_everything(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    (job.root / "evals" / "cases" / os.fsdecode(b"\xff.yaml")).write_text(CASE)
    job.commit()
    assert job.ran("README.md")
    assert "is not UTF-8" in find_reason(job, capsys)


def test_another_commit_than_that_of_the_event_runs_everything(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    job.git("commit", "-q", "--allow-empty", "-m", "another")
    assert job.ran("README.md")
    assert "not at the commit of the event" in find_reason(job, capsys)


def test_without_a_token_everything_is_run(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    assert job.ran("README.md", github_token="")
    assert "github-token" in find_reason(job, capsys)


def test_an_action_of_the_pull_request_itself_runs_everything(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    job.environ["GITHUB_ACTION_PATH"] = str(job.root)
    assert job.ran("README.md")
    assert "the action itself" in find_reason(job, capsys)


def test_an_application_runs_unless_its_files_are_named(job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    config = CONFIG.replace('"openai:chat:m"', f'{{id: "{job.llm.base}/chat", config: {{method: POST, body: {{q: "{{{{prompt}}}}"}}}}}}')
    (job.root / "evals" / "promptfooconfig.yaml").write_text(config)
    job.commit()
    host = job.llm.base.partition("//")[2].partition("/")[0]
    job.github.changes("README.md")
    job.run(allowed_hosts=host, paths="")
    assert "is an application with files that are not known" in find_reason(job, capsys)
    asked = len(job.llm.requests)
    assert asked
    assert job.run(allowed_hosts=host, paths="src/**")[1]["passed"] == "0"
    assert len(job.llm.requests) == asked


def test_a_fork_that_changes_nothing_needs_no_key(job: Job) -> None:
    job.github.tokens["ghs_actions"] = Token("github-actions[bot]", writes=False)
    job.payload["pull_request"]["head"]["repo"]["full_name"] = "stranger/repo"
    job.environ |= {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}
    job.github.changes("README.md")
    assert job.run()[1]["decision"] == "pass"
    job.github.changes("evals/expected.txt")
    assert job.run()[1]["decision"] == "not-run"


def test_the_way_to_a_file_leads_through_every_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").touch()
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "first").symlink_to("folder/second")
    (tmp_path / "real" / "second").symlink_to(tmp_path / "folder" / "file")
    found = [place.relative_to(tmp_path).as_posix() for place in path_steps(tmp_path / "x" / ".." / "first") if tmp_path in place.parents]
    assert found == ["x", "first", "folder", "real", "real/second", "folder", "real", "real/file"]
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(ValueError, match="circle"):
        list(path_steps(tmp_path / "circle"))


def test_several_configs_are_judged_alone_and_reported_in_one_comment(job: Job) -> None:
    lenient = "gate: {rules: [{name: half, min-pass-rate: 0.5}]}\n"
    half = "- assert: [{type: contains, value: fine}]\n- assert: [{type: contains, value: other}]\n"
    (job.root / "evals" / "half.yaml").write_text(CONFIG.replace("cases/*.yaml", "half-cases.yaml") + lenient)
    (job.root / "evals" / "half-cases.yaml").write_text(half)
    job.commit()
    both = "evals/promptfooconfig.yaml\nevals/half.yaml"
    job.github.changes("evals/half-cases.yaml")
    code, outputs = job.run(config=both)
    assert (code, outputs["decision"], outputs["passed"], outputs["failed"]) == (0, "pass", "2", "1")
    (job.root / "evals" / "expected.txt").write_text("never")
    job.commit()
    code, outputs = job.run(config=both)  # two of three fail, and the lenient rule is that of the other config
    assert (code, outputs["decision"], outputs["failed"]) == (1, "blocked", "2")
    assert len(job.github.comments) == 1
