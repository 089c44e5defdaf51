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
from gradegate.gate.decision import decide, decision_without_run, may_be_baseline
from gradegate.gate.exit_codes import INCONCLUSIVE, PASS, exit_code
from gradegate.providers.api import readiness
from gradegate.providers.cache.access import open_cache
from gradegate.reports.delivery.deliver import (
    check_against_inputs,
    find_places,
    find_reports,
    input_paths,
    links_to_written,
    render_report,
    write_reports,
)
from gradegate.reports.delivery.redact import redact_values
from gradegate.reports.delivery.report import Document, Links
from gradegate.results.baseline import HISTORY, RESULTS
from gradegate.results.gate_changes import Approval, GateChanges
from gradegate.results.run_result import Counts, Decision, GateOutcome, RunResult
from gradegate.runner.baseline_folder import places_to_write, write_baseline
from gradegate.runner.comparison import unknown_changes
from gradegate.runner.conclusion import result_without_run
from gradegate.runner.first_answers import Watch
from gradegate.runner.prepare import CaseSelection, Preparation, prepare
from gradegate.runner.reasks.histories import Histories
from gradegate.runner.run import run_plan
from gradegate.runner.shards.merge import merge_parts
from gradegate.sandbox import repository_code as programs
from gradegate.security.event import Event
from gradegate.security.redaction import Redact
from gradegate.security.secrets import document_redactor
from gradegate.structs import FrozenStruct, NamedTexts, replace

SWITCH_SECONDS = 0.05  # Python's own are 0.005
T = TypeVar("T")
Progress = Callable[[int], AbstractContextManager[Watch]]  # takes the number of planned answers


class RunHooks(FrozenStruct):
    """What differs between the command line and the Action."""

    progress: Progress
    reports: tuple[str, ...] = ()  # names of the reports that the caller prints or posts itself
    links: Links = Links()
    # Says why nothing of a plan needs to be asked; an empty string if something does
    reason_not_to_ask: Callable[[Preparation], str] = lambda _: ""
    # Asks whether a person approved the changes of the gate; called only if these would block
    find_approval: Callable[[], Approval] = Approval
    advice: str = ""  # what to do if a pull request gets no keys


class Session(FrozenStruct):
    """A plan with the places of the files that will be written."""

    context: Context
    preparation: Preparation
    places: Mapping[str, Place]

    @classmethod
    def from_context(
        cls,
        context: Context,
        outputs: Sequence[str],
        select: CaseSelection | None = None,
        inputs: Iterable[Path] = (),
    ) -> Session:
        """Make the plan, without any call. No output may overwrite ``inputs`` or files of the configs. Raises ConfigError."""
        places = find_places(outputs, context.cwd, context.environment)
        preparation = prepare(context, select)
        check_against_inputs(
            places, preparation.inputs.read.union(inputs), input_paths(context.settings)
        )
        return cls(context, preparation, places)

    def wait_until_ready(self) -> str:
        """Wait for the application under test. Gives why it is not ready in time."""
        return readiness.wait_until_ready(self.context.awaited, self.context.environ)

    def ask(self, work: Callable[[], T]) -> T:
        """Do the asking, with the cache open. Code of the repository has ended before anything is written."""
        context = self.context
        replies = open_cache(
            context.settings,
            context.environment,
            # Later runs trust these replies: they belong to the default branch or to a person's own machine.
            not context.environment.on_github or context.event.is_default_branch,
        )
        self.preparation.client.replies = replies

        # The plan and the answers live to the end, so the collector need not walk them again and again.
        gc.freeze()
        gc.set_threshold(50_000)
        gc.enable()
        # Threads that wait for hosts seldom compute for long. Switching more often only costs time.
        sys.setswitchinterval(SWITCH_SECONDS)
        try:
            return work()
        finally:
            programs.stop_code()
            if replies:
                replies.close()

    def run(self, preparation: Preparation, progress: Progress) -> RunResult:
        """Run the plan, or merge the parts of its shards. The result contains no secrets. Raises ConfigError."""
        plan = preparation.plan

        def work() -> RunResult:
            if self.context.settings.merge:
                return merge_parts(preparation, self.context, watch)
            result = run_plan(plan, preparation.client, watch)
            return replace(result, hidden=preparation.secrets.names)

        with progress(plan.answers) as watch:
            result = self.ask(work)
        # The names of hidden variables are no secrets.
        return replace(redact_values(result, preparation.hide), hidden=result.hidden)


class Delivery(FrozenStruct):
    """A decision with its documents. ``failures`` says why a file could not be written, by its path."""

    decision: Decision
    documents: tuple[Document, ...]
    failures: dict[str, str]
    seal: Redact  # hides secrets in finished text
    files: frozenset[str] = frozenset()
    kept: bool = False  # whether results and votes were written for later runs

    @property
    def written(self) -> list[str]:
        """The report files that exist."""
        return sorted(self.files - self.failures.keys())

    def exit_code(self, *, neutral: bool = False) -> int:
        """The exit code of the decision, but never 0 if a report is missing. ``neutral``: a run without keys passes."""
        is_neutral = neutral and self.decision.outcome is GateOutcome.NOT_RUN
        code = PASS if is_neutral else exit_code(self.decision)
        if code == PASS and self.files & self.failures.keys():
            return INCONCLUSIVE
        return code


