"""Sentinels, labelled answers that are graded in every gate: chooses them, checks them, writes their file."""

import json
from collections.abc import Sequence

from gradegate.config.load import Located
from gradegate.core.numbers import many
from gradegate.core.policy import Note, SentinelFile
from gradegate.core.settings import Settings
from gradegate.errors import ConfigError, Mistake
from gradegate.files import documents as document
from gradegate.gate.calibration import Calibration
from gradegate.http.client import Client
from gradegate.planning.plan import Job, Plan, Sentinels
from gradegate.planning.planner import plan
from gradegate.reports.delivery.report import Document, Sink
from gradegate.runner.calibration.labels import Selected, jobs_of, parse, select
from gradegate.runner.comparison import Base
from gradegate.structs import replace

LEAST, MOST = 5, 30
_NUMBER = f"name {LEAST} to {MOST}; `gradegate calibrate --sentinels FILE` chooses them"
_NONE = Note("the base has no sentinels: the sentinels of this pull request count after the merge")


def sentinel_mistakes(suites: Sequence[Located]) -> list[Mistake]:
    """What is wrong with the files that gates name."""
    return [
        mistake for file, group in _by_file(suites).items() for mistake in _chosen(file, group)[2]
    ]


def with_sentinels(
    planned: Plan, suites: Sequence[Located], settings: Settings, client: Client, base: Base | None
) -> Plan:
    """The plan with the labelled outputs of its gates, of a base its own. Raises ConfigError."""
    found: list[tuple[Job, bool]] = []
    shares, notes, wrong = [], list[Note](), sentinel_mistakes(suites)
    held = (
        {rule.suite: policy.sentinels for policy in base.policies for rule in policy.rules}
        if base
        else {}
    )
    for own, group in _by_file(suites).items() if not settings.listing else ():
        file = (
            next((held[it.suite.file] for it in group if held.get(it.suite.file)), None)
            if base
            else own
        )
        if file is None:
            notes.append(_NONE)
            continue
        chosen, selected, unfit = _chosen(file, group)
        made = (
            plan(chosen, settings, client) if selected and not wrong else replace(planned, jobs=())
        )
        for it, job in zip(selected, jobs_of(made, selected, 1) if made.jobs else (), strict=False):
            if any("text" in bound.models for bound in job.assertions[0].bounds):
                found.append((job, it.label.passes))
            else:
                unfit += it.label.wrong(
                    "no model grades this, so it cannot show whether a grader has moved",
                    "leave it out",
                ).mistakes
        if base and unfit:
            notes.append(
                Note(
                    f"{many(len(unfit), 'sentinel')} of the base cannot be used here; the first: {unfit[0].what}"
                )
            )
        wrong += [] if base else [it for it in unfit if it not in wrong]
        lines, share = document.readable_lines(file.content, file.name)[0], file.agreement
        if (
            share is None and lines
        ):  # what the grader agreed with, where the first line of the file says it
            measured = lines[0].get("agreement")
            share = measured if isinstance(measured, float) or type(measured) is int else None
        shares.append(1 - group[0].suite.policy.noise if share is None else share)
    if wrong:
        raise ConfigError(*wrong)
    writes_history, on_default = (
        settings.history_out and settings.environment.is_trusted,
        settings.environment.is_default_branch,
    )
    sentinels = (
        Sentinels(tuple(found), min(shares), bool(writes_history or (settings.auto and on_default)))
        if found
        else None
    )
    return replace(planned, sentinels=sentinels, notes=(*planned.notes, *notes))


def _by_file(suites: Sequence[Located]) -> dict[SentinelFile, list[Located]]:
    """The suites by the file that their gates name."""
    groups: dict[SentinelFile, list[Located]] = {}
    for located in suites:
        if file := located.suite.policy.sentinels:
            groups.setdefault(file, []).append(located)
    return groups


def _chosen(
    file: SentinelFile, group: Sequence[Located]
) -> tuple[list[Located], list[Selected], list[Mistake]]:
    """The suites with the labelled outputs, and these; what is wrong with the file."""
    found, wrong = parse(file.content, file.name)
    if found and not LEAST <= len(found) <= MOST:
        where = found[MOST].origin if len(found) > MOST else file.origin
        wrong.append(
            Mistake(f"`{file.name}` has {many(len(found), 'labelled output')}", where, _NUMBER)
        )
    chosen, selected, unfit = select(found, group, 1)
    return chosen, selected, [*wrong, *unfit]


def sentinel_file(calibration: Calibration, selected: Sequence[Selected]) -> Document:
    """The agreement that was measured, and up to 30 of the labels, spread over all of them."""
    own = [
        it.label
        for it, judged in zip(selected, calibration.judged, strict=True)
        if judged.asks_model
    ]
    count = min(MOST, len(own))
    chosen = (
        own[number * len(own) // count].model_dump(exclude={"origin"}, exclude_unset=True)
        for number in range(count)
    )
    head = {"agreement": round(calibration.overall.agreement.value or 0.0, 4)}
    return Document(
        Sink.FILE, tuple(json.dumps(line, ensure_ascii=False) + "\n" for line in (head, *chosen))
    )
