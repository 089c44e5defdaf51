"""What a shard asks, as the lines of its part: its jobs of the plan, or its share of the failures that are still open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gradegate.replies.parts import Damaged
from gradegate.reporting.redact import conceal
from gradegate.results.mapping import written
from gradegate.running.askable import Askable
from gradegate.running.conclusion import Account, Gathered
from gradegate.running.confirm import in_portions
from gradegate.running.portions import Portions
from gradegate.running.reasks import Asking, Stopped
from gradegate.running.run import Watch, first_asks, further_asks
from gradegate.steps.book import AnswerRow, AsksRow, Book
from gradegate.steps.preparation import Prepared
from gradegate.steps.split import jobs_of
from gradegate.values.conversation import NO_USAGE
from gradegate.values.result import Outcome
from gradegate.values.settings import Settings


@dataclass(frozen=True, slots=True)
class Found:
    """What a shard found: the lines of its part after the header, with how many answers and failures they hold."""

    lines: Iterable[str]
    answers: int
    failed: int
    stopped: str


def first_round(prepared: Prepared, settings: Settings, watch: Watch) -> Found:
    """Ask the shard's jobs once."""
    plan, shard = prepared.plan, settings.shard or (1, 1)
    asked, account = first_asks(plan, prepared.client, settings.reask, jobs_of(plan.jobs, shard), watch, sentinels=shard[0] == 1)
    failed = sum(it.row.outcome is Outcome.FAIL for it in asked.values())
    rows = (AnswerRow.line_of(place, it, plan.jobs[place[0]], prepared.hide) for place, it in asked.items())
    return Found(with_account(rows, account, prepared), len(asked), failed, account.stopped)


def further_round(prepared: Prepared, settings: Settings, rows: Sequence[AnswerRow]) -> Found:
    """Ask the shard's share of open failures again. Raises Damaged where the plan has no such answer."""
    book, plan, askable = Book(prepared.plan), prepared.plan, Askable(prepared.plan)
    planned = {(index, repeat) for index, job in enumerate(plan.jobs) for repeat in range(job.repeats)}
    number, of = settings.shard or (1, 1)
    mine = {(row.place, row.repeat): row.open for row in [row for row in rows if row.open][number - 1 :: of]}
    for row in rows:
        place = row.place, row.repeat
        if place in mine or not row.open:  # an answer of the base
            book.add_answer(row, planned, "the plan")
            if not askable.open_in(book.asked[place].job or plan.jobs[row.place], book.asked[place].row).issuperset(row.open):
                raise Damaged(f"answer {row.place} has no such open grade")
    said: list[Asking] = []

    def pursue(askings: Sequence[Asking], portions: Portions, stopped: Stopped) -> None:
        said.extend(askings)  # what was said before a signal was paid for
        in_portions(askings, portions, stopped)

    confirming = Gathered.of(plan, askable, settings.reask, book.asked, None, pursue).confirming
    wave = [(number, position) for number, place in enumerate(confirming.places) for position in mine.get(place, ())]
    account = further_asks(plan, prepared.client, settings.reask, confirming, wave)
    lost = sum((it.lost_answers for it in said), NO_USAGE), sum((it.lost for it in said), NO_USAGE)
    lines = with_account((AsksRow.line_of(it, prepared.hide) for it in said), replace(account, lost=lost), prepared)
    return Found(lines, len(mine), len(wave), account.stopped)


def with_account(rows: Iterable[str], account: Account, prepared: Prepared) -> Iterator[str]:
    """The rows of a file, and the line that follows them."""
    yield from rows
    plan = prepared.shown_plan
    shown = replace(account, problems=conceal(account.problems, prepared.hide))
    yield written({"account": shown, "models": plan.models, "keys": plan.keys, "hidden": prepared.secrets.names})
