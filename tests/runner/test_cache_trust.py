"""Whose replies a run believes that no credential vouches for: the default branch's, and those of a person's own machine."""

import json
import subprocess
from pathlib import Path

import pytest

from gradegate.security.event import read_event
from support.each import table
from support.kept import PROPOSED, PULL, TRUSTED, config, event


def test_a_pull_request_reads_what_the_default_branch_wrote(llm, again, monkeypatch, tmp_path):
    event(monkeypatch, tmp_path, "push", "refs/heads/main", llm=llm)
    assert again(config(llm, 2))[1] == 4
    event(monkeypatch, tmp_path, *PULL, llm=llm)
    assert again(config(llm, 2))[1] == 0


@pytest.mark.parametrize(
    ("name", "ref"),
    [PULL, ("push", "refs/heads/feature"), ("push", "refs/tags/main"), ("merge_group", "refs/heads/gh-readonly-queue/main/pr-7")],
)
def test_what_others_could_have_written_is_asked_for(llm, again, monkeypatch, tmp_path, name, ref):
    event(monkeypatch, tmp_path, name, ref, llm=llm)
    assert again(config(llm, 2))[1] == 4
    ran, asked = again(config(llm, 2))
    assert asked == 4
    assert "4 answers not kept" in json.dumps(ran.results["notes"])
    assert not (ran.folder / "kept" / TRUSTED).exists()
    event(monkeypatch, tmp_path, "push", "refs/heads/main", llm=llm)
    assert again(config(llm, 2))[1] == 4  # and the default branch reads none of it


def test_what_no_credential_vouches_for_is_not_believed_from_the_file_of_pull_requests(llm, again, monkeypatch, tmp_path):
    event(monkeypatch, tmp_path, "push", "refs/heads/main", llm=llm)
    again(config(llm, 2))
    (tmp_path / "kept" / TRUSTED).rename(tmp_path / "kept" / PROPOSED)
    event(monkeypatch, tmp_path, *PULL, llm=llm)
    assert again(config(llm, 2))[1] == 4


@pytest.mark.parametrize(("name", "ref", "own"), table(__file__, "only_what_was_merged_is_the_default_branchs_own"))
def test_only_what_was_merged_is_the_default_branchs_own(tmp_path, name, ref, own):
    payload = tmp_path / "event.json"
    payload.write_text('{"repository": {"default_branch": "main"}}')
    environ = {"GITHUB_EVENT_NAME": name, "GITHUB_REF": ref, "GITHUB_EVENT_PATH": str(payload)}
    assert read_event(environ).is_default_branch is own


@pytest.mark.parametrize("payload", ["", "[]", "{", '{"repository": {"default_branch": ["main"]}}', "[" * 9999])
def test_an_event_that_names_no_default_branch_has_none(tmp_path, payload):
    (tmp_path / "event.json").write_text(payload)
    environ = {"GITHUB_EVENT_NAME": "push", "GITHUB_REF": "refs/heads/None"}
    assert not read_event({**environ, "GITHUB_EVENT_PATH": str(tmp_path / "event.json")}).is_default_branch
    assert not read_event(environ).is_default_branch


@pytest.mark.parametrize("ref", ["refs/heads/main", "refs/heads/trunk"])
def test_the_default_branch_is_the_one_that_the_event_names(llm, again, monkeypatch, tmp_path, ref):
    event(monkeypatch, tmp_path, "push", ref, default="trunk", llm=llm)
    again(config(llm, 1))
    assert again(config(llm, 1))[1] == (0 if ref.endswith("trunk") else 2)


# --- a cache that is part of what is judged -------------------------------------------------------------------


def git(folder: Path, *arguments: str) -> None:
    names = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize("planted", ["kept/" + TRUSTED, f"kept/{TRUSTED}-wal"])
def test_a_cache_in_the_commit_is_not_believed(llm, again, tmp_path, planted):
    again(config(llm, 2))
    (tmp_path / planted).touch()
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-f", planted)
    git(tmp_path, "commit", "-qm", "x")
    ran, asked = again(config(llm, 2))
    assert (ran.code, asked) == (0, 4)
    assert "its folder is in the commit that is checked out" in json.dumps(ran.results["notes"])


def test_a_cache_beside_the_commit_is_used(llm, again, tmp_path):
    (tmp_path / "README").write_text("x")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "README")
    git(tmp_path, "commit", "-qm", "x")
    again(config(llm, 2), cache=".gradegate/kept")
    assert again(config(llm, 2), cache=".gradegate/kept")[1] == 0


def test_a_commit_that_cannot_be_read_vouches_for_nothing_on_github(llm, again, monkeypatch, tmp_path):
    event(monkeypatch, tmp_path, "push", "refs/heads/main", llm=llm)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("a" * 40)
    assert again(config(llm, 1))[1] == 2
    ran, asked = again(config(llm, 1))
    assert asked == 2
    assert "cannot be read" in json.dumps(ran.results["notes"])
