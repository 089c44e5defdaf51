"""A merge: the run of a plan that the parts of all shards answer, with the same rows, waves and rules as if one job had asked."""

import hashlib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple, replace

from gradegate import __version__
from gradegate.core.numbers import many
from gradegate.core.policy import NO_LIMITS, Limits, Note
from gradegate.core.settings import Settings
from gradegate.core.usage import NO_USAGE, BudgetReport, CacheReport
from gradegate.errors import ConfigError, Mistake, Trouble
from gradegate.gate.reasks.needs import LEAST, MOST_TO_END
from gradegate.gate.statistics import tail
from gradegate.planning.groups import owners
from gradegate.planning.identity import plan_digest
from gradegate.planning.plan import Plan
from gradegate.reports.format.escape import one_line
from gradegate.results.run_result import RunResult
from gradegate.runner.conclusion import Account, Gathered
from gradegate.runner.prepare import Prepared
from gradegate.runner.reasks.eligible import Askable
from gradegate.runner.rounds import Asked, Place, Portions, Rounds, by_job
from gradegate.runner.rows import missing_row
from gradegate.runner.shards.part_file import FORMAT, PART, Damaged, Header, Part, name_in, parts_in
from gradegate.runner.shards.records import AccountRow, AnswerRow, AsksRow, Book

_LONGEST = 400  # characters of a problem


def header(settings: Settings, plan: Plan, **more: Any) -> Header:
    """The first line of this shard's part, or of what is the whole plan's."""
    number, of = settings.shard or (0, 1)
    own = {
        "gradegate": PART,
        "format": FORMAT,
        "version": __version__,
        "shard": number,
        "of": of,
        "round": 1,
        "attempt": 1,
    }
    of_run = {
        "plan": plan_digest(plan),
        "commit": settings.commit,
        "run": settings.environment.run[0],
    }
    return Header.model_validate({**own, **of_run, **more})


class Collected(Struct):
    """The parts of a folder: of every shard its last attempt. ``problems`` name what is missing, or of no use; ``lacking`` say why.

    What cannot be used counts as missing: no decision about the rest can then be green.
    """

    folder: Path
    of: int
    owners: Mapping[int, int]  # the shard of each job, by its index
    problems: list[str]
    rounds: int
    book: Book
    accounts: dict[tuple[int, int], AccountRow] = {}  # by round and shard
    lacking: dict[int, str] = {}
    basis: str = ""  # a digest of all parts that were used

    def take(self, places: Sequence[Place]) -> dict[Place, Asked]:
        """The answers; what no part has is an ERROR that names its shard."""
        return {place: self.book.asked.get(place) or self._missing(*place) for place in places}

    def _missing(self, index: int, repeat: int) -> Asked:
        shard = self.owners[index]
        why = self.lacking.get(shard) or f"shard {shard}/{self.of} left no part"
        return Asked(
            missing_row(self.book.plan.jobs[index], repeat, f"not run: {why}", Trouble.STOPPED)
        )

    def _lack(self, shard: int, what: str, so: str = "") -> None:
        """Name what is wrong with a shard, and what follows of that."""
        self.problems.append(one_line(what, _LONGEST))
        self.lacking.setdefault(shard, so + self.problems[-1])

    def take_round(self, parts: Sequence[Part], round_: int) -> None:
        """Take the parts of a round; each wholly, or not at all."""
        again = f" (round {round_})" if round_ > 1 else ""
        used = []
        for shard in range(1, self.of + 1):
            own = [
                part for part in parts if (part.header.round, part.header.shard) == (round_, shard)
            ]
            last = max((part.header.attempt for part in own), default=0)
            latest = [
                part for part in own if part.header.attempt == last
            ]  # one, unless something is wrong
            who = f"shard {shard}/{self.of}"
            if len(latest) > 1:
                names = " and ".join(name_in(self.folder, part) for part in latest)
                self._lack(shard, f"{who} is there twice: {names}{again}")
            elif not latest:
                self._lack(shard, f"{who} is missing{again}")
            elif unasked := latest[0].header.unasked:
                self._lack(shard, f"{who} did not run: {one_line(unasked, 300)}{again}")
            else:
                used += self._used(latest[0], who)
        self.basis = hashlib.sha256("".join(used).encode()).hexdigest()

    def _used(self, part: Part, who: str) -> list[str]:
        """Take a part; gives its digest, and nothing where it is of no use."""
        found, shard = Book(self.book.plan), part.header.shard
        try:
            if part.header.basis != self.basis:
                raise Damaged("its failures belong to other parts than these: run its round again")
            if part.header.round > 1:
                record = part.read(AsksRow, partial(found.add_asks, others=self.book), AccountRow)
            else:
                planned = [index for index, owner in self.owners.items() if owner == shard]
                places = {
                    (index, repeat)
                    for index in planned
                    for repeat in range(self.book.plan.jobs[index].repeats)
                }
                record = part.read(
                    AnswerRow, partial(found.add_answer, planned=places, whose=who), AccountRow
                )
                rounds, rows = (
                    Rounds(found.plan, lambda _: {}),
                    by_job((place, it.row) for place, it in found.asked.items()),
                )
                jobs = [(index, found.plan.jobs[index], rows.get(index, ())) for index in planned]
                if lacking := sum(
                    rounds.more(index, made) if job.needs else job.repeats - len(made)
                    for index, job, made in jobs
                ):
                    raise Damaged(
                        f"it has {len(found.asked):,} of the {len(found.asked) + lacking:,} answers of {who}"
                    )
        except Damaged as e:
            self._lack(
                shard, f"{name_in(self.folder, part)}: {e}", f"{who} has no part that can be used: "
            )
            return []
        self.book.asked |= found.asked
        self.book.rows += found.rows
        self.book.again |= found.again
        self.accounts[part.header.round, shard] = record
        if record.account.stopped:
            self.problems.append(
                one_line(f"{who} was {record.account.stopped} before it ended", _LONGEST)
            )
        return [part.footer.sha256]


