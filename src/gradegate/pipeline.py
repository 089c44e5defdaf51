"""The steps of a run, spelled out once: settings, suites, plan, rows, decision, documents, delivered.

The command line and the Action only say what happens, and post what came of it.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from gradegate.asking.http import Client
from gradegate.deciding.changes import with_changes
from gradegate.deciding.gate import decide
from gradegate.planning.job import Plan
from gradegate.planning.load import load
from gradegate.planning.plan import build_client, plan
from gradegate.planning.secrets import secrets_of
from gradegate.reporting.deliver import check_outputs, render, write
from gradegate.reporting.places import check_inputs, places
from gradegate.reporting.redact import Hide, conceal, redactor
from gradegate.reporting.report import Document, Links
from gradegate.result import Decision
from gradegate.running.run import Watch, run
from gradegate.settings import Settings

Progress = Callable[[int], AbstractContextManager[Watch]]  # takes the number of planned answers


@dataclass(frozen=True)
class Prepared:
    """A plan with the client that its providers ask through, what hides its secrets, and the files that were read."""

    plan: Plan
    client: Client
    hide: Hide
    inputs: frozenset[Path]


@dataclass(frozen=True)
class Delivered:
    """A decision with its documents; ``failures`` says of each report file that could not be written why not."""

    decision: Decision
    documents: tuple[Document, ...]
    failures: dict[str, str]


def prepare(settings: Settings) -> Prepared:
    """Settings to suites, suites to a plan; no call is made. Raises ConfigError with every mistake."""
    suites = [with_changes(located, settings) for located in load(settings)]
    client = build_client(settings, suites)
    planned = plan(suites, settings, client)
    inputs = frozenset(path for located in suites for path in located.workspace.opened)
    return Prepared(planned, client, redactor(secrets_of(settings, suites)), inputs)


def evaluate(prepared: Prepared, reask: int, watch: Watch) -> Decision:
    """The plan to rows, rows to a decision that holds no secret."""
    gc.freeze()  # the plan lives to the end: the collector need not walk it again and again
    gc.enable()
    rows = run(prepared.plan, prepared.client, reask, watch)
    return decide(conceal(rows, prepared.hide), prepared.plan.policies)


def deliver(settings: Settings, names: tuple[str, ...], links: Links, progress: Progress) -> Delivered:
    """All steps. ``names`` are the reports that the caller says or posts itself. Raises ConfigError."""
    reports = check_outputs(settings.outputs)
    where = places(settings.outputs, settings.cwd, settings.environ)
    prepared = prepare(settings)
    check_inputs(where, prepared.inputs)
    with progress(prepared.plan.answers) as watch:
        decision = evaluate(prepared, settings.reask, watch)
    failures = write(reports, where, decision, links, prepared.hide)
    documents = tuple(render(name, decision, links, prepared.hide) for name in names)
    return Delivered(decision, documents, failures)
