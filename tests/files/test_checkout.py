"""The commit that is checked out, against git itself."""

import os
import subprocess

import pytest

from gradegate.files.git import commit_of, head_of
from gradegate.security.environment import Environment

GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]


def run(folder, *words):
    return subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "repository"
    (root / "evals").mkdir(parents=True)
    run(root, "init", "-q", "-b", "main")
    run(root, "commit", "-q", "--allow-empty", "-m", "first")
    return root


def test_a_branch_a_detached_head_packed_refs_and_a_linked_work_tree(repository, tmp_path):
    head = run(repository, "rev-parse", "HEAD")
    assert commit_of(repository / "evals", Environment({})) == head
    run(repository, "pack-refs", "--all")
    assert commit_of(repository, Environment({})) == head
    run(repository, "worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    assert commit_of(tmp_path / "other", Environment({})) == head
    run(repository, "checkout", "-q", "--detach")
    assert commit_of(repository, Environment({})) == head


def test_the_workflow_knows_better(repository):
    assert commit_of(repository, Environment({"GITHUB_SHA": "b" * 40})) == "b" * 40


def test_no_repository_or_one_that_is_broken_is_no_commit(tmp_path):
    assert commit_of(tmp_path, Environment({"GITHUB_SHA": "::error::"})) == ""
    (tmp_path / ".git").mkdir()
    assert commit_of(tmp_path, Environment({})) == ""
    for text in ("ref: refs/heads/absent", "\x00", "ref: ../../etc/passwd"):
        (tmp_path / ".git" / "HEAD").write_text(text)
        assert commit_of(tmp_path, Environment({})) == ""


def test_what_would_block_or_never_end_names_no_commit(tmp_path):
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "HEAD")
    assert head_of(tmp_path) == ""
    (tmp_path / ".git" / "HEAD").unlink()
    (tmp_path / ".git" / "HEAD").symlink_to("/dev/zero")
    assert head_of(tmp_path) == ""
    (tmp_path / ".git" / "HEAD").unlink()
    with (tmp_path / ".git" / "HEAD").open("wb") as file:
        file.truncate(3_000_000_000)
    assert head_of(tmp_path) == ""
