"""The checkout of the base of a pull request: its settings, its configs, and its jobs beside those of the head."""

import glob
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from gradegate.config.load import Located, config_paths, read
from gradegate.core.policy import Note
from gradegate.core.settings import Settings
from gradegate.errors import ConfigError, Mistake, gather_mistakes
from gradegate.files.git import (
    commit_lacks,
    files_checked_out,
    head_of,
    renamed_files,
    repository_of,
)
from gradegate.files.workspace import searched
from gradegate.http.client import Client
from gradegate.planning.counterparts import FindRenames, entry_of_job, pair
from gradegate.planning.plan import Other, Plan
from gradegate.planning.planner import plan
from gradegate.results.rows import AnswerId
from gradegate.structs import FrozenStruct, replace

NO_BASELINE = Note("there is no baseline to compare with, so every failure counts as new")


def settings_of_base(settings: Settings) -> Settings:
    """The same settings in the other checkout. Raises ConfigError where that is none to compare with."""
    top, root = top_of(settings), root_of(settings)
    cwd = root / settings.cwd.resolve().relative_to(top.resolve())
    configs = []
    for written in settings.configs:
        is_inside = Path(written).is_absolute() and Path(written).is_relative_to(top)
        configs.append(str(root / Path(written).relative_to(top)) if is_inside else written)
    environ = {**settings.environ, "GITHUB_WORKSPACE": str(root)}
    return replace(settings, base_checkout="", configs=tuple(configs), cwd=cwd, environ=environ)


def root_of(settings: Settings) -> Path:
    """The folder of the other checkout. Raises ConfigError where that is none to compare with."""
    top, folder = top_of(settings), settings.cwd / settings.base_checkout
    steps = [folder, *folder.parents]
    inside = [
        step for step in steps if step.absolute().is_relative_to(top) and step.absolute() != top
    ]
    if any(step.is_symlink() for step in inside or steps[:1]):
        what = f"the base `{settings.base_checkout}` is a symbolic link, which the pull request could have created"
        raise ConfigError.at(what, None, "check out the base into a separate folder")
    root = folder.resolve()
    if settings.cwd.resolve().is_relative_to(root):
        what = f"the base `{settings.base_checkout}` is the checkout under test"
        raise ConfigError.at(what, None, "check out the base into a separate folder")
    if files_checked_out(folder.absolute()):
        what = f"git tracks the base `{settings.base_checkout}`, so the pull request could have written it"
        raise ConfigError.at(
            what, None, "check out the base into a folder that is not in the repository"
        )
    own = repository_of(settings.cwd.resolve())
    judged = {settings.environment.commit, settings.commit, head_of(own) if own else ""} - {""}
    # The pull request once more, as it is without a `ref`: that differs in nothing, whatever was changed.
    on_github = settings.environment.on_github or bool(settings.environment.event)
    is_proposed = (
        settings.environment.event.startswith("pull_request")
        if on_github
        else not settings.on_default_branch
    )
    if is_proposed and head_of(root) in judged:
        what = f"the base `{settings.base_checkout}` is at the commit of the pull request"
        raise ConfigError.at(
            what, None, "give its checkout `ref: ${{ github.event.pull_request.base.sha }}`"
        )
    return root


def top_of(settings: Settings) -> Path:
    """The folder that corresponds to the base: the workspace of the job, else the repository, else where we are."""
    cwd = settings.cwd.absolute()
    workspace = settings.environment.workspace
    if workspace and cwd.resolve().is_relative_to(Path(workspace).resolve()):
        return Path(workspace).absolute()
    return next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), cwd)


class BaseConfigs(FrozenStruct):
    """The configs of the base, with a mistake for each that its commit lacks (``absent``), or that cannot be read (``problems``)."""

    suites: tuple[Located, ...]
    absent: tuple[Mistake, ...]
    problems: tuple[Mistake, ...]


