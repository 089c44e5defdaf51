"""From the answers of a plan to its result: failures are confirmed, and everything is counted and noted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain

from gradegate import __version__
from gradegate.deciding.agreement import remarks, report
from gradegate.deciding.runs import stated
from gradegate.grading.conclude import is_known, named_scores, tells_scores
from gradegate.planning.job import Plan
from gradegate.results.earlier_run import together
from gradegate.running.confirm import Answer, Confirming, Pursue, in_portions
from gradegate.running.histories import Askable, Histories
from gradegate.running.reasks import Beside
from gradegate.running.rounds import Asked, Place, Rounds, by_job
from gradegate.texts.formulas import CONSTANTS, COUNT, Working, working
from gradegate.texts.script import ScriptError
from gradegate.values.account import BudgetReport, CacheReport, DerivedMetric, Made, SentinelAsk
from gradegate.values.conversation import NO_USAGE, Usage
from gradegate.values.figures import many
from gradegate.values.result import Row, RunResult, cases_of
from gradegate.values.suite import DerivedSpec, Note


def derived(specs: Mapping[str, Sequence[DerivedSpec]], rows: Iterable[Row]) -> tuple[DerivedMetric, ...]:
    """Those of every config, by its file; nothing where none has any."""
    if not specs:
        return ()
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.suite in specs:
            groups.setdefault((row.suite, row.provider, row.prompt_label), []).append(row)
    return tuple(metric for key, group in groups.items() for metric in _worked_out(specs[key[0]], group))


def _worked_out(specs: Sequence[DerivedSpec], rows: Sequence[Row]) -> list[DerivedMetric]:
    """The metrics in order: each sees those before it, and what one cannot be over is left out for all of them."""
    ways = {spec.name: working(spec.value) for spec in specs}
    known = _known(rows, ways)
    of, scores = rows[0], _sums(known)
    step = {"provider": {"id": of.provider, "label": of.provider}, "prompt": {"label": of.prompt_label}}
    blank = DerivedMetric("", of.suite, of.provider, of.prompt_label, None, "", len(known), len(rows) - len(known))
    metrics = []
    for name, way in ways.items():
        metric = _metric(replace(blank, name=name), way, scores, step)
        metrics.append(metric)
        scores.pop(name, None)
        if metric.value is not None:
            scores[name] = metric.value
    return metrics


def _metric(blank: DerivedMetric, way: Working, scores: Mapping[str, float], step: Mapping[str, object]) -> DerivedMetric:
    if not blank.answers:
        return replace(blank, error="no answer has a grade for it")
    try:
        return replace(blank, value=way.value(scores, step))
    except ScriptError as e:
        return replace(blank, error=str(e))


def _known(rows: Sequence[Row], ways: Mapping[str, Working]) -> list[Row]:
    """The answers whose grades are known, as far as any of the metrics reads them."""
    reads, above = set[str](), {COUNT}  # the names that answers have to give: all but those of metrics further up
    for name, way in ways.items():
        reads |= (way.names or frozenset()) - above
        above.add(name)
    reads_any = any(way.names is None for way in ways.values())
    metrics = {grade.metric for row in rows for grade in row.grades}
    told = reads_any or bool(reads - metrics - CONSTANTS.keys())  # some names are told by code alone

    def lacks(row: Row) -> bool:
        unknown = [grade for grade in row.grades if not is_known(grade)]
        return any((grade.metric and (reads_any or grade.metric in reads)) or (told and tells_scores(grade)) for grade in unknown)

    return [row for row in rows if not row.error and not lacks(row)]


def _sums(rows: Sequence[Row]) -> dict[str, float]:
    """Of each name the sum of its scores by their weights, as promptfoo has it, and the number of answers.

    A score of weight 0 counts once: such an assertion is there to be counted, and not to decide.
    """
    sums: dict[str, float] = {}
    for row in rows:
        for name, score, weight in named_scores(row.grades):
            sums[name] = sums.get(name, 0.0) + score * (weight or 1.0)
    return {**sums, COUNT: len(rows)}


@dataclass(frozen=True, slots=True)
class Account:
    """How a run went, and what it took beside its rows. ``lost``: of target and graders, for what no row has.

    ``stopped`` says why it ended early, ``problems`` what was wrong with its cache.
    """

    started: str = ""  # UTC, ISO 8601
    seconds: float = 0.0
    stopped: str = ""
    lost: tuple[Usage, Usage] = (NO_USAGE, NO_USAGE)
    budget: BudgetReport | None = None
    cache: CacheReport | None = None
    problems: tuple[str, ...] = ()
    sentinels: tuple[SentinelAsk, ...] = ()


@dataclass(frozen=True)
class Gathered:
    """The answers of a plan while failures of them are asked again.

    ``others`` are the answers of a base that is asked in the same run, which are not among them.
    """

    plan: Plan
    confirming: Confirming
    histories: Histories
    others: Sequence[Row] = field(default_factory=list)

    @classmethod
    def of(
        cls, plan: Plan, askable: Askable, reask: int, answers: Mapping[Place, Asked], rounds: Rounds | None, pursue: Pursue = in_portions
    ) -> Gathered:
        """These answers, in plan order; ``rounds`` make further runs of their cases, where no other job makes these."""
        both: tuple[list[tuple[Place, Asked]], list[tuple[Place, Asked]]] = [], []
        for place, asked in answers.items():
            both[plan.jobs[place[0]].of_base].append((place, asked))
        others = {index: stated(rows) for index, rows in by_job((place, asked.row) for place, asked in both[True]).items()}
        # Its own side stands before it.
        fresh = {(index - 1, row.repeat): row for index, rows in others.items() for row in together(rows)}
        beside, histories = Beside.of(plan, askable, reask, fresh), Histories(plan)
        own = (Answer(asked.job or plan.jobs[place[0]], asked.row, place, asked.transcript) for place, asked in both[False])
        confirming = Confirming(askable, own, reask, histories, beside, pursue, rounds)
        return cls(plan, confirming, histories, [*chain(*others.values())])

    def result(self, why: str, account: Account) -> RunResult:
        """Everything, where ``why`` says that asking ended early."""
        rows = self.confirming.end(why)
        every = (*rows, *self.others)
        target = sum((row.usage for row in every), account.lost[0] + self.confirming.lost_answers)
        grades = (grade.usage for row in every for grade in row.grades)
        graders = sum(grades, account.lost[1] + self.confirming.unseen)
        doubts = map(Note, self.confirming.doubts())
        cache_notes = [Note(f"the cache: {problem}") for problem in account.problems]
        plan = self.plan
        sentinels = report(account.sentinels, plan.sentinels.agreement) if plan.sentinels else None
        of = plan.digests, plan.recorded, plan.titles, plan.options, plan.folder, plan.only
        made = Made(__version__, plan.commit, account.started, *of)
        return RunResult(
            cases=cases_of(rows),
            target_usage=target,
            grader_usage=graders,
            interrupted=account.stopped,
            notes=(*plan.notes, *_notes(rows), *doubts, *cache_notes, *map(Note, remarks(sentinels))),
            seconds=account.seconds,
            models=plan.models,
            keys=plan.keys,
            about=plan.about,
            made=made,
            budget=account.budget,
            cache=account.cache,
            confirm=self.confirming.report(),
            baseline=self.confirming.baseline(rows),
            derived=derived(plan.derived, rows),
            history=self.histories.report(rows),
            powers=plan.powers,
            sentinels=sentinels,
        )


def nothing_asked(commit: str, digests: Mapping[str, str], notes: Iterable[str]) -> RunResult:
    """A run in which nothing is asked, so that it has no cases."""
    made = Made(__version__, commit, datetime.now(UTC).isoformat(timespec="seconds"), digests)
    return RunResult((), notes=tuple(map(Note, notes)), made=made)


def _notes(rows: Sequence[Row]) -> list[Note]:
    """Answers that were cut are graded, and every report says so; once for each place in a config."""
    cut = [row for row in rows if row.cut_off]
    places = Counter(row.origin for row in cut)
    return [Note(f"{many(count, 'answer')} cut at the token limit, and graded as cut", o) for o, count in places.items()]
