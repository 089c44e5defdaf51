"""What a plan is compared with: the base checkout with its gate, and a run of the base, recorded or made in the same run."""

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from gradegate.config.load import Located, written_in
from gradegate.core.policy import Note, Policy
from gradegate.core.settings import AUTO, Settings
from gradegate.errors import ConfigError, Mistake
from gradegate.files.git import head_of, repository_of
from gradegate.files.plain_files import UnusableError
from gradegate.gate.changes.comparison import blocks, compare
from gradegate.http.client import Client
from gradegate.planning.base_checkout import (
    NONE,
    root_of,
    settings_of_base,
    suites_of_base,
    top_of,
    with_base,
)
from gradegate.planning.identity import identity
from gradegate.planning.plan import Plan
from gradegate.planning.planner import build_client, plan
from gradegate.planning.secrets import secrets_of
from gradegate.planning.snapshot import GateSnapshot, snapshots
from gradegate.results.baseline import Baseline, remarks
from gradegate.results.gate_changes import NO_CHANGES, ChangeKind, GateChange, GateChanges
from gradegate.results.history import History, Records
from gradegate.sandbox.evaluate import begin
from gradegate.structs import Struct, replace


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
        there = settings_of_base(settings)
    except ConfigError as e:
        return Base(problems=e.mistakes)
    suites = suites_of_base(there, problems)
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


def read_base(settings: Settings) -> Base | None:
    """The plan of the base checkout; None where there is none. Raises ConfigError."""
    if not settings.base:
        return None
    if settings.environment.vouched_only:
        what = f"`base` is not read at {settings.environment.event_shown}"
        cure = "leave it out: nothing vouches for the files of a second checkout there (docs/github-events.md)"
        raise ConfigError.at(what, None, cure)
    begin()
    return plan_base(settings)


def with_baseline(planned: Plan, settings: Settings, client: Client, base: Base | None) -> Plan:
    """The plan with what its answers are compared with: a recorded run of the base, or its jobs. Raises ConfigError."""
    if settings.unfetched:
        planned = replace(planned, notes=(*planned.notes, Note(settings.unfetched)))
    policies = (*planned.policies, *(base.policies if base else ()))
    if settings.compare == "base" or any(policy.compare == "base" for policy in policies):
        if settings.answers:
            what = "`compare: base` asks targets for the answers of the base, but with `answers` no target is asked"
            raise ConfigError.at(
                what, None, "compare with `baseline`, the results.json of the base"
            )
        return with_base(planned, settings, client)
    found = stored(settings, planned.policies)
    if not isinstance(found, Baseline):
        return replace(planned, notes=(*planned.notes, *found))
    keys = {answer.key for answer in found.answers}
    if not any(
        identity(job, repeat) in keys for job in planned.jobs for repeat in range(job.repeats)
    ):
        what = "the baseline has no case of this run, so every failure counts as new"
        foreign = Note(f"{what}. If the target changed, give it the `label` that it had")
        return replace(planned, notes=(*planned.notes, foreign))
    try:
        commit = head_of(root_of(settings)) if settings.base else ""
    except ConfigError:  # said where the base is planned
        commit = ""
    notes = map(
        Note, remarks(found, datetime.now(UTC), commit, (model.name for model in planned.models))
    )
    return replace(planned, baseline=found, notes=(*planned.notes, *notes))


def with_history(planned: Plan, settings: Settings) -> Plan:
    """The plan with the earlier runs of its cases. Raises ConfigError where the pull request could have written them."""
    if not (settings.history or settings.history_out or "history" in settings.auto):
        return planned
    from gradegate.results.results_file import (
        read_history,
    )  # its shapes take as long to define as a small plan to make

    records: Records = {}
    notes: list[Note] = []
    try:
        records = (
            read_history(place_of(settings, settings.history, "history"))
            if settings.history
            else {}
        )
    except (UnusableError, OSError, RuntimeError) as e:  # links that lead in a circle have no place
        notes.append(
            Note(
                f"the history `{settings.history}` cannot be used, so no case is decided with it: {e}"
            )
        )
    if settings.history_out and not settings.environment.is_trusted:
        event = settings.environment.event_shown
        notes.append(
            Note(
                f"`history-out` is not written at {event}: votes of a pull request never enter a history"
            )
        )
    return replace(
        planned, history=History(settings.history, records), notes=(*planned.notes, *notes)
    )


def changes_of(
    base: Base, planned: Plan, suites: Sequence[Located], settings: Settings
) -> GateChanges:
    """What the plan checks less or otherwise than the base; either side may say that this blocks, and so may the run."""
    found = compare(base.suites, snapshots(planned, suites), base.problems)
    return GateChanges(
        found, settings.weakening == "block" or blocks((*base.policies, *planned.policies))
    )


def unknown_changes(settings: Settings) -> GateChanges:
    """What is known of the gate where the plan cannot be made: not that it is as strict as the base's. Raises ConfigError."""
    base = read_base(settings)
    if base is None:
        return NO_CHANGES
    found = GateChange(
        ChangeKind.WEAKER, "the gate cannot be compared with the gate of the base without the keys"
    )
    return GateChanges((found,), settings.weakening == "block" or blocks(base.policies))
