"""Merges the parts of shards: takes their answers, re-asks what rules still need, and finishes the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from gradegate.config.context import Context
from gradegate.core.numbers import format_count
from gradegate.core.policy import Note
from gradegate.core.usage import NO_USAGE, BudgetReport, CacheReport, Usage
from gradegate.errors import ConfigError, Mistake, Trouble
from gradegate.planning.groups import assign_shards
from gradegate.planning.plan import Plan
from gradegate.reports.format.escape import one_line
from gradegate.results.rows import AnswerId
from gradegate.results.run_result import RunResult
from gradegate.runner.conclusion import RunRecord
from gradegate.runner.first_answers import Watch
from gradegate.runner.prepare import Preparation
from gradegate.runner.rounds import Answer, Rounds, rows_by_case
from gradegate.runner.rows import missing_row
from gradegate.runner.run import EarlierJobs, run_plan
from gradegate.runner.shards.part_file import DamagedPartError, Header, Part, find_parts, part_name
from gradegate.runner.shards.records import AccountRow, AnswerRow, make_header
from gradegate.structs import Struct, replace

_LONGEST = 400  # characters of a problem
_MOST = 50  # problems that reports list
_CURE = "give the merge the parts of this run, and run a shard again if its part is damaged"
_MOST_SPENT = 10**12  # calls, dollars or seconds of one shard


def merge_parts(preparation: Preparation, context: Context, watch: Watch) -> RunResult:
    """Run the whole plan, beginning with the answers of all shards. Raises ConfigError.

    An answer that no part has is an ERROR that names its shard.
    """
    plan = preparation.plan
    client = preparation.client
    expected = make_header(context, plan, 1, 1, 1)
    parts = ShardParts.from_folder(context.cwd / context.settings.merge, plan, expected)
    client.budget.count_earlier(parts.spent)
    earlier = EarlierJobs(parts.all_answers, parts.merged_record)
    result = run_plan(plan, client, watch, earlier)

    problems = parts.problems
    notes = list(map(Note, problems[:_MOST]))
    if len(problems) > _MOST:
        notes.append(Note(f"{len(problems) - _MOST:,} more problems with the parts"))
    incomplete = "".join(problems[:1])
    if len(problems) > 1:
        incomplete += f", and {format_count(len(problems) - 1, 'more problem')}"

    # Every shard says which models and keys it used. The same ones are listed once, in order.
    models = dict.fromkeys(chain.from_iterable(row.models for row in parts.accounts))
    keys = dict.fromkeys(chain.from_iterable(row.keys for row in parts.accounts))
    hidden = set(chain.from_iterable(row.hidden for row in parts.accounts))
    return replace(
        result,
        notes=(*result.notes, *notes),
        models=tuple(models) or result.models,
        keys=tuple(keys),
        hidden=tuple(sorted(hidden)),
        incomplete=incomplete,
    )


class ShardParts(Struct):
    """The parts of the last attempt of every shard.

    An unusable part counts as missing, so that no decision without it is green.
    """

    folder: Path
    plan: Plan
    of: int  # the number of shards
    shard_by_job: Mapping[int, int]  # by the index of the job
    problems: list[str]  # what is missing or unusable, a sentence each
    answers: dict[AnswerId, Answer] = {}  # of all usable parts
    accounts: list[AccountRow] = []  # one for each usable part
    excuses: dict[int, str] = {}  # why a shard has no answers, by its number

    @classmethod
    def from_folder(cls, folder: Path, plan: Plan, expected: Header) -> ShardParts:
        """The parts of the expected run in a folder or below it. Raises ConfigError if there is none."""
        problems: list[str] = []
        parts = find_parts(folder, expected, problems)
        problems = [one_line(problem, _LONGEST) for problem in problems]
        if not parts:
            mistakes = [Mistake(problem, None, _CURE) for problem in problems[:_MOST]]
            raise ConfigError(*mistakes)

        shard_count = parts[0].header.of
        shard_by_job = assign_shards(plan.jobs, shard_count)
        shard_parts = cls(folder, plan, shard_count, shard_by_job, problems)
        for shard in range(1, shard_count + 1):
            attempts = [part for part in parts if part.header.shard == shard]
            shard_parts._take_shard(shard, attempts)
        return shard_parts

    def _take_shard(self, shard: int, parts: Sequence[Part]) -> None:
        """Take all answers of the last attempt of a shard, or none of them."""
        name = f"shard {shard}/{self.of}"
        last = max((part.header.attempt for part in parts), default=0)
        last_parts = [part for part in parts if part.header.attempt == last]
        if not last_parts:
            self._excuse(shard, f"{name} is missing")
            return
        if len(last_parts) > 1:
            names = " and ".join(part_name(self.folder, part) for part in last_parts)
            self._excuse(shard, f"{name} is there twice: {names}")
            return
        part = last_parts[0]
        if part.header.unasked:
            self._excuse(shard, f"{name} did not run: {one_line(part.header.unasked, 300)}")
            return

        try:
            answers, account_row = self._read(part)
        except DamagedPartError as e:
            problem = f"{part_name(self.folder, part)}: {e}"
            self._excuse(shard, problem, f"{name} has no part that can be used: ")
            return
        self.answers.update(answers)
        self.accounts.append(account_row)
        stopped = account_row.account.stopped
        if stopped:
            self.problems.append(one_line(f"{name} was {stopped} before it ended", _LONGEST))

    def _excuse(self, shard: int, problem: str, prefix: str = "") -> None:
        """Record a problem of a shard, and why the shard has no answers."""
        self.problems.append(one_line(problem, _LONGEST))
        self.excuses[shard] = prefix + self.problems[-1]

    def _read(self, part: Part) -> tuple[dict[AnswerId, Answer], AccountRow]:
        """Read the answers of a part and check that none is missing. Raises DamagedPartError."""
        jobs = self.plan.jobs
        name = f"shard {part.header.shard}/{self.of}"
        indexes = [
            index for index, shard in self.shard_by_job.items() if shard == part.header.shard
        ]
        planned = set[AnswerId]()
        for index in indexes:
            planned.update(AnswerId(index, repeat) for repeat in range(jobs[index].repeats))
        answers = {}

        def add_answer(row: AnswerRow) -> None:
            answer_id = AnswerId(row.place, row.repeat)
            if answer_id in answers:
                raise DamagedPartError("the answer is there twice")
            if answer_id not in planned:
                raise DamagedPartError(f"the answer is none of {name}")
            answers[answer_id] = row.to_answer(jobs[row.place])

        account_row = part.read_lines(AnswerRow, add_answer, AccountRow)
        self._check_complete(name, indexes, answers)
        record = account_row.account
        budget = record.budget or BudgetReport()
        for amount in (budget.calls, budget.usd, record.seconds):
            if not 0 <= amount <= _MOST_SPENT:
                raise DamagedPartError(f"no shard can take {amount:.3g} calls, dollars or seconds")
        return answers, account_row

    def _check_complete(
        self, name: str, indexes: Sequence[int], answers: Mapping[AnswerId, Answer]
    ) -> None:
        """Raise DamagedPartError if a shard made fewer answers than its jobs need."""
        rounds = Rounds(self.plan, lambda _: {})
        rows = rows_by_case(answers.values())
        missing = 0
        for index in indexes:
            job_rows = rows.get(index, ())
            if self.plan.jobs[index].needs:
                missing += rounds.count_missing(index, job_rows)
            else:
                missing += self.plan.jobs[index].repeats - len(job_rows)
        if missing:
            total = len(answers) + missing
            raise DamagedPartError(f"it has {len(answers):,} of the {total:,} answers of {name}")

    @property
    def all_answers(self) -> dict[AnswerId, Answer]:
        """The answers of all parts. For a shard without a usable part, errors that say why."""
        answers = dict(self.answers)
        for index, shard in self.shard_by_job.items():
            if shard not in self.excuses:
                continue
            job = self.plan.jobs[index]
            for repeat in range(job.repeats):
                why = f"not run: {self.excuses[shard]}"
                row = missing_row(job, repeat, why, Trouble.STOPPED)
                answer = Answer(AnswerId(index, repeat), job, row)
                answers[answer.id] = answer
        return answers

    @property
    def merged_record(self) -> RunRecord:
        """The records of all shards as one. Shards run at the same time."""
        records = [row.account for row in self.accounts]
        used_up = ""
        cache: CacheReport | None = None
        problems: list[str] = []
        live_models: list[str] = []
        for record in records:
            if record.budget and record.budget.used_up and not used_up:
                used_up = f"{record.budget.used_up} of a shard"
            if record.cache:
                cache = cache + record.cache if cache else record.cache
            problems += record.problems
            live_models += record.live_models
        return RunRecord(
            started=min((record.started for record in records), default=""),
            seconds=max((record.seconds for record in records), default=0.0),
            usage_without_row=sum((record.usage_without_row for record in records), NO_USAGE),
            budget=BudgetReport(used_up=used_up),
            cache=cache,
            problems=tuple(dict.fromkeys(problems)),
            live_models=tuple(live_models),
        )

    @property
    def spent(self) -> Usage:
        """What the shards took of the budget, by their own parts."""
        records = [row.account for row in self.accounts]
        budgets = [record.budget for record in records if record.budget]
        usages = [record.usage_without_row for record in records]
        for answer in self.answers.values():
            usages.append(answer.row.usage)
            usages += [grade.usage for grade in answer.row.grades]
        return Usage(
            calls=sum(budget.calls for budget in budgets),
            cost=sum(budget.usd for budget in budgets),
            unpriced=sum(usage.unpriced > 0 for usage in usages),
            seconds=max((record.seconds for record in records), default=0.0),
        )
