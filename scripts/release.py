"""What a release is: whether a commit may become one, its notes, and the commit on the release branch that pins the image.

.github/workflows/release.yml calls this; docs/contributing/release.md says how a release is made. Standard library and git alone, so that
the job that may write needs no package.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
IMAGE = re.compile(r"[a-z0-9.-]+(/[a-z0-9._-]+)+@sha256:[0-9a-f]{64}")
DECLARED = Path(
    "src/gradegate/__init__.py"
)  # the version, and REPOSITORY: every other file repeats them
NOBODY = "OWNER"  # in REPOSITORY, until somebody owns it
CHANGES = Path("CHANGELOG.md")
SAMPLE = Path("tests/side_by_side/sample.yaml")
UNCOUNTED = ("docs/screens/", "docs/action.md")  # pages that are made
# The one line of each action that says which image runs; the second file is made from the first (scripts/generated.py).
PINS = {
    "action.yml": (
        re.compile(r'^( +GRADEGATE_IMAGE: )"[^"\n]*"$', re.MULTILINE),
        r'\g<1>"{image}"',
    ),
    "container/action.yml": (re.compile(r"^(  image: )\S.*$", re.MULTILINE), r"\g<1>{image}"),
}
NOTES_AT_MOST = 125_000  # characters that GitHub takes for a release


class Refused(Exception):
    """Why there is no release: what is wrong, where, and what to do."""


class Version(NamedTuple):
    """A version in numbers, so that 0.10.0 comes after 0.9.0."""

    major: int
    minor: int
    patch: int

    @classmethod
    def read(cls, text: str) -> Version:
        """The version that a text is; ``Refused`` where it is none."""
        if not VERSION.fullmatch(text):
            raise Refused(
                f"{text!r} is no version -> write three numbers, such as 0.2.0, without a v"
            )
        return cls(*map(int, text.split(".")))

    def __str__(self) -> str:
        return ".".join(map(str, self))

    @property
    def tag(self) -> str:
        """Stays where it is."""
        return f"v{self}"

    @property
    def moving(self) -> str:
        """The tag that moves with each release of this major version."""
        return f"v{self.major}"

    @property
    def branch(self) -> str:
        """Whose history holds all releases of this major version."""
        return f"release/v{self.major}"


def git(*arguments: str, given: str | None = None, **environ: str) -> str:
    """What git says; ``Refused`` with its own words where it fails."""
    command = ["git", "-C", str(ROOT), *arguments]
    done = subprocess.run(  # our own words
        command,
        input=given,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Refused(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.rstrip("\n")


def known(name: str) -> str:
    """The commit of a ref, or an empty string."""
    return git("for-each-ref", "--format=%(objectname)", name)


def declared(name: str) -> str:
    """A constant of ``DECLARED``; empty where it is not there."""
    found = re.search(rf'^{name} = "(.*?)"', (ROOT / DECLARED).read_text(), re.MULTILINE)
    return found[1] if found else ""


def owner_name(text: str) -> str:
    """A name that GitHub gives to users and organisations."""
    if not re.fullmatch(r"[A-Za-z0-9-]{1,39}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no owner on GitHub -> write OWNER=NAME")
    return text


def own(owner: str) -> None:
    """Write another owner wherever a file names this repository, or its pages."""
    repository = re.compile(
        rf"(?<![\w.-]){declared('REPOSITORY').partition('/')[0]}(?=(?:\.github\.io)?/gradegate\b)"
    )
    for path in map(ROOT.joinpath, git("ls-files").split("\n")):
        content = b"" if path.is_symlink() else path.read_bytes()
        if (
            written := repository.sub(owner, content.decode("utf-8", "surrogateescape")).encode(
                "utf-8", "surrogateescape"
            )
        ) != content:
            path.write_bytes(written)


def prepare(version: Version, owner: str) -> None:
    """Write owner, version, date and figures; what changes for users stands in the first section of the changelog."""
    if changed := git("status", "--porcelain"):
        raise Refused(
            f"{changed.split(chr(10), 1)[0][3:]} is not committed -> commit it, or put it away"
        )
    if owner == NOBODY:
        raise Refused(
            f"{DECLARED}: REPOSITORY names no owner -> make release VERSION={version} OWNER=NAME"
        )
    head, *sections = re.split(r"^(?=## )", (ROOT / CHANGES).read_text(), flags=re.MULTILINE)
    title, _, news = (sections or [""])[0].partition("\n")
    if "unreleased" not in title.lower():
        raise Refused(
            f"{CHANGES}: the first section is `{title}` -> write `## {version} (unreleased)` with what changes for users"
        )
    written = f"## {version} ({datetime.now(UTC).date()})\n\n{news.strip()}\n\nFigures: {'; '.join(figures())}.\n\n"
    (ROOT / CHANGES).write_text("".join([head, written, *sections[1:]]))
    source = re.sub(
        r'^__version__ = ".*"$',
        f'__version__ = "{version}"',
        (ROOT / DECLARED).read_text(),
        flags=re.MULTILINE,
    )
    (ROOT / DECLARED).write_text(source)
    own(owner)


def figures() -> Iterator[str]:
    """What a release says of itself: configs of others that run, words of the docs, and what the image weighs."""
    outcomes = [
        json.loads(line[2:])["outcome"] for line in (ROOT / SAMPLE).read_text().splitlines()
    ]
    run = [it for it in outcomes if it != "not run by promptfoo"]
    yield f"{run.count('as it stands')} of {len(run)} public promptfoo configs run as they stand"
    pages = [
        name
        for name in git("ls-files", "README.md", "docs/*.md").split("\n")
        if not name.startswith(UNCOUNTED)
    ]
    yield f"{sum(len((ROOT / name).read_text().split()) for name in pages):,} words of docs"
    image = subprocess.run(
        ["make", "--silent", "image"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    yield (
        ", ".join(image.stdout.splitlines())
        if image.returncode == 0
        else "the image's size is in the summary of the release"
    )


def check(version: Version) -> None:
    """Refuse what is not whole: code, changes and tag must speak of one version, and everything must be committed."""
    if changed := git("status", "--porcelain"):
        first = changed.split("\n", 1)[0][3:]
        raise Refused(
            f"{first} is not committed -> release what was tested: commit it, or put it away"
        )
    if (said := declared("__version__")) != str(version):
        raise Refused(
            f"{DECLARED}: __version__ is {said or 'nothing'} and not {version} -> make release VERSION={version}"
        )
    if declared("REPOSITORY").startswith(NOBODY):
        raise Refused(
            f"{DECLARED}: REPOSITORY names no owner -> make release VERSION={version} OWNER=NAME"
        )
    notes(version)
    released = [
        Version.read(tag[1:])
        for tag in git("tag", "--list", "v*").split("\n")
        if VERSION.fullmatch(tag[1:])
    ]
    if version in released:
        raise Refused(
            f"{version.tag} is released already -> a release never changes: take the next version"
        )
    later = max((one for one in released if one.major == version.major), default=version)
    if later > version:
        raise Refused(
            f"{later.tag} is released already, and {version.moving} would go back -> take a later version"
        )


def notes(version: Version) -> str:
    """The section of the version in the changelog, which must be the first one and have a date."""
    lines = (ROOT / CHANGES).read_text().split("\n")
    heads = [at for at, line in enumerate(lines) if line.startswith("## ")]
    wanted = f"## {version} (YYYY-MM-DD)"
    if not heads:
        raise Refused(f"{CHANGES}: there is no section -> write `{wanted}`")
    first = heads[0]
    head = re.fullmatch(r"## (\S+) \((.*)\)", lines[first])
    if head is None or head[1] != str(version) or not re.fullmatch(r"\d{4}-\d\d-\d\d", head[2]):
        raise Refused(
            f"{CHANGES}:{first + 1}: the first section is `{lines[first]}` -> write `{wanted}`"
        )
    text = "\n".join(lines[first + 1 : heads[1] if len(heads) > 1 else None]).strip()
    if not text:
        raise Refused(f"{CHANGES}:{first + 1}: the section is empty -> say what changes for users")
    if len(text) > NOTES_AT_MOST:
        raise Refused(
            f"{CHANGES}:{first + 1}: {len(text)} characters, GitHub takes {NOTES_AT_MOST} -> shorten it"
        )
    return text


def green(files: list[Path], commit: str) -> None:
    """Refuse a commit on which a workflow did not succeed; each file is GitHub's list of one workflow's runs."""
    for file in files:
        try:
            listed = json.loads(file.read_text())["workflow_runs"]
            runs = [run for run in listed if run["head_sha"] == commit and run["event"] == "push"]
            last = max(runs, key=lambda run: run["run_number"], default=None)
        except (OSError, ValueError, KeyError, TypeError) as e:
            raise Refused(
                f"{file}: not a list of runs as GitHub gives it ({e!r}) -> ask for it again"
            ) from e
        if last is None:
            raise Refused(
                f"{file.stem}: did not run on {commit} -> push the commit to main and wait for it"
            )
        if last["conclusion"] != "success":
            said = last["conclusion"] or last["status"]
            raise Refused(
                f"{file.stem}: {said} on {commit} ({last.get('html_url', '')}) -> release a commit that is green"
            )


def pinned(name: str, text: str, image: str) -> str:
    """The text of an action with its one line of the image written anew."""
    line, written = PINS[name]
    text, count = line.subn(written.format(image=f"docker://{image}"), text)
    if count != 1:
        raise Refused(
            f"{name}: {count} lines name the image, not one -> see PINS in scripts/release.py"
        )
    return text


def commit(version: Version, image: str) -> str:
    """Make the commit of the release, and its branch and tags, in this clone; gives the commit.

    Its files are those of the commit that is checked out but for the lines that name the image. It has that commit and the release
    before as its parents, so that the branch holds every release and is never forced. The checkout stays as it is.
    """
    if not IMAGE.fullmatch(image):
        raise Refused(f"{image!r} is no image by digest -> write REGISTRY/NAME@sha256:DIGEST")
    check(version)
    source = git("rev-parse", "HEAD")
    before = known(f"refs/remotes/origin/{version.branch}") or known(f"refs/heads/{version.branch}")
    with tempfile.TemporaryDirectory() as folder:
        index = {"GIT_INDEX_FILE": f"{folder}/index"}
        git("read-tree", source, **index)
        for name in PINS:
            blob = git(
                "hash-object",
                "-w",
                "--stdin",
                given=pinned(name, git("show", f"{source}:{name}") + "\n", image),
            )
            git("update-index", "--cacheinfo", f"100644,{blob},{name}", **index)
        tree = git("write-tree", **index)
    parents = [part for parent in (before, source) if parent for part in ("-p", parent)]
    words = f"Release {version.tag}\n\nThe files of {source}, run as {image}.\n"
    made = git("commit-tree", tree, *parents, given=words)
    for name in (
        f"refs/heads/{version.branch}",
        f"refs/tags/{version.tag}",
        f"refs/tags/{version.moving}",
    ):
        git("update-ref", name, made)
    return made


def push(version: Version) -> None:
    """All of it or nothing; only the tag that moves is forced."""
    tags = (f"refs/tags/{version.tag}", f"+refs/tags/{version.moving}")
    git("push", "--atomic", "origin", f"refs/heads/{version.branch}", *tags)


def parser() -> argparse.ArgumentParser:
    """The commands, one for each step of the workflow."""
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = made.add_subparsers(dest="command", required=True)
    for name in ("check", "notes", "commit", "push", "prepare"):
        commands.add_parser(name).add_argument("version")
    commands.choices["prepare"].add_argument(
        "--owner", type=owner_name, help="who owns the repository, where it does not say so"
    )
    commands.add_parser("own").add_argument("owner", type=owner_name)
    commands.choices["commit"].add_argument("image", help="REGISTRY/NAME@sha256:DIGEST")
    seen = commands.add_parser("green")
    seen.add_argument("commit")
    seen.add_argument(
        "runs",
        nargs="+",
        type=Path,
        help="lists of runs as GitHub's API gives them, one a workflow",
    )
    return made


def main(words: list[str]) -> int:
    """Exit code 0, or 1 and a line that says why there is no release."""
    args = parser().parse_args(words)
    try:
        if args.command == "green":
            green(args.runs, args.commit)
        elif args.command == "commit":
            print(commit(Version.read(args.version), args.image))
        elif args.command == "own":
            own(args.owner)
        elif args.command == "prepare":
            prepare(
                Version.read(args.version), args.owner or declared("REPOSITORY").partition("/")[0]
            )
        elif args.command == "notes":
            print(notes(Version.read(args.version)))
        else:
            {"check": check, "push": push}[args.command](Version.read(args.version))
    except Refused as e:
        print(f"no release: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
