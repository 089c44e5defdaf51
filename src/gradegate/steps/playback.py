"""Has what was asked again said once more, in place of asking: so that waves and rules go as they do in one run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gradegate.deciding.votes import Standing
from gradegate.grading.conclude import error
from gradegate.results.mapping import value
from gradegate.running.base_grades import Regrading
from gradegate.running.conclusion import Place
from gradegate.running.portions import Portions
from gradegate.running.reasks import Asking, Stopped
from gradegate.steps.part_lines import AsksRecord
from gradegate.steps.part_rows import asks_in
from gradegate.values.conversation import NO_USAGE, Usage

HIDDEN = "a secret is hidden in what was graded, so that no other job can grade it again"


@dataclass
class Playback:
    """``places`` has the place of each answer by its number; ``hidden`` are those that cannot be graded again elsewhere.

    ``missing`` gathers the answers, by number, of which something was not asked, or not to its end.
    """

    records: Iterable[AsksRecord]
    places: Sequence[Place] = ()
    hidden: frozenset[Place] = frozenset()
    missing: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._found: dict[tuple[Place, str, int], AsksRecord] = {}
        self._left: dict[int, set[int]] = defaultdict(set)  # positions that nobody needed so far, by the record's id
        self._all = list(self.records)
        for record in self._all:
            for position, asks in record.asks.items():
                if asks:
                    self._found[(record.place, record.repeat), record.kind, position] = record
                    self._left[id(record)].add(position)
        self._used: set[int] = set()  # records of which something was said

    def __call__(self, numbered: Sequence[tuple[int, Asking]], portions: Portions, stopped: Stopped) -> None:
        """Bring each asking as far as it was brought."""
        for number, asking in numbered:
            self._say(asking, self.places[number])
            if asking.open:
                self.missing.add(number)

    def _say(self, asking: Asking, place: Place) -> None:
        kind = "base" if isinstance(asking, Regrading) else "again"
        for position in asking.asks:
            record = self._found.get((place, kind, position))
            if record is not None:
                self._take(record, asking, position)
            elif place in self.hidden and not asking.anew and kind == "again":
                while asking.standing(position) is Standing.OPEN:  # nobody could ask
                    asking.asks[position].append(error(asking.bounds[position], HIDDEN, NO_USAGE))

    def _take(self, record: AsksRecord, asking: Asking, position: int) -> None:
        for ask in asks_in(record.asks[position], asking.bounds[position].asserted):
            if asking.standing(position) is Standing.OPEN:  # nobody asks beyond that
                asking.asks[position].append(ask)
        self._left[id(record)].discard(position)
        if id(record) in self._used:
            return
        self._used.add(id(record))
        asking.answers = list(record.answers)
        asking.usages += (value(Usage, it) for it in record.usages)
        asking.lost += value(Usage, record.lost)
        asking.lost_answers += value(Usage, record.lost_answers)

    def asked(self, place: Place, position: int) -> bool:
        """Whether a grade was asked again by anybody."""
        return (place, "again", position) in self._found

    def unneeded(self) -> tuple[int, tuple[Usage, Usage]]:
        """How many grades were asked again that no rule needed, and what target and graders took for what nobody said."""
        target = graders = NO_USAGE
        number = 0
        for record in self._all:
            if id(record) not in self._used:
                target = sum((value(Usage, it) for it in record.usages), target + value(Usage, record.lost_answers))
                graders += value(Usage, record.lost)
            for position in self._left[id(record)]:
                number += 1
                graders = sum((value(Usage, ask.usage) for ask in record.asks[position]), graders)
        return number, (target, graders)
