"""Labelled outputs that are graded in a run, to notice a grader that has changed: chooses, checks and writes these."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from gradegate.config.context import Context
from gradegate.config.load import SuiteFile
from gradegate.core.numbers import format_count
from gradegate.core.policy import LabelsFile, Note
from gradegate.errors import ConfigError, Mistake
from gradegate.files import documents as document
from gradegate.gate.calibration import Calibration
from gradegate.http.client import Client
from gradegate.planning.plan import Job, LabelledJobs, Plan
from gradegate.planning.planner import make_plan
from gradegate.reports.delivery.report import Document, data_file
from gradegate.runner.baseline_folder import replaces_baseline
from gradegate.runner.calibration.labels import Label, Selected, Selection, jobs_of, parse, select
from gradegate.runner.comparison import Base
from gradegate.structs import replace

LEAST = 5  # labels of a file
MOST = 30  # that a run grades
_NONE = Note("the base has no labels: the labels of this pull request count after the merge")


def label_mistakes(suites: Sequence[SuiteFile]) -> list[Mistake]:
    """What is wrong with the files that gates name."""
    return [
        mistake
        for file, group in _by_file(suites).items()
        for mistake in _chosen(file, group).mistakes
    ]


def with_labels(
    plan: Plan, suites: Sequence[SuiteFile], base: Base | None, context: Context, client: Client
) -> Plan:
    """The plan with the labelled outputs of its gates, of a base its own. Raises ConfigError."""
    found = []
    shares, notes, wrong = [], list[Note](), list[Mistake]()
    held = {}
    missing_keys = plan.missing_keys
    if base:
        held = {rule.suite: policy.labels for policy in base.policies for rule in policy.rules}
    files = []
    for own, group in _by_file(suites).items():
        former = (held[it.suite.file] for it in group if held.get(it.suite.file))
        file = next(former, None) if base else own
        files.append((file, group))
        # What was left of a removed case is wrong in the file of the base, too.
        excused = {it.what for it in _chosen(file, group).mistakes} if base and file else set[str]()
        wrong += [it for it in _chosen(own, group).mistakes if it.what not in excused]
    for file, group in files if not context.settings.listing else ():
        if file is None:
            notes.append(_NONE)
            continue
        selection = _chosen(file, group)
        unfit = [*selection.mistakes]
        jobs: Sequence[Job] = ()
        if selection.labels and not wrong:
            made = make_plan(selection.suites, context, client)
            missing_keys |= made.missing_keys
            jobs = jobs_of(made, selection.labels, 1)
        graded = []
        for it, job in zip(selection.labels, jobs, strict=False):
            if any("text" in bound.models for bound in job.assertions[0].bounds):
                graded.append((it.label, job))
            else:
                what = "no model grades this, so it cannot show whether a grader has moved"
                unfit += it.label.wrong(what, "leave it out").mistakes
        sample = sorted(graded, key=lambda pair: _digest(pair[0]))[:MOST]
        found += [(job, label.passes) for label, job in sample]
        if base and unfit:
            what = f"{format_count(len(unfit), 'label')} of the base cannot be used here"
            notes.append(Note(f"{what}; the first: {unfit[0].what}"))
        if not base:
            wrong += [it for it in unfit if it not in wrong]
        lines, share = document.readable_lines(file.content, file.name)[0], file.agreement
        if (
            share is None and lines
        ):  # what the grader agreed with, where the first line of the file says it
            measured = lines[0].get("agreement")
            share = measured if isinstance(measured, float) or type(measured) is int else None
        shares.append(1 - group[0].suite.policy.noise if share is None else share)
    if wrong:
        raise ConfigError(*wrong)
    labels = None
    if found:
        labels = LabelledJobs(tuple(found), min(shares), replaces_baseline(context))
    return replace(plan, labels=labels, notes=(*plan.notes, *notes), missing_keys=missing_keys)


def _by_file(suites: Sequence[SuiteFile]) -> dict[LabelsFile, list[SuiteFile]]:
    """The suites by the file that their gates name."""
    groups = defaultdict(list)
    for located in suites:
        if file := located.suite.policy.labels:
            groups[file].append(located)
    return groups


def _chosen(file: LabelsFile, group: Sequence[SuiteFile]) -> Selection:
    """The labelled outputs of a file, with what is wrong with it."""
    found, wrong = parse(file.content, file.name)
    if found and len(found) < LEAST:
        what = f"`{file.name}` has {format_count(len(found), 'labelled output')}"
        wrong.append(Mistake(what, file.origin, f"label at least {LEAST}"))
    selection = select(found, group, 1)
    return replace(selection, mistakes=[*wrong, *selection.mistakes])


def _digest(label: Label) -> bytes:
    """The hash that orders labels: the sample of a file stays the same while its labels stay."""
    return hashlib.sha256(json.dumps(_line(label), sort_keys=True).encode()).digest()


def _line(label: Label) -> dict[str, Any]:
    return label.model_dump(exclude={"origin"}, exclude_unset=True)


def labels_file(calibration: Calibration, selected: Sequence[Selected]) -> Document:
    """The agreement that was measured, and the labels of outputs that a model graded."""
    lines = [
        {"agreement": round(calibration.overall.agreement.value or 0.0, 4)},
        *(
            _line(it.label)
            for it, judged in zip(selected, calibration.judged, strict=True)
            if judged.asks_model
        ),
    ]
    return data_file(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
