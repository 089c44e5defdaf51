"""What a plan is compared with: the base checkout with its gate, and a run of the base, recorded or made in the same run."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from gradegate.config.load import Located, load, written_in
from gradegate.core.policy import Note, Policy
from gradegate.core.settings import LIVE, Settings
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.git import head_of
from gradegate.files.plain_files import UnusableError
from gradegate.gate.changes.comparison import blocks, compare
from gradegate.http.client import Client
from gradegate.planning.base_checkout import (
    NO_BASELINE,
    find_renames,
    read_configs_of_base,
    root_of,
    settings_of_base,
    with_base,
)
from gradegate.planning.checks.rules import without_baseline
from gradegate.planning.counterparts import entry_of_row, pair
from gradegate.planning.plan import Plan
from gradegate.planning.planner import build_client, plan
from gradegate.planning.secrets import secrets_of
from gradegate.planning.snapshot import GateSnapshot, snapshots
from gradegate.results.baseline import HISTORY, RESULTS, remarks
from gradegate.results.gate_changes import NO_CHANGES, ChangeKind, GateChange, GateChanges
from gradegate.results.history import History
from gradegate.results.results_file import read_baseline, read_history
from gradegate.results.rows import case_name
from gradegate.runner.baseline_folder import folder_to_read, is_in_base, replaces_baseline
from gradegate.sandbox.evaluate import begin
from gradegate.structs import FrozenStruct, replace


class Base(FrozenStruct):
    """What the base checks.

    ``absent`` names the configs that its commit does not have: their gates are new. ``problems`` say what else could not be
    found, read or planned.
    """

    suites: tuple[GateSnapshot, ...] = ()
    policies: tuple[Policy, ...] = ()
    absent: tuple[Mistake, ...] = ()
    problems: tuple[Mistake, ...] = ()
    secrets: tuple[str, ...] = ()


def plan_base(settings: Settings) -> Base:
    """The base in the folder that the settings name, planned with the same settings."""
    if not (settings.cwd / settings.base_checkout).is_dir():
        what = f"the base checkout `{settings.base_checkout}` is not a folder"
        return Base(problems=(Mistake(what, None, "check out the base commit there"),))
    try:
        there = settings_of_base(settings)
    except ConfigError as e:
        return Base(problems=e.mistakes)
    found = read_configs_of_base(settings, there)
    suites, problems = found.suites, found.problems
    policies = tuple(located.suite.policy for located in suites)
    secrets = tuple({*secrets_of(there, [it.suite for it in suites]).values, *written_in(there)})
    planned = []
    if suites:
        try:
            made = plan(suites, there, build_client(there, suites))
            # The answers are read here, so that nothing of the plan stays in memory.
            planned = [
                replace(suite, answers=tuple(suite.answers)) for suite in snapshots(made, suites)
            ]
        except ConfigError as e:
            problems += e.mistakes
    return Base(tuple(planned), policies, found.absent, problems, secrets)


def read_base(settings: Settings) -> Base | None:
    """The plan of the base checkout; None where there is none. Raises ConfigError."""
    if not settings.base_checkout:
        return None
    if settings.environment.vouched_only:
        what = f"`base-checkout` is not read at {settings.environment.event_shown}"
        cure = "leave it out: nothing vouches for the files of a second checkout there (docs/github-events.md)"
        raise ConfigError.at(what, None, cure)
    begin()
    return plan_base(settings)


def with_baseline(planned: Plan, settings: Settings, client: Client) -> Plan:
    """The plan with what it is compared with: the results and votes of earlier runs, or the jobs of the base. Raises ConfigError."""
    planned = replace(planned, on_default_branch=settings.on_default_branch)
    if not settings.baseline:
        beside = any(rule.beside_base for rule in planned.rules)
        return replace(planned, notes=(*planned.notes, NO_BASELINE)) if beside else planned
    missing = () if settings.again else without_baseline(planned.policies)
    planned = replace(planned, notes=(*planned.notes, *missing))
    if settings.unfound_baseline:
        planned = replace(planned, notes=(*planned.notes, Note(settings.unfound_baseline)))
    folder = folder_to_read(settings)
    if folder and not any((folder / name).exists() for name in (RESULTS, HISTORY)):
        where = " of the base checkout" if is_in_base(settings, folder) else ""
        what = f"there is nothing in the baseline `{settings.baseline}`{where} yet, so every failure counts as new"
        planned = replace(planned, notes=(*planned.notes, Note(what)))
        folder = None
    planned = _with_history(planned, settings, folder)
    if settings.baseline == LIVE:
        return with_base(planned, settings, client)
    if folder is None:
        return planned
    try:
        baseline = read_baseline(folder / RESULTS)
    except (UnusableError, OSError) as e:
        what = f"the baseline `{settings.baseline}/{RESULTS}` cannot be used, so every failure counts as new: {e}"
        return replace(planned, notes=(*planned.notes, Note(what)))
    try:
        commit = head_of(root_of(settings)) if settings.base_checkout else ""
    except ConfigError:  # said where the base is planned
        commit = ""
    renames = partial(find_renames, settings if commit else replace(settings, base_checkout=""))
    paired, left, notes = pair(planned.jobs, baseline.answers, entry_of_row, renames)
    if not any(paired.values()):
        what = "the baseline has no case of this run, so every failure counts as new"
        return replace(planned, notes=(*planned.notes, Note(what), *notes))
    models = (model.name for model in planned.models)
    notes += map(Note, remarks(baseline, datetime.now(UTC), commit, models))
    names = map(case_name, left)
    baseline = replace(baseline, paired=paired, removed=() if settings.again else tuple(names))
    return replace(planned, baseline=baseline, notes=(*planned.notes, *notes))


def _with_history(planned: Plan, settings: Settings, folder: Path | None) -> Plan:
    """The plan with the votes of earlier runs of its cases."""
    if folder is None:
        kept = replaces_baseline(settings)
        return replace(planned, history=History("")) if kept else planned
    name = f"{settings.baseline}/{HISTORY}"
    try:
        return replace(planned, history=History(name, read_history(folder / HISTORY)))
    except (UnusableError, OSError) as e:
        what = f"the history `{name}` cannot be used, so no case is decided with it: {e}"
        return replace(planned, history=History(name), notes=(*planned.notes, Note(what)))


def changes_of(
    base: Base, planned: Plan, suites: Sequence[Located], settings: Settings
) -> GateChanges:
    """What the plan checks less or otherwise than the base; either side may say that this blocks, and so may the run."""
    head = snapshots(planned, suites)
    here = {suite.file for suite in head}
    renames = find_renames(settings) if any(it.file not in here for it in base.suites) else {}
    found = compare(base.suites, head, base.problems, renames)
    return GateChanges(
        found, settings.weakening == "block" or blocks((*base.policies, *planned.policies))
    )


def check_weakening(settings: Settings, policies: Iterable[Policy]) -> None:
    """Raise ConfigError where a weaker gate is to block a pull request, and there is no base that could tell."""
    if settings.environment.event != "pull_request" or settings.base_checkout:
        return
    for policy in policies:
        if policy.weakening == "block":
            what = "`weakening: block` needs <--base-checkout>, which is empty"
            origin = Origin(policy.rules[0].suite) if policy.rules else None
            raise ConfigError.at(what, origin, "give a checkout of the base: docs/github-base.md")


def unknown_changes(settings: Settings) -> GateChanges:
    """What is known of the gate where the plan cannot be made: not that it is as strict as the base's. Raises ConfigError.

    It blocks if either side says so, and if neither side can be read.
    """
    base = read_base(settings)
    if base is None:
        return NO_CHANGES
    what = "the gate cannot be compared with the gate of the base without the keys"
    try:
        policies = tuple(located.suite.policy for located in load(settings))
    except ConfigError:
        policies = ()
    is_unreadable = not policies and not base.policies and bool(base.problems)
    block = settings.weakening == "block" or blocks((*policies, *base.policies)) or is_unreadable
    return GateChanges((GateChange(ChangeKind.WEAKER, what),), block)


def notes_of_base(base: Base) -> Iterator[Note]:
    """What reports say of configs that the base does not have."""
    for mistake in base.absent:
        yield Note(
            f"the base has no such gate, so this one is new and is compared with nothing: {mistake.what}"
        )
