"""What the parts of all shards hold, as one book: every shard once, by its last attempt, and what the plan asks of it, no more and no less.

What cannot be used is named, and counts as missing: no decision about the rest can then be green.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from gradegate import __version__
from gradegate.errors import ConfigError, Mistake, Trouble
from gradegate.planning.identity import plan_digest
from gradegate.planning.job import Plan
from gradegate.replies.parts import FORMAT, PART, Damaged, Header, Line, Part, last_attempts, name_in, parts_in
from gradegate.reporting.redact import conceal
from gradegate.reporting.visible import one_line
from gradegate.results.mapping import written
from gradegate.running.conclusion import Account
from gradegate.running.rounds import Asked, Place, Rounds, by_job, owners
from gradegate.running.rows import missing_row
from gradegate.steps.book import AnswerRow, AsksRow, Book
from gradegate.steps.preparation import Prepared
from gradegate.values.account import AskedModel, KeyUse
from gradegate.values.settings import Settings

_LONGEST = 400  # characters of a problem


def header(settings: Settings, plan: Plan, **more: Any) -> Header:
    """The first line of this shard's part, or of what is the whole plan's."""
    number, of = settings.shard or (0, 1)
    own = {"gradegate": PART, "format": FORMAT, "version": __version__, "shard": number, "of": of, "round": 1, "attempt": 1}
    of_run = {"plan": plan_digest(plan), "commit": settings.commit, "run": settings.environment.run[0]}
    return Header.model_validate({**own, **of_run, **more})


class AccountRow(Line):
    """The line before the last: how a shard's run went, and what it took beside its answers."""

    account: Account
    models: list[AskedModel]
    keys: list[KeyUse]
    hidden: list[str]

    @classmethod
    def line_of(cls, account: Account, prepared: Prepared) -> str:
        """Its line."""
        plan, shown = prepared.shown_plan, replace(account, problems=conceal(account.problems, prepared.hide))
        return written({"account": shown, "models": plan.models, "keys": plan.keys, "hidden": prepared.secrets.names})


@dataclass
class Collected:
    """The parts of a folder. ``problems`` name what is missing, or of no use; ``lacking`` say why, by shard."""

    folder: Path
    of: int
    owners: Mapping[int, int]  # the shard of each job, by its index
    problems: list[str]
    rounds: int
    book: Book
    accounts: dict[tuple[int, int], AccountRow] = field(default_factory=dict)  # by round and shard
    lacking: dict[int, str] = field(default_factory=dict)
    basis: str = ""  # a digest of all parts that were used

    def take(self, places: Sequence[Place]) -> dict[Place, Asked]:
        """The answers; what no part has is an ERROR that names its shard."""
        return {place: self.book.asked.get(place) or self._missing(*place) for place in places}

    def _missing(self, index: int, repeat: int) -> Asked:
        shard = self.owners[index]
        why = self.lacking.get(shard) or f"shard {shard}/{self.of} left no part"
        return Asked(missing_row(self.book.plan.jobs[index], repeat, f"not run: {why}", Trouble.STOPPED))

    def _lack(self, shard: int, what: str, so: str = "") -> None:
        """Name what is wrong with a shard, and what follows of that."""
        self.problems.append(one_line(what, _LONGEST))
        self.lacking.setdefault(shard, so + self.problems[-1])

    def take_round(self, parts: Sequence[Part], round_: int) -> None:
        """Take the parts of a round; each wholly, or not at all."""
        again = f" (round {round_})" if round_ > 1 else ""
        used = []
        for shard, latest in last_attempts(parts, self.of, round_):
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
                places = {(index, repeat) for index in planned for repeat in range(self.book.plan.jobs[index].repeats)}
                record = part.read(AnswerRow, partial(found.add_answer, planned=places, whose=who), AccountRow)
                _check_whole(found, planned, who)
        except Damaged as e:
            self._lack(shard, f"{name_in(self.folder, part)}: {e}", f"{who} has no part that can be used: ")
            return []
        self.book.add(found)
        self.accounts[part.header.round, shard] = record
        if record.account.stopped:
            self.problems.append(one_line(f"{who} was {record.account.stopped} before it ended", _LONGEST))
        return [part.footer.sha256]


def _check_whole(found: Book, planned: Sequence[int], who: str) -> None:
    """Raises Damaged where answers to these jobs are missing."""
    rounds, rows = Rounds(found.plan, lambda _: {}), by_job((place, it.row) for place, it in found.asked.items())
    jobs = [(index, found.plan.jobs[index], rows.get(index, ())) for index in planned]
    lacking = sum(rounds.more(index, made) if job.needs else job.repeats - len(made) for index, job, made in jobs)
    if lacking:
        raise Damaged(f"it has {len(found.asked):,} of the {len(found.asked) + lacking:,} answers of {who}")


def collect(folder: Path, plan: Plan, own: Header) -> Collected:
    """The parts in a folder, or in folders below it, that fit the header of one's own. Raises ConfigError where none does."""
    problems: list[str] = []
    parts = parts_in(folder, own, problems)
    problems = [one_line(problem, _LONGEST) for problem in problems]
    if not parts:
        raise ConfigError(*map(Mistake, problems[:50]))
    of = parts[0].header.of
    found = Collected(folder, of, owners(plan.jobs, of), problems, max(part.header.round for part in parts), Book(plan))
    for round_ in range(1, found.rounds + 1):
        found.take_round(parts, round_)
    return found
