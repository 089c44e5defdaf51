"""The steps of a run, spelled out once: settings, suites, plan, rows, decision, documents, delivered.

The command line and the Action only say what happens, and post what came of it.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from gradegate import __version__
from gradegate.access.environment import secrets as environment_secrets
from gradegate.access.hiding import Hide, redactor
from gradegate.asking import ready
from gradegate.base.baseline import FOREIGN, commit_of_base, foreign, is_asked, stored, with_base
from gradegate.base.changes import blocks, compare
from gradegate.base.checkout import Base, plan_base
from gradegate.base.pairing import remarks
from gradegate.base.snapshot import snapshots
from gradegate.deciding.gate import decide, withheld
from gradegate.errors import ConfigError, Origin
from gradegate.files.replacing import Place, replacing
from gradegate.http.client import Client
from gradegate.planning.cache import check_secret, remembered
from gradegate.planning.identity import Call, calls
from gradegate.planning.job import Plan
from gradegate.planning.load import Located, load, shown_in, written_in
from gradegate.planning.plan import build_client, plan
from gradegate.planning.recordings import answered, line
from gradegate.planning.retold import told
from gradegate.planning.secrets import Secrets, secrets_of
from gradegate.planning.shares import check_shard
from gradegate.processes import pool as programs
from gradegate.processes.begin import begin
from gradegate.processes.permission import may_run
from gradegate.recording.read import read as recorded
from gradegate.reporting.commands import OLD
from gradegate.reporting.deliver import check_outputs, render, write
from gradegate.reporting.places import check_inputs, places
from gradegate.reporting.redact import conceal, concealed_mistakes
from gradegate.reporting.report import Document, Links, Report
from gradegate.results.earlier_run import Baseline
from gradegate.results.jsonable import plain
from gradegate.running.run import Watch, run
from gradegate.values.account import Made
from gradegate.values.changes import NO_CHANGES, Approval, ChangeKind, GateChange, GateChanges
from gradegate.values.result import Counts, Decision, GateOutcome, RunResult
from gradegate.values.settings import Settings
from gradegate.values.suite import NOTHING, Note

Progress = Callable[[int], AbstractContextManager[Watch]]  # takes the number of planned answers
Choose = Callable[[list[Located]], list[Located]]
Evaluate = Callable[["Prepared", int, Watch], Decision]
Approve = Callable[[], Approval]  # asks whether a person approved what the pull request does to its gate
STAND_IN = "no-key-is-here"  # in place of keys that are missing, for a plan that is never run
MOST_ROUNDS = 10  # of finding out which keys a plan takes: some show only once others are there


@dataclass(frozen=True)
class Prepared:
    """A plan with the client that its providers ask through, what hides its secrets, and how it differs from the base's.

    ``hide`` is for values, before a report is made of them; ``seal`` for finished documents. ``inputs`` are the files that were read,
    ``named`` the absolute paths by which they were named, and ``searched`` the folders that patterns looked into.
    """

    plan: Plan
    client: Client
    secrets: Secrets
    hide: Hide
    seal: Hide
    inputs: frozenset[Path]
    changes: GateChanges = NO_CHANGES
    named: frozenset[Path] = frozenset()
    searched: frozenset[Path] = frozenset()

    @property
    def shown_plan(self) -> Plan:
        """The plan with notes, keys and models as people may see them."""
        notes, keys = conceal(self.plan.notes, self.hide), conceal(self.plan.keys, self.hide)
        return replace(self.plan, notes=notes, keys=keys, models=conceal(self.plan.models, self.hide))


@dataclass(frozen=True)
class Delivered:
    """A decision with its documents; ``failures`` says of each of the ``files`` that could not be written why not.

    ``seal`` hides what no text that leaves may hold.
    """

    decision: Decision
    documents: tuple[Document, ...]
    failures: dict[str, str]
    seal: Hide
    files: frozenset[str] = frozenset()

    @property
    def written(self) -> list[str]:
        """The report files that are there."""
        return sorted(self.files - self.failures.keys())


Spare = Callable[[Prepared], str]  # says why nothing of a plan needs to be asked; an empty string where something does


def prepare(settings: Settings, choose: Choose = list) -> Prepared:
    """Settings to suites, suites to a plan; no call is made. Raises ConfigError with every mistake.

    ``choose`` may say which cases of the suites are planned.
    """
    check_shard(settings)
    check_secret(settings)
    programs.begin(may_run(settings))
    base = _base(settings)  # first, so that one plan at a time is in memory
    begin()
    suites: list[Located] = []
    try:
        suites += load(settings)
        return _prepared(settings, choose(suites), base)
    except ConfigError as e:
        begin()
        values = {*secrets_of(settings, suites, shown_in(settings)).values, *written_in(settings)}
        raise concealed_mistakes(e, redactor(values)) from None


def _base(settings: Settings) -> Base | None:
    if not settings.base:
        return None
    if settings.environment.vouched_only:
        what = f"`base` is not read at {settings.environment.event_shown}"
        cure = "leave it out: nothing vouches for the files of a second checkout there (docs/github.md, Events)"
        raise ConfigError.at(what, None, cure)
    begin()
    return plan_base(settings)


def _prepared(settings: Settings, suites: list[Located], base: Base | None) -> Prepared:
    client = build_client(settings, suites)
    own, answers = _planned(suites, settings, client)
    planned = told(_compared(own, settings, client, base), settings, suites)
    secrets = secrets_of(settings, suites, (use.name for use in planned.keys))
    hide = redactor({*secrets.values, *(base.secrets if base else ())})
    changes = conceal(_changes(base, own, suites, settings), hide) if base else NO_CHANGES
    seal = redactor(secrets.environment.values(), short=False)
    inputs = frozenset(path for located in suites for path in located.workspace.opened) | answers
    inputs |= {(settings.cwd / settings.baseline).resolve()} if settings.baseline else set()
    sought = inputs.union(*(located.workspace.named for located in suites))
    searched = frozenset[Path]().union(*(located.workspace.folders for located in suites))
    return Prepared(planned, client, secrets, hide, seal, inputs, changes, sought, searched)


def _planned(suites: list[Located], settings: Settings, client: Client) -> tuple[Plan, frozenset[Path]]:
    """The plan, with the answers that were made elsewhere and the files that hold them. Raises ConfigError."""
    if not settings.answers:
        return plan(suites, settings, client), frozenset()
    recording = recorded(settings)
    try:
        made = plan(suites, settings, client)
    except ConfigError as e:
        raise ConfigError(*e.mistakes, *recording.mistakes) from e
    return answered(made, recording), recording.opened


def _compared(planned: Plan, settings: Settings, client: Client, base: Base | None) -> Plan:
    """The plan with what its answers are compared with: a recorded run of the base, or its jobs. Raises ConfigError."""
    if is_asked(settings, (*planned.policies, *(base.policies if base else ()))):
        if settings.answers:
            what = "`compare: base` asks targets for the answers of the base, and with `answers` none is asked"
            raise ConfigError.at(what, None, "compare with `baseline`, the results.json of the base")
        return with_base(planned, settings, client)
    found = stored(settings, planned.policies)
    if not isinstance(found, Baseline):
        return replace(planned, notes=(*planned.notes, *found))
    if foreign(found, planned):
        return replace(planned, notes=(*planned.notes, FOREIGN))
    said = remarks(found, datetime.now(UTC), commit_of_base(settings), (model.name for model in planned.models))
    return replace(planned, baseline=found, notes=(*planned.notes, *map(Note, said)))


def _changes(base: Base, planned: Plan, suites: Sequence[Located], settings: Settings) -> GateChanges:
    """What the plan checks less or otherwise than the base; either side may say that this blocks, and so may the run."""
    found = compare(base.suites, snapshots(planned, suites), base.problems)
    block = settings.changes == "block" or blocks((*base.policies, *planned.policies))
    return GateChanges(found, block)


def evaluate(prepared: Prepared, reask: int, watch: Watch) -> Decision:
    """The plan to rows, rows to a decision that holds no secret."""
    gc.freeze()  # the plan lives to the end: the collector need not walk it again and again
    gc.enable()
    rows = run(prepared.plan, prepared.client, reask, watch)
    programs.end()  # before anything is written: no code is there any more that could reach for it
    if prepared.client.replies:
        prepared.client.replies.close()
    return decided(prepared, rows, prepared.secrets.names)


def decided(prepared: Prepared, run: RunResult, hidden: tuple[str, ...]) -> Decision:
    """The verdict on a run without its secrets; ``hidden`` names the variables that hold them."""
    shown = replace(conceal(run, prepared.hide), hidden=hidden)
    return decide(shown, conceal(prepared.plan.policies, prepared.hide), prepared.changes)


def needed(prepared: Prepared) -> str:
    """Of a plan that has to be asked, whatever it is."""
    return ""


def deliver(
    settings: Settings,
    names: tuple[str, ...],
    links: Links,
    progress: Progress,
    approve: Approve = Approval,
    spare: Spare = needed,
    evaluate: Evaluate = evaluate,
) -> Delivered:
    """All steps. ``names`` are the reports that the caller says or posts itself. Raises ConfigError.

    ``approve`` is called where changes of the gate would block, ``spare`` once the plan is made; ``evaluate`` makes a decision of it.
    """
    reports = check_outputs(settings.outputs)
    where = places(settings.outputs, settings.cwd, settings.environment)
    awaited = ready.read(settings.ready, settings.environ)
    prepared = prepare(settings)
    check_inputs(where, prepared.inputs)
    if said := spare(prepared):
        decision = unasked(GateOutcome.PASS, said, settings, prepared.plan.digests)
    elif said := ready.wait(awaited, settings.environ):
        decision = unasked(GateOutcome.INCONCLUSIVE, said, settings, prepared.plan.digests)
    else:
        decision = _decided(settings, prepared, progress, approve, evaluate)
    return _delivered(reports, where, decision, names, links, prepared.seal)


def deliver_without_keys(
    settings: Settings,
    names: tuple[str, ...],
    links: Links,
    why: tuple[str, str],
    approve: Approve = Approval,
    spare: Spare = needed,
) -> Delivered:
    """All steps but the run, where variables of the environment cannot be there. ``why`` is the reason, and what to do about it.

    The plan is made with something else in their place, so that whatever else is wrong is found, what the pull request does to
    its gate, and which files are read. Where even that cannot be, no report file is written, since one could be an input.
    Raises ConfigError.
    """
    reports = check_outputs(settings.outputs)
    where = places(settings.outputs, settings.cwd, settings.environment)
    prepared = _without_keys(settings)
    if prepared is not None:
        check_inputs(where, prepared.inputs)
    if prepared is not None and (said := spare(prepared)):
        decision = unasked(GateOutcome.PASS, said, settings, prepared.plan.digests)
    else:
        changes = prepared.changes if prepared is not None else _uncompared(settings)
        decision = withheld(unasked(GateOutcome.NOT_RUN, why[0], settings, notes=why[1:]), _approved(changes, approve))
    seal = redactor(environment_secrets(settings.environ).values(), short=False)
    return _delivered(reports if prepared is not None else {}, where, decision, names, links, seal)


def _without_keys(settings: Settings) -> Prepared | None:
    """The plan as it would be with keys; None where it takes more than these. Raises ConfigError for what no key would cure."""
    names: set[str] = set()
    places: set[Origin | None] = set()
    for _ in range(MOST_ROUNDS):
        try:
            return prepare(replace(settings, environ={**settings.environ, **dict.fromkeys(names, STAND_IN)}))
        except ConfigError as e:
            lacking = [mistake for mistake in e.mistakes if mistake.missing]
            places.update(mistake.origin for mistake in lacking if mistake.origin)
            # What is said where a key is missing may be said of what stands in for it, which is no address and no number.
            if others := [it for it in e.mistakes if not it.missing and it.origin not in places]:
                raise ConfigError(*others) from e
            more = {mistake.missing for mistake in lacking} - names
            if not more:
                return None
            names |= more
    return None


def _uncompared(settings: Settings) -> GateChanges:
    """What is known of the gate where the plan cannot be made: not that it is as strict as the base's."""
    base = _base(settings)
    if base is None:
        return NO_CHANGES
    found = GateChange(ChangeKind.WEAKER, "the gate cannot be compared with that of the base without the keys")
    return GateChanges((found,), settings.changes == "block" or blocks(base.policies))


