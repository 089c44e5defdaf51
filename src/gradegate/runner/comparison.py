"""Compares a plan: its gate with the gate of the base checkout, its answers with earlier results or with the base in the same run."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from gradegate.config.context import Context
from gradegate.config.load import SuiteFile, load_suites, secrets_in_configs
from gradegate.core.policy import Note, Policy
from gradegate.core.settings import LIVE
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.git import head_of
from gradegate.files.plain_files import UnusableError
from gradegate.gate.changes.comparison import blocks_weakening, compare_gates
from gradegate.http.client import Client
from gradegate.planning.base_checkout import (
    NO_BASELINE,
    find_renames,
    read_configs_of_base,
    with_base,
)
from gradegate.planning.checks.rules import notes_without_baseline
from gradegate.planning.command import with_command
from gradegate.planning.counterparts import entry_of_row, pair_with_base
from gradegate.planning.plan import Plan
from gradegate.planning.planner import build_client, make_plan
from gradegate.planning.secrets import collect_secrets
from gradegate.planning.snapshot import GateSnapshot, snapshot_plan
from gradegate.results.baseline import HISTORY, RESULTS, baseline_remarks
from gradegate.results.gate_changes import NO_CHANGES, ChangeKind, GateChange, GateChanges
from gradegate.results.history import History
from gradegate.results.results_file import load_baseline, load_history
from gradegate.results.rows import case_name
from gradegate.runner.baseline_folder import (
    folder_to_read,
    is_in_base,
    replaces_baseline,
    why_not_kept,
)
from gradegate.sandbox.evaluate import reset_accounts
from gradegate.structs import FrozenStruct, replace


class Base(FrozenStruct):
    """What the base checks.

    ``absent`` names configs that its commit does not have: their gates are new. ``problems`` say what else could not be
    found, read or planned.
    """

    suites: tuple[GateSnapshot, ...] = ()
    policies: tuple[Policy, ...] = ()
    absent: tuple[Mistake, ...] = ()
    problems: tuple[Mistake, ...] = ()
    secrets: tuple[str, ...] = ()


def plan_of_base(context: Context) -> Base | None:
    """Plan the base as the head is planned. None if there is no base checkout. Raises ConfigError."""
    if not context.settings.base_checkout:
        return None
    environment = context.environment
    if environment.vouched_only:
        what = f"`base-checkout` is not read at {environment.event_shown}"
        cure = "leave it out: nothing vouches for the files of a second checkout there (docs/github.md)"
        raise ConfigError.at(what, None, cure)
    reset_accounts()
    try:
        base_context = context.for_base()
    except ConfigError as e:
        return Base(problems=e.mistakes)

    configs = read_configs_of_base(context, base_context)
    suites = [file.suite for file in configs.suites]
    secrets = {
        *collect_secrets(base_context, suites).values,
        *secrets_in_configs(base_context),
    }
    problems = configs.problems
    snapshots: tuple[GateSnapshot, ...] = ()
    try:
        snapshots = _snapshot_base(configs.suites, base_context)
    except ConfigError as e:
        problems += e.mistakes
    policies = tuple(suite.policy for suite in suites)
    return Base(snapshots, policies, configs.absent, problems, tuple(secrets))


def _snapshot_base(suites: Sequence[SuiteFile], base_context: Context) -> tuple[GateSnapshot, ...]:
    """The gates of the base, with their answers. Raises ConfigError if the base cannot be planned."""
    if not suites:
        return ()
    plan = make_plan(suites, base_context, build_client(suites, base_context))
    snapshots = []
    for snapshot in snapshot_plan(plan, suites):
        # The answers are read now, so that nothing of the plan stays in memory.
        answers = tuple(snapshot.answers)
        snapshots.append(replace(snapshot, answers=answers))
    return tuple(snapshots)


def prepare_comparison(
    plan: Plan, suites: Sequence[SuiteFile], base: Base | None, context: Context, client: Client
) -> tuple[Plan, GateChanges]:
    """Add to the plan what it is compared with. Gives it with the changes of its gate. Raises ConfigError."""
    _require_base_for_weakening(plan.policies, context)
    changes = NO_CHANGES
    if base is not None:
        changes = _find_changes(base, plan, suites, context)

    plan = with_command(plan, context, suites)
    plan = replace(plan, on_default_branch=context.on_default_branch)
    notes = [*plan.notes]
    plan = _with_baseline(plan, context, client, notes)
    if base is not None:
        for mistake in base.absent:
            what = "the base has no such gate, so this one is new and is compared with nothing"
            notes.append(Note(f"{what}: {mistake.what}"))
    notes += why_not_kept(context)
    return replace(plan, notes=tuple(notes)), changes


def _with_baseline(plan: Plan, context: Context, client: Client, notes: list[Note]) -> Plan:
    """The plan with the results and votes of earlier runs, or with the jobs of the base. Adds to ``notes``.

    Raises ConfigError.
    """
    settings = context.settings
    name = settings.baseline
    if not name:
        if any(rule.has_base_limit for rule in plan.rules):
            notes.append(NO_BASELINE)
        return plan
    if not settings.rerun:
        notes += notes_without_baseline(plan.policies)
    if settings.why_no_baseline:
        notes.append(Note(settings.why_no_baseline))
    folder = _find_filled_folder(context, notes)

    if folder:
        plan = replace(plan, history=_load_history(folder, f"{name}/{HISTORY}", notes))
    elif replaces_baseline(context):
        plan = replace(plan, history=History(""))

    if name == LIVE:
        return with_base(plan, context, client, notes)
    if folder:
        return _with_results(plan, folder, context, notes)
    return plan


def _find_filled_folder(context: Context, notes: list[Note]) -> Path | None:
    """The folder of the baseline, if it has files of an earlier run. A note says if it has none. Raises ConfigError."""
    settings = context.settings
    folder = folder_to_read(context)
    if folder is None or (folder / RESULTS).exists() or (folder / HISTORY).exists():
        return folder
    where = f"the baseline `{settings.baseline}`"
    if is_in_base(settings, folder):
        where += " of the base checkout"
    notes.append(Note(f"there is nothing in {where} yet, so every failure counts as new"))
    return None


def _load_history(folder: Path, name: str, notes: list[Note]) -> History:
    """The earlier votes of a baseline. If they cannot be used, none, and a note says why."""
    try:
        return History(name, load_history(folder / HISTORY))
    except (UnusableError, OSError) as e:
        what = f"the history `{name}` cannot be used, so no case is decided with it: {e}"
        notes.append(Note(what))
        return History(name)


def _with_results(plan: Plan, folder: Path, context: Context, notes: list[Note]) -> Plan:
    """The plan with the results of the baseline, paired with its answers. Adds to ``notes``."""
    settings = context.settings
    try:
        baseline = load_baseline(folder / RESULTS)
    except (UnusableError, OSError) as e:
        name = f"{settings.baseline}/{RESULTS}"
        what = f"the baseline `{name}` cannot be used, so every failure counts as new: {e}"
        notes.append(Note(what))
        return plan

    base_commit = ""
    if settings.base_checkout:
        with suppress(ConfigError):  # the plan of the base has reported it
            base_commit = head_of(context.base_root())

    def find_renames_of_base() -> Mapping[str, str]:
        if base_commit:
            return find_renames(context)
        return {}

    pairs = pair_with_base(plan.jobs, baseline.answers, entry_of_row, find_renames_of_base)
    if not any(pairs.answers.values()):
        what = "the baseline has no case of this run, so every failure counts as new"
        notes.append(Note(what))
        notes += pairs.notes
        return plan

    notes += pairs.notes
    models = [model.name for model in plan.models]
    for remark in baseline_remarks(baseline, datetime.now(UTC), base_commit, models):
        notes.append(Note(remark))
    removed: tuple[str, ...] = ()
    if not settings.rerun:
        removed = tuple(map(case_name, pairs.left))
    return replace(plan, baseline=replace(baseline, paired=pairs.answers, removed=removed))


def _find_changes(
    base: Base, plan: Plan, suites: Sequence[SuiteFile], context: Context
) -> GateChanges:
    """What the plan checks less or otherwise than the base. The run and both sides may say that this blocks."""
    head = snapshot_plan(plan, suites)
    head_files = {suite.file for suite in head}
    renames: Mapping[str, str] = {}
    if any(suite.file not in head_files for suite in base.suites):
        renames = find_renames(context)
    changes = compare_gates(base.suites, head, base.problems, renames)

    is_blocking = context.settings.weakening == "block" or blocks_weakening(
        (*base.policies, *plan.policies)
    )
    return GateChanges(changes, is_blocking)


def _require_base_for_weakening(policies: Iterable[Policy], context: Context) -> None:
    """Raise ConfigError if a weaker gate should block a pull request and there is no base to compare with."""
    if context.environment.event != "pull_request" or context.settings.base_checkout:
        return
    for policy in policies:
        if policy.weakening == "block":
            what = "`weakening: block` needs <--base-checkout>, which is empty"
            origin = Origin(policy.rules[0].suite) if policy.rules else None
            raise ConfigError.at(
                what, origin, "give a checkout of the base: docs/weakened-gates.md"
            )


def unknown_changes(context: Context) -> GateChanges:
    """The changes of a gate that cannot be planned: it counts as weaker. Raises ConfigError.

    This blocks if the run or either side says so, and if neither side can be read.
    """
    base = plan_of_base(context)
    if base is None:
        return NO_CHANGES
    try:
        policies = tuple(file.suite.policy for file in load_suites(context))
    except ConfigError:
        policies = ()
    is_unreadable = not policies and not base.policies and bool(base.problems)
    is_blocking = (
        context.settings.weakening == "block"
        or is_unreadable
        or blocks_weakening((*policies, *base.policies))
    )
    what = "the gate cannot be compared with the gate of the base without the keys"
    return GateChanges((GateChange(ChangeKind.WEAKER, what),), is_blocking)
