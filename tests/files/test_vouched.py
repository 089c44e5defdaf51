"""Which files are read where anybody can start a workflow that has secrets."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from gradegate.errors import ConfigError, Origin
from gradegate.files.vouched import Vouched
from gradegate.files.workspace import Workspace
from gradegate.security.environment import JUDGED_EVENTS, Environment
from support.each import each

GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always"]
ORIGIN = Origin("config.yaml", 3)


def run(folder: Path, *words: str) -> str:
    return subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def commit(root: Path, files: Mapping[str, str]) -> str:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    run(root, "add", "-A")
    run(root, "commit", "-q", "-m", "x")
    return run(root, "rev-parse", "HEAD")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    run(folder, "init", "-q", "-b", "main")
    commit(folder, {"evals/config.yaml": "ours", "prompt.txt": "ask", "evals/ä b.txt": "odd name"})
    return folder


def environ(root: Path, sha: str = "", event: str = "pull_request_target") -> dict[str, str]:
    sha = sha or run(root, "rev-parse", "HEAD")
    return {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": event, "GITHUB_SHA": sha, "GITHUB_WORKSPACE": str(root)}


def read(root: Path, name: str, given: Mapping[str, str], config: str = "evals/config.yaml") -> bytes:
    vouched = Vouched.around(root / config, Environment(given))
    return Workspace.around(root / config, root, Environment(given), vouched).read(str(root / name), root, ORIGIN)


def refused(root: Path, name: str, given: Mapping[str, str], config: str = "evals/config.yaml") -> str:
    with pytest.raises(ConfigError) as caught:
        read(root, name, given, config)
    (mistake,) = caught.value.mistakes
    assert "docs/github.md" in mistake.cure
    return mistake.what


@each("event", ["pull_request_target", "workflow_run", "issue_comment", "invented_in_2027"])
def test_events_that_anybody_can_start_are_bound_to_the_commit(event: str) -> None:
    assert Environment({"GITHUB_EVENT_NAME": event}).vouched_only


@each("event", sorted(JUDGED_EVENTS))
def test_events_that_are_judged_by_their_own_commit_are_free(event: str) -> None:
    assert not Environment({"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": event}).vouched_only
    assert Environment({"GITHUB_ACTIONS": "true"}).vouched_only
    assert not Environment({}).vouched_only


def test_the_files_of_the_commit_are_read_loose_and_packed(root: Path) -> None:
    for _ in range(2):
        assert read(root, "evals/config.yaml", environ(root)) == b"ours"
        assert read(root, "prompt.txt", environ(root)) == b"ask"
        assert read(root, "evals/ä b.txt", environ(root)) == b"odd name"
        run(root, "repack", "-adq")
        run(root, "pack-refs", "--all")


def test_a_shallow_clone_a_detached_head_and_sha256_are_read(root: Path, tmp_path: Path) -> None:
    commit(root, {"prompt.txt": "second"})
    run(tmp_path, "clone", "-q", "--depth=1", f"file://{root}", "shallow")
    run(tmp_path / "shallow", "checkout", "-q", "--detach")
    assert read(tmp_path / "shallow", "prompt.txt", environ(tmp_path / "shallow")) == b"second"
    (tmp_path / "longer").mkdir()
    run(tmp_path / "longer", "init", "-q", "--object-format=sha256")
    commit(tmp_path / "longer", {"evals/config.yaml": "ours", "prompt.txt": "ask"})
    assert read(tmp_path / "longer", "prompt.txt", environ(tmp_path / "longer")) == b"ask"


def test_a_checkout_of_the_pull_request_is_refused(root: Path) -> None:
    base = run(root, "rev-parse", "HEAD")
    head = commit(root, {"evals/config.yaml": "theirs"})
    assert f"the checkout is at {head}, not at {base}" in refused(root, "evals/config.yaml", environ(root, base))


@each("sha", ["", "main", "A" * 40, "a" * 41])
def test_without_a_commit_to_compare_with_nothing_is_read(root: Path, sha: str) -> None:
    given = {**environ(root), "GITHUB_SHA": sha}
    assert "GITHUB_SHA names no commit" in refused(root, "prompt.txt", given)


def test_a_head_that_cannot_be_told_and_no_repository_at_all_are_refused(root: Path, tmp_path: Path) -> None:
    given = environ(root)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/nothing")
    assert "at an unknown commit" in refused(root, "prompt.txt", given)
    (root / ".git").rename(tmp_path / "elsewhere")
    assert "no git repository around `config.yaml`" in refused(root, "prompt.txt", given)


def test_a_tag_object_is_no_commit(root: Path) -> None:
    run(root, "tag", "-a", "-m", "x", "v1")
    tag = run(root, "rev-parse", "v1")
    (root / ".git" / "HEAD").write_text(tag)
    assert "cannot be found in the commit" in refused(root, "prompt.txt", environ(root, tag))


def test_files_laid_over_the_checkout_are_refused(root: Path) -> None:
    """As by `git checkout FETCH_HEAD -- .`, or by an artifact that was unpacked there: HEAD stays where it was."""
    given = environ(root)
    (root / "prompt.txt").write_text("theirs")
    assert "`prompt.txt` is not as it is in the commit" in refused(root, "prompt.txt", given)
    assert read(root, "evals/config.yaml", given) == b"ours"
    (root / "new.txt").write_text("theirs")
    run(root, "add", "-A")
    assert "`new.txt` cannot be found in the commit" in refused(root, "new.txt", given)


def test_a_head_that_was_only_written_there_is_refused(root: Path) -> None:
    """Theirs is checked out and committed, and HEAD says ours."""
    base = run(root, "rev-parse", "HEAD")
    commit(root, {"prompt.txt": "theirs"})
    (root / ".git" / "HEAD").write_text(base)
    assert "is not as it is in the commit" in refused(root, "prompt.txt", environ(root, base))


def test_objects_that_are_not_what_they_are_named_are_refused(root: Path) -> None:
    base, theirs = run(root, "rev-parse", "HEAD"), commit(root, {"prompt.txt": "theirs"})
    objects = root / ".git" / "objects"
    forged = objects / base[:2] / base[2:]
    forged.unlink()
    forged.write_bytes((objects / theirs[:2] / theirs[2:]).read_bytes())
    (root / ".git" / "HEAD").write_text(base)
    assert "cannot be found in the commit" in refused(root, "prompt.txt", environ(root, base))


def test_a_second_checkout_in_a_subfolder_is_refused(root: Path) -> None:
    run(root, "clone", "-q", str(root), "pr")
    commit(root / "pr", {"evals/config.yaml": "theirs"})
    given = environ(root)
    assert "the checkout is at" in refused(root, "pr/evals/config.yaml", given, config="pr/evals/config.yaml")
    # Our config may not name theirs either.
    assert "cannot be found in the commit" in refused(root, "pr/evals/config.yaml", given)


def test_ours_in_a_subfolder_of_theirs_is_refused(root: Path) -> None:
    base = run(root, "rev-parse", "HEAD")
    run(root, "clone", "-q", str(root), "base")
    commit(root, {"prompt.txt": "theirs"})
    given = environ(root, base)
    assert "the checkout is at" in refused(root, "base/prompt.txt", given, config="base/evals/config.yaml")
    # Where the workspace itself is no checkout, the one that holds the config counts.
    (root / ".git").rename(root / "gone")
    assert read(root, "base/prompt.txt", given, config="base/evals/config.yaml") == b"ask"
    assert "cannot be found" in refused(root, "prompt.txt", given, config="base/evals/config.yaml")


def test_a_linked_work_tree_and_a_submodule_are_told_apart(root: Path, tmp_path: Path) -> None:
    run(root, "worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    assert read(tmp_path / "linked", "prompt.txt", environ(tmp_path / "linked")) == b"ask"
    (tmp_path / "module").mkdir()
    run(tmp_path / "module", "init", "-q")
    commit(tmp_path / "module", {"config.yaml": "theirs"})
    run(root, "submodule", "--quiet", "add", str(tmp_path / "module"), "sub")
    commit(root, {})
    assert "the checkout is at" in refused(root, "sub/config.yaml", environ(root), config="sub/config.yaml")
    assert "cannot be found" in refused(root, "sub/config.yaml", environ(root))


def linked(root: Path) -> dict[str, str]:
    (root / "easy.txt").write_text("easy")
    (root / "link.txt").symlink_to("prompt.txt")
    (root / "folder").symlink_to("evals")
    (root / "evals" / "up.txt").symlink_to("../folder/../link.txt")
    (root / "absolute.txt").symlink_to(root / "prompt.txt")
    commit(root, {})
    return environ(root)


def test_a_link_of_the_commit_leads_where_it_led(root: Path) -> None:
    given = linked(root)
    assert read(root, "link.txt", given) == b"ask"
    assert read(root, "folder/config.yaml", given) == b"ours"
    assert read(root, "folder/../folder/up.txt", given) == b"ask"
    assert "cannot be found" in refused(root, "absolute.txt", given)


@pytest.mark.parametrize("target", ["easy.txt", "theirs.txt", "./prompt.txt", "/etc/passwd", "link.txt", "nowhere"])
def test_a_link_that_was_bent_is_refused(root: Path, target: str) -> None:
    given = linked(root)
    (root / "theirs.txt").write_text("theirs")
    (root / "link.txt").unlink()
    (root / "link.txt").symlink_to(target)
    with pytest.raises(ConfigError):
        read(root, "link.txt", given)
    with pytest.raises(ConfigError):
        read(root, "evals/up.txt", given)


@pytest.mark.parametrize("name", ["prompt.txt", "evals"])
def test_a_link_in_the_place_of_a_file_or_a_folder_is_refused(root: Path, name: str) -> None:
    given = linked(root)
    (root / name).rename(root / "moved")
    (root / name).symlink_to("moved")
    assert "cannot be found" in refused(root, "prompt.txt" if name == "prompt.txt" else "evals/config.yaml", given)


def test_a_file_in_the_place_of_a_link_is_refused(root: Path) -> None:
    given = linked(root)
    (root / "link.txt").unlink()
    (root / "link.txt").write_text("prompt.txt")  # what the commit has of the link
    assert "cannot be found" in refused(root, "link.txt", given)


def matched(root: Path, pattern: str, given: Mapping[str, str]) -> list[str]:
    workspace = Workspace.around(root / "x", root, Environment(given), Vouched.around(root / "x", Environment(given)))
    return [path.name for path in workspace.glob(pattern, root, ORIGIN)]


@pytest.fixture
def cases(root: Path) -> dict[str, str]:
    commit(root, {"tests/a.yaml": "a", "tests/b.yaml": "b", "tests/deep/c.yaml": "c", "other/d.yaml": "d"})
    (root / "tests" / "deep" / "link.yaml").symlink_to("c.yaml")
    commit(root, {})
    return environ(root)


def test_a_pattern_matches_what_it_matches_in_the_commit(root: Path, cases: dict[str, str]) -> None:
    (root / "other" / "d.yaml").unlink()
    assert matched(root, "./tests/**/*.yaml", cases) == ["a.yaml", "b.yaml", "c.yaml", "c.yaml"]


@pytest.mark.parametrize("change", ["rm tests/b.yaml", "rm -r tests/deep", "rm tests/deep/link.yaml"])
def test_a_pattern_that_would_match_less_is_refused(root: Path, cases: dict[str, str], change: str) -> None:
    subprocess.run(change.split(), cwd=root, check=True)
    with pytest.raises(ConfigError, match="is missing, or no longer what it is in the commit"):
        matched(root, "tests/*.yaml", cases)


@pytest.mark.parametrize("change", ["ln -s a.yaml tests/z.yaml", "cp tests/a.yaml tests/z.yaml", "ln -s deep tests/z.yaml"])
def test_a_pattern_that_would_match_more_is_refused(root: Path, cases: dict[str, str], change: str) -> None:
    subprocess.run(change.split(), cwd=root, check=True)
    if change.endswith("deep tests/z.yaml"):  # a folder is no file of tests
        assert matched(root, "tests/*.yaml", cases) == ["a.yaml", "b.yaml"]
    else:
        with pytest.raises(ConfigError, match=r"`z\.yaml` cannot be found in the commit"):
            matched(root, "tests/*.yaml", cases)


@each("pattern", ["/etc/*", "../*", "nowhere/*.yaml"])
def test_a_pattern_in_a_folder_that_the_commit_has_not_is_refused(root: Path, cases: dict[str, str], pattern: str) -> None:
    with pytest.raises(ConfigError):
        matched(root, pattern, cases)


def test_a_config_behind_a_link_is_of_the_repository_that_holds_it(root: Path, tmp_path: Path) -> None:
    given = environ(root)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "config.yaml").write_text("theirs")
    (root / "linked.yaml").symlink_to(tmp_path / "outside" / "config.yaml")
    assert "no git repository" in refused(root, "linked.yaml", given, config="linked.yaml")