def collect(folder: Path, plan: Plan, own: Header) -> Collected:
    """The parts in a folder, or in folders below it, that fit the header of one's own. Raises ConfigError where none does."""
    problems: list[str] = []
    parts = parts_in(folder, own, problems)
    problems = [one_line(problem, _LONGEST) for problem in problems]
    if not parts:
        raise ConfigError(*map(Mistake, problems[:50]))
    of = parts[0].header.of
    found = Collected(
        folder,
        of,
        owners(plan.jobs, of),
        problems,
        max(part.header.round for part in parts),
        Book(plan),
    )
    for round_ in range(1, found.rounds + 1):
        found.take_round(parts, round_)
    return found


_SURE = 0.001  # the chance that noise alone leaves more failures than a round asks beyond a wave
MOST = 50  # problems that are said
NOT_ASKED = "no shard re-asked it (`open` of `merge` writes the open failures, `open` of the shards re-asks them)"


class Merged(Struct, frozen=True):
    """``run`` is everything; ``opened`` are the failures that the rules still need to know more of, by their answers."""

    parts: Collected
    run: RunResult
    account: Account
    opened: dict[Place, list[int]]


def merged(prepared: Prepared, settings: Settings) -> Merged:
    """Put the parts together. What no part has is an ERROR that names its shard. Raises ConfigError."""
    plan, limits = prepared.plan, prepared.client.budget.limits
    collected = collect(settings.cwd / settings.merge, plan, header(settings, plan))
    book = collected.book
    rounds, said = Rounds(plan, collected.take), frozenset(book.again)
    gathered = Gathered.of(
        plan, Askable(plan), settings.grader_retries, rounds.answers(), rounds, book.play
    )
    scheduler = gathered.scheduler
    scheduler.run(
        Portions(prepared.client.budget, lambda *_: None), lambda: NOT_ASKED if book.is_open else ""
    )
    account = _account(collected, limits, {*scheduler.places})
    used_up = _used_up(limits if book.is_open else NO_LIMITS, account)
    opened: dict[Place, list[int]] = {}
    for place, position in (
        sorted(_wanted(gathered, collected)) if book.is_open and not used_up else ()
    ):
        if (
            (place, "again", position) not in said
            and (asked := book.asked.get(place))
            and asked.transcript
        ):
            opened.setdefault(place, []).append(position)
    why = next(iter(collected.lacking.values()), NOT_ASKED) if book.is_open else ""
    run = gathered.result(f"the budget of {used_up} is used up" if used_up else why, account)
    problems, more = collected.problems, len(collected.problems) - 1
    notes = list(map(Note, problems[:MOST]))
    if len(problems) > MOST:
        notes.append(Note(f"{len(problems) - MOST:,} more problems with the parts"))
    if book.again:
        notes.append(
            Note(
                f"{many(len(book.again), 'failure')} re-asked in vain: no shard sees the results of the others"
            )
        )
    records = collected.accounts.values()
    run = replace(
        run,
        notes=(*run.notes, *notes),
        models=tuple(dict.fromkeys(model for it in records for model in it.models)) or run.models,
        keys=tuple(dict.fromkeys(key for it in records for key in it.keys)),
        hidden=tuple(sorted({name for it in records for name in it.hidden})),
        incomplete="".join(problems[:1])
        + (f", and {many(more, 'more problem')}" if more > 0 else ""),
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
    places = gathered.scheduler.places
    # So many failures, in whole waves, that noise alone makes more of them in one run of a thousand.
    most = bisect_left(
        range(askable.grades),
        True,
        key=lambda number: tail(number + 1, askable.grades, noise) < _SURE,
    )
    spare = max(-(-most // LEAST) * LEAST, MOST_TO_END)
    wanted = {(places[number], it) for number, it in gathered.scheduler.round(spare)}
    cases = {
        index for (index, _), _ in wanted if jobs[index].needs
    }  # whose other runs nobody waits for either
    others = ((place, asked) for place, asked in collected.book.asked.items() if place[0] in cases)
    return wanted | {
        (place, it) for place, asked in others for it in askable.open_in(jobs[place[0]], asked.row)
    }


def open_rows(merged: Merged, prepared: Prepared) -> Iterator[str]:
    """The lines of what is open: each answer with its positions, then that of the base, where it was asked in the same run."""
    asked, jobs = merged.parts.book.asked, prepared.plan.jobs
    for (index, repeat), positions in merged.opened.items():
        own, other = (index, repeat), (index + 1, repeat)
        yield AnswerRow.line_of(own, asked[own], jobs[index], prepared.hide, positions)
        if (
            not jobs[index].needs
            and any(job.of_base for job in jobs[index + 1 : index + 2])
            and other in asked
        ):
            yield AnswerRow.line_of(other, asked[other], jobs[index + 1], prepared.hide)


# --- what it took ---------------------------------------------------------------------------------------------


def _account(collected: Collected, limits: Limits, made: set[Place]) -> Account:
    """The accounts of all shards as one: rounds follow one another, and the shards of a round run at the same time."""
    book, jobs = collected.book, collected.book.plan.jobs
    # What target and graders took for asks that no rule needed, and for runs that no case did.
    runs = [
        asked.row
        for place, asked in book.asked.items()
        if place not in made and not jobs[place[0]].of_base
    ]
    asks = [
        *(grade for row in runs for grade in row.grades),
        *(ask for _, asks in book.again.values() for ask in asks),
    ]
    target = sum(
        (usage for row in book.rows for usage in row.usages),
        sum((row.usage for row in runs), NO_USAGE),
    )
    graders = sum((it.usage for it in asks), NO_USAGE)
    accounts = [record.account for record in collected.accounts.values()]
    longest: dict[int, float] = {}
    for (round_, _), record in collected.accounts.items():
        longest[round_] = max(longest.get(round_, 0.0), record.account.seconds)
    budgets = [it.budget for it in accounts if it.budget]
    caches = [it.cache for it in accounts if it.cache]
    calls, usd, oldest = (
        sum(it.calls for it in budgets),
        sum(it.usd for it in budgets),
        max((it.oldest for it in caches), default=0.0),
    )
    return Account(
        started=min((it.started for it in accounts), default=""),
        seconds=sum(longest.values()),
        lost=(
            sum((it.lost[0] for it in accounts), target),
            sum((it.lost[1] for it in accounts), graders),
        ),
        budget=BudgetReport(
            limits, calls, usd, next((it.used_up for it in budgets if it.used_up), "")
        ),
        cache=replace(
            CacheReport(*map(sum, zip(*map(astuple, caches), strict=True))), oldest=oldest
        )
        if caches
        else None,
        problems=tuple(dict.fromkeys(problem for it in accounts for problem in it.problems)),
        labels=tuple(ask for it in accounts for ask in it.labels),
    )
