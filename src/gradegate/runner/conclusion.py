"""From the answers of a plan to its result: failures are confirmed, and everything is counted and noted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain

from gradegate import __version__
from gradegate.core.numbers import many
from gradegate.core.policy import Note
from gradegate.core.suite import DerivedSpec
from gradegate.core.usage import NO_USAGE, BudgetReport, CacheReport, Usage
from gradegate.gate.case_runs import stated
from gradegate.gate.grader_drift import remarks, report
from gradegate.planning.plan import Plan
from gradegate.results.accounts import DerivedMetric, Made, SentinelAsk
from gradegate.results.baseline import together
from gradegate.results.case_outcome import is_known, named_scores, tells_scores
from gradegate.results.rows import Row
from gradegate.results.run_result import RunResult
from gradegate.runner.reasks.histories import Askable, Histories
from gradegate.runner.reasks.reask import Beside
from gradegate.runner.reasks.scheduler import Answer, Confirming, Pursue, in_portions
from gradegate.runner.rounds import Asked, Place, Rounds, by_job
from gradegate.structs import Readable, Struct
from gradegate.templating.formulas import CONSTANTS, COUNT, Working, working
from gradegate.templating.script import ScriptError


def derived(
    specs: Mapping[str, Sequence[DerivedSpec]], rows: Iterable[Row]
) -> Iterator[DerivedMetric]:
    """The derived metrics of every config, by its file, for each target and prompt, once every answer has its last grades.

    Each sees those before it; what one cannot be over is left out for all of them.
    """
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows if specs else ():
        if row.suite in specs:
            groups.setdefault((row.suite, row.provider, row.prompt_label), []).append(row)
    for (suite, provider, label), group in groups.items():
        ways = {spec.name: working(spec.value) for spec in specs[suite]}
        known = _known(group, ways)
        # Of each name the sum of its scores by their weights, as promptfoo has it, and the number of answers.
        sums: dict[str, float] = {}
        for name, score, weight in (named for row in known for named in named_scores(row.grades)):
            sums[name] = sums.get(name, 0.0) + score * (
                weight or 1.0
            )  # weight 0: it is there to be counted, and not to decide
        sums[COUNT] = len(known)
        step = {"provider": {"id": provider, "label": provider}, "prompt": {"label": label}}
        for name, way in ways.items():
            value, why = None, "" if known else "no answer has a grade for it"
            try:
                value = way.value(sums, step) if known else None
            except ScriptError as e:
                why = str(e)
            yield DerivedMetric(
                name, suite, provider, label, value, why, len(known), len(group) - len(known)
            )
            sums.pop(name, None)
            sums |= {} if value is None else {name: value}


def _known(rows: Sequence[Row], ways: Mapping[str, Working]) -> list[Row]:
    """The answers whose grades are known, as far as any of the metrics reads them."""
    reads, above = (
        set[str](),
        {COUNT},
    )  # the names that answers have to give: all but those of metrics further up
    for name, way in ways.items():
        reads |= (way.names or frozenset()) - above
        above.add(name)
    reads_any = any(way.names is None for way in ways.values())
    metrics = {grade.metric for row in rows for grade in row.grades}
    told = reads_any or bool(
        reads - metrics - CONSTANTS.keys()
    )  # some names are told by code alone

    def lacks(row: Row) -> bool:
        unknown = [grade for grade in row.grades if not is_known(grade)]
        return any(
            (grade.metric and (reads_any or grade.metric in reads))
            or (told and tells_scores(grade))
            for grade in unknown
        )

    return [row for row in rows if not row.error and not lacks(row)]


class Account(Readable, frozen=True):
    """How a run went, and what it took beside its rows."""

    started: str = ""  # UTC, ISO 8601
    seconds: float = 0.0
    stopped: str = ""  # why it ended early
    lost: tuple[Usage, Usage] = (NO_USAGE, NO_USAGE)  # of target and graders, for what no row has
    budget: BudgetReport | None = None
    cache: CacheReport | None = None
    problems: tuple[str, ...] = ()  # of its cache
    sentinels: tuple[SentinelAsk, ...] = ()


class Gathered(Struct, frozen=True):
    """The answers of a plan while failures of them are asked again."""

    plan: Plan
    confirming: Confirming
    histories: Histories
    others: Sequence[Row] = []  # the answers of a base that is asked in the same run

    @classmethod
    def of(
        cls,
        plan: Plan,
        askable: Askable,
        reask: int,
        answers: Mapping[Place, Asked],
        rounds: Rounds | None,
        pursue: Pursue = in_portions,
    ) -> Gathered:
        """These answers, in plan order; ``rounds`` make further runs of their cases, where no other job makes these."""
        base = {place: asked for place, asked in answers.items() if plan.jobs[place[0]].of_base}
        others = {
            index: stated(rows)
            for index, rows in by_job((place, asked.row) for place, asked in base.items()).items()
        }
        # Its own side stands before it.
        fresh = {
            (index - 1, row.repeat): row for index, rows in others.items() for row in together(rows)
        }
        beside, histories = Beside.of(plan, askable, reask, fresh), Histories(plan)
        asks = ((place, asked) for place, asked in answers.items() if place not in base)
        own = (
            Answer(asked.job or plan.jobs[place[0]], asked.row, place, asked.transcript)
            for place, asked in asks
        )
        confirming = Confirming(askable, own, reask, histories, beside, pursue, rounds)
        return cls(plan, confirming, histories, [*chain(*others.values())])

    def result(self, why: str, account: Account) -> RunResult:
        """Everything, where ``why`` says that asking ended early."""
        rows = self.confirming.end(why)
        every = (*rows, *self.others)
        target = sum((row.usage for row in every), account.lost[0] + self.confirming.lost_answers)
        graders = sum(
            (grade.usage for row in every for grade in row.grades),
            account.lost[1] + self.confirming.unseen,
        )
        plan = self.plan
        # Answers that were cut are graded, and every report says so; once for each place in a config.
        places = Counter(
            row.origin for row in rows if row.metadata.get("finish_reason") == "length"
        )
        cut = (
            Note(f"{many(count, 'answer')} cut at the token limit, and graded as cut", o)
            for o, count in places.items()
        )
        texts = (
            *self.confirming.doubts(),
            *(f"the cache: {problem}" for problem in account.problems),
        )
        sentinels = report(account.sentinels, plan.sentinels.agreement) if plan.sentinels else None
        of = (
            plan.commit,
            account.started,
            plan.digests,
            plan.recorded,
            plan.titles,
            plan.options,
            plan.folder,
            plan.only,
        )
        return RunResult(
            rows=tuple(rows),
            target_usage=target,
            grader_usage=graders,
            interrupted=account.stopped,
            notes=(*plan.notes, *cut, *map(Note, (*texts, *remarks(sentinels)))),
            seconds=account.seconds,
            models=plan.models,
            keys=plan.keys,
            about=plan.about,
            made=Made(__version__, *of),
            budget=account.budget,
            cache=account.cache,
            confirm=self.confirming.report(),
            baseline=self.confirming.baseline(rows),
            derived=tuple(derived(plan.derived, rows)),
            history=self.histories.report(rows),
            powers=plan.powers,
            sentinels=sentinels,
        )


def nothing_asked(commit: str, digests: Mapping[str, str], notes: Iterable[str]) -> RunResult:
    """A run in which nothing is asked, so that it has no cases."""
    made = Made(__version__, commit, datetime.now(UTC).isoformat(timespec="seconds"), digests)
    return RunResult((), notes=tuple(map(Note, notes)), made=made)
