"""The checkout of the base of a pull request: reads its configs, and adds its jobs to those of the head."""

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
    renamed_files,
    repository_of,
)
from gradegate.files.patterns import folder_of_pattern
from gradegate.files.vouched import commit_lacks
from gradegate.http.client import Client
from gradegate.planning.counterparts import FindRenames, entry_of_job, pair_with_base
from gradegate.planning.plan import BaseSide, Plan
from gradegate.planning.planner import make_plan
from gradegate.results.rows import AnswerId
from gradegate.structs import FrozenStruct, replace

NO_BASELINE = Note("there is no baseline to compare with, so every failure counts as new")


class BaseConfigs(FrozenStruct):
    """The configs of the base."""

    suites: tuple[SuiteFile, ...]
    absent: tuple[Mistake, ...]  # one for each config that the commit of the base lacks
    problems: tuple[Mistake, ...]  # one for each config that cannot be read


def find_renames(context: Context) -> Mapping[str, str]:
    """The new names of renamed files, by their name in the base; empty without a base checkout. Raises ConfigError."""
    if not context.settings.base_checkout:
        return {}
    head = repository_of(context.cwd.resolve())
    return renamed_files(context.base_root(), head) if head else {}


def read_configs_of_base(context: Context, base_context: Context) -> BaseConfigs:
    """Read each config of the base separately: if one cannot be read, the others are still compared."""
    root = Path(base_context.environment.workspace)
    settings = base_context.settings
    suites: dict[Path, SuiteFile | None] = {}
    absent: list[Mistake] = []
    problems: list[Mistake] = []
    for written in settings.configs or (None,):
        configs = (written,) if written else ()
        try:
            paths = config_paths(replace(settings, configs=configs))
        except ConfigError as e:
            place = _config_place(base_context, written)
            is_new = commit_lacks(root, place)
            paths = []
            if is_new:  # perhaps only its name is
                renames = find_renames(context).items()
                paths = [root / old for old, new in renames if root / new == place]
            if is_new and not paths:
                absent += e.mistakes
            elif not is_new:
                problems += e.mistakes
        for path in paths:
            if path in suites:
                continue
            suites[path] = None
            with gather_mistakes(problems):
                if not path.resolve().is_relative_to(root):
                    what = f"`{path.name}` leads out of the base"
                    raise ConfigError.at(what, None, "keep the config inside it")
                suites[path] = read_suite(path, base_context)
    readable = tuple(file for file in suites.values() if file)
    return BaseConfigs(readable, tuple(absent), tuple(problems))


def _config_place(context: Context, written: str | None) -> Path:
    """The file of a config, or the folder in which it is looked for."""
    place = context.cwd / (written or "")
    if glob.has_magic(str(place)):
        place = folder_of_pattern(place)
    return Path(os.path.abspath(place))  # noqa: PTH100  # links stay as they are


def with_base(head: Plan, context: Context, client: Client, notes: list[Note]) -> Plan:
    """The plan with the jobs of the base; if the base cannot be planned, a note says so. Raises ConfigError."""
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
        base_context = context.for_base()
        configs = read_configs_of_base(context, base_context)
        if not configs.suites:
            raise ConfigError(*configs.problems, *configs.absent)
        base = make_plan(configs.suites, base_context, client)
        return with_base_jobs(head, base, partial(find_renames, context), notes)
    except ConfigError as e:
        why = f"the base cannot be asked, so every failure counts as new: {e.mistakes[0]}"
        notes.append(Note(why))
        return head


def with_base_jobs(head: Plan, base: Plan, find_renames: FindRenames, notes: list[Note]) -> Plan:
    """The plan of the head, with its counterpart after each job, so that both are asked at the same time.

    A counterpart has the base's prompt and target. It is graded by the head's assertions, so both answers are judged alike.
    """
    single_jobs = [replace(job, repeats=1) for job in head.jobs]
    pairs = pair_with_base(single_jobs, base.jobs, entry_of_job, find_renames)
    jobs = []
    for index, job in enumerate(head.jobs):
        jobs.append(job)
        if counterpart := pairs.answers[AnswerId(index, 0)]:
            jobs.append(
                replace(counterpart, assertions=job.assertions, repeats=job.repeats, of_base=True)
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