def find_renames(settings: Settings) -> Mapping[str, str]:
    """The files that have another name in the base checkout, by that name; none without a checkout. Raises ConfigError."""
    head = repository_of(settings.cwd.resolve())
    return renamed_files(root_of(settings), head) if settings.base_checkout and head else {}


def read_configs_of_base(settings: Settings, there: Settings) -> BaseConfigs:
    """Every config by itself, so that one which the base does not have leaves the others to be compared."""
    root = Path(there.environment.workspace)
    suites: dict[Path, Located | None] = {}
    absent: list[Mistake] = []
    problems: list[Mistake] = []
    for written in there.configs or (None,):
        try:
            named = config_paths(replace(there, configs=(written,) if written else ()))
        except ConfigError as e:
            place = _place_of(there, written)
            is_new = commit_lacks(root, place)
            former = find_renames(settings).items() if is_new else ()
            named = [root / old for old, new in former if root / new == place]
            if not named:
                (absent if is_new else problems).extend(e.mistakes)
        for path in (path for path in named if path not in suites):
            suites[path] = None
            with gather_mistakes(problems):
                if not path.resolve().is_relative_to(root):
                    what = f"`{path.name}` leads out of the base"
                    raise ConfigError.at(what, None, "keep the config inside it")
                suites[path] = read(path, there)
    found = tuple(located for located in suites.values() if located)
    return BaseConfigs(found, tuple(absent), tuple(problems))


def _place_of(there: Settings, written: str | None) -> Path:
    """The file of a config, or the folder in which it is looked for."""
    place = there.cwd / (written or "")
    place = searched(place) if glob.has_magic(str(place)) else place
    return Path(os.path.abspath(place))  # noqa: PTH100  # links stay as they are


def with_base(head: Plan, settings: Settings, client: Client) -> Plan:
    """The plan with the jobs of the base beside its own; of a base that cannot be planned, a note. Raises ConfigError."""
    if settings.answers:
        what = "`baseline: live` asks targets for the answers of the base, but with `answers` no target is asked"
        raise ConfigError.at(what, None, "name a folder with the results of the base")
    environment = settings.environment
    if not settings.base_checkout:
        if environment.on_github and not environment.event.startswith("pull_request"):
            return replace(head, notes=(*head.notes, NO_BASELINE))
        what = "`baseline: live` has no base to ask"
        raise ConfigError.at(what, None, "give <--base-checkout>, a checkout of the base commit")
    try:
        there = replace(settings_of_base(settings), commit=head_of(root_of(settings)))
        found = read_configs_of_base(settings, there)
        if not found.suites:
            raise ConfigError(*found.problems, *found.absent)
        base = plan(found.suites, there, client)
        return both(head, base, partial(find_renames, settings))
    except ConfigError as e:
        why = f"the base cannot be asked, so every failure counts as new: {e.mistakes[0]}"
        return replace(head, notes=(*head.notes, Note(why)))


def both(head: Plan, base: Plan, find_renames: FindRenames) -> Plan:
    """The plan of the head, each job followed by its counterpart, if the base defines the same: both sides are asked at the same time.

    A counterpart has the base's prompt and target, and is graded by the head's assertions, so that both answers are judged alike.
    """
    single = [replace(job, repeats=1) for job in head.jobs]
    paired, left, notes = pair(single, base.jobs, entry_of_job, find_renames)
    jobs = []
    for index, job in enumerate(head.jobs):
        jobs.append(job)
        if other := paired[AnswerId(index, 0)]:
            jobs.append(
                replace(other, assertions=job.assertions, repeats=job.repeats, of_base=True)
            )
    gone = tuple(job.case_name for job in left)
    return replace(
        head,
        jobs=tuple(jobs),
        notes=(*head.notes, *notes),
        base=Other(gone, base.commit),
        models=tuple(dict.fromkeys((*head.models, *base.models))),
        keys=tuple(dict.fromkeys((*head.keys, *base.keys))),
    )
