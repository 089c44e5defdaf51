"""What the parts of all shards hold: every shard once, by its last attempt, and what the plan asks of it, no more and no less.

What cannot be used is named, and counts as missing: no decision about the rest can then be green.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gradegate.errors import ConfigError, Mistake
from gradegate.planning.job import Plan
from gradegate.replies.parts import Damaged, Header, Part, at_line, last_attempts, name_in, parsed, parts_in
from gradegate.reporting.visible import one_line
from gradegate.results.mapping import value
from gradegate.running.rounds import Asked, Place, Rounds, by_job
from gradegate.steps.records import AccountRecord, AnswerRecord, AsksRecord, as_planned, asked_of
from gradegate.steps.split import owners
from gradegate.values.result import Grade, Outcome

Again = tuple[Place, str, int]  # a grade that was asked again: its answer, the kind of asking and its position
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
    again: dict[Again, tuple[int, list[Grade]]] = field(default_factory=dict)  # by grade: the place among these, and what was said
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
            *body, (number, last) = [*part.body()] or [(0, b"")]
            if not number:
                raise Damaged("it has no lines between the first and the last")
            with at_line(number):
                record = parsed(AccountRecord, last)
            if part.header.round == 1:
                self._take_answers(part, body)
            else:
                self._take_asks(body)
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
        own = ((index, job) for index, job in enumerate(self.plan.jobs) if self.owners[index] == part.header.shard)
        planned = {(index, repeat): job for index, job in own for repeat in range(job.repeats)}
        asked: dict[Place, Asked] = {}
        records: dict[Place, AnswerRecord] = {}
        for number, line in body:
            with at_line(number):
                record = parsed(AnswerRecord, line)
                place = (record.place, record.repeat)
                if place not in planned or place in asked:
                    raise Damaged(f"the answer is {'there twice' if place in asked else f'none of shard {part.shard}'}")
                asked[place] = asked_of(record, planned[place])
                if record.said is not None:
                    records[place] = record
        rounds, rows = Rounds(self.plan, lambda _: {}), by_job((place, it.row) for place, it in asked.items())
        jobs = {index: job for (index, _), job in planned.items()}
        lacking = sum(rounds.more(it, rows.get(it, ())) if job.needs else job.repeats - len(rows.get(it, ())) for it, job in jobs.items())
        if lacking:
            raise Damaged(f"it has {len(asked):,} of the {len(asked) + lacking:,} answers of shard {part.shard}")
        self.asked |= asked
        self.records |= records

    def _take_asks(self, body: Sequence[tuple[int, bytes]]) -> None:
        """Raises Damaged for what nobody could have asked."""
        records: list[AsksRecord] = []
        again: dict[Again, tuple[int, list[Grade]]] = {}
        for number, line in body:
            with at_line(number):
                record = parsed(AsksRecord, line)
                place = (record.place, record.repeat)
                grades = self.asked[place].row.grades if place in self.asked else ()
                for position, asks in record.asks.items():
                    if not 0 <= position < len(grades) or grades[position].outcome is not Outcome.FAIL:
                        raise Damaged("it asks again what did not fail in any part")
                    name = place, record.kind, position
                    if name in again or name in self.again:
                        raise Damaged("it asks again what another part did")
                    if asks:
                        own = grades[position].assertion
                        again[name] = len(self.asks) + len(records), [as_planned(value(Grade, ask), own) for ask in asks]
            records.append(record)
        self.asks += records
        self.again |= again


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
