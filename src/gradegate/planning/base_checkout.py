"""The base of a pull request: its plan, without asking a model, and its results, never of a file that the pull request could write."""

import os
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from gradegate.config.load import Located, config_paths, read, written_in
from gradegate.core.policy import Note, Policy
from gradegate.core.settings import AUTO, Settings
from gradegate.errors import ConfigError, Mistake
from gradegate.files.git import head_of, repository_of
from gradegate.files.plain_files import UnusableError
from gradegate.http.client import Client
from gradegate.planning.identity import identity
from gradegate.planning.plan import Job, Other, Plan
from gradegate.planning.planner import build_client, plan
from gradegate.planning.secrets import secrets_of
from gradegate.planning.snapshot import GateSnapshot, snapshots
from gradegate.results.baseline import Baseline
from gradegate.structs import Struct, replace

NONE = Note("there is no baseline to compare with, so every failure counts as new")


class Base(Struct, frozen=True):
    """What the base checks. ``problems`` say what of it could not be found, read or planned."""

    suites: tuple[GateSnapshot, ...] = ()
    policies: tuple[Policy, ...] = ()
    problems: tuple[Mistake, ...] = ()
    secrets: tuple[str, ...] = ()


def plan_base(settings: Settings) -> Base:
    """The base in the folder that the settings name, planned with the same settings. Raises ConfigError where there is none."""
    # A slip of the workflow, which no pull request made; all mistakes of the base are `problems`.
    if not (settings.cwd / settings.base).is_dir():
        raise ConfigError.at(
            f"the base `{settings.base}` is not a folder",
            None,
            "correct the path, and check out the base commit there",
        )
    problems: list[Mistake] = []
    try:
        there = _settings(settings)
    except ConfigError as e:
        return Base(problems=e.mistakes)
    suites = _suites(there, problems)
    policies = tuple(located.suite.policy for located in suites)
    secrets = tuple({*secrets_of(there, [it.suite for it in suites]).values, *written_in(there)})
    planned: list[GateSnapshot] = []
    if suites:
        try:
            made = plan(suites, there, build_client(there, suites))
            # The answers are read here, so that nothing of the plan stays in memory.
            planned = [
                replace(suite, answers=tuple(suite.answers)) for suite in snapshots(made, suites)
            ]
        except ConfigError as e:
            problems += e.mistakes
    return Base(tuple(planned), policies, tuple(problems), secrets)


def _settings(settings: Settings) -> Settings:
    """The same settings in the other checkout. Raises ConfigError where that is none to compare with."""
    top, root = top_of(settings), root_of(settings)
    cwd = root / settings.cwd.resolve().relative_to(top.resolve())
    inside = {
        written
        for written in settings.configs
        if Path(written).is_absolute() and Path(written).is_relative_to(top)
    }
    configs = tuple(
        str(root / Path(it).relative_to(top)) if it in inside else it for it in settings.configs
    )
    environ = {**settings.environ, "GITHUB_WORKSPACE": str(root)}
    return replace(settings, base="", configs=configs, cwd=cwd, environ=environ)


def root_of(settings: Settings) -> Path:
    """The folder of the other checkout. Raises ConfigError where that is none to compare with."""
    top, folder = top_of(settings), settings.cwd / settings.base
    steps = [folder, *folder.parents]
    inside = [
        step for step in steps if step.absolute().is_relative_to(top) and step.absolute() != top
    ]
    if any(step.is_symlink() for step in inside or steps[:1]):
        what = f"the base `{settings.base}` is a symbolic link, which the pull request could have created"
        raise ConfigError.at(what, None, "check out the base into a separate folder")
    root = folder.resolve()
    if settings.cwd.resolve().is_relative_to(root):
        what = f"the base `{settings.base}` is the checkout under test"
        raise ConfigError.at(what, None, "check out the base into a separate folder")
    own = repository_of(settings.cwd.resolve())
    judged = {settings.environment.commit, settings.commit, head_of(own) if own else ""} - {""}
    # The pull request once more, as it is without a `ref`: that differs in nothing, whatever was changed.
    if settings.environment.event.startswith("pull_request") and head_of(root) in judged:
        what = f"the base `{settings.base}` is at the commit of the pull request"
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


def _suites(there: Settings, problems: list[Mistake]) -> list[Located]:
    """Every config by itself, so that one which the base does not have leaves the others to be compared."""
    root = Path(there.environment.workspace)
    suites: dict[Path, Located | None] = {}
    for written in there.configs or (None,):
        try:
            named = config_paths(replace(there, configs=(written,) if written else ()))
        except ConfigError as e:
            problems += e.mistakes
            continue
        for path in (path for path in named if path not in suites):
            suites[path] = None
            try:
                if not path.resolve().is_relative_to(root):
                    raise ConfigError.at(
                        f"`{path.name}` leads out of the base", None, "keep the config inside it"
                    )
                suites[path] = read(path, there)
            except ConfigError as e:
                problems += e.mistakes
    return [located for located in suites.values() if located]


