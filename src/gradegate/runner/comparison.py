"""What a plan is compared with: the base checkout with its gate, and a run of the base, recorded or made in the same run."""

from collections.abc import Sequence
from datetime import UTC, datetime

from gradegate.config.load import Located
from gradegate.core.policy import Note
from gradegate.core.settings import Settings
from gradegate.errors import ConfigError
from gradegate.files.git import head_of
from gradegate.files.plain_files import UnusableError
from gradegate.gate.changes.comparison import blocks, compare
from gradegate.http.client import Client
from gradegate.planning.base_checkout import Base, place_of, plan_base, root_of, stored, with_base
from gradegate.planning.identity import identity
from gradegate.planning.plan import Plan
from gradegate.planning.snapshot import snapshots
from gradegate.results.baseline import Baseline, remarks
from gradegate.results.gate_changes import NO_CHANGES, ChangeKind, GateChange, GateChanges
from gradegate.results.history import History, Records
from gradegate.sandbox.evaluate import begin
from gradegate.structs import replace


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
        found, settings.changes == "block" or blocks((*base.policies, *planned.policies))
    )


def unknown_changes(settings: Settings) -> GateChanges:
    """What is known of the gate where the plan cannot be made: not that it is as strict as the base's. Raises ConfigError."""
    base = read_base(settings)
    if base is None:
        return NO_CHANGES
    found = GateChange(
        ChangeKind.WEAKER, "the gate cannot be compared with the gate of the base without the keys"
    )
    return GateChanges((found,), settings.changes == "block" or blocks(base.policies))
