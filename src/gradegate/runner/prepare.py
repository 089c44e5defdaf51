"""Prepares a run: makes the plan, its comparison with the base, and what hides its secrets. Makes no call."""

from collections.abc import Callable, Sequence
from pathlib import Path

from gradegate.config.context import Context, is_vendors_key
from gradegate.config.load import SuiteFile, load_suites, secrets_in_configs, variables_in_configs
from gradegate.errors import ConfigError, Mistake
from gradegate.http.client import Client
from gradegate.planning.plan import Plan
from gradegate.planning.planner import build_client
from gradegate.planning.recorded_answers import plan_with_answers
from gradegate.planning.secrets import Secrets, collect_secrets
from gradegate.providers.cache.access import check_secret
from gradegate.registry import near_miss
from gradegate.reports.delivery.redact import redact_mistakes, redact_values, with_option_names
from gradegate.reports.view.run_summary import power_lines
from gradegate.results.baseline import HISTORY, RESULTS
from gradegate.results.gate_changes import NO_CHANGES, GateChanges
from gradegate.runner.baseline_folder import folder_to_read
from gradegate.runner.calibration.drift import label_mistakes, with_labels
from gradegate.runner.comparison import plan_of_base, prepare_comparison
from gradegate.runner.power import with_powers
from gradegate.runner.shards.part_file import find_default_grader_key
from gradegate.sandbox import repository_code as programs
from gradegate.sandbox.evaluate import reset_accounts
from gradegate.security.environment import STAND_IN
from gradegate.security.redaction import Redact, redactor
from gradegate.security.secrets import sounds_secret
from gradegate.structs import FrozenStruct, NamedTexts, replace

CaseSelection = Callable[[list[SuiteFile]], list[SuiteFile]]  # gives the suites with other cases


class Inputs(FrozenStruct):
    """The files that a plan was made of."""

    read: frozenset[Path]
    named: frozenset[Path]  # the absolute paths by which they were named
    searched: frozenset[Path]  # the folders that patterns looked into


class Preparation(FrozenStruct):
    """A plan, ready to run: with its client, its secrets, and its differences from the base."""

    plan: Plan
    client: Client
    secrets: Secrets
    hide: Redact  # hides secrets in values, before a report is made of them
    seal: Redact  # hides secrets in finished documents
    inputs: Inputs
    changes: GateChanges = NO_CHANGES

    def power_lines(self) -> list[str]:
        """What the rules of the plan cannot see, a line for each rule."""
        return power_lines(self.plan.policies, self.plan.powers, self.hide)

    @property
    def shown_plan(self) -> Plan:
        """The plan with notes, keys and models as people may see them."""
        plan = self.plan
        shown = redact_values((plan.notes, plan.keys, plan.models), self.hide)
        return replace(plan, notes=shown[0], keys=shown[1], models=shown[2])


def prepare(context: Context, select: CaseSelection | None = None) -> Preparation:
    """Make everything that a run needs before its first call. Raises ConfigError with every mistake.

    With ``select``, other cases are planned than the rules of the gates are about.
    """
    settings = context.settings
    check_secret(context.environment)
    if settings.shard and settings.merge:
        cure = "run the shard in one job, and merge in another"
        raise ConfigError.at("both `shard` and `merge` are given", None, cure)
    if settings.merge:  # needs keys only to re-ask failures
        key = find_default_grader_key(settings.cwd / settings.merge)
        settings = replace(settings, default_grader_key=key)
        context = replace(context, settings=settings, keyless=True)
    programs.start_code(context.exec_policy)

    # The base is planned first, so that only one plan at a time is in memory.
    base = plan_of_base(context)
    reset_accounts()
    suites = []
    try:
        suites += load_suites(context)
        chosen = select(suites) if select else suites
        client = build_client(chosen, context)
        try:
            plan, answer_files = plan_with_answers(chosen, context, client)
        except ConfigError as e:
            if select:
                raise
            raise ConfigError(*e.mistakes, *label_mistakes(chosen)) from e
        plan, changes = prepare_comparison(plan, chosen, base, context, client)
        if select is None:
            plan = with_powers(with_labels(plan, chosen, base, context, client))
    except ConfigError as e:
        reset_accounts()
        raise _without_secrets(e, suites, context) from None

    suite_configs = [file.suite for file in chosen]
    secrets = collect_secrets(context, suite_configs, (use.name for use in plan.keys))
    values = {*secrets.values}
    if plan.missing_keys:
        values.add(STAND_IN)
    if base:
        values.update(base.secrets)
    hide = redactor(values)
    return Preparation(
        plan=replace(plan, notes=with_option_names(plan.notes, settings.inputs)),
        client=client,
        secrets=secrets,
        hide=hide,
        seal=redactor(secrets.environment.values(), short=False),
        inputs=_collect_inputs(chosen, answer_files, context),
        changes=with_option_names(redact_values(changes, hide), settings.inputs),
    )


def _without_secrets(
    error: ConfigError, suites: Sequence[SuiteFile], context: Context
) -> ConfigError:
    """The mistakes without secrets, with variables that were set in place of missing ones."""
    secrets = collect_secrets(
        context, [file.suite for file in suites], variables_in_configs(context)
    )
    mistakes = (_with_near_variable(mistake, context.environ) for mistake in error.mistakes)
    hide = redactor({STAND_IN, *secrets.values, *secrets_in_configs(context)})
    return redact_mistakes(ConfigError(*mistakes), hide)


def _collect_inputs(
    suites: Sequence[SuiteFile], answer_files: frozenset[Path], context: Context
) -> Inputs:
    """The files of the suites, recorded answers, and what was kept of earlier runs."""
    read = {*answer_files}
    named = set()
    searched = set()
    for file in suites:
        read |= file.workspace.opened
        named |= file.workspace.named
        searched |= file.workspace.folders
    settings = context.settings
    folder = folder_to_read(context) if settings.baseline else None
    if folder:
        read |= {folder / RESULTS, folder / HISTORY}
    if settings.rerun:
        read.add(settings.rerun.file)
    return Inputs(frozenset(read), frozenset(read | named), frozenset(searched))


def _with_near_variable(mistake: Mistake, variables: NamedTexts) -> Mistake:
    """Name the variable that was set in place of the missing one, if the names are nearly the same."""
    secret_names = [name for name in variables if sounds_secret(name) and not is_vendors_key(name)]
    name = near_miss(mistake.missing, secret_names) if mistake.missing else ""
    if not name or name == mistake.missing:
        return mistake
    return replace(mistake, cure=f"rename {name}, which is set; or {mistake.cure}")
