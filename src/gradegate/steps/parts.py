"""Reads the parts of a folder: every shard once, by its last attempt, and none of another plan, commit, version or number.

What cannot be used is named, and counts as missing: no decision about the rest can then be green.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gradegate.errors import ConfigError, Mistake
from gradegate.planning.job import Plan
from gradegate.reporting.visible import one_line
from gradegate.running.conclusion import Asked, Place
from gradegate.steps.line_files import Damaged, checked, lines, opened, parsed
from gradegate.steps.part_lines import OPEN, AccountRecord, AnswerRecord, AsksRecord, Header
from gradegate.steps.part_rows import asked_of, asks_in
from gradegate.steps.split import owners
from gradegate.values.result import Outcome

MOST_FILES = 10_000
_FORM = "gradegate run --shard 1/8 writes one, for each of 8 jobs"


class NoPartsError(ConfigError):
    """No shard left anything at all."""


@dataclass(frozen=True, slots=True)
class Part:
    """A file that is whole: its name, first line and digest. ``lines`` is how many there are before its footer."""

    path: Path
    name: str
    header: Header
    lines: int
    sha256: str

    @property
    def shard(self) -> str:
        """Its shard as people write it."""
        return f"{self.header.shard}/{self.header.of}"


@dataclass
class Collected:
    """What the parts of all shards hold. ``problems`` name what is missing, or of no use; ``lacking`` say why, by shard."""

    of: int
    owners: Mapping[int, int] = field(default_factory=dict)  # the shard of each job, by its index
    asked: dict[Place, Asked] = field(default_factory=dict)
    records: dict[Place, AnswerRecord] = field(default_factory=dict)  # of answers in which something failed
    asks: list[AsksRecord] = field(default_factory=list)
    again: set[tuple[int, int, str, int]] = field(default_factory=set)  # which grades these are of
    accounts: dict[tuple[int, int], AccountRecord] = field(default_factory=dict)  # by round and shard
    problems: list[str] = field(default_factory=list)
    lacking: dict[int, str] = field(default_factory=dict)
    rounds: int = 1
    basis: str = ""  # a digest of all parts that were used

    def why(self, shard: int) -> str:
        """Why there are no answers of a shard."""
        return self.lacking.get(shard) or f"shard {shard}/{self.of} left no part"


def collect(folder: Path, plan: Plan, own: Header) -> Collected:
    """The parts in a folder, or in folders below it, that fit the header of one's own. Raises ConfigError where none does."""
    problems: list[str] = []
    heads = list(_headers(folder, problems))
    fitting = list(_fitting(heads, own, problems))
    if not fitting:
        if not problems:
            raise NoPartsError.at(f"there is no part in `{folder.name}`", None, _FORM)
        raise ConfigError(*map(Mistake, problems[:50]))
    of = fitting[0].header.of
    found = Collected(of, problems=problems, rounds=max(part.header.round for part in fitting))
    found.owners = owners(plan.jobs, of)
    basis = ""
    for round_ in range(1, found.rounds + 1):
        chosen = _chosen(fitting, round_, found)
        used = [part for part in chosen if _take(part, plan, basis, found)]
        basis = hashlib.sha256("".join(part.sha256 for part in used).encode()).hexdigest()
        found.basis = basis
    return found


# --- which files ----------------------------------------------------------------------------------------------


def _headers(folder: Path, problems: list[str]) -> Iterator[Part]:
    """The files that are whole, in the order of their names."""
    if not folder.is_dir():
        raise NoPartsError.at(f"`{folder}` is no folder with parts", None, "name the one that the shards' files are in")
    paths = sorted(path for pattern in ("*.jsonl", "*/*.jsonl") for path in folder.glob(pattern))
    if len(paths) > MOST_FILES:
        raise ConfigError.at(f"`{folder}` has more than {MOST_FILES:,} files", None, "keep the parts of one run in it")
    for path in paths:
        name = path.relative_to(folder).as_posix()
        try:
            with opened(path) as file:
                footer = checked(file)
                header = parsed(Header, next(lines(file, footer.lines), (1, b""))[1], 1)
        except Damaged as e:
            problems.append(f"{name}: {e}")
            continue
        if header.gradegate != OPEN:
            yield Part(path, name, header, footer.lines, footer.sha256)


def _fitting(parts: Sequence[Part], own: Header, problems: list[str]) -> Iterator[Part]:
    """The parts of this run, plan, commit and version, with the number of shards that most of them have."""
    numbers = Counter(part.header.of for part in parts)
    of = max(numbers, key=lambda number: (numbers[number], number), default=0)
    for part in parts:
        header = part.header
        if wrong := unlike(header, own):
            problems.append(f"{part.name}: {wrong}")
        elif header.of != of or not 1 <= header.shard <= of:
            problems.append(f"{part.name}: it is shard {part.shard}, and the others are of {of}")
        else:
            yield part


