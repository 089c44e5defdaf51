"""The steps of a run, spelled out once: settings, suites, plan, rows, decision, documents, delivered.

The command line and the Action only say what happens, and post what came of it.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from gradegate.asking.http import Client
from gradegate.changes import NO_CHANGES, Approval, GateChanges
from gradegate.deciding.changes import blocks, compare
from gradegate.deciding.gate import decide
from gradegate.planning.base import Base, plan_base
from gradegate.planning.job import Plan
from gradegate.planning.load import Located, load
from gradegate.planning.plan import build_client, plan
from gradegate.planning.secrets import secrets_of
from gradegate.planning.stakes import stakes
from gradegate.reporting.deliver import check_outputs, render, write
from gradegate.reporting.redact import Hide, conceal, redactor
from gradegate.reporting.report import Document, Links
from gradegate.result import Decision
from gradegate.running.run import Watch, run
from gradegate.settings import Settings

Progress = Callable[[int], AbstractContextManager[Watch]]  # takes the number of planned answers
Approve = Callable[[], Approval]  # asks whether a person approved what the pull request does to its gate


@dataclass(frozen=True)
class Prepared:
    """A plan with the client that its providers ask through, what hides its secrets, and how it differs from the base's."""

    plan: Plan
    client: Client
    hide: Hide
    changes: GateChanges = NO_CHANGES


@dataclass(frozen=True)
class Delivered:
    """A decision with its documents; ``failures`` says of each report file that could not be written why not."""

    decision: Decision
    documents: tuple[Document, ...]
    failures: dict[str, str]


def prepare(settings: Settings) -> Prepared:
    """Settings to suites, suites to a plan; no call is made. Raises ConfigError with every mistake."""
    base = plan_base(settings) if settings.base else None  # first, so that one plan at a time is in memory
    suites = load(settings)
    client = build_client(settings, suites)
    planned = plan(suites, settings, client)
    hide = redactor((*secrets_of(settings, suites), *(base.secrets if base else ())))
    changes = _changes(base, planned, suites, settings) if base else NO_CHANGES
    return Prepared(planned, client, hide, conceal(changes, hide))


def _changes(base: Base, planned: Plan, suites: Sequence[Located], settings: Settings) -> GateChanges:
    """What the plan checks less or otherwise than the base; either side may say that this blocks, and so may the run."""
    found = compare(base.suites, stakes(planned, suites, settings.environ), base.problems)
    block = settings.changes == "block" or blocks((*base.policies, *planned.policies))
    return GateChanges(found, block)


def evaluate(prepared: Prepared, reask: int, watch: Watch) -> Decision:
    """The plan to rows, rows to a decision that holds no secret."""
    gc.freeze()  # the plan lives to the end: the collector need not walk it again and again
    gc.enable()
    rows = run(prepared.plan, prepared.client, reask, watch)
    return decide(conceal(rows, prepared.hide), prepared.plan.policies, prepared.changes)


def deliver(
    settings: Settings, names: tuple[str, ...], links: Links, progress: Progress, approve: Approve = Approval
) -> Delivered:
    """All steps. ``names`` are the reports that the caller says or posts itself. Raises ConfigError.

    ``approve`` is called where changes of the gate would block.
    """
    outputs = check_outputs(settings.outputs)
    prepared = prepare(settings)
    if prepared.changes.blocking:
        approval = approve()
        changes = replace(prepared.changes, approved=approval.by, refused=approval.why)
        prepared = replace(prepared, changes=changes)
    with progress(prepared.plan.answers) as watch:
        decision = evaluate(prepared, settings.reask, watch)
    failures = write(outputs, settings.cwd, decision, links, prepared.hide)
    documents = tuple(render(name, decision, links, prepared.hide) for name in names)
    return Delivered(decision, documents, failures)
