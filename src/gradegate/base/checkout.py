"""Plans the base of a pull request: what a run without the pull request would check. No model is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gradegate.base.snapshot import GateSnapshot, snapshots
from gradegate.errors import ConfigError, Mistake
from gradegate.files.checkout import head_of, repository_of
from gradegate.planning.load import Located, config_paths, read, written_in
from gradegate.planning.plan import build_client, plan
from gradegate.planning.secrets import secrets_of
from gradegate.values.settings import Settings
from gradegate.values.suite import Policy

_LINKED = "the base `{}` is a symbolic link, which the pull request could have created"


@dataclass(frozen=True, slots=True)
class Base:
    """What the base checks. ``problems`` say what of it could not be found, read or planned."""

    suites: tuple[GateSnapshot, ...] = ()
    policies: tuple[Policy, ...] = ()
    problems: tuple[Mistake, ...] = ()
    secrets: tuple[str, ...] = ()


def plan_base(settings: Settings) -> Base:
    """The base in the folder that the settings name, planned with the same settings. Its mistakes are ``problems``.

    Raises ConfigError where the folder is not there: a slip of the workflow, which no pull request made.
    """
    if not (settings.cwd / settings.base).is_dir():
        raise ConfigError.at(f"the base `{settings.base}` is not a folder", None, "correct the path, and check out the base commit there")
    try:
        there = _settings(settings)
    except ConfigError as e:
        return Base(problems=e.mistakes)
    problems: list[Mistake] = []
    suites = list(_suites(there, problems))
    policies = tuple(located.suite.policy for located in suites)
    secrets = tuple({*secrets_of(there, suites).values, *written_in(there)})
    planned: list[GateSnapshot] = []
    if suites:
        try:
            made = plan(suites, there, build_client(there, suites))
            # The answers are read here, so that nothing of the plan stays in memory.
            planned = [replace(suite, answers=tuple(suite.answers)) for suite in snapshots(made, suites)]
        except ConfigError as e:
            problems += e.mistakes
    return Base(tuple(planned), policies, tuple(problems), secrets)


def suites_of(settings: Settings) -> tuple[Settings, list[Located]]:
    """The suites of the base that can be read, with the settings to plan them by. Raises ConfigError if there are none."""
    there = replace(_settings(settings), commit=head_of(root_of(settings)))
    problems: list[Mistake] = []
    suites = list(_suites(there, problems))
    if not suites:
        raise ConfigError(*problems)
    return there, suites


def _settings(settings: Settings) -> Settings:
    """The same settings in the other checkout. Raises ConfigError where that is none to compare with."""
    top, root = top_of(settings), root_of(settings)
    cwd = root / settings.cwd.resolve().relative_to(top.resolve())
    inside = {written for written in settings.configs if Path(written).is_absolute() and Path(written).is_relative_to(top)}
    configs = tuple(str(root / Path(it).relative_to(top)) if it in inside else it for it in settings.configs)
    environ = {**settings.environ, "GITHUB_WORKSPACE": str(root)}
    return replace(settings, base="", configs=configs, cwd=cwd, environ=environ)


def root_of(settings: Settings) -> Path:
    """The folder of the other checkout. Raises ConfigError where that is none to compare with."""
    top, folder = top_of(settings), settings.cwd / settings.base
    steps = [folder, *folder.parents]
    inside = [step for step in steps if step.absolute().is_relative_to(top) and step.absolute() != top]
    if any(step.is_symlink() for step in inside or steps[:1]):
        raise ConfigError.at(_LINKED.format(settings.base), None, "check out the base into a separate folder")
    root = folder.resolve()
    if settings.cwd.resolve().is_relative_to(root):
        what = f"the base `{settings.base}` is the checkout under test"
        raise ConfigError.at(what, None, "check out the base into a separate folder")
    own = repository_of(settings.cwd.resolve())
    judged = {settings.environment.commit, settings.commit, head_of(own) if own else ""} - {""}
    # The pull request once more, as it is without a `ref`: that differs in nothing, whatever was changed.
    if settings.environment.event.startswith("pull_request") and head_of(root) in judged:
        what = f"the base `{settings.base}` is at the commit of the pull request"
        raise ConfigError.at(what, None, "give its checkout `ref: ${{ github.event.pull_request.base.sha }}`")
    return root


def top_of(settings: Settings) -> Path:
    """The folder that corresponds to the base: the workspace of the job, else the repository, else where we are."""
    cwd = settings.cwd.absolute()
    workspace = settings.environment.workspace
    if workspace and cwd.resolve().is_relative_to(Path(workspace).resolve()):
        return Path(workspace).absolute()
    return next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), cwd)


def _suites(there: Settings, problems: list[Mistake]) -> Iterator[Located]:
    """Every config by itself, so that one which the base does not have leaves the others to be compared."""
    root = Path(there.environment.workspace)
    seen: set[Path] = set()
    for written in there.configs or (None,):
        try:
            named = config_paths(replace(there, configs=(written,) if written else ()))
        except ConfigError as e:
            problems += e.mistakes
            continue
        for path in (path for path in named if path not in seen):
            seen.add(path)
            try:
                if not path.resolve().is_relative_to(root):
                    raise ConfigError.at(f"`{path.name}` leads out of the base", None, "keep the config inside it")
                yield read(path, there)
            except ConfigError as e:
                problems += e.mistakes
