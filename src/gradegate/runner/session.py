"""What one run of gradegate does, step by step: plan, ask, decide and report.

The command line and the Action only say what differs between them (``RunHooks``), and post what came of it.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from gradegate import signals
from gradegate.config.context import Context
from gradegate.core.provider_spec import NOTHING
from gradegate.errors import ConfigError, NoPartsError
from gradegate.files.plain_files import Place
from gradegate.gate.decision import decide, is_whole, withheld
from gradegate.gate.exit_codes import INCONCLUSIVE, PASS, exit_code
from gradegate.providers.api import readiness
from gradegate.providers.cache.access import remembered
from gradegate.reports.delivery.deliver import (
    check_inputs,
    check_outputs,
    links_to,
    named_inputs,
    places,
    render,
    write_reports,
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
from gradegate.runner.prepare import CaseSelection, Prepared, prepare
from gradegate.runner.reasks.histories import Histories
from gradegate.runner.run import run_plan
from gradegate.runner.shards.merge import merge_parts
from gradegate.sandbox import repository_code as programs
from gradegate.security.event import Event
from gradegate.security.redaction import Hide
from gradegate.security.secrets import sealing
from gradegate.structs import FrozenStruct, NamedTexts, replace

SWITCH_SECONDS = 0.05  # Python's own are 0.005
T = TypeVar("T")
Progress = Callable[[int], AbstractContextManager[Watch]]  # takes the number of planned answers


class RunHooks(FrozenStruct):
    """What the two doors do in their own way."""

    progress: Progress
    reports: tuple[str, ...] = ()  # names of those that the caller says or posts itself
    links: Links = Links()
    # Says why nothing of a plan needs to be asked; an empty string where something does
    spare: Callable[[Prepared], str] = lambda _: ""
    # Asks whether a person approved what the pull request does to its gate; called where that would block
    find_approval: Callable[[], Approval] = Approval
    advice: str = ""  # what to do about keys that a pull request is not given


class Session(FrozenStruct):
    """A plan with the places that will be written."""

    context: Context
    prepared: Prepared
    where: Mapping[str, Place]

    @classmethod
    def begin(
        cls,
        context: Context,
        outputs: Sequence[str],
        select: CaseSelection | None = None,
        inputs: Iterable[Path] = (),
    ) -> Session:
        """Settings to a plan; no call is made. ``inputs`` are files that are read beside those of the configs. Raises ConfigError."""
        where = places(outputs, context.cwd, context.environment)
        prepared = prepare(context, select)
        check_inputs(where, prepared.inputs.read.union(inputs), named_inputs(context.settings))
        return cls(context, prepared, where)

    def wait(self) -> str:
        """Wait for the application that is asked; gives why it is not there in time."""
        return readiness.wait(self.context.awaited, self.context.environ)

    def evaluate(self, ask: Callable[[], T]) -> T:
        """Ask. What code of the repository started is over before anything is written."""
        context = self.context
        replies = remembered(
            context.settings,
            context.environment,
            # Later runs believe what this one keeps: it is the default branch's own, or on somebody's own machine.
            not context.environment.on_github or context.event.is_default_branch,
        )
        self.prepared.client.replies = replies
        gc.freeze()  # the plan lives to the end: the collector need not walk it again and again
        # So do the answers: few of the objects that a run makes are garbage.
        gc.set_threshold(50_000)
        gc.enable()
        # Threads that wait for hosts seldom compute for long; to switch between them more often only costs time.
        sys.setswitchinterval(SWITCH_SECONDS)
        try:
            return ask()
        finally:
            programs.stop_code()
            if replies:
                replies.close()

    def run(self, prepared: Prepared, progress: Progress) -> RunResult:
        """The plan run, without secrets: of the variables that hold them there are the names. Raises ConfigError for parts of shards."""
        plan, client = prepared.plan, prepared.client

        def ask() -> RunResult:
            if self.context.settings.merge:
                return merge_parts(prepared, self.context, watch)
            return replace(run_plan(plan, client, watch), hidden=prepared.secrets.names)

        with progress(plan.answers) as watch:
            result = self.evaluate(ask)
        return replace(conceal(result, prepared.hide), hidden=result.hidden)


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


def run_gate(context: Context, hooks: RunHooks) -> Delivered:
    """Plan, ask, grade, decide and report. Raises ConfigError with every mistake before any call.

    A pull request that is given no keys is planned without them, so that whatever else is wrong is found, and what it does to its
    gate. Then nothing is asked.
    """
    settings = context.settings
    check_outputs(settings.outputs)
    try:
        session = Session.begin(context, settings.outputs)
    except ConfigError as e:
        if not (context.keyless and e.missing):
            raise
        # Where there is no plan, no report file is written: one could be an input.
        changes = _with_approval(unknown_changes(context), hooks)
        decision = _not_run(e.missing, context, hooks, changes)
        return _deliver({}, decision, hooks, sealing(context.environ))

    kept_places = places_to_write(context)
    prepared = session.prepared
    plan = prepared.plan
    if reason := hooks.spare(prepared):
        decision = unasked(GateOutcome.PASS, reason, context.commit, plan.digests)
    elif plan.missing_keys and not settings.merge:
        changes = _with_approval(prepared.changes, hooks)
        decision = _not_run(plan.missing_keys, context, hooks, changes)
    elif absent := session.wait():
        decision = unasked(GateOutcome.INCONCLUSIVE, absent, context.commit, plan.digests)
    else:
        changes = _with_approval(prepared.changes, hooks)
        try:
            result = session.run(prepared, hooks.progress)
        except NoPartsError:  # the shards missed their keys, and left no part for this merge
            if not (context.keyless and plan.missing_keys):
                raise
            decision = _not_run(plan.missing_keys, context, hooks, changes)
        else:
            decision = decide(result, conceal(plan.policies, prepared.hide), changes)

    delivered = _deliver(session.where, decision, hooks, prepared.seal)
    if not (kept_places and is_whole(decision, plan.policies)):
        return delivered
    contents = {
        RESULTS: lambda: render("json", decision, hooks.links, prepared.seal).parts,
        HISTORY: lambda: map(prepared.seal, Histories(plan).lines(decision.run)),
    }
    if failure := write_baseline(kept_places, contents):
        return replace(delivered, failures={**delivered.failures, settings.baseline: failure})
    return replace(delivered, kept=True)


def reason_without_keys(event: Event, missing: Iterable[str]) -> str:
    """Why a pull request has no keys."""
    names = sorted(missing)
    verb = "is" if len(names) == 1 else "are"
    return f"the pull request comes from {event.outsider}: GitHub gives its workflow no secrets, and {', '.join(names)} {verb} not set"


def _not_run(
    missing: Iterable[str], context: Context, hooks: RunHooks, changes: GateChanges
) -> Decision:
    reason = reason_without_keys(context.event, missing)
    decision = unasked(GateOutcome.NOT_RUN, reason, context.commit, notes=[hooks.advice])
    return withheld(decision, changes)


def unasked(
    outcome: GateOutcome,
    reason: str,
    commit: str,
    digests: NamedTexts = NOTHING,
    notes: Iterable[str] = (),
) -> Decision:
    """A decision about a run in which nothing is asked, so that it has no cases."""
    run = nothing_asked(commit, digests, notes)
    return Decision(outcome, reason, (), run, Counts(), Counts())


def _with_approval(changes: GateChanges, hooks: RunHooks) -> GateChanges:
    """The changes with who approved of them, where they would block."""
    if changes.approved or not (changes.found and changes.block):
        return changes
    approval = hooks.find_approval()
    return replace(changes, approved=approval.by, refused=approval.why)


def _deliver(
    where: Mapping[str, Place], decision: Decision, hooks: RunHooks, seal: Hide
) -> Delivered:
    reports, links = check_outputs(where), links_to(where, hooks.links)
    signals.finish()
    failures = write_reports(reports, where, decision, links, seal)
    links = links_to([path for path in where if path not in failures], links)
    documents = tuple(render(name, decision, links, seal) for name in hooks.reports)
    return Delivered(decision, documents, failures, seal, frozenset(where))
