"""What a plan is compared with: the base checkout with its gate, and a run of the base, recorded or made in the same run."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from gradegate.config.context import Context
from gradegate.config.load import SuiteFile, load_suites, secrets_in_configs
from gradegate.core.policy import Note, Policy
from gradegate.core.settings import LIVE
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.git import head_of
from gradegate.files.plain_files import UnusableError
from gradegate.gate.changes.comparison import blocks, compare
from gradegate.http.client import Client
from gradegate.planning.base_checkout import (
    NO_BASELINE,
    find_renames,
    read_configs_of_base,
    with_base,
)
from gradegate.planning.checks.rules import without_baseline
from gradegate.planning.command import with_command
from gradegate.planning.counterparts import entry_of_row, pair_with_base
from gradegate.planning.plan import Plan
from gradegate.planning.planner import build_client, make_plan
from gradegate.planning.secrets import collect_secrets
from gradegate.planning.snapshot import GateSnapshot, snapshot_plan
from gradegate.results.baseline import HISTORY, RESULTS, remarks
from gradegate.results.gate_changes import NO_CHANGES, ChangeKind, GateChange, GateChanges
from gradegate.results.history import History
from gradegate.results.results_file import read_baseline, read_history
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

    ``absent`` names the configs that its commit does not have: their gates are new. ``problems`` say what else could not be
    found, read or planned.
    """

    suites: tuple[GateSnapshot, ...] = ()
    policies: tuple[Policy, ...] = ()
    absent: tuple[Mistake, ...] = ()
    problems: tuple[Mistake, ...] = ()
    secrets: tuple[str, ...] = ()


class Comparison(FrozenStruct):
    """A plan with what it is compared with, and what the pull request does to its own gate."""

    plan: Plan
    changes: GateChanges = NO_CHANGES


def plan_of_base(context: Context) -> Base | None:
    """What the base checks, planned as the head is; None where there is no base checkout. Raises ConfigError."""
    if not context.settings.base_checkout:
        return None
    environment = context.environment
    if environment.vouched_only:
        what = f"`base-checkout` is not read at {environment.event_shown}"
        cure = "leave it out: nothing vouches for the files of a second checkout there (docs/github-events.md)"
        raise ConfigError.at(what, None, cure)
    reset_accounts()
    try:
        there = context.for_base()
    except ConfigError as e:
        return Base(problems=e.mistakes)
    found = read_configs_of_base(context, there)
    suites, problems = found.suites, found.problems
    policies = tuple(located.suite.policy for located in suites)
    secrets = tuple(
        {*collect_secrets(there, [it.suite for it in suites]).values, *secrets_in_configs(there)}
    )
    planned = []
    if suites:
        try:
            plan = make_plan(suites, there, build_client(suites, there))
            # The answers are read here, so that nothing of the plan stays in memory.
            planned = [
                replace(suite, answers=tuple(suite.answers))
                for suite in snapshot_plan(plan, suites)
            ]
        except ConfigError as e:
            problems += e.mistakes
    return Base(tuple(planned), policies, found.absent, problems, secrets)


def prepare_comparison(
    plan: Plan, suites: Sequence[SuiteFile], base: Base | None, context: Context, client: Client
) -> Comparison:
    """Find what a plan is compared with, and compare its gate with that of the base. Raises ConfigError."""
    _check_weakening(plan.policies, context)
    changes = NO_CHANGES if base is None else _changes_of(base, plan, suites, context)
    plan = with_command(plan, context, suites)
    notes = [*plan.notes]
    plan = replace(plan, on_default_branch=context.on_default_branch)
    plan = _with_baseline(plan, context, client, notes)
    for mistake in base.absent if base else ():
        what = "the base has no such gate, so this one is new and is compared with nothing"
        notes.append(Note(f"{what}: {mistake.what}"))
    notes += why_not_kept(context)
    return Comparison(replace(plan, notes=tuple(notes)), changes)