def unlike(header: Header, own: Header) -> str:
    """Why a file is none of this run, an empty string where it is one."""
    if header.version != own.version:
        return f"it was written by version {one_line(header.version, 40)}, and this is {own.version}"
    if header.commit != own.commit:
        return f"it is of commit {_short(header.commit)}, and this is {_short(own.commit)}"
    if header.run != own.run:
        return f"it is of the workflow run {one_line(header.run, 40) or 'of nobody'}, and this is {own.run or 'none'}"
    return "" if header.plan == own.plan else "it is of another plan: give shards and merge the same configs and options"


def _short(commit: str) -> str:
    return commit[:7] or "unknown"


def _chosen(parts: Iterable[Part], round_: int, found: Collected) -> list[Part]:
    """Of each shard the part of its last attempt."""
    by_shard: dict[int, list[Part]] = {}
    for part in parts:
        if part.header.round == round_:
            by_shard.setdefault(part.header.shard, []).append(part)
    chosen = []
    for shard in range(1, found.of + 1):
        last = max((part.header.attempt for part in by_shard.get(shard, ())), default=0)
        latest = [part for part in by_shard.get(shard, ()) if part.header.attempt == last]
        if len(latest) == 1 and latest[0].header.unasked:
            why = one_line(latest[0].header.unasked, 300)
            _lack(found, shard, round_, f"shard {shard}/{found.of} asked nothing: {why}")
        elif len(latest) == 1:
            chosen += latest
        else:
            names = " and ".join(part.name for part in latest)
            what = f"there twice: {names}" if latest else "missing"
            _lack(found, shard, round_, f"shard {shard}/{found.of} is {what}")
    return chosen


def _lack(found: Collected, shard: int, round_: int, why: str) -> None:
    again = f" (round {round_})" if round_ > 1 else ""
    found.problems.append(why + again)
    found.lacking.setdefault(shard, why + again)


# --- what they hold -------------------------------------------------------------------------------------------


def _take(part: Part, plan: Plan, basis: str, found: Collected) -> bool:
    """Whether a part could be used: wholly, or not at all."""
    try:
        if part.header.basis != basis:
            raise Damaged("it asks again what other parts than these answered: run its round again")
        with opened(part.path) as file:
            body = list(lines(file, part.lines))[1:]
        if not body:
            raise Damaged("it has no lines between the first and the last")
        account = parsed(AccountRecord, body[-1][1], body[-1][0])
        if part.header.round == 1:
            _take_answers(part, body[:-1], plan, found)
        else:
            found.asks += list(_asks(body[:-1], found))
    except Damaged as e:
        found.problems.append(f"{part.name}: {e}")
        found.lacking.setdefault(part.header.shard, f"shard {part.shard} has no part that can be used: {part.name}: {e}")
        return False
    found.accounts[part.header.round, part.header.shard] = account
    if account.stopped:
        found.problems.append(f"shard {part.shard} was {account.stopped} before it ended")
    return True


def _take_answers(part: Part, body: Sequence[tuple[int, bytes]], plan: Plan, found: Collected) -> None:
    """Raises Damaged where the answers are not just those of the shard."""
    asked: dict[Place, Asked] = {}
    records: dict[Place, AnswerRecord] = {}
    for number, line in body:
        record = parsed(AnswerRecord, line, number)
        place = (record.place, record.repeat)
        if found.owners.get(record.place) != part.header.shard or record.repeat >= plan.jobs[record.place].repeats:
            raise Damaged(f"line {number}: the answer is none of shard {part.shard}")
        if place in asked:
            raise Damaged(f"line {number}: the answer is there twice")
        try:
            asked[place] = asked_of(record, plan.jobs[record.place])
        except Damaged as e:
            raise Damaged(f"line {number}: {e}") from e
        if record.said is not None:
            records[place] = record
    own = (index for index, number in found.owners.items() if number == part.header.shard)
    planned = sum(plan.jobs[index].repeats for index in own)
    if len(asked) != planned:
        raise Damaged(f"it has {len(asked):,} of the {planned:,} answers of shard {part.shard}")
    found.asked |= asked
    found.records |= records


def _asks(body: Sequence[tuple[int, bytes]], found: Collected) -> Iterator[AsksRecord]:
    """Raises Damaged for what nobody could have asked."""
    for number, line in body:
        record = parsed(AsksRecord, line, number)
        asked = found.asked.get((record.place, record.repeat))
        grades = asked.row.grades if asked else ()
        for position, asks in record.asks.items():
            if not 0 <= position < len(grades) or grades[position].outcome is not Outcome.FAIL:
                raise Damaged(f"line {number}: it asks again what did not fail in any part")
            name = record.place, record.repeat, record.kind, position
            if asks and name in found.again:
                raise Damaged(f"line {number}: it asks again what another part did")
            found.again |= {name} if asks else set()
            try:
                asks_in(asks, grades[position].assertion)
            except Damaged as e:
                raise Damaged(f"line {number}: {e}") from e
        yield record