def unasked(
    outcome: GateOutcome,
    reason: str,
    settings: Settings,
    digests: Mapping[str, str] = NOTHING,
    notes: Iterable[str] = (),
) -> Decision:
    """A decision about a run in which nothing is asked, so that it has no cases."""
    made = Made(__version__, settings.commit, datetime.now(UTC).isoformat(timespec="seconds"), digests)
    run = RunResult((), notes=tuple(map(Note, notes)), made=made)
    return Decision(outcome, reason, (), run, Counts(), Counts())


def _delivered(
    reports: Mapping[str, Report],
    where: Mapping[str, Place],
    decision: Decision,
    names: Iterable[str],
    links: Links,
    seal: Hide,
) -> Delivered:
    failures = write(reports, where, decision, links, seal)
    return Delivered(decision, tuple(render(name, decision, links, seal) for name in names), failures, seal, frozenset(reports))


def _decided(settings: Settings, prepared: Prepared, progress: Progress, approve: Approve, evaluate: Evaluate) -> Decision:
    """The plan run and decided, with what a person approved of."""
    prepared = replace(prepared, changes=_approved(prepared.changes, approve))
    prepared.client.replies = remembered(settings)
    with progress(prepared.plan.answers) as watch:
        return evaluate(prepared, settings.reask, watch)


def _approved(changes: GateChanges, approve: Approve) -> GateChanges:
    """The changes with who approved of them, where they would block."""
    if not changes.blocking:
        return changes
    approval = approve()
    return replace(changes, approved=approval.by, refused=approval.why)


def cases(settings: Settings, output: str) -> Iterator[str]:
    """Every planned call to a target as a JSON line, written to ``output`` or, where that is empty, given.

    No key is needed, and nothing is asked. Raises ConfigError.
    """
    where = places([output] if output else [], settings.cwd, settings.environment)
    prepared = prepare(replace(settings, listing=True))
    check_inputs(where, prepared.inputs)
    lines = (_case(call, prepared.hide) for call in calls(prepared.plan.jobs))
    if not output:
        return lines
    try:
        with replacing(where[output]) as file:
            file.writelines(lines)
    except OSError as e:
        raise ConfigError.at(f"{output} could not be written: {e.strerror or e}", None, "name another file") from e
    return iter(())


def _case(call: Call, hide: Hide) -> str:
    """ASCII alone, and no workflow command, so that neither a terminal nor a reader of lines finds anything in it."""
    text = json.dumps({"id": call.id, **conceal(plain(line(call)), hide)})
    return OLD.sub(r"#\\u0023", text) + "\n"
