"""The folder of a baseline: where earlier runs left their results and votes, and what this run leaves there for later ones.

Only what the default branch wrote is believed. So a folder inside the repository is read from the base checkout, except at the
default branch itself, where an earlier step may have put it there and the checkout did not.
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
from gradegate.files.plain_files import Place, replacing
from gradegate.reports.delivery.deliver import find_places
from gradegate.results.baseline import HISTORY, RESULTS

_NAMES = (RESULTS, HISTORY)


def folder_to_read(context: Context) -> Path | None:
    """The folder with the files of earlier runs; None where the Action found none. Raises ConfigError for one that is not believed."""
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
    except (OSError, RuntimeError, ValueError) as e:  # too long a name, or links in a circle
        why = getattr(e, "strerror", None) or str(e)
        raise ConfigError.at(
            f"the baseline `{name}` cannot be found: {why}", None, "correct the path"
        ) from e
    if is_file:
        cure = "name the folder that holds its `results.json` and `history.jsonl`"
        raise ConfigError.at(f"the baseline `{name}` is a file", None, cure)
    root = context.base_root() if settings.base_checkout else None
    if root and resolved.is_relative_to(root):
        return resolved
    inside = _in_repository(context, (written, resolved))
    if inside is None:
        return resolved
    if context.on_default_branch and not _is_tracked(written):
        return resolved
    if root is None:
        raise _not_believed(context, written)
    top = context.top
    tops = [folder for folder in (top, top.resolve()) if inside.is_relative_to(folder)]
    found = (root / inside.relative_to(tops[0])).resolve() if tops else root.parent
    if not found.is_relative_to(root):
        raise ConfigError.at(f"the baseline `{name}` leads out of the base", None, "keep it inside")
    return found


def _in_repository(context: Context, folders: Iterable[Path]) -> Path | None:
    """The first of the folders that lies in a repository. On GitHub a workspace is one, even where its git files are gone."""
    workspace = context.environment.workspace
    bare = Path(workspace).resolve() if workspace and not repository_of(context.cwd) else None
    for folder in folders:
        if repository_of(folder) or (bare and folder.is_relative_to(bare)):
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


def _not_believed(context: Context, written: Path) -> ConfigError:
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
    """Whether this run may leave its results and votes for later ones."""
    return bool(places_to_write(context))


def places_to_write(context: Context) -> Mapping[str, Place]:
    """Where the files of a baseline are written, by their names; none where this run leaves nothing. Raises ConfigError."""
    settings, environment = context.settings, context.environment
    if not settings.baseline or settings.shard or settings.is_partial:
        return {}
    if not context.on_default_branch:
        return {}
    if settings.seeks_baseline:
        kept = settings.baseline_output
        if kept is None:
            return {}
        return {name: Place(kept.parent, (kept.name, name), shared=True) for name in _NAMES}
    folder = (settings.cwd / settings.baseline).resolve()
    if _is_tracked(settings.cwd / settings.baseline):
        return {}
    temporary = Path(context.environ.get("RUNNER_TEMP") or settings.cwd).resolve()
    if environment.on_github and folder.is_relative_to(temporary):
        parts = folder.relative_to(temporary).parts
        return {name: Place(temporary, (*parts, name), shared=True) for name in _NAMES}
    if not environment.on_github and repository_of(folder) is None:
        there = next(parent for parent in folder.parents if parent.is_dir())
        parts = folder.relative_to(there).parts
        return {name: Place(there, (*parts, name)) for name in _NAMES}
    written = {f"{settings.baseline}/{name}": name for name in _NAMES}
    found = find_places(written, settings.cwd, environment)
    linked = next(
        (step for place in found.values() for step in place.steps if step.is_symlink()), None
    )
    if linked:
        what = f"the baseline `{settings.baseline}` leads through the symbolic link `{linked.name}`"
        raise ConfigError.at(
            what, None, "name the folder itself: no link of the repository is followed"
        )
    return {name: found[path] for path, name in written.items()}


def why_not_kept(context: Context) -> Iterator[Note]:
    """Why a run of the default branch leaves nothing, where somebody may expect that it does."""
    settings = context.settings
    if settings.baseline and settings.is_partial and context.on_default_branch:
        yield Note("the options select tests or targets, so baseline and history stay as they are")


def write_baseline(
    places: Mapping[str, Place], contents: Mapping[str, Callable[[], Iterable[str]]]
) -> str:
    """Write all files or none of them; gives why they could not be written."""
    try:
        with ExitStack() as stack:  # no file takes its place before all are written
            for name, place in places.items():
                stack.enter_context(replacing(place)).writelines(contents[name]())
    except OSError as e:
        return f"the baseline could not be written: {e.strerror or e}"
    return ""
