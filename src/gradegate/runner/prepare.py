"""What every step of a run begins with: settings to suites, suites to a plan, and what hides its secrets. No call is made."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gradegate.config.context import is_vendors_key
from gradegate.config.load import Located, load, shown_in, written_in
from gradegate.core.settings import Settings
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.http.client import Client
from gradegate.planning.command import told
from gradegate.planning.plan import Plan
from gradegate.planning.planner import build_client
from gradegate.planning.recorded_answers import planned_with_answers
from gradegate.planning.secrets import Secrets, secrets_of
from gradegate.providers.cache.access import check_secret
from gradegate.registry import near
from gradegate.reports.delivery.redact import at_door, conceal, concealed_mistakes
from gradegate.reports.view.run_summary import unseen
from gradegate.results.baseline import HISTORY, RESULTS
from gradegate.results.gate_changes import NO_CHANGES, GateChanges
from gradegate.runner.baseline_folder import folder_to_read, why_not_kept
from gradegate.runner.calibration.drift import label_mistakes, with_labels
from gradegate.runner.comparison import (
    changes_of,
    check_weakening,
    notes_of_base,
    read_base,
    with_baseline,
)
from gradegate.runner.power import with_powers
from gradegate.runner.shards.part_file import default_grader_key_in
from gradegate.sandbox import repository_code as programs
from gradegate.sandbox.evaluate import begin
from gradegate.security.redaction import Hide, redactor
from gradegate.security.secrets import sounds_secret
from gradegate.structs import FrozenStruct, NamedTexts, replace

T = TypeVar("T")
Choose = Callable[[list[Located]], list[Located]]
STAND_IN = "no-key-is-here"  # in place of keys that are missing, for a plan that is never run
_ROUNDS = 10  # of finding out which keys a plan takes: some show only once others are there


class UnplannableError(ConfigError):
    """Even with something in the place of every key that is known to be missing, there is no plan."""


class Prepared(FrozenStruct):
    """A plan with the client that its providers ask through, what hides its secrets, and how it differs from the base's."""

    plan: Plan
    client: Client
    secrets: Secrets
    hide: Hide  # in values, before a report is made of them
    seal: Hide  # in finished documents
    inputs: frozenset[Path]  # the files that were read
    changes: GateChanges = NO_CHANGES
    named: frozenset[Path] = frozenset()  # the absolute paths by which they were named
    searched: frozenset[Path] = frozenset()  # the folders that patterns looked into
    missing_keys: frozenset[str] = frozenset()  # variables that the plan of a merge does without

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


def prepare(settings: Settings, choose: Choose = list) -> Prepared:
    """Settings to suites, suites to a plan; no call is made. Raises ConfigError with every mistake.

    ``choose`` may say which cases of the suites are planned.
    """
    check_secret(settings)
    if settings.shard and settings.merge:
        raise ConfigError.at(
            "both `shard` and `merge` are given",
            None,
            "run the shard in one job, and merge in another",
        )
    programs.begin(settings)
    base = read_base(settings)  # first, so that one plan at a time is in memory
    begin()
    suites = []
    try:
        suites += load(settings)
        chosen, apart = (
            choose(suites),
            choose is not list,
        )  # `apart`: the cases are not those that the rules are about
        client = build_client(settings, chosen)
        try:
            own, answers = planned_with_answers(chosen, settings, client)
        except ConfigError as e:
            raise ConfigError(*e.mistakes, *([] if apart else label_mistakes(chosen))) from e
        check_weakening(settings, own.policies)
        planned = with_baseline(told(own, settings, chosen), settings, client)
        notes = (*(notes_of_base(base) if base else ()), *why_not_kept(settings))
        planned = replace(planned, notes=(*planned.notes, *notes))
        if not apart:
            planned = with_powers(with_labels(planned, chosen, settings, client, base))
        secrets = secrets_of(
            settings, [it.suite for it in chosen], (use.name for use in planned.keys)
        )
        hide = redactor({*secrets.values, *(base.secrets if base else ())})
        changes = (
            at_door(conceal(changes_of(base, own, chosen, settings), hide), settings.inputs)
            if base
            else NO_CHANGES
        )
        planned = replace(planned, notes=at_door(planned.notes, settings.inputs))
        seal = redactor(secrets.environment.values(), short=False)
        inputs = (
            frozenset(path for located in chosen for path in located.workspace.opened) | answers
        )
        if settings.baseline and (folder := folder_to_read(settings)):
            inputs |= {folder / RESULTS, folder / HISTORY}
        inputs |= {settings.again.file} if settings.again else set()
        sought = inputs.union(*(located.workspace.named for located in chosen))
        searched = frozenset[Path]().union(*(located.workspace.folders for located in chosen))
        return Prepared(planned, client, secrets, hide, seal, inputs, changes, sought, searched)
    except ConfigError as e:
        begin()
        values = {
            *secrets_of(settings, [it.suite for it in suites], shown_in(settings)).values,
            *written_in(settings),
        }
        named = ConfigError(*(with_near_variable(it, settings.environ) for it in e.mistakes))
        raise concealed_mistakes(named, redactor(values)) from None


def with_near_variable(mistake: Mistake, variables: NamedTexts) -> Mistake:
    """The mistake with the variable that was set in place of the missing one, if its name is nearly the same."""
    others = [name for name in variables if sounds_secret(name) and not is_vendors_key(name)]
    wrong = near(mistake.missing, others) if mistake.missing else ""
    if not wrong or wrong == mistake.missing:
        return mistake
    return replace(mistake, cure=f"rename {wrong}, which is set; or {mistake.cure}")


# --- without keys ---------------------------------------------------------------------------------------------


def with_stand_ins(make: Callable[[dict[str, str]], T]) -> tuple[T, frozenset[str]]:
    """What is made with something in the place of keys that are missing, and which variables these are.

    ``make`` gets a stand-in for each variable that is known so far. Raises ConfigError for what no key would cure, and UnplannableError.
    """
    names: frozenset[str] = frozenset()
    places: set[Origin | None] = set()
    for _ in range(_ROUNDS):
        try:
            return make(dict.fromkeys(names, STAND_IN)), names
        except ConfigError as e:
            lacking = [mistake for mistake in e.mistakes if mistake.missing]
            places.update(mistake.origin for mistake in lacking if mistake.origin)
            # What is said where a key is missing may be said of what stands in for it, which is no address and no number.
            if others := [it for it in e.mistakes if not it.missing and it.origin not in places]:
                raise ConfigError(*others) from e
            if not e.missing - names:
                raise UnplannableError(*e.mistakes) from e
            names |= e.missing
    raise UnplannableError.at(
        "the variables that the configs need could not be found", None, "name fewer providers"
    )


def prepare_without_keys(settings: Settings) -> tuple[Prepared, frozenset[str]]:
    """The plan with something in the place of keys that are not here, and which these are. Raises ConfigError."""
    return with_stand_ins(
        lambda keys: prepare(replace(settings, environ={**settings.environ, **keys}))
    )


def prepare_merge(settings: Settings) -> Prepared:
    """The plan of a merge, which needs keys only to re-ask failures. Raises ConfigError."""
    key = default_grader_key_in(settings.cwd / settings.merge)
    prepared, missing_keys = prepare_without_keys(replace(settings, default_grader_key=key))
    return replace(prepared, missing_keys=missing_keys)
