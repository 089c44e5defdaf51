"""The cache of replies that a run may use: who runs, and whether the files of it are not part of what is judged."""

import os
from pathlib import Path

from gradegate.core.settings import Settings
from gradegate.errors import ConfigError
from gradegate.files.git import Vouched, folders_of, head_of, repository_of
from gradegate.providers.cache.reply_cache import ReplyCache
from gradegate.providers.cache.seals import SHORTEST_SECRET, VARIABLE, Seals
from gradegate.security.environment import Environment
from gradegate.security.secrets import belongs_to_runner, sounds_secret

_LEAST = 8  # characters of a secret; what is shorter stands in texts by chance


def open_cache(settings: Settings, environment: Environment, is_trusted: bool) -> ReplyCache | None:
    """The cache, opened; None where none is asked for. ``is_trusted``: later runs believe what this one keeps."""
    if not settings.cache:
        return None
    # Whose own links nobody has followed
    folder = Path(os.path.normpath(settings.cwd.resolve() / settings.cache))
    objection = _objection(folder, environment.workspace, certain=environment.on_github)
    # What only whoever may ask the models of the workflow knows: no text of a config, and nothing that any of them may show.
    held = {
        name: value.strip() for name, value in environment.variables.items() if sounds_secret(name)
    }
    held = {
        name: value
        for name, value in held.items()
        if not belongs_to_runner(name) and name not in settings.allowed_env
    }
    seals = Seals(
        {name: value for name, value in held.items() if len(value) >= _LEAST}, _secret(environment)
    )
    return ReplyCache(folder, is_trusted, seals, objection)


def check_secret(environment: Environment) -> None:
    """Raises ConfigError where the secret of the workflow's own could be found by trying."""
    length = len(_secret(environment))
    if 0 < length < SHORTEST_SECRET:
        cure = f"give {SHORTEST_SECRET} or more, as `openssl rand -hex 32` makes them"
        raise ConfigError.at(f"{VARIABLE} has {length} characters", None, cure)


def _secret(environment: Environment) -> str:
    return environment.variables.get(VARIABLE, "").strip()


_UNREAD = "it is not used, because the commit that is checked out cannot be read; name a folder outside of it"


def _objection(folder: Path, workspace: str, *, certain: bool) -> str:
    """Why the folder cannot be believed: whoever opens a pull request writes the files of its commit."""
    root = repository_of(folder)
    commit = head_of(root) if root else ""
    if root is None or not commit:
        if certain and workspace and folder.is_relative_to(Path(workspace).resolve()):
            return _UNREAD
        return ""
    try:
        files = Vouched(root.resolve(), folders_of(root)[1] / "objects", commit, "")
        if files.holds(folder.relative_to(root.resolve()).parts):
            return "it is not used, because its folder is in the commit that is checked out; remove it there"
    except (OSError, ValueError, LookupError):
        if certain:
            return _UNREAD
    return ""
