"""One session for every way through a run: begin with a plan, evaluate it, and deliver what came of it.

What is asked is an argument: everything (``asked``), a shard's jobs, what the parts of shards hold, labelled outputs. The command
line and the Action only say which, and post what came of it.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TypeVar

from gradegate.core.provider_spec import NOTHING
from gradegate.core.settings import Settings
from gradegate.files.plain_files import Place
from gradegate.gate.decision import decide, is_whole, withheld
from gradegate.gate.exit_codes import INCONCLUSIVE, PASS, exit_code
from gradegate.providers.api import readiness as ready
from gradegate.providers.cache.access import remembered
from gradegate.reports.delivery.deliver import (
    check_inputs,
    check_outputs,
    named_inputs,
    places,
    render,
    write,
)
from gradegate.reports.delivery.redact import conceal
from gradegate.reports.delivery.report import Document, Links
from gradegate.results.baseline import HISTORY, RESULTS
from gradegate.results.gate_changes import Approval, GateChanges
from gradegate.results.run_result import Counts, Decision, GateOutcome, RunResult
from gradegate.runner.baseline_folder import places_to_write, write_baseline
from gradegate.runner.comparison import unknown_changes
from gradegate.runner.conclusion import nothing_asked
from gradegate.runner.first_answers import Watch
from gradegate.runner.prepare import (
    Choose,
    Prepared,
    UnplannableError,
    prepare,
    prepare_merge,
    with_stand_ins,
)
from gradegate.runner.reasks.histories import Histories
from gradegate.runner.run import Run
from gradegate.sandbox import repository_code as programs
from gradegate.security.redaction import Hide
from gradegate.security.secrets import sealing
from gradegate.structs import FrozenStruct, NamedTexts, replace

SWITCH_SECONDS = 0.05  # Python's own are 0.005
T = TypeVar("T")
Progress = Callable[[int], AbstractContextManager[Watch]]  # takes the number of planned answers
Approve = Callable[
    [], Approval
]  # asks whether a person approved what the pull request does to its gate
Spare = Callable[
    [Prepared], str
]  # says why nothing of a plan needs to be asked; an empty string where something does
Ask = Callable[[Prepared, Settings, Watch], RunResult]


def needed(prepared: Prepared) -> str:
    """Of a plan that has to be asked, whatever it is."""
    return ""


def asked(prepared: Prepared, settings: Settings, watch: Watch) -> RunResult:
    """Everything that is planned, asked and graded."""
    return replace(
        Run(prepared.plan, prepared.client, watch).result(),
        hidden=prepared.secrets.names,
    )


class Session(FrozenStruct):
    """A plan with the places that will be written. ``spared`` says why nothing of it needs to be asked."""

    settings: Settings
    prepared: Prepared
    where: Mapping[str, Place]
    spared: str
    awaited: Sequence[ready.Ready]

    @classmethod
    def begin(
        cls,
        settings: Settings,
        outputs: Sequence[str],
        spare: Spare = needed,
        choose: Choose = list,
        inputs: Iterable[Path] = (),
    ) -> Session:
        """Settings to a plan; no call is made. ``inputs`` are files that are read beside those of the configs. Raises ConfigError."""
        where = places(outputs, settings.cwd, settings.environment)
        awaited = ready.read(settings.ready, settings.environ)
        prepared = prepare_merge(settings) if settings.merge else prepare(settings, choose)
        check_inputs(where, prepared.inputs.union(inputs), named_inputs(settings))
        return cls(settings, prepared, where, spare(prepared), awaited)

    def wait(self) -> str:
        """Wait for the application that is asked; gives why it is not there in time."""
        return ready.wait(self.awaited, self.settings.environ)

    def evaluate(self, ask: Callable[[], T]) -> T:
        """Ask. What code of the repository started is over before anything is written."""
        self.prepared.client.replies = replies = remembered(self.settings)
        gc.freeze()  # the plan lives to the end: the collector need not walk it again and again
        gc.set_threshold(
            50_000
        )  # so do the answers: few of the objects that a run makes are garbage
        gc.enable()
        # Threads that wait for hosts seldom compute for long; to switch between them more often only costs time.
        sys.setswitchinterval(SWITCH_SECONDS)
        try:
            return ask()
        finally:
            programs.end()
            if replies:
                replies.close()

    def rows(self, prepared: Prepared, progress: Progress, ask: Ask = asked) -> RunResult:
        """The plan run, without secrets: of the variables that hold them there are the names."""
        with progress(prepared.plan.answers) as watch:
            run = self.evaluate(partial(ask, prepared, self.settings, watch))
        return replace(conceal(run, prepared.hide), hidden=run.hidden)


class Delivered(FrozenStruct):
    """A decision with its documents; ``failures`` says of each of the ``files`` that could not be written why not."""

    decision: Decision
    documents: tuple[Document, ...]
    failures: dict[str, str]
    seal: Hide  # of what no text that leaves may hold
    files: frozenset[str] = frozenset()
    kept: bool = False  # whether results and votes were written for later runs

    @property
    def written(self) -> list[str]:
        """The report files that are there."""
        return sorted(self.files - self.failures.keys())

    def code(self, *, neutral: bool = False) -> int:
        """The exit code of the decision, but no 0 where a report is missing. ``neutral``: a run without keys is one that passes."""
        is_neutral = neutral and self.decision.outcome is GateOutcome.NOT_RUN
        missing = self.files & self.failures.keys()
        return (PASS if is_neutral else exit_code(self.decision)) or (
            INCONCLUSIVE if missing else PASS
        )


def deliver(
    settings: Settings,
    names: tuple[str, ...],
    links: Links,
    progress: Progress,
    approve: Approve = Approval,
    spare: Spare = needed,
    ask: Ask = asked,
) -> Delivered:
    """A session to its reports. ``names`` are those that the caller says or posts itself. Raises ConfigError.

    ``approve`` is called where changes of the gate would block, ``spare`` once the plan is made.
    """
    check_outputs(settings.outputs)
    session = Session.begin(settings, settings.outputs, spare)
    kept_places = places_to_write(settings)
    prepared, plan = session.prepared, session.prepared.plan
    if session.spared:
        decision = unasked(GateOutcome.PASS, session.spared, settings, plan.digests)
    elif absent := session.wait():
        decision = unasked(GateOutcome.INCONCLUSIVE, absent, settings, plan.digests)
    else:
        changes = _approved(prepared.changes, approve)
        decision = decide(
            session.rows(prepared, progress, ask), conceal(plan.policies, prepared.hide), changes
        )
    delivered = _delivered(session.where, decision, names, links, prepared.seal)
    if not (kept_places and is_whole(decision, plan.policies)):
        return delivered
    contents = {
        RESULTS: lambda: render("json", decision, links, prepared.seal).parts,
        HISTORY: lambda: map(prepared.seal, Histories(plan).lines(decision.run)),
    }
    if failure := write_baseline(kept_places, contents):
        return replace(delivered, failures={**delivered.failures, settings.baseline: failure})
    return replace(delivered, kept=True)


def deliver_without_keys(
    settings: Settings,
    names: tuple[str, ...],
    links: Links,
    why: tuple[str, str],
    approve: Approve = Approval,
    spare: Spare = needed,
) -> Delivered:
    """All of it but the run, where variables of the environment cannot be there. ``why`` is the reason, and what to do about it.

    The plan is made with something else in their place, so that whatever else is wrong is found, what the pull request does to
    its gate, and which files are read. Where even that cannot be, no report file is written, since one could be an input.
    Raises ConfigError.
    """
    check_outputs(settings.outputs)
    where: Mapping[str, Place] = {}
    decision = unasked(GateOutcome.NOT_RUN, why[0], settings, notes=why[1:])
    try:
        session, _ = with_stand_ins(
            lambda keys: Session.begin(
                replace(settings, environ={**settings.environ, **keys}),
                settings.outputs,
                spare,
            )
        )
    except UnplannableError:
        decision = withheld(decision, _approved(unknown_changes(settings), approve))
    else:
        where = session.where
        if session.spared:
            decision = unasked(
                GateOutcome.PASS, session.spared, settings, session.prepared.plan.digests
            )
        else:
            decision = withheld(decision, _approved(session.prepared.changes, approve))
    return _delivered(where, decision, names, links, sealing(settings.environ))


def unasked(
    outcome: GateOutcome,
    reason: str,
    settings: Settings,
    digests: NamedTexts = NOTHING,
    notes: Iterable[str] = (),
) -> Decision:
    """A decision about a run in which nothing is asked, so that it has no cases."""
    return Decision(
        outcome, reason, (), nothing_asked(settings.commit, digests, notes), Counts(), Counts()
    )


def _approved(changes: GateChanges, approve: Approve) -> GateChanges:
    """The changes with who approved of them, where they would block."""
    if changes.approved or not (changes.found and changes.block):
        return changes
    approval = approve()
    return replace(changes, approved=approval.by, refused=approval.why)


def _delivered(
    where: Mapping[str, Place], decision: Decision, names: Iterable[str], links: Links, seal: Hide
) -> Delivered:
    reports = check_outputs(where)
    try:
        failures = write(reports, where, decision, links, seal)
    except KeyboardInterrupt:  # all is asked, and the next signal ends the process at once
        failures = write(reports, where, decision, links, seal)
    if not any(report.name == "html" for path, report in reports.items() if path not in failures):
        links = replace(links, page="")
    return Delivered(
        decision,
        tuple(render(name, decision, links, seal) for name in names),
        failures,
        seal,
        frozenset(where),
    )
