"""Finds the folder of a baseline: results and votes of earlier runs are read there and written for later runs.

Only files of the default branch are trusted. So a folder inside the repository is read from the base checkout. A run of the
default branch reads it in place, if an earlier step put it there and git does not track it.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from gradegate.config.context import Context
from gradegate.core.policy import Note
from gradegate.core.settings import AUTO, Settings
from gradegate.errors import ConfigError
from gradegate.files.git import files_checked_out, repository_of
from gradegate.files.plain_files import Place, replace_file
from gradegate.planning.filters import is_partial
from gradegate.reports.delivery.deliver import find_places
from gradegate.results.baseline import HISTORY, RESULTS

_NAMES = (RESULTS, HISTORY)


def folder_to_read(context: Context) -> Path | None:
    """The folder with the files of earlier runs. None if the Action found none. Raises ConfigError if the folder is not trusted."""
    settings = context.settings
    if settings.seeks_baseline:
        if settings.baseline == AUTO and not settings.inputs:
            what = "`--baseline auto` is for the Action, which finds what the default branch left"
            raise ConfigError.at(what, None, "name a folder")
        return settings.fetched_baseline
    name = settings.baseline
    written = Path(os.path.abspath(context.cwd / name))  # noqa: PTH100  # links stay as they are
    try:
        resolved = written.resolve()
        is_file = resolved.is_file()
    except (OSError, RuntimeError, ValueError) as e:  # the name is too long, or links form a circle
        why = getattr(e, "strerror", None) or str(e)
        raise ConfigError.at(
            f"the baseline `{name}` cannot be found: {why}", None, "correct the path"
        ) from e
    if is_file:
        cure = "name the folder that holds its `results.json` and `history.jsonl`"
        raise ConfigError.at(f"the baseline `{name}` is a file", None, cure)

    # Some folders are trusted as they are.
    base_root = context.base_root() if settings.base_checkout else None
    if base_root and resolved.is_relative_to(base_root):
        return resolved
    inside = _find_in_repository(context, (written, resolved))
    if inside is None:
        return resolved
    if context.on_default_branch and not _is_tracked(written):
        return resolved

    # Any other is read from the base checkout.
    if base_root is None:
        raise _untrusted_error(context)
    return _find_in_base(context, inside, base_root)


def _find_in_base(context: Context, inside: Path, base_root: Path) -> Path:
    """The folder of the base checkout at the path that ``inside`` has in the repository. Raises ConfigError."""
    for top in (context.top, context.top.resolve()):
        if inside.is_relative_to(top):
            folder = (base_root / inside.relative_to(top)).resolve()
            if folder.is_relative_to(base_root):
                return folder
            break
    what = f"the baseline `{context.settings.baseline}` leads out of the base"
    raise ConfigError.at(what, None, "keep it inside")


def _find_in_repository(context: Context, folders: Iterable[Path]) -> Path | None:
    """The first of the folders inside a repository. On GitHub a workspace is one, even if its git files are gone."""
    workspace = context.environment.workspace
    bare_workspace = None  # a workspace without git files
    if workspace and not repository_of(context.cwd):
        bare_workspace = Path(workspace).resolve()
    for folder in folders:
        if repository_of(folder):
            return folder
        if bare_workspace and folder.is_relative_to(bare_workspace):
            return folder
    return None


def _is_tracked(folder: Path) -> bool:
    """Whether git tracks one of the files of a baseline in this folder."""
    return any(files_checked_out(folder / name) for name in _NAMES)


def is_in_base(settings: Settings, folder: Path) -> bool:
    """Whether a folder belongs to the base checkout."""
    if not settings.base_checkout:
        return False
    return folder.is_relative_to((settings.cwd / settings.base_checkout).resolve())


def _untrusted_error(context: Context) -> ConfigError:
    """The error for a folder that a pull request could have written."""
    name = context.settings.baseline
    if context.on_default_branch:
        what = f"git tracks the baseline `{name}`, so a pull request could have written it"
        cure = f"`git rm -r --cached {name}`, and list it in .gitignore"
    else:
        what = f"a pull request could have written the baseline `{name}`"
        cure = "keep it outside the repository, or give <--base-checkout>: the folder is then read from there"
    return ConfigError.at(what, None, cure)


# --- what a run leaves ------------------------------------------------------------------------------------------


def replaces_baseline(context: Context) -> bool:
    """Whether this run may leave its results and votes for later runs."""
    return bool(places_to_write(context))


def places_to_write(context: Context) -> Mapping[str, Place]:
    """Where the files of a baseline are written, by their names. Empty if this run leaves nothing. Raises ConfigError."""
    settings = context.settings
    environment = context.environment
    if not settings.baseline or not context.on_default_branch:
        return {}
    if settings.shard or is_partial(settings):
        return {}
    if settings.seeks_baseline:
        output = settings.baseline_output
        if output is None:
            return {}
        return _places_below(output.parent, output, shared=True)

    folder = (settings.cwd / settings.baseline).resolve()
    if _is_tracked(settings.cwd / settings.baseline):
        return {}
    temporary = Path(context.environ.get("RUNNER_TEMP") or settings.cwd).resolve()
    if environment.on_github and folder.is_relative_to(temporary):
        return _places_below(temporary, folder, shared=True)
    if not environment.on_github and repository_of(folder) is None:
        existing = next(parent for parent in folder.parents if parent.is_dir())
        return _places_below(existing, folder, shared=False)

    return _places_in_workspace(context)


def _places_in_workspace(context: Context) -> Mapping[str, Place]:
    """The files of a baseline in the workspace, where no link is followed. Raises ConfigError for a link."""
    settings = context.settings
    paths = {name: f"{settings.baseline}/{name}" for name in _NAMES}
    places = find_places(paths.values(), settings.cwd, context.environment)
    for place in places.values():
        for step in place.steps:
            if step.is_symlink():
                what = f"the baseline `{settings.baseline}` leads through the symbolic link `{step.name}`"
                cure = "name the folder itself: no link of the repository is followed"
                raise ConfigError.at(what, None, cure)
    return {name: places[path] for name, path in paths.items()}


def _places_below(root: Path, folder: Path, *, shared: bool) -> Mapping[str, Place]:
    """The files of a baseline in a folder that is below ``root``."""
    parts = folder.relative_to(root).parts
    return {name: Place(root, (*parts, name), shared=shared) for name in _NAMES}


def why_not_kept(context: Context) -> Iterator[Note]:
    """Why a run of the default branch leaves nothing, if somebody may expect that it does."""
    settings = context.settings
    if settings.baseline and is_partial(settings) and context.on_default_branch:
        yield Note("the options select tests or targets, so baseline and history stay as they are")


def write_baseline(
    places: Mapping[str, Place], contents: Mapping[str, Callable[[], Iterable[str]]]
) -> str:
    """Write all files or none of them. Gives why they could not be written."""
    try:
        with ExitStack() as stack:  # no file takes its place before all are written
            for name, place in places.items():
                stack.enter_context(replace_file(place)).writelines(contents[name]())
    except OSError as e:
        return f"the baseline could not be written: {e.strerror or e}"
    return ""
