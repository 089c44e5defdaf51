"""scripts/release.py on repositories that the tests make: what becomes a release, and what is refused."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import generated
import pytest
import yaml

from support.each import each, table

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent
IMAGE = "ghcr.io/owner/gradegate@sha256:" + "a" * 64
NEXT = "ghcr.io/owner/gradegate@sha256:" + "b" * 64
PINNED = {"action.yml", "container/action.yml"}
FILES = ("action.yml", "container", "scripts", "Dockerfile", ".gitignore")
NOBODY = {"NAME": "somebody", "EMAIL": "somebody@example.invalid"}


@dataclass(frozen=True)
class Repository:
    """A clone of a bare origin, as a job has it."""

    path: Path

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.path, capture_output=True, text=True, env=environ())
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def release(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, self.path / "scripts" / "release.py", *words]
        return subprocess.run(command, cwd=self.path.parent, capture_output=True, text=True, env=environ())

    def made(self, version: str, image: str = IMAGE) -> str:
        """The commit of a release that came to the origin."""
        done = self.release("commit", version, image)
        assert (done.returncode, done.stderr) == (0, "")
        assert self.release("push", version).returncode == 0
        return done.stdout.strip()

    def write(self, version: str, head: str = "", notes: str = "- News.\n", owner: str = "acme") -> str:
        """A commit on main that speaks of a version; ``head`` is the changelog's, where it is not the version's."""
        package = self.path / "src" / "gradegate" / "__init__.py"
        package.parent.mkdir(parents=True, exist_ok=True)
        package.write_text(f'"""gradegate."""\n\n__version__ = "{version}"\nREPOSITORY = "{owner}/gradegate"  # x\n')
        changes = self.path / "CHANGELOG.md"
        older = changes.read_text().partition("\n\n")[2] if changes.exists() else "## 0.0.1 (2026-01-01)\n\n- Old.\n"
        changes.write_text(f"# Changes\n\n{head or f'## {version} (2026-11-22)'}\n\n{notes}\n{older}")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", f"Prepare {version}")
        self.git("push", "--quiet", "origin", "main")
        return self.git("rev-parse", "HEAD")

    def again(self) -> Repository:
        """A new clone, as the next release has it."""
        path = Path(f"{self.path}-again")
        self.git("clone", "--quiet", "--branch", "main", self.git("remote", "get-url", "origin"), str(path))
        return Repository(path)


def environ() -> dict[str, str]:
    who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in NOBODY.items()}
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", **who}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    origin, path = tmp_path / "origin.git", tmp_path / "clone"
    for words in (("init", "--quiet", "--bare", "-b", "main", str(origin)), ("clone", "--quiet", str(origin), str(path))):
        subprocess.run(["git", *words], check=True, capture_output=True, env=environ())
    for name in FILES:
        source = ROOT / name
        copied = shutil.copytree if source.is_dir() else shutil.copy
        copied(source, path / name)
    made = Repository(path)
    made.git("checkout", "--quiet", "-B", "main")
    made.write("0.2.0")
    return made


def test_a_release_differs_from_what_was_tested_in_the_image_alone(repository: Repository) -> None:
    source = repository.git("rev-parse", "HEAD")
    commit = repository.made("0.2.0")
    assert set(repository.git("diff", "--name-only", source, commit).split()) == PINNED
    changed = [line for line in repository.git("diff", "--unified=0", source, commit).split("\n") if line[:1] in "+-"]
    assert [line for line in changed if not line.startswith(("+++", "---"))] == [
        '-        GRADEGATE_IMAGE: ""',
        f'+        GRADEGATE_IMAGE: "docker://{IMAGE}"',
        "-  image: ../Dockerfile # zizmor: ignore[unpinned-images]",
        f"+  image: docker://{IMAGE}",
    ]
    assert repository.git("status", "--porcelain") == ""
    assert repository.git("rev-parse", "HEAD") == source


def test_the_actions_of_a_release_are_valid_and_made_from_each_other(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repository.made("0.2.0")
    repository.git("checkout", "--quiet", commit)
    for name in sorted(PINNED):
        path = repository.path / name
        program = Path(sys.executable).with_name("check-jsonschema")
        assert subprocess.run([program, "--builtin-schema", "vendor.github-actions", path]).returncode == 0
    action = yaml.safe_load((repository.path / "action.yml").read_text())
    assert action["runs"]["steps"][0]["env"]["GRADEGATE_IMAGE"] == f"docker://{IMAGE}"
    monkeypatch.setattr(generated, "ROOT", repository.path)
    assert (repository.path / "container" / "action.yml").read_text() == generated.in_container()


def test_a_release_is_reached_from_its_branch_and_its_tags(repository: Repository) -> None:
    source = repository.git("rev-parse", "HEAD")
    commit = repository.made("0.2.0")
    there = dict(line.split()[::-1] for line in repository.git("ls-remote", "origin").split("\n"))
    assert there == {
        "HEAD": source,
        "refs/heads/main": source,
        "refs/heads/release/v0": commit,
        "refs/tags/v0.2.0": commit,
        "refs/tags/v0": commit,
    }
    assert repository.git("rev-parse", f"{commit}^@") == source


def test_the_next_release_is_on_top_and_the_moving_tag_follows(repository: Repository) -> None:
    first = repository.made("0.2.0")
    following = repository.again()
    source = following.write("0.10.0")
    second = following.made("0.10.0", NEXT)
    assert following.git("rev-parse", f"{second}^@").split() == [first, source]
    there = dict(line.split()[::-1] for line in following.git("ls-remote", "origin").split("\n"))
    assert (there["refs/heads/release/v0"], there["refs/tags/v0"]) == (second, second)
    assert there["refs/tags/v0.2.0"] == first
    assert set(following.git("diff", "--name-only", source, second).split()) == PINNED
    assert f"docker://{NEXT}" in following.git("show", f"{second}:action.yml")


def test_a_major_version_has_a_branch_and_a_tag_of_its_own(repository: Repository) -> None:
    first = repository.made("0.2.0")
    following = repository.again()
    source = following.write("1.0.0")
    second = following.made("1.0.0")
    assert following.git("rev-parse", f"{second}^@") == source
    assert following.git("rev-parse", "refs/tags/v0", "refs/tags/v1", "refs/heads/release/v1").split() == [first, second, second]


def test_the_push_is_all_or_nothing(repository: Repository) -> None:
    assert repository.release("commit", "0.2.0", IMAGE).returncode == 0
    repository.git("push", "--quiet", "origin", "main:refs/tags/v0.2.0")  # somebody was faster
    done = repository.release("push", "0.2.0")
    assert done.returncode == 1
    assert "release/v0" not in repository.git("ls-remote", "origin")


REFUSED = table(__file__, "REFUSED")


@each(("version", "said"), REFUSED)
def test_a_version_that_the_code_does_not_have_is_refused(repository: Repository, version: str, said: str) -> None:
    done = repository.release("check", version)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"no release: {said}")


@each(
    ("head", "notes", "said"),
    [
        *table(__file__, "a_changelog_that_does_not_begin_with_the_version_is_refused"),
        ("## 0.3.0 (2026-11-22)", "x" * 125_001, "CHANGELOG.md:3: 125001 characters, GitHub takes 125000"),
    ],
)
def test_a_changelog_that_does_not_begin_with_the_version_is_refused(repository: Repository, head: str, notes: str, said: str) -> None:
    repository.write("0.3.0", head, notes)
    done = repository.release("check", "0.3.0")
    assert done.returncode == 1
    assert done.stderr.startswith(f"no release: {said}")


def test_one_command_writes_version_owner_date_and_figures(repository: Repository) -> None:
    repository.write("0.2.0", "## 0.3.0 (unreleased)", f"- News of {'OWNER'}/gradegate.\n", owner="OWNER")
    assert "REPOSITORY names no owner -> make release VERSION=0.2.0 OWNER=NAME" in repository.release("check", "0.2.0").stderr
    assert "REPOSITORY names no owner" in repository.release("prepare", "0.3.0").stderr
    sample = repository.path / "tests" / "side_by_side" / "sample.yaml"
    sample.parent.mkdir(parents=True)
    sample.write_text("".join(f'- {{"outcome": "{it}"}}\n' for it in ("as it stands", "one grader", "not run by promptfoo")))
    (repository.path / "README.md").write_text(f"https://{'OWNER'}.github.io/gradegate OWNER/REPO\n")
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--message", "x")
    done = repository.release("prepare", "0.3.0", "--owner", "acme")
    assert (done.returncode, done.stderr) == (0, "")
    assert "is not committed" in repository.release("prepare", "0.3.0").stderr
    repository.git("commit", "--quiet", "--all", "--message", "x")
    assert repository.release("check", "0.3.0").returncode == 0
    figures = "1 of 2 public promptfoo configs run as they stand; 2 words of docs; the image's size is in the summary of the release"
    assert repository.release("notes", "0.3.0").stdout == f"- News of acme/gradegate.\n\nFigures: {figures}.\n"
    assert (repository.path / "README.md").read_text() == "https://acme.github.io/gradegate OWNER/REPO\n"
    assert repository.release("prepare", "0.4.0").stderr.startswith("no release: CHANGELOG.md: the first section is `## 0.3.0 (2")


def test_a_changelog_without_sections_is_refused(repository: Repository) -> None:
    (repository.path / "CHANGELOG.md").write_text("# Changes\n")
    repository.git("commit", "--quiet", "--all", "--message", "x")
    assert "CHANGELOG.md: there is no section -> write `## 0.2.0" in repository.release("check", "0.2.0").stderr


@pytest.mark.parametrize("name", ["action.yml", "new.txt"])
def test_what_is_not_committed_is_not_released(repository: Repository, name: str) -> None:
    with (repository.path / name).open("a") as file:
        file.write("\n")
    for words in (("check", "0.2.0"), ("commit", "0.2.0", IMAGE)):
        done = repository.release(*words)
        assert (done.returncode, done.stdout) == (1, "")
        assert f"{name} is not committed -> release what was tested" in done.stderr
    assert repository.git("tag") == ""


def test_a_version_that_is_taken_is_refused_and_stays(repository: Repository) -> None:
    first = repository.made("0.2.0")
    following = repository.again()
    done = following.release("commit", "0.2.0", NEXT)
    assert done.returncode == 1
    assert "v0.2.0 is released already -> a release never changes: take the next version" in done.stderr
    assert following.git("rev-parse", "v0.2.0", "v0").split() == [first, first]


def test_the_moving_tag_never_goes_back(repository: Repository) -> None:
    repository.made("0.2.0")
    repository.write("0.1.9")
    done = repository.release("check", "0.1.9")
    assert done.returncode == 1
    assert "v0.2.0 is released already, and v0 would go back -> take a later version" in done.stderr


@pytest.mark.parametrize("image", ["ghcr.io/owner/gradegate:0.2.0", f"docker://{IMAGE}", IMAGE.upper(), f'{IMAGE}"'])
def test_an_image_without_a_digest_is_refused(repository: Repository, image: str) -> None:
    done = repository.release("commit", "0.2.0", image)
    assert done.returncode == 1
    assert "is no image by digest -> write REGISTRY/NAME@sha256:DIGEST" in done.stderr
    assert repository.git("tag") == ""


@pytest.mark.parametrize("name", sorted(PINNED))
def test_an_action_whose_image_is_not_found_is_refused(repository: Repository, name: str) -> None:
    path = repository.path / name
    path.write_text(re.sub(r"GRADEGATE_IMAGE: \"|^  image: ", "  other: ", path.read_text(), flags=re.MULTILINE))
    repository.git("commit", "--quiet", "--all", "--message", "x")
    done = repository.release("commit", "0.2.0", IMAGE)
    assert f"no release: {name}: 0 lines name the image, not one" in done.stderr


def test_the_notes_are_the_first_section(repository: Repository) -> None:
    repository.write("0.3.0", notes="- One.\n- Two.\n")
    done = repository.release("notes", "0.3.0")
    assert (done.returncode, done.stdout) == (0, "- One.\n- Two.\n")


RUN = {"head_sha": "c" * 40, "event": "push", "run_number": 7, "status": "completed", "conclusion": "success"}


@each(
    ("runs", "said"),
    [
        *table(__file__, "only_a_commit_that_is_green_is_released"),
        ([{**RUN, "conclusion": "failure"}, {**RUN, "run_number": 8}], ""),
        ([RUN, {**RUN, "conclusion": "failure", "run_number": 8}], "ci: failure on"),
    ],
)
def test_only_a_commit_that_is_green_is_released(repository: Repository, tmp_path: Path, runs: list[dict[str, object]], said: str) -> None:
    listed = tmp_path / "ci.json"
    listed.write_text(json.dumps({"total_count": len(runs), "workflow_runs": runs}))
    done = repository.release("green", "c" * 40, listed)
    assert done.returncode == (1 if said else 0)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
