"""Turns the answers of a plan into its result: counts usage and writes notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from gradegate import __version__
from gradegate.core.numbers import format_count
from gradegate.core.policy import Note
from gradegate.core.usage import NO_USAGE, BudgetReport, CacheReport, Usage
from gradegate.gate.grader_drift import drift_remarks, summarize_labels
from gradegate.planning.plan import Plan
from gradegate.results.accounts import LabelAsk, Made
from gradegate.results.rows import Row
from gradegate.results.run_result import RunResult
from gradegate.runner.derived_metrics import compute_metrics
from gradegate.runner.reasks.scheduler import (
    Reasks,
    final_rows,
    reask_notes,
    summarize_reasks,
)
from gradegate.structs import FrozenStruct, NamedTexts, replace


class RunRecord(FrozenStruct, forbid_unknown_fields=True):
    """How a run went, and what it took besides its rows."""

    started: str = ""  # UTC, ISO 8601
    seconds: float = 0.0
    stopped: str = ""  # why it ended early
    usage_without_row: Usage = NO_USAGE  # what graders took for grades that are in no row
    budget: BudgetReport | None = None
    cache: CacheReport | None = None
    problems: tuple[str, ...] = ()  # with its cache, and with hosts that limited its calls
    live_models: tuple[str, ...] = ()  # those that answered a call, with their hosts

    def after(self, earlier: RunRecord) -> RunRecord:
        """One record of this run and of the jobs before it. The budget of this run counts theirs already."""
        budget, cache = self.budget, self.cache
        if budget and earlier.budget:
            budget = replace(budget, used_up=budget.used_up or earlier.budget.used_up)
        if cache and earlier.cache:
            cache += earlier.cache
        return replace(
            self,
            started=earlier.started or self.started,
            seconds=earlier.seconds + self.seconds,
            usage_without_row=earlier.usage_without_row + self.usage_without_row,
            budget=budget,
            cache=cache or earlier.cache,
            problems=tuple(dict.fromkeys((*earlier.problems, *self.problems))),
            live_models=(*earlier.live_models, *self.live_models),
        )


def conclude_run(
    plan: Plan, reasks: Reasks, why: str, record: RunRecord, label_asks: Iterable[LabelAsk]
) -> RunResult:
    """The result of a run. ``why`` says why asking ended early; it is empty if asking did not."""
    rows = final_rows(reasks, why)
    target_usage = NO_USAGE
    grader_usage = record.usage_without_row + reasks.usage_without_row
    for row in (*rows, *(answer.row for answer in reasks.base_answers)):
        target_usage += row.usage
        grader_usage = sum((grade.usage for grade in row.grades), grader_usage)

    labels = None
    if plan.labels:
        by_model = sorted(label_asks, key=lambda ask: ask.model)
        labels = summarize_labels(by_model, plan.labels.agreement)
    reask_report = summarize_reasks(reasks, rows)
    sentences = (
        *reask_notes(reasks, reask_report, rows),
        *record.problems,
        *drift_remarks(labels),
    )
    made = Made(
        tool=__version__,
        commit=plan.commit,
        started=record.started,
        configs=plan.digests,
        answers=plan.recorded,
        titles=plan.titles,
        options=plan.options,
        folder=plan.folder,
        only=plan.only,
    )
    return RunResult(
        rows=tuple(rows),
        target_usage=target_usage,
        grader_usage=grader_usage,
        interrupted=record.stopped,
        notes=(*plan.notes, *_notes_on_cut_answers(rows), *map(Note, sentences)),
        seconds=record.seconds,
        models=plan.models,
        keys=plan.keys,
        about=plan.about,
        made=made,
        budget=record.budget,
        cache=record.cache,
        reask=reask_report,
        baseline=reasks.base.report(rows),
        on_default_branch=plan.on_default_branch,
        derived=tuple(compute_metrics(plan.derived, rows)),
        history=reasks.ledger.histories.summarize(rows),
        powers=plan.powers,
        labels=labels,
        live_models=record.live_models,
    )


def _notes_on_cut_answers(rows: Sequence[Row]) -> Iterator[Note]:
    """Say that answers were graded although they were cut, once for each place in a config."""
    places = Counter(row.origin for row in rows if row.metadata.get("finish_reason") == "length")
    for origin, count in places.items():
        yield Note(
            f"{format_count(count, 'answer')} cut at the token limit, and graded as cut", origin
        )


def result_without_run(commit: str, digests: NamedTexts, notes: Iterable[str]) -> RunResult:
    """The result of a run without calls, and so without cases."""
    made = Made(__version__, commit, datetime.now(UTC).isoformat(timespec="seconds"), digests)
    return RunResult((), notes=tuple(map(Note, notes)), made=made)
