"""Finds the results of the base that a run is compared with: never a file that the pull request could have written."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from gradegate.base.checkout import root_of, top_of
from gradegate.errors import ConfigError
from gradegate.files.checkout import head_of, repository_of
from gradegate.files.regular import UnusableError
from gradegate.planning.identity import identity
from gradegate.planning.job import Plan
from gradegate.results.earlier_run import Baseline
from gradegate.results.file import read_baseline
from gradegate.values.settings import Settings
from gradegate.values.suite import Note, Policy

NONE = Note("there is no baseline to compare with, so every failure counts as new")
FOREIGN = Note(
    "the baseline has no case of this run, so every failure counts as new; where the target is another one, give it the `label` that it had"
)
_CURE = "put it outside the repository, or give `base`, a checkout of the base commit: then it is read from there"


def stored(settings: Settings, policies: Iterable[Policy]) -> Baseline | list[Note]:
    """The results that the settings name, or why there are none, where a rule looks at them.

    Raises ConfigError where the pull request could have written them.
    """
    if not settings.baseline:
        return [NONE] if any(rule.beside_base for policy in policies for rule in policy.rules) else []
    try:
        return read_baseline(_place(settings))
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


def _place(settings: Settings) -> Path:
    """Where the file is read: what lies in the repository is the pull request's, and read from the base in its place."""
    written = Path(os.path.abspath(settings.cwd / settings.baseline))  # noqa: PTH100  # links stay as they are
    places = (written, written.resolve())
    root = root_of(settings) if settings.base else None
    if root and places[1].is_relative_to(root):
        return places[1]
    inside = next((place for place in places if _is_inside(place, settings)), None)
    if inside is None:
        return places[1]
    if root is None:
        raise ConfigError.at(f"the pull request could have written the baseline `{settings.baseline}`", None, _CURE)
    top = top_of(settings)
    tops = [folder for folder in (top, top.resolve()) if inside.is_relative_to(folder)]
    found = (root / inside.relative_to(tops[0])).resolve() if tops else root.parent
    if not found.is_relative_to(root):
        raise ConfigError.at(f"the baseline `{settings.baseline}` leads out of the base", None, "keep it inside")
    return found


def _is_inside(place: Path, settings: Settings) -> bool:
    """Whether a file lies in a repository; on GitHub a workspace is one, even where its git files are gone."""
    if repository_of(place.parent):
        return True
    workspace = settings.environment.workspace
    return bool(workspace) and not repository_of(settings.cwd) and place.is_relative_to(Path(workspace).resolve())
