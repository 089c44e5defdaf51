"""What the parts of all shards hold: every shard once, by its last attempt, and what the plan asks of it, no more and no less.

What cannot be used is named, and counts as missing: no decision about the rest can then be green.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gradegate.errors import ConfigError, Mistake
from gradegate.planning.job import Plan
from gradegate.replies.parts import Damaged, Header, Part, last_attempts, name_in, parsed, parts_in
from gradegate.reporting.visible import one_line
from gradegate.running.conclusion import Asked, Place
from gradegate.steps.records import AccountRecord, AnswerRecord, AsksRecord, asked_of, asks_in
from gradegate.steps.split import owners
from gradegate.values.result import Outcome

_LONGEST = 400  # characters of a problem


@dataclass
class Collected:
    """The entries of the parts. ``problems`` name what is missing, or of no use; ``lacking`` say why, by shard."""

    folder: Path
    plan: Plan
    of: int
    owners: Mapping[int, int]  # the shard of each job, by its index
    problems: list[str]
    rounds: int = 1
    asked: dict[Place, Asked] = field(default_factory=dict)
    records: dict[Place, AnswerRecord] = field(default_factory=dict)  # of answers in which something failed
    asks: list[AsksRecord] = field(default_factory=list)
    again: set[tuple[int, int, str, int]] = field(default_factory=set)  # which grades these are of
    accounts: dict[tuple[int, int], AccountRecord] = field(default_factory=dict)  # by round and shard
    lacking: dict[int, str] = field(default_factory=dict)
    basis: str = ""  # a digest of all parts that were used

    def why(self, shard: int) -> str:
        """Why there are no answers of a shard."""
        return self.lacking.get(shard) or f"shard {shard}/{self.of} left no part"

    def lack(self, shard: int, why: str) -> None:
        """Name what is wrong with a shard."""
        self.problems.append(one_line(why, _LONGEST))
        self.lacking.setdefault(shard, self.problems[-1])

    def take_round(self, parts: Sequence[Part], round_: int) -> None:
        """Take the parts of a round; each wholly, or not at all."""
        again = f" (round {round_})" if round_ > 1 else ""
        chosen = []
        for shard, latest in last_attempts(parts, self.of, round_):
            if len(latest) > 1:
                names = " and ".join(name_in(self.folder, part) for part in latest)
                self.lack(shard, f"shard {shard}/{self.of} is there twice: {names}{again}")
            elif not latest:
                self.lack(shard, f"shard {shard}/{self.of} is missing{again}")
            elif unasked := latest[0].header.unasked:
                self.lack(shard, f"shard {shard}/{self.of} asked nothing: {one_line(unasked, 300)}{again}")
            else:
                chosen += latest
        used = [part.footer.sha256 for part in chosen if self._take(part)]
        self.basis = hashlib.sha256("".join(used).encode()).hexdigest()

    def _take(self, part: Part) -> bool:
        shard = part.header.shard
        try:
            if part.header.basis != self.basis:
                raise Damaged("it asks again what other parts than these answered: run its round again")
            body = list(part.body())
            if not body:
                raise Damaged("it has no lines between the first and the last")
            number, last = body.pop()
            record = parsed(AccountRecord, last, number)
            if part.header.round == 1:
                self._take_answers(part, body)
            else:
                self.asks += list(self._asks(body))
        except Damaged as e:
            name = name_in(self.folder, part)
            self.problems.append(one_line(f"{name}: {e}", _LONGEST))
            self.lacking.setdefault(shard, f"shard {part.shard} has no part that can be used: {self.problems[-1]}")
            return False
        self.accounts[part.header.round, shard] = record
        if record.account.stopped:
            self.problems.append(one_line(f"shard {part.shard} was {record.account.stopped} before it ended", _LONGEST))
        return True

    def _take_answers(self, part: Part, body: Sequence[tuple[int, bytes]]) -> None:
        """Raises Damaged where the answers are not just those of the shard."""
        jobs, shard = self.plan.jobs, part.header.shard
        asked: dict[Place, Asked] = {}
        records: dict[Place, AnswerRecord] = {}
        for number, line in body:
            record = parsed(AnswerRecord, line, number)
            place = (record.place, record.repeat)
            if self.owners.get(record.place) != shard or record.repeat >= jobs[record.place].repeats:
                raise Damaged(f"line {number}: the answer is none of shard {part.shard}")
            if place in asked:
                raise Damaged(f"line {number}: the answer is there twice")
            try:
                asked[place] = asked_of(record, jobs[record.place])
            except Damaged as e:
                raise Damaged(f"line {number}: {e}") from e
            if record.said is not None:
                records[place] = record
        planned = sum(job.repeats for index, job in enumerate(jobs) if self.owners[index] == shard)
        if len(asked) != planned:
            raise Damaged(f"it has {len(asked):,} of the {planned:,} answers of shard {part.shard}")
        self.asked |= asked
        self.records |= records

    def _asks(self, body: Sequence[tuple[int, bytes]]) -> Iterator[AsksRecord]:
        """Raises Damaged for what nobody could have asked."""
        for number, line in body:
            record = parsed(AsksRecord, line, number)
            asked = self.asked.get((record.place, record.repeat))
            grades = asked.row.grades if asked else ()
            for position, asks in record.asks.items():
                if not 0 <= position < len(grades) or grades[position].outcome is not Outcome.FAIL:
                    raise Damaged(f"line {number}: it asks again what did not fail in any part")
                name = record.place, record.repeat, record.kind, position
                if asks and name in self.again:
                    raise Damaged(f"line {number}: it asks again what another part did")
                self.again |= {name} if asks else set()
                try:
                    asks_in(asks, grades[position].assertion)
                except Damaged as e:
                    raise Damaged(f"line {number}: {e}") from e
            yield record


def collect(folder: Path, plan: Plan, own: Header) -> Collected:
    """The parts in a folder, or in folders below it, that fit the header of one's own. Raises ConfigError where none does."""
    problems: list[str] = []
    parts = parts_in(folder, own, problems)
    problems = [one_line(problem, _LONGEST) for problem in problems]
    if not parts:
        raise ConfigError(*map(Mistake, problems[:50]))
    of = parts[0].header.of
    rounds = max(part.header.round for part in parts)
    found = Collected(folder, plan, of, owners(plan.jobs, of), problems, rounds)
    for round_ in range(1, rounds + 1):
        found.take_round(parts, round_)
    return found
