"""What a run is compared with: results of the base, never of a file that the pull request could have written, or its plan."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from gradegate.base.checkout import root_of, suites_of, top_of
from gradegate.errors import ConfigError
from gradegate.files.checkout import head_of, repository_of
from gradegate.files.plain_files import UnusableError
from gradegate.http.client import Client
from gradegate.planning.identity import identity
from gradegate.planning.job import Job, Other, Plan
from gradegate.planning.plan import plan
from gradegate.results.earlier_run import Baseline
from gradegate.values.settings import AUTO, Settings
from gradegate.values.suite import Note, Policy

NONE = Note("there is no baseline to compare with, so every failure counts as new")
FOREIGN = Note(
    "the baseline has no case of this run, so every failure counts as new. If the target changed, give it the `label` that it had"
)
ALONE = Note(
    "the base has no case with the same definition, so every failure counts as new. If the target changed, give both the same `label`"
)
_CURE = "move it out of the repository, or give <--base>, a checkout of the base commit: the file is then read from there"


def stored(settings: Settings, policies: Iterable[Policy]) -> Baseline | list[Note]:
    """The results that the settings name, or why there are none, where a rule looks at them.

    Raises ConfigError where the pull request could have written them.
    """
    if not settings.baseline:
        return [NONE] if any(rule.beside_base for policy in policies for rule in policy.rules) else []
    try:
        from gradegate.results.file import read_baseline  # late: the shape of results takes as long to import as a small plan

        return read_baseline(place_of(settings, settings.baseline, "baseline"))
    except (UnusableError, OSError, RuntimeError) as e:  # links that lead in a circle have no place
        return [Note(f"the baseline `{settings.baseline}` cannot be used, so every failure counts as new: {e}")]


def foreign(baseline: Baseline, plan: Plan) -> bool:
    """Whether a baseline has no answer of a plan."""
    keys = {answer.key for answer in baseline.answers}
    return not any(identity(job, repeat) in keys for job in plan.jobs for repeat in range(job.repeats))


def commit_of_base(settings: Settings) -> str:
    """The commit that the base is at; an empty string where there is none, or its files do not say."""
    try:
        return head_of(root_of(settings)) if settings.base else ""
    except ConfigError:  # said where the base is planned
        return ""


def place_of(settings: Settings, name: str, what: str) -> Path:
    """Where a file is read: what lies in the repository is the pull request's, and read from the base in its place.

    Raises ConfigError where there is no base, and RuntimeError for links that lead in a circle.
    """
    if what in settings.auto:  # the Action has put it where nobody else writes
        return Path(name)
    if name == AUTO:
        raise ConfigError.at(f"`{what}: auto` is for the Action, which finds the file", None, "name a file")
    written = Path(os.path.abspath(settings.cwd / name))  # noqa: PTH100  # links stay as they are
    places = (written, written.resolve())
    root = root_of(settings) if settings.base else None
    if root and places[1].is_relative_to(root):
        return places[1]
    inside = next((place for place in places if _is_inside(place, settings)), None)
    if inside is None:
        return places[1]
    if root is None and not places[1].exists():
        raise ConfigError.at(f"the file of <--{what}> `{name}` does not exist", None, "correct the path")
    if root is None:
        raise ConfigError.at(f"the pull request could have written the {what} `{name}`", None, _CURE)
    top = top_of(settings)
    tops = [folder for folder in (top, top.resolve()) if inside.is_relative_to(folder)]
    found = (root / inside.relative_to(tops[0])).resolve() if tops else root.parent
    if not found.is_relative_to(root):
        raise ConfigError.at(f"the {what} `{name}` leads out of the base", None, "keep it inside")
    return found


def _is_inside(place: Path, settings: Settings) -> bool:
    """Whether a file lies in a repository; on GitHub a workspace is one, even where its git files are gone."""
    if repository_of(place.parent):
        return True
    workspace = settings.environment.workspace
    return bool(workspace) and not repository_of(settings.cwd) and place.is_relative_to(Path(workspace).resolve())


# --- the base asked in the same run -------------------------------------------------------------------------------


def with_base(head: Plan, settings: Settings, client: Client) -> Plan:
    """The plan with the jobs of the base beside its own; of a base that cannot be planned, a note. Raises ConfigError."""
    if settings.baseline and "baseline" not in settings.auto:
        raise ConfigError.at("both `baseline` and `compare: base` are given", None, "compare with one of them")
    if not settings.base and settings.compare == "base":
        raise ConfigError.at("`compare: base` has no base to compare with", None, "give `base`, a checkout of it")
    if not settings.base:
        return replace(head, notes=(*head.notes, NONE))
    try:
        there, suites = suites_of(settings)
        return both(head, plan(suites, there, client))
    except ConfigError as e:
        why = f"the base cannot be asked, so every failure counts as new: {e.mistakes[0]}"
        return replace(head, notes=(*head.notes, Note(why)))


def both(head: Plan, base: Plan) -> Plan:
    """The plan of the head, each job followed by its counterpart: both sides are asked at the same time.

    A counterpart has the base's prompt and target, and is graded by the head's assertions: whatever the target or the prompt
    are, both answers are judged alike. What the base does not have, or defines otherwise, has none.
    """
    waiting: dict[bytes, deque[Job]] = {}
    for job in base.jobs:
        waiting.setdefault(identity(job), deque()).append(job)
    jobs = tuple(side for job in head.jobs for side in _sides(job, waiting.get(identity(job))))
    notes = head.notes if any(job.of_base for job in jobs) else (*head.notes, ALONE)
    gone = tuple(job.case.description or f"case {job.number + 1}" for left in waiting.values() for job in left)
    return replace(
        head,
        jobs=jobs,
        notes=notes,
        base=Other(gone, base.commit),
        models=tuple(dict.fromkeys((*head.models, *base.models))),
        keys=tuple(dict.fromkeys((*head.keys, *base.keys))),
    )


def _sides(job: Job, waiting: deque[Job] | None) -> Iterator[Job]:
    yield job
    other = waiting.popleft() if waiting else None
    if other is not None and other.definition == job.definition:
        yield replace(other, assertions=job.assertions, repeats=job.repeats, of_base=True)


def is_asked(settings: Settings, policies: Iterable[Policy]) -> bool:
    """Whether the base is asked in the same run: the command line says so, or a gate."""
    return settings.compare == "base" or any(policy.compare == "base" for policy in policies)
