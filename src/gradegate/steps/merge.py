"""A merge: the run of a plan that the parts of all shards answer, with the same rows, waves and rules as if one job had asked."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace

from gradegate.deciding.chances import tail
from gradegate.deciding.waves import LEAST, MOST_TO_END
from gradegate.running.askable import Askable
from gradegate.running.conclusion import Account, Gathered
from gradegate.running.portions import Portions
from gradegate.running.rounds import Place, Rounds
from gradegate.steps.book import AnswerRow
from gradegate.steps.collection import Collected
from gradegate.steps.preparation import Prepared
from gradegate.values.account import BudgetReport, CacheReport
from gradegate.values.conversation import NO_USAGE, Usage
from gradegate.values.figures import many
from gradegate.values.result import RunResult
from gradegate.values.suite import NO_LIMITS, Limits, Note

_SURE = 0.001  # the chance that noise alone leaves more failures than a round asks beyond a wave
MOST = 50  # problems that are said
NOT_ASKED = "no shard re-asked it (`open` of `merge` writes the open failures, `open` of the shards re-asks them)"


@dataclass(frozen=True)
class Merged:
    """``run`` is everything; ``opened`` are the failures that the rules still need to know more of, by their answers."""

    parts: Collected
    run: RunResult
    account: Account
    opened: dict[Place, list[int]]


def merged(prepared: Prepared, collected: Collected, reask: int) -> Merged:
    """Put the parts together. What no part has is an ERROR that names its shard."""
    plan, book, limits = prepared.plan, collected.book, prepared.client.budget.limits
    rounds, said = Rounds(plan, collected.take), frozenset(book.again)
    gathered = Gathered.of(plan, Askable(plan), reask, rounds.answers(), rounds, book.play)
    confirming = gathered.confirming
    confirming.run(Portions(prepared.client.budget, lambda *_: None), lambda: NOT_ASKED if book.is_open else "")
    account = _account(collected, limits, _unneeded(collected, {*confirming.places}))
    used_up = _used_up(limits if book.is_open else NO_LIMITS, account)
    opened: dict[Place, list[int]] = {}
    for place, position in sorted(_wanted(gathered, collected)) if book.is_open and not used_up else ():
        if (place, "again", position) not in said and (asked := book.asked.get(place)) and asked.transcript:
            opened.setdefault(place, []).append(position)
    why = next(iter(collected.lacking.values()), NOT_ASKED) if book.is_open else ""
    run = gathered.result(f"the budget of {used_up} is used up" if used_up else why, account)
    problems, more = collected.problems, len(collected.problems) - 1
    notes = list(map(Note, problems[:MOST]))
    if len(problems) > MOST:
        notes.append(Note(f"{len(problems) - MOST:,} more problems with the parts"))
    if book.again:
        notes.append(Note(f"{many(len(book.again), 'failure')} re-asked in vain: no shard sees the results of the others"))
    records = collected.accounts.values()
    run = replace(
        run,
        notes=(*run.notes, *notes),
        models=tuple(dict.fromkeys(model for it in records for model in it.models)) or run.models,
        keys=tuple(dict.fromkeys(key for it in records for key in it.keys)),
        hidden=tuple(sorted({name for it in records for name in it.hidden})),
        incomplete="".join(problems[:1]) + (f", and {many(more, 'more problem')}" if more > 0 else ""),
    )
    return Merged(collected, run, account, opened)


def _used_up(limits: Limits, account: Account) -> str:
    """The limit that all shards together have reached, or one of them with its share, as people read it."""
    taken = account.budget or BudgetReport()
    if limits.calls is not None and taken.calls >= limits.calls:
        return many(limits.calls, "call")
    if limits.usd is not None and taken.usd >= limits.usd:
        return f"{limits.usd:g} USD"
    return f"{taken.used_up} of a shard" if taken.used_up else ""


# --- what is still open ---------------------------------------------------------------------------------------


def _wanted(gathered: Gathered, collected: Collected) -> set[tuple[Place, int]]:
    """The failures of one more round.

    No shard can wait for what another one finds: a round is a wave and as many more as the noise may have made, or are asked
    last, so that it settles the rules, whether all of its failures are noise or the wave alone stands.
    """
    askable, jobs = Askable(gathered.plan), gathered.plan.jobs
    noise = max((policy.noise for policy in askable.policies.values()), default=0.0)
    places = gathered.confirming.places
    wanted = {(places[number], it) for number, it in gathered.confirming.round(max(likely(askable.grades, noise), MOST_TO_END))}
    cases = {index for (index, _), _ in wanted if jobs[index].needs}  # whose other runs nobody waits for either
    others = ((place, asked) for place, asked in collected.book.asked.items() if place[0] in cases)
    return wanted | {(place, it) for place, asked in others for it in askable.open_in(jobs[place[0]], asked.row)}


def open_rows(merged: Merged, prepared: Prepared) -> Iterator[str]:
    """The lines of what is open: each answer with its positions, then that of the base, where it was asked in the same run."""
    asked, jobs = merged.parts.book.asked, prepared.plan.jobs
    for (index, repeat), positions in merged.opened.items():
        own, other = (index, repeat), (index + 1, repeat)
        yield AnswerRow.line_of(own, asked[own], jobs[index], prepared.hide, positions)
        if not jobs[index].needs and any(job.of_base for job in jobs[index + 1 : index + 2]) and other in asked:
            yield AnswerRow.line_of(other, asked[other], jobs[index + 1], prepared.hide)


def likely(grades: int, noise: float) -> int:
    """So many failures, in whole waves, that noise alone makes more of them in one run of a thousand."""
    most = bisect_left(range(grades), True, key=lambda number: tail(number + 1, grades, noise) < _SURE)
    return -(-most // LEAST) * LEAST


# --- what it took ---------------------------------------------------------------------------------------------


def _unneeded(collected: Collected, made: set[Place]) -> tuple[Usage, Usage]:
    """What target and graders took for asks that no rule needed, and for runs that no case did."""
    book, jobs = collected.book, collected.book.plan.jobs
    runs = [asked.row for place, asked in book.asked.items() if place not in made and not jobs[place[0]].of_base]
    grades = (grade for row in runs for grade in row.grades)
    asks = (ask for _, asks in book.again.values() for ask in asks)
    target = sum((usage for row in book.rows for usage in row.usages), sum((row.usage for row in runs), NO_USAGE))
    return target, sum((it.usage for several in (grades, asks) for it in several), NO_USAGE)


def _account(collected: Collected, limits: Limits, unneeded: tuple[Usage, Usage]) -> Account:
    """The accounts of all shards as one: rounds follow one another, and the shards of a round run at the same time."""
    accounts = [record.account for record in collected.accounts.values()]
    longest: dict[int, float] = {}
    for (round_, _), record in collected.accounts.items():
        longest[round_] = max(longest.get(round_, 0.0), record.account.seconds)
    budgets = [it.budget for it in accounts if it.budget]
    caches = [it.cache for it in accounts if it.cache]
    calls, usd, oldest = sum(it.calls for it in budgets), sum(it.usd for it in budgets), max((it.oldest for it in caches), default=0.0)
    return Account(
        started=min((it.started for it in accounts), default=""),
        seconds=sum(longest.values()),
        lost=(sum((it.lost[0] for it in accounts), unneeded[0]), sum((it.lost[1] for it in accounts), unneeded[1])),
        budget=BudgetReport(limits, calls, usd, next((it.used_up for it in budgets if it.used_up), "")),
        cache=replace(CacheReport(*map(sum, zip(*map(astuple, caches), strict=True))), oldest=oldest) if caches else None,
        problems=tuple(dict.fromkeys(problem for it in accounts for problem in it.problems)),
        sentinels=tuple(ask for it in accounts for ask in it.sentinels),
    )
