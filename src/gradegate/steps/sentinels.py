"""Labelled outputs that show whether a grader has moved: from the file that a gate names to what is asked, and to a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from gradegate.base.checkout import Base
from gradegate.deciding.agreement import Calibration
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.http.client import Client
from gradegate.planning.job import Job, Plan, Sentinels
from gradegate.planning.load import Located
from gradegate.planning.plan import plan
from gradegate.reporting.report import Document, Sink
from gradegate.steps import labels
from gradegate.steps.labels import Selected
from gradegate.values.figures import many
from gradegate.values.settings import Settings
from gradegate.values.suite import Note, SentinelFile

LEAST, MOST = 5, 30
_NUMBER = f"name {LEAST} to {MOST}; `gradegate calibrate --sentinels FILE` chooses them"
_NONE = Note("the base has no sentinels: the sentinels of this pull request count after the merge")


def mistakes(suites: Sequence[Located]) -> list[Mistake]:
    """What is wrong with the files that gates name."""
    return [mistake for file, group in _groups(suites).items() for mistake in _chosen(file, group)[2]]


def with_sentinels(planned: Plan, suites: Sequence[Located], settings: Settings, client: Client, base: Base | None) -> Plan:
    """The plan with the labelled outputs of its gates, of a base its own. Raises ConfigError."""
    found: list[tuple[Job, bool]] = []
    shares, notes, wrong = [], list[Note](), mistakes(suites)
    held = {rule.suite: policy.sentinels for policy in base.policies for rule in policy.rules} if base else {}
    for own, group in _groups(suites).items() if not settings.listing else ():
        file = next((held[it.suite.file] for it in group if held.get(it.suite.file)), None) if base else own
        if file is None:
            notes.append(_NONE)
            continue
        chosen, selected, unfit = _chosen(file, group)
        made = plan(chosen, settings, client) if selected and not wrong else replace(planned, jobs=())
        for it, job in zip(selected, labels.jobs_of(made, selected, 1) if made.jobs else (), strict=False):
            if any("text" in bound.models for bound in job.assertions[0].bounds):
                found.append((job, it.label.passes))
            else:
                unfit += it.label.wrong("no model grades this, so it cannot show whether a grader has moved", "leave it out").mistakes
        if base and unfit:
            notes.append(Note(f"{many(len(unfit), 'sentinel')} of the base cannot be used here; the first: {unfit[0].what}"))
        wrong += [] if base else [it for it in unfit if it not in wrong]
        share = file.agreement if file.agreement is not None else labels.agreement(file.content, file.name)
        shares.append(1 - group[0].suite.policy.noise if share is None else share)
    if wrong:
        raise ConfigError(*wrong)
    always = bool(settings.history_out and settings.environment.is_trusted) or bool(
        settings.auto and settings.environment.is_default_branch
    )
    sentinels = Sentinels(tuple(found), min(shares), always) if found else None
    return replace(planned, sentinels=sentinels, notes=(*planned.notes, *notes))


def _groups(suites: Sequence[Located]) -> dict[SentinelFile, list[Located]]:
    """The suites by the file that their gates name."""
    groups: dict[SentinelFile, list[Located]] = {}
    for located in suites:
        if file := located.suite.policy.sentinels:
            groups.setdefault(file, []).append(located)
    return groups


def _chosen(file: SentinelFile, group: Sequence[Located]) -> tuple[list[Located], list[Selected], list[Mistake]]:
    """The suites with the labelled outputs, and these; what is wrong with the file."""
    found, wrong = labels.parse(file.content, file.name)
    if found and not LEAST <= len(found) <= MOST:
        where = found[MOST].origin if len(found) > MOST else file.origin
        wrong.append(Mistake(f"`{file.name}` has {many(len(found), 'labelled output')}", where, _NUMBER))
    chosen, selected, unfit = labels.select(found, group, 1)
    return chosen, selected, [*wrong, *unfit]


# --- a file of them -------------------------------------------------------------------------------------------


def check(selected: Sequence[Selected], plan: Plan) -> None:
    """Whether there are enough to write a file of. Raises ConfigError."""
    number = sum(any("text" in bound.models for bound in job.assertions[0].bounds) for job in plan.jobs[: len(selected)])
    if number < LEAST:
        what = f"a model grades {many(number, 'labelled output')}, and sentinels are {LEAST} to {MOST}"
        raise ConfigError.at(what, Origin("<--sentinels>"), "label more outputs")


def document(calibration: Calibration, selected: Sequence[Selected]) -> Document:
    """The agreement that was measured, and up to 30 of the labels, spread over all of them."""
    own = [it.label for it, judged in zip(selected, calibration.judged, strict=True) if judged.asks_model]
    count = min(MOST, len(own))
    chosen = (own[number * len(own) // count].model_dump(exclude={"origin"}, exclude_unset=True) for number in range(count))
    head = {"agreement": round(calibration.overall.agreement.value or 0.0, 4)}
    return Document(Sink.FILE, tuple(json.dumps(line, ensure_ascii=False) + "\n" for line in (head, *chosen)))
