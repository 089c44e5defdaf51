"""The steps of a run, spelled out once: settings, suites, plan, rows, decision, documents, delivered.

The command line and the Action only say what happens, and post what came of it.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from gradegate.access.hiding import Hide, redactor
from gradegate.asking.guard import Guard
from gradegate.asking.http import Client
from gradegate.deciding.changes import with_changes
from gradegate.deciding.gate import decide
from gradegate.errors import ConfigError
from gradegate.planning.job import Plan
from gradegate.planning.load import Located, load, written_in
from gradegate.planning.plan import build_client, egress, plan
from gradegate.planning.secrets import Secrets, secrets_of
from gradegate.reporting.deliver import check_outputs, render, write
from gradegate.reporting.redact import conceal, concealed_mistakes
from gradegate.reporting.report import Document, Links
from gradegate.result import Decision
from gradegate.running.run import Watch, run
from gradegate.settings import Settings

Progress = Callable[[int], AbstractContextManager[Watch]]  # takes the number of planned answers
Choose = Callable[[list[Located]], list[Located]]


@dataclass(frozen=True)
class Prepared:
    """A plan with the client that its providers ask through, and what hides its secrets.

    ``hide`` is for values, before a report is made of them; ``seal`` for finished documents.
    """

    plan: Plan
    client: Client
    secrets: Secrets
    hide: Hide
    seal: Hide

    @property
    def shown_plan(self) -> Plan:
        """The plan with notes and keys as people may see them."""
        notes, keys = conceal(self.plan.notes, self.hide), conceal(self.plan.keys, self.hide)
        return replace(self.plan, notes=notes, keys=keys)


@dataclass(frozen=True)
class Delivered:
    """A decision with its documents; ``failures`` says of each report file that could not be written why not."""

    decision: Decision
    documents: tuple[Document, ...]
    failures: dict[str, str]


def prepare(settings: Settings, choose: Choose = list) -> Prepared:
    """Settings to suites, suites to a plan; no call is made. Raises ConfigError with every mistake.

    ``choose`` may say which cases of the suites are planned.
    """
    suites: list[Located] = []
    try:
        suites += (with_changes(located, settings) for located in load(settings))
        return _prepared(settings, choose(suites))
    except ConfigError as e:
        values = {*secrets_of(settings, suites).values, *written_in(settings)}
        raise concealed_mistakes(e, redactor(values)) from None


def _prepared(settings: Settings, suites: list[Located]) -> Prepared:
    client = build_client(settings, suites)
    planned, secrets = plan(suites, settings, client), secrets_of(settings, suites)
    client.guard = Guard(egress(settings), {use.name: settings.environ[use.name] for use in planned.keys})
    hide = redactor(secrets.values)
    return Prepared(planned, client, secrets, hide, redactor(secrets.environment.values(), short=False))


def evaluate(prepared: Prepared, reask: int, watch: Watch) -> Decision:
    """The plan to rows, rows to a decision that holds no secret."""
    gc.freeze()  # the plan lives to the end: the collector need not walk it again and again
    gc.enable()
    rows = run(prepared.plan, prepared.client, reask, watch)
    shown = replace(conceal(rows, prepared.hide), hidden=prepared.secrets.names)
    return decide(shown, conceal(prepared.plan.policies, prepared.hide))


def deliver(settings: Settings, names: tuple[str, ...], links: Links, progress: Progress) -> Delivered:
    """All steps. ``names`` are the reports that the caller says or posts itself. Raises ConfigError."""
    outputs = check_outputs(settings.outputs)
    prepared = prepare(settings)
    with progress(prepared.plan.answers) as watch:
        decision = evaluate(prepared, settings.reask, watch)
    failures = write(outputs, settings.cwd, decision, links, prepared.seal)
    documents = tuple(render(name, decision, links, prepared.seal) for name in names)
    return Delivered(decision, documents, failures)
