"""The way of `gradegate calibrate` through a session: labels and config, plan, asks, figures, reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from gradegate.deciding.agreement import Calibration, Judged
from gradegate.deciding.exit import INCONCLUSIVE, INTERRUPTED, MISTAKE, PASS, TERMINATED
from gradegate.errors import ConfigError
from gradegate.planning.load import Located
from gradegate.planning.planner import MAX_REPEATS
from gradegate.reporting.deliver import write_documents
from gradegate.reporting.redact import conceal
from gradegate.steps import calibration_reports, labels, sentinels
from gradegate.steps.labels import Selected
from gradegate.steps.session import Progress, Session
from gradegate.values.settings import Settings


@dataclass(frozen=True)
class Calibrated:
    """The figures, the text for people in parts, and why a report file could not be written, by its path."""

    calibration: Calibration
    text: Iterable[str]
    failures: Mapping[str, str]


def calibrate(settings: Settings, path: str, asks: int, progress: Progress) -> Calibrated:
    """Have labelled outputs graded, each ``asks`` times, and write the reports. Raises ConfigError."""
    calibration_reports.check_outputs(settings.outputs)
    settings, kept = replace(settings, sentinels=""), settings.sentinels  # which is written, and not read
    if asks > MAX_REPEATS:
        raise ConfigError.at(f"`--asks` is more than {MAX_REPEATS:,}", None, "ask less often; 3 to 10 show the noise")
    selected: list[Selected] = []

    def choose(suites: list[Located]) -> list[Located]:
        found, wrong = labels.read(path, settings)
        planned, chosen, unfit = labels.select(found, suites, asks)
        selected.extend(chosen)
        suite = planned[0].suite
        return [replace(planned[0], suite=replace(suite, mistakes=(*suite.mistakes, *wrong, *unfit))), *planned[1:]]

    session = Session.begin(settings, [*settings.outputs, *filter(None, [kept])], choose=choose, inputs=[(settings.cwd / path).resolve()])
    # Without a rule nothing is asked again: each ask is to be held against its label.
    plan = replace(session.prepared.plan, jobs=labels.jobs_of(session.prepared.plan, selected, asks), policies=())
    if kept:
        sentinels.check(selected, plan)
    prepared = replace(session.prepared, plan=plan)
    run = session.rows(prepared, progress)
    judged = []
    for number, it in enumerate(selected):
        bounds = prepared.plan.jobs[number].assertions[0].bounds
        asks_model = any("text" in bound.models for bound in bounds)
        origin = conceal(it.label.origin, prepared.hide)
        judged.append(Judged(it.label.passes, origin, run.rows[number :: len(selected)], asks_model))
    found = Calibration(tuple(judged), asks, run)
    documents = dict.fromkeys(settings.outputs, partial(calibration_reports.as_json, found))
    if kept and found.overall.agreement.count:
        documents[kept] = partial(sentinels.document, found, selected)
    failures = write_documents(documents, session.where, prepared.seal)
    return Calibrated(found, map(prepared.seal, calibration_reports.console(found).parts), failures)


def exit_code(calibration: Calibration) -> int:
    """0 where something could be held against a label, else 3, or 2 for a wrong key or model; 130, 143 interrupted."""
    if calibration.run.interrupted:
        return TERMINATED if calibration.run.interrupted == "terminated" else INTERRUPTED
    if sum(calibration.overall.table):
        return PASS
    return MISTAKE if any(it.first.setup for it in calibration.judged) else INCONCLUSIVE
