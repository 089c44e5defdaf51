"""Which commit is checked out, read from the files of git."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def commit_of(folder: Path, environ: Mapping[str, str]) -> str:
    """$GITHUB_SHA, else the commit that HEAD of the repository around the folder names, else an empty string."""
    if SHA.fullmatch(environ.get("GITHUB_SHA", "")):
        return environ["GITHUB_SHA"]
    root = repository_of(folder)
    return head_of(root) if root else ""


def repository_of(folder: Path) -> Path | None:
    """The nearest folder upwards that holds a ``.git``, or None."""
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), None)


def head_of(root: Path) -> str:
    """The commit that is checked out in a work tree, an empty string when its files do not say.

    Format: https://git-scm.com/docs/gitrepository-layout (HEAD, refs, packed-refs; a linked work tree has a file `.git`).
    """
    try:
        return _head(*folders_of(root))
    except (OSError, ValueError):
        return ""


def folders_of(root: Path) -> tuple[Path, Path]:
    """The folder of a work tree's HEAD, and the one with what several work trees share. Raises OSError and ValueError."""
    git = root / ".git"
    if git.is_file():
        git = root / git.read_text().removeprefix("gitdir:").strip()
    shared = git / "commondir"
    return git, git / shared.read_text().strip() if shared.is_file() else git


def _head(git: Path, common: Path) -> str:
    head = (git / "HEAD").read_text().strip()
    if SHA.fullmatch(head):
        return head
    name = head.removeprefix("ref:").strip()
    for place in (git / name, common / name):
        if place.is_file():
            return _checked(place.read_text().strip())
    packed = (common / "packed-refs").read_text().splitlines() if (common / "packed-refs").is_file() else []
    return next((_checked(line.split()[0]) for line in packed if line.endswith(f" {name}")), "")


def _checked(text: str) -> str:
    return text if SHA.fullmatch(text) else ""
