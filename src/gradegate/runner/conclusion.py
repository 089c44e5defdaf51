"""Turns the answers of a plan into its result: everything is counted and noted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain

from gradegate import __version__
from gradegate.core.numbers import many
from gradegate.core.policy import Note
from gradegate.core.usage import NO_USAGE, BudgetReport, CacheReport, Usage
from gradegate.gate.case_runs import stated
from gradegate.gate.grader_drift import remarks, report
from gradegate.planning.plan import Plan
from gradegate.results.accounts import LabelAsk, Made
from gradegate.results.baseline import together
from gradegate.results.rows import Row
from gradegate.results.run_result import RunResult
from gradegate.runner.derived_metrics import derived
from gradegate.runner.reasks.base_regrade import Beside
from gradegate.runner.reasks.eligible import Askable
from gradegate.runner.reasks.histories import Histories
from gradegate.runner.reasks.scheduler import Answer, Pursue, Scheduler
from gradegate.runner.rounds import Asked, Place, Rounds, by_job
from gradegate.structs import FrozenStruct, NamedTexts, replace


class Account(FrozenStruct, forbid_unknown_fields=True):
    """How a run went, and what it took beside its rows."""

    started: str = ""  # UTC, ISO 8601
    seconds: float = 0.0
    stopped: str = ""  # why it ended early
    lost: Usage = NO_USAGE  # of graders, for what no row has
    budget: BudgetReport | None = None
    cache: CacheReport | None = None
    problems: tuple[str, ...] = ()  # of its cache, and of hosts that limited its calls
    labels: tuple[LabelAsk, ...] = ()
    live_models: tuple[str, ...] = ()  # that answered a call, with their hosts

    def after(self, earlier: Account) -> Account:
        """One account of this run and of the jobs before it; the budget of this run counts theirs already."""
        budget, cache = self.budget, self.cache
        if budget and earlier.budget:
            budget = replace(budget, used_up=budget.used_up or earlier.budget.used_up)
        if cache and earlier.cache:
            cache += earlier.cache
        return replace(
            self,
            started=earlier.started or self.started,
            seconds=earlier.seconds + self.seconds,
            lost=earlier.lost + self.lost,
            budget=budget,
            cache=cache or earlier.cache,
            problems=tuple(dict.fromkeys((*earlier.problems, *self.problems))),
            live_models=(*earlier.live_models, *self.live_models),
        )


class Gathered(FrozenStruct):
    """The answers of a plan while failures of them are asked again."""

    plan: Plan
    scheduler: Scheduler
    histories: Histories
    others: Sequence[Row] = []  # the answers of a base that is asked in the same run

    @classmethod
    def of(
        cls,
        plan: Plan,
        askable: Askable,
        answers: Mapping[Place, Asked],
        rounds: Rounds,
        pursue: Pursue,
    ) -> Gathered:
        """These answers, in plan order; ``rounds`` make further runs of their cases."""
        base = {place: asked for place, asked in answers.items() if plan.jobs[place[0]].of_base}
        others = {
            index: stated(rows)
            for index, rows in by_job((place, asked.row) for place, asked in base.items()).items()
        }
        # Its own side stands before it.
        fresh = {
            (index - 1, row.repeat): row for index, rows in others.items() for row in together(rows)
        }
        beside, histories = Beside.of(plan, askable, fresh), Histories(plan)
        scheduler = Scheduler(askable, histories, beside, pursue, rounds)
        for place, asked in answers.items():
            if place not in base:
                job = asked.job or plan.jobs[place[0]]
                scheduler.add(Answer(job, asked.row, place, asked.transcript))
        return cls(plan, scheduler, histories, [*chain(*others.values())])

    def result(self, why: str, account: Account) -> RunResult:
        """Everything, where ``why`` says that asking ended early."""
        rows = self.scheduler.end(why)
        every = (*rows, *self.others)
        target = sum((row.usage for row in every), NO_USAGE)
        graders = sum(
            (grade.usage for row in every for grade in row.grades),
            account.lost + self.scheduler.unseen,
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
        texts = (*self.scheduler.doubts(), *account.problems)
        labels = report(account.labels, plan.labels.agreement) if plan.labels else None
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
            notes=(*plan.notes, *cut, *map(Note, (*texts, *remarks(labels)))),
            seconds=account.seconds,
            models=plan.models,
            keys=plan.keys,
            about=plan.about,
            made=Made(__version__, *of),
            budget=account.budget,
            cache=account.cache,
            reask=self.scheduler.report(),
            baseline=self.scheduler.baseline(rows),
            on_default_branch=plan.on_default_branch,
            derived=tuple(derived(plan.derived, rows)),
            history=self.histories.report(rows),
            powers=plan.powers,
            labels=labels,
            live_models=account.live_models,
        )


def nothing_asked(commit: str, digests: NamedTexts, notes: Iterable[str]) -> RunResult:
    """A run in which nothing is asked, so that it has no cases."""
    made = Made(__version__, commit, datetime.now(UTC).isoformat(timespec="seconds"), digests)
    return RunResult((), notes=tuple(map(Note, notes)), made=made)
