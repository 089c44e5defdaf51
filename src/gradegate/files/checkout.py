"""Which commit is checked out, read from the files of git."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_SHA = re.compile(r"[0-9a-f]{40,64}")


def commit_of(folder: Path, environ: Mapping[str, str]) -> str:
    """$GITHUB_SHA, else the commit that HEAD of the repository around the folder names, else an empty string.

    Format: https://git-scm.com/docs/gitrepository-layout (HEAD, refs, packed-refs; a linked work tree has a file `.git`).
    """
    if _SHA.fullmatch(environ.get("GITHUB_SHA", "")):
        return environ["GITHUB_SHA"]
    git = next((parent / ".git" for parent in (folder, *folder.parents) if (parent / ".git").exists()), None)
    try:
        return _head(git) if git is not None else ""
    except (OSError, UnicodeDecodeError):
        return ""


def _head(git: Path) -> str:
    if git.is_file():
        git = git.parent / git.read_text().removeprefix("gitdir:").strip()
    head = (git / "HEAD").read_text().strip()
    if _SHA.fullmatch(head):
        return head
    name = head.removeprefix("ref:").strip()
    common = git / (git / "commondir").read_text().strip() if (git / "commondir").is_file() else git
    for place in (git / name, common / name):
        if place.is_file():
            return _checked(place.read_text().strip())
    packed = (common / "packed-refs").read_text().splitlines() if (common / "packed-refs").is_file() else []
    return next((_checked(line.split()[0]) for line in packed if line.endswith(f" {name}")), "")


def _checked(text: str) -> str:
    return text if _SHA.fullmatch(text) else ""