def _with_baseline(plan: Plan, context: Context, client: Client, notes: list[Note]) -> Plan:
    """The plan with the results and votes of earlier runs, or with the jobs of the base. Raises ConfigError."""
    settings = context.settings
    name = settings.baseline
    if not name:
        if any(rule.beside_base for rule in plan.rules):
            notes.append(NO_BASELINE)
        return plan
    if not settings.again:
        notes += without_baseline(plan.policies)
    if settings.unfound_baseline:
        notes.append(Note(settings.unfound_baseline))
    folder = folder_to_read(context)
    if folder and not any((folder / it).exists() for it in (RESULTS, HISTORY)):
        where = " of the base checkout" if is_in_base(settings, folder) else ""
        what = (
            f"there is nothing in the baseline `{name}`{where} yet, so every failure counts as new"
        )
        notes.append(Note(what))
        folder = None

    if folder is None:
        plan = replace(plan, history=History("")) if replaces_baseline(context) else plan
    else:
        file = f"{name}/{HISTORY}"
        history = History(file)
        try:
            history = History(file, read_history(folder / HISTORY))
        except (UnusableError, OSError) as e:
            what = f"the history `{file}` cannot be used, so no case is decided with it: {e}"
            notes.append(Note(what))
        plan = replace(plan, history=history)
    if name == LIVE:
        return with_base(plan, context, client, notes)
    if folder is None:
        return plan

    try:
        baseline = read_baseline(folder / RESULTS)
    except (UnusableError, OSError) as e:
        what = (
            f"the baseline `{name}/{RESULTS}` cannot be used, so every failure counts as new: {e}"
        )
        notes.append(Note(what))
        return plan
    commit = ""
    with suppress(ConfigError):  # said where the base is planned
        commit = head_of(context.base_root()) if settings.base_checkout else ""

    def renames() -> Mapping[str, str]:
        return find_renames(context) if commit else {}

    pairs = pair_with_base(plan.jobs, baseline.answers, entry_of_row, renames)
    if not any(pairs.answers.values()):
        what = "the baseline has no case of this run, so every failure counts as new"
        notes += (Note(what), *pairs.notes)
        return plan
    models = (model.name for model in plan.models)
    notes += (*pairs.notes, *map(Note, remarks(baseline, datetime.now(UTC), commit, models)))
    removed = () if settings.again else tuple(map(case_name, pairs.left))
    return replace(plan, baseline=replace(baseline, paired=pairs.answers, removed=removed))


def _changes_of(
    base: Base, plan: Plan, suites: Sequence[SuiteFile], context: Context
) -> GateChanges:
    """What the plan checks less or otherwise than the base; either side may say that this blocks, and so may the run."""
    head = snapshot_plan(plan, suites)
    here = {suite.file for suite in head}
    renames = find_renames(context) if any(it.file not in here for it in base.suites) else {}
    found = compare(base.suites, head, base.problems, renames)
    is_blocking = blocks((*base.policies, *plan.policies))
    return GateChanges(found, context.settings.weakening == "block" or is_blocking)


def _check_weakening(policies: Iterable[Policy], context: Context) -> None:
    """Raise ConfigError where a weaker gate is to block a pull request, and there is no base that could tell."""
    if context.environment.event != "pull_request" or context.settings.base_checkout:
        return
    for policy in policies:
        if policy.weakening == "block":
            what = "`weakening: block` needs <--base-checkout>, which is empty"
            origin = Origin(policy.rules[0].suite) if policy.rules else None
            raise ConfigError.at(what, origin, "give a checkout of the base: docs/github-base.md")


def unknown_changes(context: Context) -> GateChanges:
    """What is known of the gate where the plan cannot be made: not that it is as strict as the base's. Raises ConfigError.

    It blocks if either side says so, and if neither side can be read.
    """
    base = plan_of_base(context)
    if base is None:
        return NO_CHANGES
    what = "the gate cannot be compared with the gate of the base without the keys"
    try:
        policies = tuple(located.suite.policy for located in load_suites(context))
    except ConfigError:
        policies = ()
    is_unreadable = not policies and not base.policies and bool(base.problems)
    is_blocking = blocks((*policies, *base.policies)) or is_unreadable
    block = context.settings.weakening == "block" or is_blocking
    return GateChanges((GateChange(ChangeKind.WEAKER, what),), block)
