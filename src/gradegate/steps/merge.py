"""The parts of all shards as one run: the same rows, waves and rules as if one job had asked everything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gradegate.deciding.chances import tail
from gradegate.deciding.waves import LEAST
from gradegate.errors import Trouble
from gradegate.planning.job import Job
from gradegate.results.mapping import entry, value
from gradegate.results.rows import CaseLine
from gradegate.running.askable import Askable
from gradegate.running.conclusion import Account, Asked, Gathered
from gradegate.running.portions import Portions
from gradegate.running.run import missing_row
from gradegate.steps.part_lines import AccountRecord, OpenRecord
from gradegate.steps.parts import Collected
from gradegate.steps.playback import Playback
from gradegate.steps.session import Prepared
from gradegate.values.account import AskedModel, BudgetReport, CacheReport
from gradegate.values.conversation import NO_USAGE, Usage
from gradegate.values.figures import many
from gradegate.values.result import RunResult
from gradegate.values.suite import NO_LIMITS, Limits, Note

_SURE = 0.001  # the chance that noise alone leaves more failures than a round asks beyond a wave
MOST = 50  # problems that are said
NOT_ASKED = "no shard was told to (`gradegate merge --open FILE` names what is open, `run --shard --open FILE` asks it)"


@dataclass(frozen=True)
class Merged:
    """``run`` is everything; ``opened`` are the failures that the rules still need to know more of."""

    run: RunResult
    opened: tuple[OpenRecord, ...] = ()


def merged(prepared: Prepared, collected: Collected, reask: int) -> Merged:
    """Put the parts together. What no part has is an ERROR that names its shard."""
    plan, accounts = prepared.plan, list(collected.accounts.values())

    def asked_of(index: int, job: Job, repeat: int) -> Asked:
        asked = collected.asked.get((index, repeat))
        why = f"not run: {collected.why(collected.owners[index])}"
        return asked or Asked(missing_row(job, repeat, why, Trouble.STOPPED))

    playback = Playback(collected.asks)
    gathered = Gathered.of(plan, Askable(plan), reask, asked_of, playback)
    playback.places = gathered.places
    playback.hidden = frozenset(place for place, asked in collected.asked.items() if asked.row.hidden)
    gathered.confirming.run(Portions(prepared.client.budget, _nobody), lambda: NOT_ASKED if playback.missing else "")
    used_up = _used_up(prepared.client.budget.limits if playback.missing else NO_LIMITS, accounts)
    opened = () if used_up or not playback.missing else tuple(_opened(gathered, playback, collected))
    unneeded, lost = playback.unneeded()
    account = _account(prepared, collected, accounts, lost)
    run = gathered.result(_why(playback, collected, used_up), account)
    notes = list(_notes(collected.problems))
    if unneeded:
        what = f"{many(unneeded, 'failure')} asked again in vain: no shard sees what the others find"
        notes.append(Note(what))
    return Merged(
        replace(
            run,
            notes=(*run.notes, *notes),
            models=_models(accounts) or run.models,
            keys=tuple(dict.fromkeys(key for it in accounts for key in it.keys)),
            hidden=tuple(sorted({name for it in accounts for name in it.hidden})),
            incomplete=_incomplete(collected),
        ),
        opened,
    )


def _nobody(do: Callable[[Any], None], items: Iterable[Any]) -> None:
    """Asks nothing: a merge has no model."""


def _notes(problems: Sequence[str]) -> Iterator[Note]:
    """The first problems, and how many there are more."""
    yield from map(Note, problems[:MOST])
    if len(problems) > MOST:
        yield Note(f"{len(problems) - MOST:,} more problems with the parts")


def _incomplete(collected: Collected) -> str:
    """What is wrong with the parts, in a sentence; empty where nothing is."""
    problems = collected.problems
    more = f", and {many(len(problems) - 1, 'more problem')}" if len(problems) > 1 else ""
    return problems[0] + more if problems else ""


def _why(playback: Playback, collected: Collected, used_up: str) -> str:
    """Why failures that a rule needs were not asked again; empty where none was left."""
    if used_up:
        return f"the budget of {used_up} is used up"
    return next(iter(collected.lacking.values()), NOT_ASKED) if playback.missing else ""


def _used_up(limits: Limits, accounts: Sequence[AccountRecord]) -> str:
    """The limit that all shards together have reached, or one of them with its share, as people read it."""
    said = next((f"{it.used_up} of a shard" for it in accounts if it.used_up), "")
    if limits.calls is not None and sum(it.calls for it in accounts) >= limits.calls:
        return many(limits.calls, "call")
    if limits.usd is not None and sum(it.usd for it in accounts) >= limits.usd:
        return f"{limits.usd:g} USD"
    return said


# --- what is still open ---------------------------------------------------------------------------------------


def _opened(gathered: Gathered, playback: Playback, collected: Collected) -> Iterator[OpenRecord]:
    """The failures of one more round, those of an answer together, in plan order.

    No shard can wait for what another one finds: a round is a wave and as many more as the noise may have made, so that it
    settles the rules, whether all of its failures are noise or the wave alone stands.
    """
    askable = Askable(gathered.plan)
    noise = max((policy.noise for policy in askable.policies.values()), default=0.0)
    by_number: dict[int, list[int]] = {}
    for number, position in gathered.confirming.round(likely(askable.grades, noise)):
        if not playback.asked(gathered.places[number], position):
            by_number.setdefault(number, []).append(position)
    for number, positions in by_number.items():
        index, repeat = place = gathered.places[number]
        record = collected.records.get(place)
        if record is None:
            continue
        base = collected.asked.get((index + 1, repeat)) if _has_base(gathered, index) else None
        yield OpenRecord(positions=positions, answer=record, other=entry(CaseLine, base.row) if base else None)


def _has_base(gathered: Gathered, index: int) -> bool:
    jobs = gathered.plan.jobs
    return index + 1 < len(jobs) and jobs[index + 1].of_base


def likely(grades: int, noise: float) -> int:
    """So many failures, in whole waves, that noise alone makes more of them in one run of a thousand."""
    low, high = 0, grades
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if tail(middle + 1, grades, noise) < _SURE else (middle + 1, high)
    return -(-low // LEAST) * LEAST


# --- what it took ---------------------------------------------------------------------------------------------


def _account(prepared: Prepared, collected: Collected, accounts: Sequence[AccountRecord], unneeded: tuple[Usage, Usage]) -> Account:
    target = sum((value(Usage, it.lost_target) for it in accounts), NO_USAGE) + unneeded[0]
    graders = sum((value(Usage, it.lost_graders) for it in accounts), NO_USAGE) + unneeded[1]
    rounds = range(1, collected.rounds + 1)
    longest = (max((it.seconds for (round_, _), it in collected.accounts.items() if round_ == number), default=0.0) for number in rounds)
    limits = prepared.client.budget.report().limits
    calls, usd = sum(it.calls for it in accounts), sum(it.usd for it in accounts)
    return Account(
        started=min((it.started for it in accounts), default=""),
        seconds=sum(longest),
        lost=(target, graders),
        budget=BudgetReport(limits, calls, usd, next((it.used_up for it in accounts if it.used_up), "")),
        cache=_cache(accounts),
        problems=tuple(dict.fromkeys(problem for it in accounts for problem in it.problems)),
    )


def _cache(accounts: Sequence[AccountRecord]) -> CacheReport | None:
    known = [it.cache for it in accounts if it.cache]
    if not known:
        return None
    return CacheReport(
        sum(it.looked_up for it in known),
        sum(it.hits for it in known),
        max(it.oldest for it in known),
        sum(it.saved_usd for it in known),
    )


def _models(accounts: Sequence[AccountRecord]) -> tuple[AskedModel, ...]:
    return tuple(dict.fromkeys(it for account in accounts for it in account.models))
