"""A merge: the rest of a run that the shards began. It takes their answers, re-asks what rules still need, and decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from pathlib import Path

from gradegate.config.context import Context
from gradegate.core.numbers import format_count
from gradegate.core.policy import Note
from gradegate.core.usage import NO_USAGE, BudgetReport, Usage
from gradegate.errors import ConfigError, Mistake, Trouble
from gradegate.planning.groups import assign_shards
from gradegate.planning.plan import Plan
from gradegate.reports.format.escape import one_line
from gradegate.results.rows import AnswerId
from gradegate.results.run_result import RunResult
from gradegate.runner.conclusion import Account
from gradegate.runner.first_answers import Watch
from gradegate.runner.prepare import Prepared
from gradegate.runner.rounds import Answer, Rounds, by_job
from gradegate.runner.rows import missing_row
from gradegate.runner.run import EarlierJobs, run_plan
from gradegate.runner.shards.part_file import Damaged, Header, Part, name_in, parts_in
from gradegate.runner.shards.records import AccountRow, AnswerRow, header_of
from gradegate.structs import Struct, replace

_LONGEST = 400  # characters of a problem
_MOST = 50  # problems that reports list
_CURE = "give the merge the parts of this run, and run a shard again if its part is damaged"
_MOST_SPENT = 10**12  # calls, dollars or seconds of one shard


def merge_parts(prepared: Prepared, context: Context, watch: Watch) -> RunResult:
    """The run of the whole plan that begins with the parts of all shards. Raises ConfigError.

    What no part has is an ERROR that names its shard.
    """
    plan, client = prepared.plan, prepared.client
    own = header_of(context, plan, 1, 1, 1)
    parts = ShardParts.from_folder(context.cwd / context.settings.merge, plan, own)
    client.budget.count_earlier(parts.spent)
    earlier = EarlierJobs(parts.all_answers, parts.account)
    run = run_plan(plan, client, watch, earlier)

    problems = parts.problems
    notes = list(map(Note, problems[:_MOST]))
    if len(problems) > _MOST:
        notes.append(Note(f"{len(problems) - _MOST:,} more problems with the parts"))
    more = len(problems) - 1
    records = parts.accounts
    return replace(
        run,
        notes=(*run.notes, *notes),
        models=tuple(dict.fromkeys(model for it in records for model in it.models)) or run.models,
        keys=tuple(dict.fromkeys(key for it in records for key in it.keys)),
        hidden=tuple(sorted({name for it in records for name in it.hidden})),
        incomplete="".join(problems[:1])
        + (f", and {format_count(more, 'more problem')}" if more > 0 else ""),
    )


class ShardParts(Struct):
    """The parts of a folder: of every shard its last attempt. ``problems`` name what is missing or cannot be used.

    ``excuses`` say why a shard has no answers. What cannot be used counts as missing, so no decision about the rest can be green.
    """

    folder: Path
    plan: Plan
    of: int
    owners: Mapping[int, int]  # the shard of each job, by its index
    problems: list[str]
    answers: dict[AnswerId, Answer] = {}
    accounts: list[AccountRow] = []
    excuses: dict[int, str] = {}

    @classmethod
    def from_folder(cls, folder: Path, plan: Plan, own: Header) -> ShardParts:
        """The parts in a folder, or in folders below it, that fit one's own header. Raises ConfigError if none does."""
        problems: list[str] = []
        parts = parts_in(folder, own, problems)
        problems = [one_line(problem, _LONGEST) for problem in problems]
        if not parts:
            raise ConfigError(*(Mistake(problem, None, _CURE) for problem in problems[:_MOST]))
        of = parts[0].header.of
        collected = cls(folder, plan, of, assign_shards(plan.jobs, of), problems)
        for shard in range(1, of + 1):
            collected._take_shard(shard, [part for part in parts if part.header.shard == shard])
        return collected

    def _take_shard(self, shard: int, parts: Sequence[Part]) -> None:
        """Take the last attempt of a shard: wholly, or not at all."""
        name = f"shard {shard}/{self.of}"
        last = max((part.header.attempt for part in parts), default=0)
        latest = [part for part in parts if part.header.attempt == last]
        if not latest:
            return self._excuse(shard, f"{name} is missing")
        if len(latest) > 1:
            names = " and ".join(name_in(self.folder, part) for part in latest)
            return self._excuse(shard, f"{name} is there twice: {names}")
        part = latest[0]
        if part.header.unasked:
            return self._excuse(shard, f"{name} did not run: {one_line(part.header.unasked, 300)}")
        try:
            answers, record = self._read(part)
        except Damaged as e:
            problem = f"{name_in(self.folder, part)}: {e}"
            return self._excuse(shard, problem, f"{name} has no part that can be used: ")
        self.answers |= answers
        self.accounts.append(record)
        if record.account.stopped:
            problem = f"{name} was {record.account.stopped} before it ended"
            self.problems.append(one_line(problem, _LONGEST))
        return None

    def _excuse(self, shard: int, problem: str, prefix: str = "") -> None:
        """Name what is wrong with a shard, and why it has no answers."""
        self.problems.append(one_line(problem, _LONGEST))
        self.excuses[shard] = prefix + self.problems[-1]

    def _read(self, part: Part) -> tuple[dict[AnswerId, Answer], AccountRow]:
        """The answers of a part, which are all that its shard has to give. Raises Damaged."""
        name, jobs = f"shard {part.header.shard}/{self.of}", self.plan.jobs
        own_jobs = [index for index, owner in self.owners.items() if owner == part.header.shard]
        planned = {
            AnswerId(index, repeat) for index in own_jobs for repeat in range(jobs[index].repeats)
        }
        answers = {}

        def add_answer(row: AnswerRow) -> None:
            place = AnswerId(row.place, row.repeat)
            if place in answers:
                raise Damaged("the answer is there twice")
            if place not in planned:
                raise Damaged(f"the answer is none of {name}")
            answers[place] = row.as_planned(jobs[row.place])

        record = part.read(AnswerRow, add_answer, AccountRow)
        rows = by_job(answers.values())
        rounds = Rounds(self.plan, lambda _: {})
        lacking = 0
        for index in own_jobs:
            made = rows.get(index, ())
            lacking += (
                rounds.more(index, made) if jobs[index].needs else jobs[index].repeats - len(made)
            )
        if lacking:
            total = len(answers) + lacking
            raise Damaged(f"it has {len(answers):,} of the {total:,} answers of {name}")
        budget = record.account.budget or BudgetReport()
        for amount in (budget.calls, budget.usd, record.account.seconds):
            if not 0 <= amount <= _MOST_SPENT:
                raise Damaged(f"no shard can take {amount:.3g} calls, dollars or seconds")
        return answers, record

    @property
    def all_answers(self) -> dict[AnswerId, Answer]:
        """The answers of all parts; of a shard without a usable part, errors that say why."""
        answers = dict(self.answers)
        for index, shard in self.owners.items():
            if shard in self.excuses:
                job = self.plan.jobs[index]
                for repeat in range(job.repeats):
                    why = f"not run: {self.excuses[shard]}"
                    row = missing_row(job, repeat, why, Trouble.STOPPED)
                    answer = Answer(AnswerId(index, repeat), job, row)
                    answers[answer.id] = answer
        return answers

    @property
    def account(self) -> Account:
        """The accounts of all shards, which run at the same time, as one."""
        accounts = [record.account for record in self.accounts]
        budgets = [account.budget for account in accounts if account.budget]
        caches = [account.cache for account in accounts if account.cache]
        used_up = next((it.used_up for it in budgets if it.used_up), "")
        return Account(
            started=min((it.started for it in accounts), default=""),
            seconds=max((it.seconds for it in accounts), default=0.0),
            lost=sum((it.lost for it in accounts), NO_USAGE),
            budget=BudgetReport(used_up=f"{used_up} of a shard" if used_up else ""),
            cache=reduce(add, caches) if caches else None,
            problems=tuple(dict.fromkeys(problem for it in accounts for problem in it.problems)),
            live_models=tuple(host for it in accounts for host in it.live_models),
        )

    @property
    def spent(self) -> Usage:
        """What the parts say that their shards took of the budget."""
        budgets = [record.account.budget for record in self.accounts if record.account.budget]
        rows = [answer.row for answer in self.answers.values()]
        usages = [
            *(record.account.lost for record in self.accounts),
            *(row.usage for row in rows),
            *(grade.usage for row in rows for grade in row.grades),
        ]
        return Usage(
            calls=sum(budget.calls for budget in budgets),
            cost=sum(budget.usd for budget in budgets),
            unpriced=sum(usage.unpriced > 0 for usage in usages),
            seconds=max((record.account.seconds for record in self.accounts), default=0.0),
        )
