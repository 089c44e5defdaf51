"""Opens the cache of replies for a run, unless its files may be part of what the run judges."""

import os
from pathlib import Path

from gradegate.core.settings import Settings
from gradegate.errors import ConfigError
from gradegate.files.git import folders_of, head_of, repository_of
from gradegate.files.vouched import Vouched
from gradegate.providers.cache.reply_cache import ReplyCache
from gradegate.providers.cache.seals import SHORTEST_SECRET, VARIABLE, Seals
from gradegate.security.environment import Environment
from gradegate.security.secrets import belongs_to_runner, sounds_secret

_LEAST = 8  # characters of a secret; what is shorter stands in texts by chance


def open_cache(settings: Settings, environment: Environment, is_trusted: bool) -> ReplyCache | None:
    """The cache; None if none is wanted. ``is_trusted``: later runs believe what this one keeps."""
    if not settings.cache:
        return None
    # Links are not followed here: the store refuses them.
    folder = Path(os.path.normpath(settings.cwd.resolve() / settings.cache))
    problem = _problem_with(folder, environment.workspace, is_certain=environment.on_github)
    seals = Seals(_credentials(settings, environment), _secret(environment))
    return ReplyCache(folder, is_trusted, seals, problem)


def _credentials(settings: Settings, environment: Environment) -> dict[str, str]:
    """The variables that only those know who may ask the models of the workflow.

    No text of a config is among them, and nothing that a config could show.
    """
    credentials = {}
    for name, variable in environment.variables.items():
        value = variable.strip()
        if not sounds_secret(name) or belongs_to_runner(name) or name in settings.allowed_env:
            continue
        if len(value) >= _LEAST:
            credentials[name] = value
    return credentials


def check_secret(environment: Environment) -> None:
    """Raises ConfigError where the secret of the workflow's own could be found by trying."""
    length = len(_secret(environment))
    if 0 < length < SHORTEST_SECRET:
        cure = f"give {SHORTEST_SECRET} or more, as `openssl rand -hex 32` makes them"
        raise ConfigError.at(f"{VARIABLE} has {length} characters", None, cure)


def _secret(environment: Environment) -> str:
    return environment.variables.get(VARIABLE, "").strip()


_UNREAD = "it is not used, because the commit that is checked out cannot be read; name a folder outside of it"


def _problem_with(folder: Path, workspace: str, *, is_certain: bool) -> str:
    """Why the files of a folder cannot be believed, or an empty string.

    Whoever opens a pull request writes the files of its commit. ``is_certain``: a commit that cannot be read is a problem, too.
    """
    root = repository_of(folder)
    commit = head_of(root) if root else ""
    if root is None or not commit:
        if is_certain and workspace and folder.is_relative_to(Path(workspace).resolve()):
            return _UNREAD
        return ""
    try:
        files = Vouched(root.resolve(), folders_of(root)[1] / "objects", commit, "")
        if files.contains(folder.relative_to(root.resolve()).parts):
            return "it is not used, because its folder is in the commit that is checked out; remove it there"
    except (OSError, ValueError, LookupError):
        if is_certain:
            return _UNREAD
    return ""
