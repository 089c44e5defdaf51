"""What a shard asks, as the lines of its part: its jobs of the plan, or its share of the failures that are still open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gradegate.planning.job import Plan
from gradegate.replies.parts import Damaged
from gradegate.reporting.redact import conceal
from gradegate.results.mapping import written
from gradegate.running.askable import Askable
from gradegate.running.base_grades import Beside
from gradegate.running.conclusion import Account
from gradegate.running.confirm import Answer, Confirming
from gradegate.running.histories import Histories
from gradegate.running.run import Watch, first_asks, further_asks
from gradegate.steps.playback import Recorder
from gradegate.steps.preparation import Prepared
from gradegate.steps.records import OpenRecord, answer_record, asked_of, row_in
from gradegate.steps.split import jobs_of
from gradegate.values.result import Outcome
from gradegate.values.settings import Settings


@dataclass(frozen=True, slots=True)
class Found:
    """What a shard found: the lines of its part after the header, with how many answers and failures they hold."""

    lines: Sequence[str]
    answers: int
    failed: int
    stopped: str


def first_round(prepared: Prepared, settings: Settings, watch: Watch) -> Found:
    """Ask the shard's jobs once."""
    plan = prepared.plan
    only = jobs_of(plan.jobs, settings.shard or (1, 1))
    asked, account = first_asks(plan, prepared.client, settings.reask, only, watch, sentinels=(settings.shard or (1, 1))[0] == 1)
    failed = sum(it.row.outcome is Outcome.FAIL for it in asked.values())
    records = (answer_record(place, it, plan.jobs[place[0]], prepared.hide) for place, it in asked.items())
    return _found(prepared, records, account, len(asked), failed)


def further_round(prepared: Prepared, settings: Settings, opened: Sequence[OpenRecord]) -> Found:
    """Ask the shard's share of open failures again. Raises Damaged where the plan has no such answer."""
    number, of = settings.shard or (1, 1)
    mine = opened[number - 1 :: of]
    recorder = Recorder([(it.answer.place, it.answer.repeat) for it in mine], prepared.hide)
    confirming = _confirming(prepared.plan, mine, settings.reask, recorder)
    places = [(index, position) for index, it in enumerate(mine) for position in it.positions]
    account = further_asks(prepared.plan, prepared.client, settings.reask, confirming, places)
    return _found(prepared, recorder.records, account, len(mine), len(places))


def _found(prepared: Prepared, records: Iterable[str], account: Account, answers: int, failed: int) -> Found:
    plan = prepared.shown_plan
    shown = replace(account, problems=conceal(account.problems, prepared.hide))
    last = written({"account": shown, "models": plan.models, "keys": plan.keys, "hidden": prepared.secrets.names})
    return Found([*records, last], answers, failed, account.stopped)


def _confirming(plan: Plan, mine: Sequence[OpenRecord], reask: int, recorder: Recorder) -> Confirming:
    askable = Askable(plan)
    answers = [_answer(plan, askable, it) for it in mine]
    beside = Beside.of(plan, askable, reask, {})
    if beside is not None:
        paired = {it.case: beside.paired.get(it.case) for it in answers}
        for of, it in zip(mine, answers, strict=True):
            if of.other is not None:
                other = plan.jobs[of.answer.place + 1]
                paired[it.case] = row_in(of.other, other, of.answer.repeat, other)
        beside = replace(beside, paired=paired)
    return Confirming(askable, answers, reask, Histories(plan, askable), beside, recorder)


def _answer(plan: Plan, askable: Askable, it: OpenRecord) -> Answer:
    """An answer whose failures are asked again. Raises Damaged where the plan has none, or where a grade is not open."""
    place, repeat = it.answer.place, it.answer.repeat
    planned = plan.jobs[place] if place < len(plan.jobs) else None
    if planned is None or planned.of_base or repeat >= planned.repeats:
        raise Damaged(f"the plan has no answer {place}")
    if it.other is not None and not any(job.of_base for job in plan.jobs[place + 1 : place + 2]):
        raise Damaged(f"the base has no answer {place}")
    asked = asked_of(it.answer, planned)
    job = asked.job or planned
    if not {n for n, _ in askable.of(job) if asked.row.grades[n].outcome is Outcome.FAIL}.issuperset(it.positions):
        raise Damaged(f"answer {place} has no such open grade")
    return Answer(job, asked.row, (place, repeat), asked.transcript)
