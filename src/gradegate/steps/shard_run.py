"""What a shard asks, as the lines of its part: its jobs of the plan, or its share of the failures that are still open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gradegate import __version__
from gradegate.access.hiding import Hide
from gradegate.options import whole_number
from gradegate.planning.job import Job, Plan
from gradegate.results.earlier_run import BaseAnswer, answer_of
from gradegate.results.mapping import entry
from gradegate.results.rows import Spent
from gradegate.running.askable import Askable
from gradegate.running.base_grades import Beside
from gradegate.running.conclusion import Account, Asked, Place
from gradegate.running.confirm import Answer, Confirming, in_portions
from gradegate.running.portions import Portions
from gradegate.running.reasks import Asking, Stopped
from gradegate.running.run import Watch, first_asks, further_asks
from gradegate.steps.line_files import Damaged
from gradegate.steps.part_lines import FORMAT, PART, AccountRecord, AsksRecord, Header, OpenRecord
from gradegate.steps.part_rows import answer_record, asked_of, asks_record, row_in
from gradegate.steps.session import Prepared
from gradegate.values.result import Outcome
from gradegate.values.settings import Settings


@dataclass(frozen=True, slots=True)
class Found:
    """What a shard found: the lines of its part after the header, with how many answers and failures they hold."""

    lines: Sequence[str]
    answers: int
    failed: int
    account: Account


def header(settings: Settings, plan: str, round_: int = 1, basis: str = "") -> Header:
    """The first line of this shard's part."""
    number, of = settings.shard or (0, 1)
    return Header(
        gradegate=PART,
        format=FORMAT,
        version=__version__,
        plan=plan,
        commit=settings.commit,
        run=settings.environment.run[0],
        shard=number,
        of=of,
        round=round_,
        attempt=whole_number(settings.environment.run[1], 1) or 1,
        basis=basis,
    )


def first_round(prepared: Prepared, settings: Settings, only: frozenset[int], watch: Watch) -> Found:
    """Ask the jobs of these indexes once."""
    plan, hide = prepared.plan, prepared.hide
    asked, account = first_asks(plan, prepared.client, settings.reask, only, watch)
    lines = [answer_record(place, it, plan.jobs[place[0]], hide).model_dump_json() for place, it in asked.items()]
    failed = sum(it.row.outcome.value == "fail" for it in asked.values())
    return Found([*lines, _account(prepared, account).model_dump_json()], len(lines), failed, account)


def further_round(prepared: Prepared, settings: Settings, opened: Sequence[OpenRecord]) -> Found:
    """Ask the shard's share of open failures again. Raises Damaged where the plan has no such answer."""
    number, of = settings.shard or (1, 1)
    mine = opened[number - 1 :: of]
    recorder = _Recorder([(it.answer.place, it.answer.repeat) for it in mine], prepared.hide)
    confirming = _confirming(prepared.plan, mine, settings.reask, recorder)
    places = [(index, position) for index, it in enumerate(mine) for position in it.positions]
    account = further_asks(prepared.plan, prepared.client, settings.reask, confirming, places)
    lines = [record.model_dump_json() for record in recorder.records]
    return Found([*lines, _account(prepared, account).model_dump_json()], len(mine), len(places), account)


class _Recorder:
    """Asks as a run does, and keeps what was said."""

    def __init__(self, places: Sequence[Place], hide: Hide) -> None:
        self._places = places
        self._hide = hide
        self.records: list[AsksRecord] = []

    def __call__(self, numbered: Sequence[tuple[int, Asking]], portions: Portions, stopped: Stopped) -> None:
        try:
            in_portions(numbered, portions, stopped)
        finally:  # what was said before a signal was paid for
            self.records += [asks_record(self._places[number], asking, self._hide) for number, asking in numbered]


def _confirming(plan: Plan, mine: Sequence[OpenRecord], reask: int, recorder: _Recorder) -> Confirming:
    askable = Askable(plan)
    answers = []
    for it in mine:
        planned = _planned(plan, it)
        asked = asked_of(it.answer, planned)
        _check(it, asked, askable, asked.job or planned)
        answers.append(Answer(asked.job or planned, asked.row, asked.transcript))
    beside = Beside.of(plan, askable, reask, [None] * sum(job.repeats for job in plan.jobs if not job.of_base))
    if beside is not None:
        numbers = {place: number for number, place in enumerate(_places(plan))}
        paired = [_counterpart(it, plan, beside, numbers) for it in mine]
        beside = replace(beside, paired=paired)
    return Confirming(askable, answers, reask, beside, recorder)


def _planned(plan: Plan, it: OpenRecord) -> Job:
    """The job of an answer. Raises Damaged where the plan has none, or none of the base's beside it."""
    place, repeat = it.answer.place, it.answer.repeat
    job = plan.jobs[place] if place < len(plan.jobs) else None
    if job is None or job.of_base or repeat >= job.repeats:
        raise Damaged(f"the plan has no answer {place}")
    if it.other is not None and not (place + 1 < len(plan.jobs) and plan.jobs[place + 1].of_base):
        raise Damaged(f"the base has no answer {place}")
    return job


def _check(it: OpenRecord, asked: Asked, askable: Askable, job: Job) -> None:
    """Raise Damaged for a grade that did not fail, or is not asked again."""
    open_ = {place for place, _ in askable.of(job) if asked.row.grades[place].outcome is Outcome.FAIL}
    if not open_.issuperset(it.positions):
        raise Damaged(f"answer {it.answer.place} has no such open grade")


def _counterpart(it: OpenRecord, plan: Plan, beside: Beside, numbers: dict[Place, int]) -> BaseAnswer | None:
    if it.other is None:
        return beside.paired[numbers[it.answer.place, it.answer.repeat]]
    other = plan.jobs[it.answer.place + 1]
    return answer_of(row_in(it.other, other, it.answer.repeat, other))


def _places(plan: Plan) -> Iterator[Place]:
    for index, job in enumerate(plan.jobs):
        if not job.of_base:
            yield from ((index, repeat) for repeat in range(job.repeats))


def _account(prepared: Prepared, account: Account) -> AccountRecord:
    plan, budget = prepared.shown_plan, account.budget
    return AccountRecord(
        started=account.started,
        seconds=account.seconds,
        stopped=account.stopped,
        lost_target=entry(Spent, account.lost[0]),
        lost_graders=entry(Spent, account.lost[1]),
        calls=budget.calls if budget else 0,
        usd=budget.usd if budget else 0.0,
        used_up=budget.used_up if budget else "",
        cache=account.cache,
        problems=[prepared.hide(problem) for problem in account.problems],
        models=list(plan.models),
        keys=list(plan.keys),
        hidden=list(prepared.secrets.names),
    )
