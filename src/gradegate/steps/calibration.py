"""The steps of `gradegate calibrate`: labels and config, plan, asks, figures, documents, delivered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from gradegate.deciding.exit import INCONCLUSIVE, INTERRUPTED, MISTAKE, PASS, TERMINATED
from gradegate.errors import ConfigError
from gradegate.planning.job import Job
from gradegate.planning.load import Located
from gradegate.planning.plan import MAX_REPEATS
from gradegate.reporting.deliver import write_documents
from gradegate.reporting.places import check_inputs, places
from gradegate.reporting.redact import conceal
from gradegate.running.run import run
from gradegate.steps import calibration_reports, labels
from gradegate.steps.agreement import Calibration, Judged
from gradegate.steps.label_selection import Selected, Selection, select, several_values
from gradegate.steps.session import Prepared, Progress, prepare
from gradegate.values.result import Row
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
    where = places(settings.outputs, settings.cwd, settings.environment)
    if asks > MAX_REPEATS:
        raise ConfigError.at(f"`--asks` is more than {MAX_REPEATS:,}", None, "ask less often; 3 to 10 show the noise")
    prepared, selected = _prepared(settings, path, asks)
    check_inputs(where, {*prepared.inputs, (settings.cwd / path).resolve()})
    with progress(prepared.plan.answers) as watch:
        rows = run(prepared.plan, prepared.client, settings.reask, watch)
    shown = replace(conceal(rows, prepared.hide), hidden=prepared.secrets.names)
    found = Calibration(tuple(_judged(selected, prepared, shown.rows)), asks, shown)
    documents = dict.fromkeys(settings.outputs, partial(calibration_reports.as_json, found))
    failures = write_documents(documents, where, prepared.seal)
    text = (prepared.seal(part) for part in calibration_reports.console(found).parts)
    return Calibrated(found, text, failures)


def exit_code(calibration: Calibration) -> int:
    """0 where something could be held against a label, else 3, or 2 for a wrong key or model; 130, 143 interrupted."""
    if calibration.run.interrupted:
        return TERMINATED if calibration.run.interrupted == "terminated" else INTERRUPTED
    if sum(calibration.overall.table):
        return PASS
    return MISTAKE if any(it.first.setup for it in calibration.judged) else INCONCLUSIVE


def _prepared(settings: Settings, path: str, asks: int) -> tuple[Prepared, tuple[Selected, ...]]:
    """The plan of all asks, the first ask of every output before any second one. Raises ConfigError."""
    made: list[Selection] = []

    def choose(suites: list[Located]) -> list[Located]:
        made.append(select(labels.read(path, settings), suites, asks))
        return made[0].suites

    prepared = prepare(settings, choose)
    selected = made[0].selected
    jobs = _jobs(selected, prepared.plan.jobs)
    every = tuple(
        # The conversation of an output is its case's: none of the other outputs was said before it.
        replace(job, repeats=1, render=None, recall=None, stores="", in_order=False, ask=it.earlier * asks + ask)
        for ask in range(asks)
        for it, job in zip(selected, jobs, strict=True)
    )
    # Without a rule nothing is asked again: each ask is to be held against its label.
    return replace(prepared, plan=replace(prepared.plan, jobs=every, policies=())), selected


def _jobs(selected: Iterable[Selected], planned: Iterable[Job]) -> list[Job]:
    """One job for each label. Raises ConfigError."""
    of_case: dict[int, list[Job]] = defaultdict(list)
    for job in planned:
        of_case[id(job.case)].append(job)
    mistakes = [several_values(it) for it in selected if len(of_case[id(it.case)]) > 1]
    if mistakes:
        raise ConfigError(*mistakes)
    return [of_case[id(it.case)][0] for it in selected]


def _judged(selected: tuple[Selected, ...], prepared: Prepared, rows: tuple[Row, ...]) -> Iterable[Judged]:
    for number, it in enumerate(selected):
        bounds = prepared.plan.jobs[number].assertions[0].bounds
        asks_model = any("text" in bound.models for bound in bounds)
        origin = conceal(it.label.origin, prepared.hide)
        yield Judged(it.label.passes, origin, rows[number :: len(selected)], asks_model)
