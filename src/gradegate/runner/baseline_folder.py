"""The folder of a baseline: where earlier runs left their results and votes, and what this run leaves there for later ones.

Only what the default branch wrote is believed. So a folder inside the repository is read from the base checkout, except at the
default branch itself, where an earlier step may have put it there and the checkout did not.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from gradegate.core.policy import Note
from gradegate.core.settings import AUTO, Settings
from gradegate.errors import ConfigError
from gradegate.files.git import default_branch_is_checked_out, is_checked_out, repository_of
from gradegate.files.plain_files import Place, replacing
from gradegate.planning.base_checkout import root_of, top_of
from gradegate.reports.delivery.deliver import places
from gradegate.results.baseline import HISTORY, RESULTS

_NAMES = (RESULTS, HISTORY)


def is_default_branch(settings: Settings) -> bool:
    """Whether the default branch is what this run is about: on GitHub by the event, elsewhere by what git has checked out."""
    if settings.environment.on_github:
        return settings.environment.is_default_branch
    return default_branch_is_checked_out(settings.cwd, settings.environ)


def folder_to_read(settings: Settings) -> Path | None:
    """The folder with the files of earlier runs; None where the Action found none. Raises ConfigError for one that is not believed."""
    if settings.seeks_baseline:
        if settings.baseline == AUTO and not settings.inputs:
            what = "`--baseline auto` is for the Action, which finds what the default branch left"
            raise ConfigError.at(what, None, "name a folder")
        return settings.found_baseline
    name = settings.baseline
    written = Path(os.path.abspath(settings.cwd / name))  # noqa: PTH100  # links stay as they are
    try:
        resolved = written.resolve()
    except RuntimeError as e:  # links that lead in a circle
        raise ConfigError.at(f"the baseline `{name}` cannot be found: {e}", None, "") from e
    if resolved.is_file():
        cure = "name the folder that holds its `results.json` and `history.jsonl`"
        raise ConfigError.at(f"the baseline `{name}` is a file", None, cure)
    root = root_of(settings) if settings.base_checkout else None
    if root and resolved.is_relative_to(root):
        return resolved
    inside = _in_repository(settings, (written, resolved))
    if inside is None:
        return resolved
    if is_default_branch(settings) and not is_checked_out(written):
        return resolved
    if root is None:
        raise _not_believed(settings, written)
    top = top_of(settings)
    tops = [folder for folder in (top, top.resolve()) if inside.is_relative_to(folder)]
    found = (root / inside.relative_to(tops[0])).resolve() if tops else root.parent
    if not found.is_relative_to(root):
        raise ConfigError.at(f"the baseline `{name}` leads out of the base", None, "keep it inside")
    return found


def _in_repository(settings: Settings, folders: Iterable[Path]) -> Path | None:
    """The first of the folders that lies in a repository. On GitHub a workspace is one, even where its git files are gone."""
    workspace = settings.environment.workspace
    bare = Path(workspace).resolve() if workspace and not repository_of(settings.cwd) else None
    for folder in folders:
        if repository_of(folder.parent) or (bare and folder.is_relative_to(bare)):
            return folder
    return None


def _not_believed(settings: Settings, written: Path) -> ConfigError:
    name = settings.baseline
    if is_default_branch(settings):
        what = f"git tracks the baseline `{name}`, so a pull request could have written it"
        cure = f"`git rm -r --cached {name}`, and list it in .gitignore"
    else:
        what = f"a pull request could have written the baseline `{name}`"
        cure = "keep it outside the repository, or give <--base-checkout>: the folder is then read from there"
    return ConfigError.at(what, None, cure)


# --- what a run leaves ------------------------------------------------------------------------------------------


def replaces_baseline(settings: Settings) -> bool:
    """Whether this run may leave its results and votes for later ones."""
    return bool(places_to_write(settings))


def places_to_write(settings: Settings) -> Mapping[str, Place]:
    """Where the files of a baseline are written, by their names; none where this run leaves nothing. Raises ConfigError."""
    if not settings.baseline or settings.shard or settings.is_partial:
        return {}
    if not is_default_branch(settings):
        return {}
    if settings.seeks_baseline:
        kept = settings.kept_baseline
        if kept is None:
            return {}
        return {name: Place(kept.parent, (kept.name, name), shared=True) for name in _NAMES}
    folder = (settings.cwd / settings.baseline).resolve()
    if is_checked_out(settings.cwd / settings.baseline):
        return {}
    temporary = Path(settings.environ.get("RUNNER_TEMP") or settings.cwd).resolve()
    if settings.environment.on_github and folder.is_relative_to(temporary):
        parts = folder.relative_to(temporary).parts
        return {name: Place(temporary, (*parts, name), shared=True) for name in _NAMES}
    if not settings.environment.on_github and repository_of(folder.parent) is None:
        if not folder.parent.is_dir():
            what = f"the folder of the baseline `{settings.baseline}` does not exist"
            raise ConfigError.at(what, None, f"create `{folder.parent}`")
        return {name: Place(folder.parent, (folder.name, name)) for name in _NAMES}
    written = {f"{settings.baseline}/{name}": name for name in _NAMES}
    found = places(written, settings.cwd, settings.environment)
    return {name: found[path] for path, name in written.items()}


def why_not_kept(settings: Settings) -> Iterator[Note]:
    """Why a run of the default branch leaves nothing, where somebody may expect that it does."""
    if settings.baseline and settings.is_partial and is_default_branch(settings):
        yield Note("only a part of the tests is run, so the baseline stays as it is")


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
