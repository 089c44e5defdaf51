"""The planned answers of a config in two checkouts: each of the base must stand in the head, wherever it stands there."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gradegate.base.snapshot import APART, AnswerTerms, CaseInput, ModelTerms
from gradegate.base.weakening import CHANGED, REMOVED, WEAKER, Found, compare_grades, compare_means
from gradegate.errors import Origin
from gradegate.values.figures import many
from gradegate.values.result import selects
from gradegate.values.suite import Rule

_MOST = 500  # answers to one question among which the nearest is looked for


class _Place(NamedTuple):
    """What is asked of whom, by the numbers that targets and prompts have in the base."""

    question: CaseInput
    target: int
    prompt: int


@dataclass(frozen=True, slots=True)
class Match:
    """Which target and prompt of the head stand for which of the base, by number; those that are gone are absent.

    ``rules`` are those of the base that block and select.
    """

    targets: Mapping[int, int]
    prompts: Mapping[int, int]
    names: tuple[Sequence[ModelTerms], Sequence[ModelTerms]]  # the targets of base and head
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Lost:
    """A difference of a test; ``test`` is its name, ``origin`` where the head has it."""

    found: Found
    test: str
    origin: Origin | None = None


def compare_answers(base: Iterable[AnswerTerms], head: Iterable[AnswerTerms], match: Match) -> Iterator[Lost]:
    """Every way in which the head asks or grades less. The answers of the head are read once and not kept."""
    ledger = _Ledger(match)
    for old in base:
        ledger.expect(old)
    for new in head:
        ledger.meet(new)
    yield from ledger.lost()


@dataclass
class _Ledger:
    """The answers of the base that the head has not shown yet, and those of the head that are none of them."""

    match: Match
    waiting: dict[tuple[_Place, int], list[AnswerTerms]] = field(default_factory=dict)  # by a hash of the grades too
    spare: dict[_Place, list[AnswerTerms]] = field(default_factory=dict)
    asked: set[CaseInput] = field(default_factory=set)

    def expect(self, old: AnswerTerms) -> None:
        """An answer of the base; that a target or prompt is gone is said once, and not of each of its answers."""
        target, prompt = self.match.targets.get(old.target), self.match.prompts.get(old.prompt, old.prompt)
        if target is not None and (old.prompt in self.match.prompts or old.prompt < 0):
            place = _Place(old.question, target, prompt)
            self.waiting.setdefault((place, hash(frozenset(old.grades))), []).append(old)

    def meet(self, new: AnswerTerms) -> None:
        """An answer of the head."""
        place = _Place(new.question, new.target, new.prompt)
        self.asked.add(new.question)
        waiting = self.waiting.get((place, hash(frozenset(new.grades))), [])
        for number, old in enumerate(waiting):
            if _same(old, new) and not any(self._unselected(old, new)):
                del waiting[number]
                return
        self.spare.setdefault(place, []).append(new)

    def lost(self) -> Iterator[Lost]:
        """What the head does less, once all of it was met."""
        others = _Others(self.spare)
        for place, old in ((place, old) for (place, _), waiting in self.waiting.items() for old in waiting):
            new = _nearest(old, self.spare.get(place, []))
            yield from self._missing(old, place, others) if new is None else self._compared(old, new)

    def _missing(self, old: AnswerTerms, place: _Place, others: _Others) -> Iterator[Lost]:
        target = self.match.names[1][place.target].name
        if not old.recorded and (new := others.recorded.get(old.question)):
            yield Lost(Found(WEAKER, "its answer is recorded now, and no model is asked"), old.name, new.origin)
        elif place.question in self.asked:
            yield Lost(Found(REMOVED, f"runs less often, or with fewer prompts, on `{target}`"), old.name)
        elif new := others.wider(old, place):
            yield Lost(Found(CHANGED, "has more variables"), old.name, new.origin)
            yield from self._compared(old, new)
        elif new := others.named(old, place):
            yield Lost(Found(REMOVED, "its question is gone, because its variables changed"), old.name, new.origin)
        else:
            yield Lost(Found(REMOVED, "gone"), old.name)

    def _compared(self, old: AnswerTerms, new: AnswerTerms) -> Iterator[Lost]:
        found = [*_otherwise(old, new), *compare_grades(old.grades, new.grades, new.threshold)]
        yield from (Lost(item, old.name, new.origin) for item in (*found, *self._unselected(old, new)))

    def _unselected(self, old: AnswerTerms, new: AnswerTerms) -> Iterator[Found]:
        """The rules that no longer look at a kind of assertion of this answer, because a name became another."""
        counted = Counter(grade.type for grade in new.grades if grade.counts)
        for rule in self.match.rules:
            sides = ((side, names[side.target].name) for side, names in zip((old, new), self.match.names, strict=True))
            before, now = (
                Counter(grade.type for grade in side.grades if selects(rule, grade, target, side.description)) for side, target in sides
            )
            for kind in before - now:
                if counted[kind] > now[kind]:  # what is gone, or advice now, is said as that
                    yield Found(WEAKER, f"the rule `{rule.name}` no longer selects it", f"`{kind}`")


def _otherwise(old: AnswerTerms, new: AnswerTerms) -> Iterator[Found]:
    """The ways in which a test, apart from its assertions, is another one."""
    if not old.recorded and new.recorded:
        yield Found(WEAKER, "its answer is recorded now, and no model is asked")
    elif old.recorded != new.recorded:
        yield Found(CHANGED, "its recorded answer changed")
    if new.runs.milder(old.runs):
        passed, passes = old.runs, new.runs
        said = f"needs {passes.passes} of {many(passes.of, 'run')} to pass, and needed {passed.passes} of {passed.of}"
        each = (passed.of, passes.of) == (passed.passes, passes.passes)
        yield Found(WEAKER, f"runs {many(passes.of, 'time')}, not {passed.of}" if each else said)
    if _longer(old, new):
        was = f" until {old.quarantine}" if old.quarantine else ""
        yield Found(WEAKER, f"in quarantine until {new.quarantine}, and before{was or ' in none'}")
    yield from (Found(CHANGED, what) for what, was, now in zip(APART, old.apart, new.apart, strict=True) if was != now)
    yield from (Found(kind, what) for kind, what in compare_means(old.threshold, new.threshold))


def _longer(old: AnswerTerms, new: AnswerTerms) -> bool:
    """Whether failures only advise for longer."""
    return new.quarantine is not None and (old.quarantine is None or new.quarantine > old.quarantine)


def _same(old: AnswerTerms, new: AnswerTerms) -> bool:
    return (
        not new.runs.milder(old.runs)
        and not _longer(old, new)
        and (old.recorded, old.apart, old.threshold) == (new.recorded, new.apart, new.threshold)
        and (old.grades == new.grades or Counter(old.grades) == Counter(new.grades))
    )


def _nearest(old: AnswerTerms, spare: list[AnswerTerms]) -> AnswerTerms | None:
    """Take the answer that has most of the same assertions, and among these the same name."""
    if not spare:
        return None
    grades, written = set(old.grades), {(grade.type, grade.value) for grade in old.grades}

    def near(number: int) -> tuple[int, int, bool]:
        new = spare[number]
        alike = sum((grade.type, grade.value) in written for grade in new.grades)
        return len(grades.intersection(new.grades)), alike, new.description == old.description

    return spare.pop(max(range(min(len(spare), _MOST)), key=near))


class _Others:
    """Finds answers of the head that stand elsewhere."""

    def __init__(self, spare: Mapping[_Place, list[AnswerTerms]]) -> None:
        self._spare = spare
        self.recorded: dict[CaseInput, AnswerTerms] = {}
        self._named: dict[tuple[str, int, int], deque[_Place]] = {}
        self._holding: dict[tuple[bytes, int, int], list[_Place]] = {}
        for place, answers in spare.items():
            for answer in answers:
                if answer.recorded:
                    self.recorded[place.question] = answer
                self._named.setdefault((answer.description, *place[1:]), deque()).append(place)
            for variable in place.question.variables:
                self._holding.setdefault((variable, *place[1:]), []).append(place)

    def named(self, old: AnswerTerms, place: _Place) -> AnswerTerms | None:
        """An answer of the same name."""
        places = self._named.get((old.description, *place[1:]), deque()) if old.description else deque()
        while places:  # one for each answer, so that none is looked at twice
            if (new := _nearest(old, self._spare[places.popleft()])) is not None:
                return new
        return None

    def wider(self, old: AnswerTerms, place: _Place) -> AnswerTerms | None:
        """An answer whose variables are those of the old one, and more."""
        variables = old.question.variables
        held = self._holding.get((variables[0], *place[1:]), []) if variables else []
        for other in held[:_MOST]:
            same = set(variables) <= set(other.question.variables) and other.question.turns == old.question.turns
            if same and (new := _nearest(old, self._spare[other])) is not None:
                return new
        return None
