"""The cache of replies that a run may use: who runs, and whether the files of it are not part of what is judged."""

from __future__ import annotations

from pathlib import Path

from gradegate.access.branch import is_default_branch
from gradegate.asking.replies import DAY, Replies
from gradegate.files.checkout import folders_of, head_of, repository_of
from gradegate.files.vouched import Vouched
from gradegate.settings import Settings


def remembered(settings: Settings) -> Replies | None:
    """The cache, opened; None where none is asked for."""
    if not settings.cache:
        return None
    folder = (settings.cwd / settings.cache).resolve()
    on_github = settings.environ.get("GITHUB_ACTIONS") == "true"
    trusted = not on_github or is_default_branch(settings.environ)
    age = settings.max_age * DAY
    return Replies(folder, trusted, age, settings.cache_http, _objection(folder, certain=on_github))


def _objection(folder: Path, *, certain: bool) -> str:
    """Why the folder cannot be believed: whoever opens a pull request writes the files of its commit."""
    root = repository_of(folder)
    commit = head_of(root) if root else ""
    if root is None or not commit:
        return ""
    try:
        files = Vouched(root.resolve(), folders_of(root)[1] / "objects", commit, "")
        if files.holds(folder.relative_to(root.resolve()).parts):
            return "it is not used, because its folder is in the commit that is checked out; remove it there"
    except (OSError, ValueError, LookupError):
        if certain:
            return "it is not used, because the commit that is checked out cannot be read; name a folder outside of it"
    return ""
