"""The checkout of the base of a pull request: its configs, and its jobs beside those of the head."""

import glob
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from gradegate.config.context import Context
from gradegate.config.load import SuiteFile, config_paths, read_suite
from gradegate.core.policy import Note
from gradegate.errors import ConfigError, Mistake, gather_mistakes
from gradegate.files.git import (
    commit_lacks,
    renamed_files,
    repository_of,
)
from gradegate.files.workspace import searched
from gradegate.http.client import Client
from gradegate.planning.counterparts import FindRenames, entry_of_job, pair_with_base
from gradegate.planning.plan import BaseSide, Plan
from gradegate.planning.planner import make_plan
from gradegate.results.rows import AnswerId
from gradegate.structs import FrozenStruct, replace

NO_BASELINE = Note("there is no baseline to compare with, so every failure counts as new")


class BaseConfigs(FrozenStruct):
    """The configs of the base, with a mistake for each that its commit lacks (``absent``), or that cannot be read (``problems``)."""

    suites: tuple[SuiteFile, ...]
    absent: tuple[Mistake, ...]
    problems: tuple[Mistake, ...]


def find_renames(context: Context) -> Mapping[str, str]:
    """The files that have another name in the base checkout, by that name; none without a checkout. Raises ConfigError."""
    head = repository_of(context.cwd.resolve())
    return (
        renamed_files(context.base_root(), head) if context.settings.base_checkout and head else {}
    )


def read_configs_of_base(context: Context, there: Context) -> BaseConfigs:
    """Every config by itself, so that one which the base does not have leaves the others to be compared."""
    root = Path(there.environment.workspace)
    suites: dict[Path, SuiteFile | None] = {}
    absent: list[Mistake] = []
    problems: list[Mistake] = []
    for written in there.settings.configs or (None,):
        try:
            named = config_paths(replace(there.settings, configs=(written,) if written else ()))
        except ConfigError as e:
            place = _place_of(there, written)
            is_new = commit_lacks(root, place)
            former = find_renames(context).items() if is_new else ()
            named = [root / old for old, new in former if root / new == place]
            if not named:
                (absent if is_new else problems).extend(e.mistakes)
        for path in (path for path in named if path not in suites):
            suites[path] = None
            with gather_mistakes(problems):
                if not path.resolve().is_relative_to(root):
                    what = f"`{path.name}` leads out of the base"
                    raise ConfigError.at(what, None, "keep the config inside it")
                suites[path] = read_suite(path, there)
    found = tuple(located for located in suites.values() if located)
    return BaseConfigs(found, tuple(absent), tuple(problems))


def _place_of(there: Context, written: str | None) -> Path:
    """The file of a config, or the folder in which it is looked for."""
    place = there.cwd / (written or "")
    place = searched(place) if glob.has_magic(str(place)) else place
    return Path(os.path.abspath(place))  # noqa: PTH100  # links stay as they are


def with_base(head: Plan, context: Context, client: Client, notes: list[Note]) -> Plan:
    """The plan with the jobs of the base beside its own; of a base that cannot be planned, a note is added. Raises ConfigError."""
    if context.settings.answers:
        what = "`baseline: live` asks targets for the answers of the base, but with `answers` no target is asked"
        raise ConfigError.at(what, None, "name a folder with the results of the base")
    environment = context.environment
    if not context.settings.base_checkout:
        if environment.on_github and not environment.event.startswith("pull_request"):
            notes.append(NO_BASELINE)
            return head
        what = "`baseline: live` has no base to ask"
        raise ConfigError.at(what, None, "give <--base-checkout>, a checkout of the base commit")
    try:
        there = context.for_base()
        found = read_configs_of_base(context, there)
        if not found.suites:
            raise ConfigError(*found.problems, *found.absent)
        base = make_plan(found.suites, there, client)
        return both(head, base, partial(find_renames, context), notes)
    except ConfigError as e:
        why = f"the base cannot be asked, so every failure counts as new: {e.mistakes[0]}"
        notes.append(Note(why))
        return head


def both(head: Plan, base: Plan, find_renames: FindRenames, notes: list[Note]) -> Plan:
    """The plan of the head, each job followed by its counterpart, if the base defines the same: both sides are asked at the same time.

    A counterpart has the base's prompt and target, and is graded by the head's assertions, so that both answers are judged alike.
    """
    single = [replace(job, repeats=1) for job in head.jobs]
    pairs = pair_with_base(single, base.jobs, entry_of_job, find_renames)
    jobs = []
    for index, job in enumerate(head.jobs):
        jobs.append(job)
        if other := pairs.answers[AnswerId(index, 0)]:
            jobs.append(
                replace(other, assertions=job.assertions, repeats=job.repeats, of_base=True)
            )
    notes += pairs.notes
    gone = tuple(job.case_name for job in pairs.left)
    return replace(
        head,
        jobs=tuple(jobs),
        base=BaseSide(gone, base.commit),
        models=tuple(dict.fromkeys((*head.models, *base.models))),
        keys=tuple(dict.fromkeys((*head.keys, *base.keys))),
        missing_keys=head.missing_keys | base.missing_keys,
    )
