"""A merge: the run of a plan that the parts of all shards answer, with the same rows, waves and rules as if one job had asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gradegate.deciding.chances import tail
from gradegate.deciding.waves import LEAST, MOST_TO_END
from gradegate.errors import Trouble
from gradegate.results.mapping import line, written
from gradegate.results.shape import CaseLine
from gradegate.running.askable import Askable
from gradegate.running.conclusion import Account, Gathered
from gradegate.running.portions import Portions
from gradegate.running.rounds import Asked, Place, Rounds
from gradegate.running.rows import missing_row
from gradegate.steps.collection import Collected
from gradegate.steps.playback import Playback
from gradegate.steps.preparation import Prepared
from gradegate.values.account import BudgetReport, CacheReport
from gradegate.values.conversation import NO_USAGE, Usage
from gradegate.values.figures import many
from gradegate.values.result import RunResult
from gradegate.values.suite import NO_LIMITS, Limits, Note

_SURE = 0.001  # the chance that noise alone leaves more failures than a round asks beyond a wave
MOST = 50  # problems that are said
NOT_ASKED = "no shard was told to (`open` of the merge names what is open, `open` of shards asks it)"


@dataclass(frozen=True)
class Merged:
    """``run`` is everything; ``opened`` are the failures that the rules still need to know more of: positions and a line each."""

    run: RunResult
    opened: tuple[tuple[list[int], str], ...] = ()


def merged(prepared: Prepared, collected: Collected, reask: int) -> Merged:
    """Put the parts together. What no part has is an ERROR that names its shard."""
    records, limits = list(collected.accounts.values()), prepared.client.budget.limits

    def asked_of(index: int, repeat: int) -> Asked:
        asked = collected.asked.get((index, repeat))
        why = f"not run: {collected.why(collected.owners[index])}"
        return asked or Asked(missing_row(prepared.plan.jobs[index], repeat, why, Trouble.STOPPED))

    rounds = Rounds(prepared.plan, lambda places: {place: asked_of(*place) for place in places})
    hidden = frozenset(place for place, asked in collected.asked.items() if asked.row.hidden)
    playback = Playback(collected.asks, collected.again, hidden)
    gathered = Gathered.of(prepared.plan, Askable(prepared.plan), reask, rounds, playback)
    playback.places = gathered.confirming.places
    nobody = Portions(prepared.client.budget, lambda *_: None)
    gathered.confirming.run(nobody, lambda: NOT_ASKED if playback.missing else "")
    unneeded, lost = playback.unneeded()
    made = {*gathered.confirming.places}
    for place, row in ((place, asked.row) for place, asked in collected.asked.items() if not prepared.plan.jobs[place[0]].of_base):
        if place not in made:  # runs that no case needed
            lost = lost[0] + row.usage, sum((grade.usage for grade in row.grades), lost[1])
    account = _account(collected, limits, lost)
    used_up = _used_up(limits if playback.missing else NO_LIMITS, account)
    opened = () if used_up or not playback.missing else tuple(_opened(gathered, playback, collected))
    why = next(iter(collected.lacking.values()), NOT_ASKED) if playback.missing else ""
    run = gathered.result(f"the budget of {used_up} is used up" if used_up else why, account)
    problems, more = collected.problems, len(collected.problems) - 1
    notes = list(map(Note, problems[:MOST]))
    if len(problems) > MOST:
        notes.append(Note(f"{len(problems) - MOST:,} more problems with the parts"))
    if unneeded:
        notes.append(Note(f"{many(unneeded, 'failure')} asked again in vain: no shard sees what the others find"))
    return Merged(
        replace(
            run,
            notes=(*run.notes, *notes),
            models=tuple(dict.fromkeys(model for it in records for model in it.models)) or run.models,
            keys=tuple(dict.fromkeys(key for it in records for key in it.keys)),
            hidden=tuple(sorted({name for it in records for name in it.hidden})),
            incomplete="".join(problems[:1]) + (f", and {many(more, 'more problem')}" if more > 0 else ""),
        ),
        opened,
    )


def _used_up(limits: Limits, account: Account) -> str:
    """The limit that all shards together have reached, or one of them with its share, as people read it."""
    taken = account.budget or BudgetReport()
    if limits.calls is not None and taken.calls >= limits.calls:
        return many(limits.calls, "call")
    if limits.usd is not None and taken.usd >= limits.usd:
        return f"{limits.usd:g} USD"
    return f"{taken.used_up} of a shard" if taken.used_up else ""


# --- what is still open ---------------------------------------------------------------------------------------


def _opened(gathered: Gathered, playback: Playback, collected: Collected) -> Iterator[tuple[list[int], str]]:
    """The failures of one more round, those of an answer together, in plan order: their positions, and the line of an ``OpenRecord``.

    No shard can wait for what another one finds: a round is a wave and as many more as the noise may have made, or are asked
    last, so that it settles the rules, whether all of its failures are noise or the wave alone stands.
    """
    askable, jobs = Askable(gathered.plan), gathered.plan.jobs
    noise = max((policy.noise for policy in askable.policies.values()), default=0.0)
    places = gathered.confirming.places
    wanted = {(places[number], it) for number, it in gathered.confirming.round(max(likely(askable.grades, noise), MOST_TO_END))}
    cases = {index for (index, _), _ in wanted if jobs[index].needs}  # whose other runs nobody waits for either
    others = ((place, asked) for place, asked in collected.asked.items() if place[0] in cases)
    wanted |= {(place, it) for place, asked in others for it in askable.open_in(jobs[place[0]], asked.row)}
    by_place: dict[Place, list[int]] = {}
    for place, position in sorted(it for it in wanted if not playback.asked(*it)):
        by_place.setdefault(place, []).append(position)
    for place, positions in by_place.items():
        index, repeat = place
        if record := collected.records.get(place):
            has_base = not jobs[index].needs and any(job.of_base for job in jobs[index + 1 : index + 2])
            base = collected.asked.get((index + 1, repeat)) if has_base else None
            yield positions, written({"positions": positions, "answer": record, "other": line(CaseLine, base.row) if base else None})


def likely(grades: int, noise: float) -> int:
    """So many failures, in whole waves, that noise alone makes more of them in one run of a thousand."""
    low, high = 0, grades
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if tail(middle + 1, grades, noise) < _SURE else (middle + 1, high)
    return -(-low // LEAST) * LEAST


# --- what it took ---------------------------------------------------------------------------------------------


def _account(collected: Collected, limits: Limits, unneeded: tuple[Usage, Usage]) -> Account:
    """The accounts of all shards as one: rounds follow one another, and the shards of a round run at the same time."""
    accounts = [record.account for record in collected.accounts.values()]
    longest: dict[int, float] = {}
    for (round_, _), record in collected.accounts.items():
        longest[round_] = max(longest.get(round_, 0.0), record.account.seconds)
    budgets = [it.budget for it in accounts if it.budget]
    caches = [it.cache for it in accounts if it.cache]
    calls, usd = sum(it.calls for it in budgets), sum(it.usd for it in budgets)
    return Account(
        started=min((it.started for it in accounts), default=""),
        seconds=sum(longest.values()),
        lost=(sum((it.lost[0] for it in accounts), NO_USAGE) + unneeded[0], sum((it.lost[1] for it in accounts), NO_USAGE) + unneeded[1]),
        budget=BudgetReport(limits, calls, usd, next((it.used_up for it in budgets if it.used_up), "")),
        cache=CacheReport(
            sum(it.looked_up for it in caches),
            sum(it.hits for it in caches),
            max(it.oldest for it in caches),
            sum(it.saved_usd for it in caches),
        )
        if caches
        else None,
        problems=tuple(dict.fromkeys(problem for it in accounts for problem in it.problems)),
        sentinels=tuple(ask for it in accounts for ask in it.sentinels),
    )