# --- earlier results of the base ------------------------------------------------------------------------------


def stored(settings: Settings, policies: Iterable[Policy]) -> Baseline | list[Note]:
    """The results that the settings name, or why there are none, where a rule looks at them. Raises ConfigError as ``place_of``."""
    if not settings.baseline:
        return (
            [NONE] if any(rule.beside_base for policy in policies for rule in policy.rules) else []
        )
    from gradegate.results.results_file import (
        read_baseline,
    )  # its shapes take as long to define as a small plan to make

    try:
        return read_baseline(place_of(settings, settings.baseline, "baseline"))
    except (UnusableError, OSError, RuntimeError) as e:  # links that lead in a circle have no place
        return [
            Note(
                f"the baseline `{settings.baseline}` cannot be used, so every failure counts as new: {e}"
            )
        ]


def place_of(settings: Settings, name: str, what: str) -> Path:
    """Where a file is read: what lies in the repository is the pull request's, and read from the base in its place.

    Raises ConfigError where there is no base, and RuntimeError for links that lead in a circle.
    """
    if what in settings.auto:  # the Action has put it where nobody else writes
        return Path(name)
    if name == AUTO:
        raise ConfigError.at(
            f"`{what}: auto` is for the Action, which finds the file", None, "name a file"
        )
    written = Path(os.path.abspath(settings.cwd / name))  # noqa: PTH100  # links stay as they are
    places = (written, written.resolve())
    root = root_of(settings) if settings.base else None
    if root and places[1].is_relative_to(root):
        return places[1]
    # On GitHub a workspace is a repository, even where its git files are gone.
    workspace = settings.environment.workspace
    bare = Path(workspace).resolve() if workspace and not repository_of(settings.cwd) else None
    inside = next(
        (it for it in places if repository_of(it.parent) or (bare and it.is_relative_to(bare))),
        None,
    )
    if inside is None:
        return places[1]
    if root is None and not places[1].exists():
        raise ConfigError.at(
            f"the file of <--{what}> `{name}` does not exist", None, "correct the path"
        )
    if root is None:
        cure = "move it out of the repository, or give <--base>, a checkout of the base commit: the file is then read from there"
        raise ConfigError.at(f"the pull request could have written the {what} `{name}`", None, cure)
    top = top_of(settings)
    tops = [folder for folder in (top, top.resolve()) if inside.is_relative_to(folder)]
    found = (root / inside.relative_to(tops[0])).resolve() if tops else root.parent
    if not found.is_relative_to(root):
        raise ConfigError.at(f"the {what} `{name}` leads out of the base", None, "keep it inside")
    return found


# --- the base asked in the same run -------------------------------------------------------------------------------


def with_base(head: Plan, settings: Settings, client: Client) -> Plan:
    """The plan with the jobs of the base beside its own; of a base that cannot be planned, a note. Raises ConfigError."""
    if settings.baseline and "baseline" not in settings.auto:
        raise ConfigError.at(
            "both `baseline` and `compare: base` are given", None, "compare with one of them"
        )
    if not settings.base and settings.compare == "base":
        raise ConfigError.at(
            "`compare: base` has no base to compare with", None, "give `base`, a checkout of it"
        )
    if not settings.base:
        return replace(head, notes=(*head.notes, NONE))
    try:
        there, problems = (
            replace(_settings(settings), commit=head_of(root_of(settings))),
            list[Mistake](),
        )
        if not (suites := _suites(there, problems)):
            raise ConfigError(*problems)
        return both(head, plan(suites, there, client))
    except ConfigError as e:
        why = f"the base cannot be asked, so every failure counts as new: {e.mistakes[0]}"
        return replace(head, notes=(*head.notes, Note(why)))


def both(head: Plan, base: Plan) -> Plan:
    """The plan of the head, each job followed by its counterpart, if the base defines the same: both sides are asked at the same time.

    A counterpart has the base's prompt and target, and is graded by the head's assertions, so that both answers are judged alike.
    """
    waiting: dict[bytes, deque[Job]] = {}
    for job in base.jobs:
        waiting.setdefault(identity(job), deque()).append(job)
    jobs: list[Job] = []
    for job in head.jobs:
        jobs.append(job)
        others = waiting.get(identity(job))
        if others and (other := others.popleft()).definition == job.definition:
            jobs.append(
                replace(other, assertions=job.assertions, repeats=job.repeats, of_base=True)
            )
    alone = Note(
        "the base has no case with the same definition, so every failure counts as new. If the target changed, give both the same `label`"
    )
    notes = head.notes if any(job.of_base for job in jobs) else (*head.notes, alone)
    gone = tuple(
        job.case.description or f"case {job.number + 1}"
        for left in waiting.values()
        for job in left
    )
    models, keys = (
        dict.fromkeys((*head.models, *base.models)),
        dict.fromkeys((*head.keys, *base.keys)),
    )
    return replace(
        head,
        jobs=tuple(jobs),
        notes=notes,
        base=Other(gone, base.commit),
        models=tuple(models),
        keys=tuple(keys),
    )
