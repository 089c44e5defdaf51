"""Everything before the first call: the plan, what it is compared with, and what hides its secrets. No call is made."""

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
from gradegate.registry import near
from gradegate.reports.delivery.redact import at_door, conceal, concealed_mistakes
from gradegate.reports.view.run_summary import unseen
from gradegate.results.baseline import HISTORY, RESULTS
from gradegate.results.gate_changes import NO_CHANGES, GateChanges
from gradegate.runner.baseline_folder import folder_to_read
from gradegate.runner.calibration.drift import label_mistakes, with_labels
from gradegate.runner.comparison import plan_of_base, prepare_comparison
from gradegate.runner.power import with_powers
from gradegate.runner.shards.part_file import default_grader_key_in
from gradegate.sandbox import repository_code as programs
from gradegate.sandbox.evaluate import reset_accounts
from gradegate.security.environment import STAND_IN
from gradegate.security.redaction import Hide, redactor
from gradegate.security.secrets import sounds_secret
from gradegate.structs import FrozenStruct, NamedTexts, replace

CaseSelection = Callable[[list[SuiteFile]], list[SuiteFile]]  # other cases of the suites


class Inputs(FrozenStruct):
    """The files that a plan was made of."""

    read: frozenset[Path]
    named: frozenset[Path]  # the absolute paths by which they were named
    searched: frozenset[Path]  # the folders that patterns looked into


class Prepared(FrozenStruct):
    """A plan with the client that its providers ask through, what hides its secrets, and how it differs from the base's."""

    plan: Plan
    client: Client
    secrets: Secrets
    hide: Hide  # in values, before a report is made of them
    seal: Hide  # in finished documents
    inputs: Inputs
    changes: GateChanges = NO_CHANGES

    def unseen(self) -> list[str]:
        """What its rules cannot see, a line each."""
        return unseen(self.plan.policies, self.plan.powers, self.hide)

    @property
    def shown_plan(self) -> Plan:
        """The plan with notes, keys and models as people may see them."""
        notes, keys = conceal(self.plan.notes, self.hide), conceal(self.plan.keys, self.hide)
        return replace(
            self.plan, notes=notes, keys=keys, models=conceal(self.plan.models, self.hide)
        )


def prepare(context: Context, select: CaseSelection | None = None) -> Prepared:
    """Settings to suites, suites to a plan. Raises ConfigError with every mistake.

    With ``select``, other cases of the suites are planned than those that the rules of their gates are about.
    """
    settings = context.settings
    check_secret(context.environment)
    if settings.shard and settings.merge:
        cure = "run the shard in one job, and merge in another"
        raise ConfigError.at("both `shard` and `merge` are given", None, cure)
    if settings.merge:  # needs keys only to re-ask failures
        key = default_grader_key_in(settings.cwd / settings.merge)
        settings = replace(settings, default_grader_key=key)
        context = replace(context, settings=settings, keyless=True)
    programs.start_code(context.exec_policy)
    base = plan_of_base(context)  # first, so that one plan at a time is in memory
    reset_accounts()
    suites: list[SuiteFile] = []
    try:
        suites += load_suites(context)
        chosen = select(suites) if select else suites
        client = build_client(chosen, context)
        try:
            plan, answers = plan_with_answers(chosen, context, client)
        except ConfigError as e:
            raise ConfigError(*e.mistakes, *([] if select else label_mistakes(chosen))) from e
        comparison = prepare_comparison(plan, chosen, base, context, client)
        plan = comparison.plan
        if select is None:
            plan = with_powers(with_labels(plan, chosen, base, context, client))
    except ConfigError as e:
        reset_accounts()
        found = collect_secrets(
            context, [it.suite for it in suites], variables_in_configs(context)
        ).values
        named = ConfigError(*(with_near_variable(it, context.environ) for it in e.mistakes))
        hide = redactor({STAND_IN, *found, *secrets_in_configs(context)})
        raise concealed_mistakes(named, hide) from None

    secrets = collect_secrets(context, [it.suite for it in chosen], (use.name for use in plan.keys))
    stand_ins = [STAND_IN] if plan.missing_keys else []
    hide = redactor({*stand_ins, *secrets.values, *(base.secrets if base else ())})
    return Prepared(
        replace(plan, notes=at_door(plan.notes, settings.inputs)),
        client,
        secrets,
        hide,
        redactor(secrets.environment.values(), short=False),
        _inputs(chosen, answers, context),
        at_door(conceal(comparison.changes, hide), settings.inputs),
    )


def _inputs(suites: Sequence[SuiteFile], answers: frozenset[Path], context: Context) -> Inputs:
    """The files of the suites, with recorded ``answers`` and what was kept of earlier runs."""
    read = {*answers}
    named = set[Path]()
    searched = set[Path]()
    for located in suites:
        read |= located.workspace.opened
        named |= located.workspace.named
        searched |= located.workspace.folders
    if context.settings.baseline and (folder := folder_to_read(context)):
        read |= {folder / RESULTS, folder / HISTORY}
    if again := context.settings.again:
        read.add(again.file)
    return Inputs(frozenset(read), frozenset(read | named), frozenset(searched))


def with_near_variable(mistake: Mistake, variables: NamedTexts) -> Mistake:
    """The mistake with the variable that was set in place of the missing one, if its name is nearly the same."""
    others = [name for name in variables if sounds_secret(name) and not is_vendors_key(name)]
    wrong = near(mistake.missing, others) if mistake.missing else ""
    if not wrong or wrong == mistake.missing:
        return mistake
    return replace(mistake, cure=f"rename {wrong}, which is set; or {mistake.cure}")
