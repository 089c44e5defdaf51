"""Records what is asked again, and plays it back in place of asking: so that waves and rules go as they do in one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gradegate.access.hiding import Hide
from gradegate.deciding.votes import Standing
from gradegate.grading.conclude import error
from gradegate.running.base_grades import Regrading
from gradegate.running.confirm import in_portions
from gradegate.running.portions import Portions
from gradegate.running.reasks import Asking, Stopped
from gradegate.running.rounds import Place
from gradegate.steps.records import AsksRecord, asks_record
from gradegate.values.conversation import NO_USAGE, Usage
from gradegate.values.result import Grade

HIDDEN = "a secret is hidden in what was graded, so that no other job can grade it again"


@dataclass
class Recorder:
    """Asks as a run does, and keeps what was said. ``places`` has the place of each answer by its number."""

    places: Sequence[Place]
    hide: Hide
    records: list[str] = field(default_factory=list)

    def __call__(self, numbered: Sequence[tuple[int, Asking]], portions: Portions, stopped: Stopped) -> None:
        """Bring each asking to its end."""
        try:
            in_portions(numbered, portions, stopped)
        finally:  # what was said before a signal was paid for
            self.records += [asks_record(self.places[number], asking, self.hide) for number, asking in numbered]


@dataclass
class Playback:
    """``places`` has the place of each answer by its number; ``hidden`` are those that cannot be graded again elsewhere.

    ``missing`` gathers the answers, by number, of which something was not asked, or not to its end.
    """

    records: Sequence[AsksRecord]
    again: Mapping[tuple[Place, str, int], tuple[int, Sequence[Grade]]]
    hidden: frozenset[Place]
    places: Sequence[Place] = ()
    missing: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._left = set(self.again)  # what nobody needed so far
        self._used: set[int] = set()  # records of which something was said, by their number

    def __call__(self, numbered: Sequence[tuple[int, Asking]], portions: Portions, stopped: Stopped) -> None:
        """Bring each asking as far as it was brought."""
        for number, asking in numbered:
            self._say(asking, self.places[number])
            if asking.open:
                self.missing.add(number)

    def _say(self, asking: Asking, place: Place) -> None:
        kind = "base" if isinstance(asking, Regrading) else "again"
        for position in asking.asks:
            if (place, kind, position) in self.again:
                self._left.discard((place, kind, position))
                self._take(*self.again[place, kind, position], asking, position)
            elif place in self.hidden and not asking.anew and kind == "again":
                while asking.standing(position) is Standing.OPEN:  # nobody could ask
                    asking.asks[position].append(error(asking.bounds[position], HIDDEN, NO_USAGE))

    def _take(self, number: int, asks: Sequence[Grade], asking: Asking, position: int) -> None:
        record = self.records[number]
        for ask in asks:
            if asking.standing(position) is Standing.OPEN:  # nobody asks beyond that
                asking.asks[position].append(ask)
        if number not in self._used:
            self._used.add(number)
            asking.answers = list(record.answers)
            asking.usages += record.usages
            asking.lost += record.lost
            asking.lost_answers += record.lost_answers

    def asked(self, place: Place, position: int) -> bool:
        """Whether a grade was asked again by anybody."""
        return (place, "again", position) in self.again

    def unneeded(self) -> tuple[int, tuple[Usage, Usage]]:
        """How many grades were asked again that no rule needed, and what target and graders took for what nobody said."""
        target = graders = NO_USAGE
        for number, record in enumerate(self.records):
            if number not in self._used:
                target = sum(record.usages, target + record.lost_answers)
                graders += record.lost
        graders = sum((ask.usage for name in self._left for ask in self.again[name][1]), graders)
        return len(self._left), (target, graders)
