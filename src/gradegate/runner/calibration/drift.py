"""Chooses labelled outputs that a run grades, to notice a grader that has changed. Checks and writes files of labels."""

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
from gradegate.runner.calibration.labels import (
    Label,
    SelectedLabel,
    Selection,
    label_jobs,
    parse_labels,
    select_cases,
)
from gradegate.runner.comparison import Base
from gradegate.structs import FrozenStruct, replace

LEAST = 5  # labels in a file
MOST = 30  # labels that a run grades
_NO_LABELS = Note("the base has no labels: the labels of this pull request count after the merge")


def label_mistakes(suites: Sequence[SuiteFile]) -> list[Mistake]:
    """The mistakes in the files of labels that gates name."""
    mistakes: list[Mistake] = []
    for file, group in _suites_by_file(suites).items():
        mistakes += _select_labels(file, group).mistakes
    return mistakes


def with_labels(
    plan: Plan, suites: Sequence[SuiteFile], base: Base | None, context: Context, client: Client
) -> Plan:
    """The plan with the labelled outputs of its gates. If there is a base, its labels count. Raises ConfigError.

    At most ``MOST`` outputs of each file are graded.
    """
    groups = [_choose_file(file, group, base) for file, group in _suites_by_file(suites).items()]
    mistakes = [mistake for group in groups for mistake in group.mistakes]
    if context.settings.is_listing:
        groups = []  # nothing is graded

    sample = []
    agreements = []
    notes = []
    missing_keys = plan.missing_keys
    for group in groups:
        if group.file is None:
            notes.append(_NO_LABELS)
            continue

        # Labels are about cases of the head, so a job for each label is planned from the head's suites.
        selection = _select_labels(group.file, group.suites)
        jobs: Sequence[Job] = ()
        if selection.labels and not mistakes:
            labels_plan = make_plan(selection.suites, context, client)
            missing_keys |= labels_plan.missing_keys
            jobs = label_jobs(labels_plan, selection.labels, 1)

        # The order by digests chooses the same outputs in every run, without a preference for the first lines.
        graded, ungraded = _divide_by_grader(selection.labels, jobs)
        graded.sort(key=lambda pair: _label_digest(pair[0]))
        sample += [(job, label.passes) for label, job in graded[:MOST]]
        noise = group.suites[0].suite.policy.noise
        agreements.append(_measured_agreement(group.file, otherwise=1 - noise))

        # The pull request cannot correct the labels of the base.
        unfit = [*selection.mistakes, *ungraded]
        if base is None:
            mistakes += [mistake for mistake in unfit if mistake not in mistakes]
        elif unfit:
            what = f"{format_count(len(unfit), 'label')} of the base cannot be used here"
            notes.append(Note(f"{what}; the first: {unfit[0].what}"))

    if mistakes:
        raise ConfigError(*mistakes)
    labels = None
    if sample:
        labels = LabelledJobs(tuple(sample), min(agreements), replaces_baseline(context))
    return replace(plan, labels=labels, notes=(*plan.notes, *notes), missing_keys=missing_keys)


class _LabelsGroup(FrozenStruct):
    """The suites that name one file of labels.

    ``file`` counts for them: the file of the base, if there is a base. It is None if the base has no labels. ``mistakes``
    are those that the pull request made in its own file.
    """

    suites: Sequence[SuiteFile]
    file: LabelsFile | None
    mistakes: Sequence[Mistake]


def _choose_file(
    head_file: LabelsFile, suites: Sequence[SuiteFile], base: Base | None
) -> _LabelsGroup:
    head_mistakes = _select_labels(head_file, suites).mistakes
    if base is None:
        return _LabelsGroup(suites, head_file, head_mistakes)

    base_file = _labels_file_of_base(base, suites)
    if base_file is None:
        return _LabelsGroup(suites, None, head_mistakes)

    # A label of a removed case is a mistake in the file of the base, too.
    base_mistakes = {mistake.what for mistake in _select_labels(base_file, suites).mistakes}
    new_mistakes = [mistake for mistake in head_mistakes if mistake.what not in base_mistakes]
    return _LabelsGroup(suites, base_file, new_mistakes)


def _labels_file_of_base(base: Base, suites: Sequence[SuiteFile]) -> LabelsFile | None:
    """The file of labels that the base has for the first of the suites that has one there."""
    files = {}  # by config
    for policy in base.policies:
        for rule in policy.rules:
            files[rule.suite] = policy.labels
    for suite in suites:
        file = files.get(suite.suite.file)
        if file:
            return file
    return None


def _divide_by_grader(
    selected: Sequence[SelectedLabel], jobs: Sequence[Job]
) -> tuple[list[tuple[Label, Job]], list[Mistake]]:
    """The labels that a model grades, with their jobs; and a mistake for each other label. No jobs: neither."""
    graded = []
    mistakes: list[Mistake] = []
    for labelled, job in zip(selected, jobs, strict=False):
        if is_graded_by_model(job):
            graded.append((labelled.label, job))
        else:
            what = "no model grades this, so it cannot show whether a grader has moved"
            mistakes += labelled.label.mistake(what, "leave it out").mistakes
    return graded, mistakes


def is_graded_by_model(job: Job) -> bool:
    """Whether a model grades the one assertion of a labelled output."""
    return any("text" in bound.models for bound in job.assertions[0].members)


def _measured_agreement(file: LabelsFile, otherwise: float) -> float:
    """The share of labels that the grader agreed with: by the config, else by the first line of the file."""
    if file.agreement is not None:
        return file.agreement
    lines, _ = document.read_valid_lines(file.content, file.name)
    measured = lines[0].get("agreement") if lines else None
    return measured if isinstance(measured, float) or type(measured) is int else otherwise


def _suites_by_file(suites: Sequence[SuiteFile]) -> dict[LabelsFile, list[SuiteFile]]:
    """The suites by the file of labels that their gates name."""
    groups = defaultdict(list)
    for suite_file in suites:
        labels_file = suite_file.suite.policy.labels
        if labels_file:
            groups[labels_file].append(suite_file)
    return groups


def _select_labels(file: LabelsFile, group: Sequence[SuiteFile]) -> Selection:
    """The labelled outputs of a file, with its mistakes."""
    labels, mistakes = parse_labels(file.content, file.name)
    if labels and len(labels) < LEAST:
        what = f"`{file.name}` has {format_count(len(labels), 'labelled output')}"
        mistakes.append(Mistake(what, file.origin, f"label at least {LEAST}"))
    selection = select_cases(labels, group, 1)
    return replace(selection, mistakes=[*mistakes, *selection.mistakes])


def _label_digest(label: Label) -> bytes:
    """A hash that orders labels, so that the sample of a file stays the same as long as its labels do."""
    return hashlib.sha256(json.dumps(_label_keys(label), sort_keys=True).encode()).digest()


def _label_keys(label: Label) -> dict[str, Any]:
    return label.model_dump(exclude={"origin"}, exclude_unset=True)


def labels_file(calibration: Calibration, selected: Sequence[SelectedLabel]) -> Document:
    """The measured agreement, and the labels of outputs that a model graded."""
    agreement = calibration.overall.agreement.value or 0.0
    lines: list[dict[str, Any]] = [{"agreement": round(agreement, 4)}]
    for labelled, output in zip(selected, calibration.judged, strict=True):
        if output.asks_model:
            lines.append(_label_keys(labelled.label))
    return data_file(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