def run_gate(context: Context, hooks: RunHooks) -> Delivery:
    """Plan, ask, grade, decide and report. Raises ConfigError with every mistake before any call.

    A pull request without keys is planned all the same, to find other mistakes and changes of its gate. Then nothing is asked.
    """
    settings = context.settings
    find_reports(settings.outputs)  # refuses an unknown format before anything is planned
    try:
        session = Session.from_context(context, settings.outputs)
    except ConfigError as e:
        if not (context.keyless and e.missing):
            raise
        # Without a plan no report file is written: it could overwrite an input.
        changes = _with_approval(unknown_changes(context), hooks)
        decision = _decision_without_keys(e.missing, context, hooks, changes)
        return _deliver({}, decision, hooks, document_redactor(context.environ))

    baseline_places = places_to_write(context)
    decision = _decide(session, hooks)
    delivery = _deliver(session.places, decision, hooks, session.preparation.seal)
    if baseline_places and may_be_baseline(decision, session.preparation.plan.policies):
        return _write_baseline(session, baseline_places, delivery, hooks)
    return delivery


def _decide(session: Session, hooks: RunHooks) -> Decision:
    """Ask and grade what is planned, and decide. If nothing may or can be asked, the decision says why. Raises ConfigError."""
    context = session.context
    preparation = session.preparation
    plan = preparation.plan

    reason = hooks.reason_not_to_ask(preparation)
    if reason:
        return decision_without_calls(GateOutcome.PASS, reason, context.commit, plan.digests)

    is_merge = bool(context.settings.merge)
    if plan.missing_keys and not is_merge:
        changes = _with_approval(preparation.changes, hooks)
        return _decision_without_keys(plan.missing_keys, context, hooks, changes)

    reason = session.wait_until_ready()
    if reason:
        outcome = GateOutcome.INCONCLUSIVE
        return decision_without_calls(outcome, reason, context.commit, plan.digests)

    changes = _with_approval(preparation.changes, hooks)
    try:
        result = session.run(preparation, hooks.progress)
    except NoPartsError:  # the shards had no keys either, so they left no part for this merge
        if not (context.keyless and plan.missing_keys):
            raise
        return _decision_without_keys(plan.missing_keys, context, hooks, changes)
    return decide(result, redact_values(plan.policies, preparation.hide), changes)


def _write_baseline(
    session: Session, places: Mapping[str, Place], delivery: Delivery, hooks: RunHooks
) -> Delivery:
    """Write results and votes for later runs. Returns the delivery with a failure, or marked as ``kept``."""
    seal = session.preparation.seal
    decision = delivery.decision
    histories = Histories(session.preparation.plan)
    contents = {
        RESULTS: lambda: render_report("json", decision, hooks.links, seal).parts,
        HISTORY: lambda: map(seal, histories.lines(decision.run)),
    }
    failure = write_baseline(places, contents)
    if failure:
        path = session.context.settings.baseline
        return replace(delivery, failures={**delivery.failures, path: failure})
    return replace(delivery, kept=True)


def reason_without_keys(event: Event, missing: Iterable[str]) -> str:
    """Why a pull request has no keys."""
    names = sorted(missing)
    verb = "is" if len(names) == 1 else "are"
    return f"the pull request comes from {event.outsider}: GitHub gives its workflow no secrets, and {', '.join(names)} {verb} not set"


def _decision_without_keys(
    missing: Iterable[str], context: Context, hooks: RunHooks, changes: GateChanges
) -> Decision:
    reason = reason_without_keys(context.event, missing)
    decision = decision_without_calls(
        GateOutcome.NOT_RUN, reason, context.commit, notes=[hooks.advice]
    )
    return decision_without_run(decision, changes)


def decision_without_calls(
    outcome: GateOutcome,
    reason: str,
    commit: str,
    digests: NamedTexts = NOTHING,
    notes: Iterable[str] = (),
) -> Decision:
    """The decision about a run without calls, and so without cases."""
    run = result_without_run(commit, digests, notes)
    return Decision(outcome, reason, (), run, Counts(), Counts())


def _with_approval(changes: GateChanges, hooks: RunHooks) -> GateChanges:
    """The changes of the gate, with the approval of a person if they would block."""
    if changes.approved or not (changes.found and changes.block):
        return changes
    approval = hooks.find_approval()
    return replace(changes, approved=approval.by, refused=approval.why)


def _deliver(
    places: Mapping[str, Place], decision: Decision, hooks: RunHooks, seal: Redact
) -> Delivery:
    reports = find_reports(places)
    links = links_to_written(places, hooks.links)
    signals.finish_requests()
    failures = write_reports(reports, places, decision, links, seal)
    links = links_to_written([path for path in places if path not in failures], links)
    documents = tuple(render_report(name, decision, links, seal) for name in hooks.reports)
    return Delivery(decision, documents, failures, seal, frozenset(places))
