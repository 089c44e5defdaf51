"""Planned answers and grades of two checkouts compared: each of the base must stand in the head, wherever, and ask for as much."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from gradegate.core.numbers import exact_fraction, format_count
from gradegate.core.policy import Rule
from gradegate.errors import Origin
from gradegate.planning.counterparts import Keys, match_by_keys
from gradegate.planning.snapshot import APART, AnswerTerms, CaseInput, GradeTerms, ModelTerms
from gradegate.results.gate_changes import ChangeKind
from gradegate.structs import FrozenStruct

REMOVED, WEAKER, CHANGED = ChangeKind.REMOVED, ChangeKind.WEAKER, ChangeKind.CHANGED
Way = tuple[ChangeKind, str]
_MOST = 500  # answers to one question among which the nearest is looked for
REASK_MODES = ("off", "grader", "answers")  # from the strictest to the mildest
_OTHERS = {
    "value": "has a different value",
    "options": "has different options",
    "rubric": "has a different grading prompt",
    "metric": "counts for the metric `{new}`, not `{old}`",
}
_ALIKE: Keys[GradeTerms] = (
    lambda grade: grade,
    lambda grade: (
        grade.type,
        grade.value,
        grade.members,
        grade.options,
        grade.rubric,
        grade.models,
        grade.metric,
    ),
    lambda grade: (grade.type, grade.value, grade.members, grade.metric),
    lambda grade: (grade.type, grade.value, grade.members),
    lambda grade: (grade.type, grade.metric, id(grade) if grade.members else 0),
    lambda grade: (grade.type, id(grade) if grade.members else 0),
)


class Found(FrozenStruct):
    """A difference of an assertion, at its line in the head where it has one."""

    kind: ChangeKind
    what: str
    subject: str = ""  # the assertion; empty where it is the test
    origin: Origin | None = None


def compare_grades(
    base: Sequence[GradeTerms], head: Sequence[GradeTerms], threshold: float | None
) -> Iterator[Found]:
    """Every way in which the assertions of an answer, or members of a set, are less. ``threshold`` is that of their mean."""
    strictest = (
        sorted(base, key=_strict, reverse=True),
        sorted(head, key=_strict)[::-1],
    )  # go with one another
    pairs = [
        (strictest[0][one], strictest[1][other])
        for one, other in match_by_keys(*strictest, _ALIKE).items()
    ]
    taken = {id(grade) for pair in pairs for grade in pair}
    left, spare = ([grade for grade in grades if id(grade) not in taken] for grades in (base, head))
    for old in [
        grade for grade in left if grade.members
    ]:  # sets whose members differ go with the set that has most of them
        if sets := [grade for grade in spare if grade.members and grade.type == old.type]:
            new = max(
                sets, key=lambda grade: len(set(grade.members) & set(old.members))
            )  # used at once
            left = [grade for grade in left if grade is not old]
            spare = [grade for grade in spare if grade is not new]
            pairs.append((old, new))
    for old in left:
        yield Found(REMOVED, "gone", f"`{old.type}`")
    whole = [
        sum((exact_fraction(grade.weight) for grade in grades if grade.counts), Fraction(0))
        for grades in (base, head)
    ]
    for old, new in pairs:
        ways = [*_compared(old, new), *_lighter(old, new, whole, threshold)]
        yield from (Found(kind, what, f"`{new.type}`", new.origin) for kind, what in ways)
        models = dict(new.models)
        for need, before in old.models:  # other models that grade, at the line that names them
            now = models.get(need)
            ways = (
                [(CHANGED, f"no {need} model is asked")]
                if now is None
                else list(compare_models(before, now))
            )
            where = now.origin if now is not None and now.origin.line else new.origin
            yield from (
                Found(kind, f"is graded differently: {what}", f"`{new.type}`", where)
                for kind, what in ways
            )
        if old.members and not new.negated:
            yield from compare_grades(old.members, new.members, new.limit)


def _strict(grade: GradeTerms) -> tuple[bool, tuple[float, bool], float]:
    return grade.blocking, strictness(grade), grade.weight


def strictness(grade: GradeTerms) -> tuple[float, bool]:
    """How much the threshold asks for: more is stricter, whichever way the assertion is read."""
    # No threshold leaves the grader's own yes or no, which is more than a threshold of 0 and less than any above.
    limit = (0.0, True) if grade.limit is None else (grade.limit, False)
    turned = grade.most != grade.negated
    return (-limit[0], not limit[1]) if turned else limit


def _compared(old: GradeTerms, new: GradeTerms) -> Iterator[Way]:
    if old.members and not old.negated:
        yield from compare_means(old.limit, new.limit)
    elif old.members:
        lower = old.limit is not None and new.limit is not None and new.limit < old.limit
        if Counter(old.members) != Counter(new.members) or (old.limit != new.limit and not lower):
            yield WEAKER, "its negated assertions changed"
    elif strictness(new) < strictness(old):
        yield WEAKER, f"is weaker: threshold {_shown(old.limit)} became {_shown(new.limit)}"
    elif (
        old.limit is None and new.limit is not None
    ):  # a score without a yes or no counts from now on
        yield CHANGED, f"its score now decides, too, with threshold {_shown(new.limit)}"
    if old.blocking and not new.blocking:
        yield WEAKER, "no longer blocks"
    if old.reask != new.reask and milder(old.mode, new.mode):
        yield WEAKER, f"its failures are re-asked in a milder way: {old.mode} became {new.mode}"
    for name, what in _OTHERS.items():
        if getattr(old, name) != getattr(new, name):
            yield CHANGED, what.format(new=new.metric, old=old.metric)
    if keys := differing_keys(dict(old.others), dict(new.others)):
        yield CHANGED, f"has a different {keys}"


def milder(old: str, new: str) -> bool:
    """Whether failures are asked again in a way that forgives more."""
    return REASK_MODES.index(new) > REASK_MODES.index(old)


def compare_means(old: float | None, new: float | None) -> Iterator[Way]:
    """What another threshold on the mean of a test or a set comes to; without one, each assertion must pass."""
    if old is None and new is not None:
        what = f"now the mean decides, with threshold {new:g}"
        yield WEAKER, f"{what}; before, every assertion had to pass"
    elif old is not None and new is None:
        yield WEAKER, f"its threshold {old:g} is gone"
    elif old is not None and new is not None and new < old:
        yield WEAKER, f"is weaker: threshold {old:g} became {new:g}"


def compare_models(old: ModelTerms, new: ModelTerms) -> Iterator[Way]:
    """The ways in which a target or grader is another one. Values of options are not said: some are secret."""
    if old.source != new.source:
        kind = WEAKER if old.source == "model" else CHANGED
        now = f"`{new.name}` gives replies from a {new.source}"
        yield kind, f"{now}; `{old.name}` gave replies from a {old.source}"
    if old.id != new.id:
        at = f" at {new.host}" if new.host != old.host else ""
        yield CHANGED, f"`{new.id}`{at} replaces `{old.id}`"
    elif old.host != new.host:
        here, there = (model.host or "this machine" for model in (new, old))
        yield WEAKER, f"`{new.id}` is asked at {here}, not at {there}"
    if names := differing_keys(dict(old.options), dict(new.options)):
        yield CHANGED, f"`{new.name}` has different settings: {names}"


def differing_keys(old: Mapping[str, object], new: Mapping[str, object]) -> str:
    """The keys that one of two mappings lacks or has with another value, sorted, each as code."""
    keys = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    return ", ".join(f"`{key}`" for key in keys)


def _lighter(
    old: GradeTerms, new: GradeTerms, whole: Sequence[Fraction], threshold: float | None
) -> Iterator[Way]:
    """What a lower weight, or a lower share of the weights where their mean decides, comes to."""
    if not old.weight:
        return
    if not new.weight:
        yield WEAKER, "no longer counts: its weight became 0"
        return
    lower = new.weight < old.weight
    if threshold is not None and old.counts and new.counts:
        before, now = exact_fraction(old.weight) / whole[0], exact_fraction(new.weight) / whole[1]
        if now < before:
            # Its failure failed the mean, and no longer does.
            needed = 1 - before < exact_fraction(threshold) <= 1 - now
            kind = WEAKER if lower or needed else CHANGED
            shares = f"{float(before * 100):.3g} % became {float(now * 100):.3g} %"
            yield kind, f"counts for less of the mean: {shares}"
            return
    if lower:
        yield CHANGED, f"weighs less: {old.weight:g} became {new.weight:g}"


def _shown(limit: float | None) -> str:
    return "none" if limit is None else f"{limit:g}"


class _Place(NamedTuple):
    """What is asked of whom, by the numbers that targets and prompts have in the base."""

    question: CaseInput
    target: int
    prompt: int


class Match(FrozenStruct):
    """Which target and prompt of the head stand for which of the base, by number; those that are gone are absent."""

    targets: Mapping[int, int]
    prompts: Mapping[int, int]
    names: tuple[Sequence[ModelTerms], Sequence[ModelTerms]]  # the targets of base and head
    rules: tuple[Rule, ...]  # those of the base that block and select


class Lost(FrozenStruct):
    """A difference of a test."""

    found: Found
    test: str
    origin: Origin | None = None  # where the head has it


class Ledger:
    """The answers of the base that the head does not show, and those of the head that are none of them, which are read once."""

    def __init__(
        self, base: Iterable[AnswerTerms], head: Iterable[AnswerTerms], match: Match
    ) -> None:
        self._match = match
        self._waiting: dict[
            tuple[_Place, int], list[AnswerTerms]
        ] = {}  # by a hash of the grades too
        self._spare: dict[_Place, list[AnswerTerms]] = {}
        self._asked: set[CaseInput] = set()
        # How often an answer counts in rates, by how it grew: the first answers of base and head of each growth.
        self._growths: dict[Fraction, tuple[AnswerTerms, AnswerTerms]] = {}
        for old in base:
            target = match.targets.get(old.target)
            prompt = match.prompts.get(old.prompt, old.prompt)
            # That a target or prompt is gone is said once, and not of each of its answers.
            if target is not None and (old.prompt in match.prompts or old.prompt < 0):
                place = _Place(old.question, target, prompt)
                self._waiting.setdefault((place, hash(frozenset(old.grades))), []).append(old)
        for new in head:
            place = _Place(new.question, new.target, new.prompt)
            self._asked.add(new.question)
            waiting = self._waiting.get((place, hash(frozenset(new.grades))), [])
            same = next(
                (number for number, old in enumerate(waiting) if self._is_same(old, new)), None
            )
            if same is None:
                self._spare.setdefault(place, []).append(new)
            else:
                self._note_growth(waiting[same], new)
                del waiting[same]
        self._recorded: dict[CaseInput, AnswerTerms] = {}
        self._named: dict[tuple[str, int, int], deque[_Place]] = {}
        self._holding: dict[tuple[bytes, int, int], list[_Place]] = {}  # by a variable
        for place, answers in self._spare.items():
            for answer in answers:
                if answer.recorded:
                    self._recorded[place.question] = answer
                self._named.setdefault((answer.description, *place[1:]), deque()).append(place)
            for variable in place.question.variables:
                self._holding.setdefault((variable, *place[1:]), []).append(place)

    def _is_same(self, old: AnswerTerms, new: AnswerTerms) -> bool:
        return (
            not new.runs.milder(old.runs)
            and not _longer(old, new)
            and (old.recorded, old.apart, old.threshold) == (new.recorded, new.apart, new.threshold)
            and (old.grades == new.grades or Counter(old.grades) == Counter(new.grades))
            and not any(self._unselected(old, new))
        )

    def lost(self) -> Iterator[Lost]:
        """Every way in which the head asks or grades less."""
        for (place, _), waiting in self._waiting.items():
            for old in waiting:
                new, differences = self._differences(old, place)
                for found in differences:
                    yield Lost(found, old.name, new.origin if new else None)
        yield from self._repeated_unevenly()

    def _differences(
        self, old: AnswerTerms, place: _Place
    ) -> tuple[AnswerTerms | None, Iterable[Found]]:
        """The answer of the head that stands for an old one, if there is one, and what about it is less."""
        if new := _nearest(old, self._spare.get(place, [])):
            return new, self._compared(old, new)
        if not old.recorded and (new := self._recorded.get(old.question)):
            return new, [Found(WEAKER, "its answer is recorded now, and no model is asked")]
        if place.question in self._asked:
            target = self._match.names[1][place.target].name
            what = f"runs less often, or with fewer prompts, on `{target}`"
            return None, [Found(REMOVED, what)]
        if new := self._wider(old, place):
            return new, [Found(CHANGED, "has more variables"), *self._compared(old, new)]
        if new := self._of_the_name(old, place):
            return new, [Found(REMOVED, "its question is gone, because its variables changed")]
        return None, [Found(REMOVED, "gone")]

    def _note_growth(self, old: AnswerTerms, new: AnswerTerms) -> None:
        self._growths.setdefault(Fraction(new.cases, old.cases), (old, new))

    def _repeated_unevenly(self) -> Iterator[Lost]:
        """The tests that count more often in rates than before, while others do not."""
        for growth, (old, new) in self._growths.items():
            if growth > 1 and growth > min(self._growths):
                what = f"counts as {format_count(new.cases, 'case')} in rates, not {old.cases}; other tests are not repeated as often"
                yield Lost(Found(WEAKER, what), old.name, new.origin)

    def _compared(self, old: AnswerTerms, new: AnswerTerms) -> Iterator[Found]:
        self._note_growth(old, new)
        yield from _otherwise(old, new)
        yield from compare_grades(old.grades, new.grades, new.threshold)
        yield from self._unselected(old, new)

    def _unselected(self, old: AnswerTerms, new: AnswerTerms) -> Iterator[Found]:
        """The rules that no longer look at a kind of assertion of this answer, because a name became another."""
        counted = Counter(grade.type for grade in new.grades if grade.counts)
        for rule in self._match.rules:
            sides = (
                (side, names[side.target].name)
                for side, names in zip((old, new), self._match.names, strict=True)
            )
            before, now = (
                Counter(
                    grade.type
                    for grade in side.grades
                    if rule.selects(grade, target, side.description, side.metadata)
                )
                for side, target in sides
            )
            for kind in before - now:
                if counted[kind] > now[kind]:  # what is gone, or advice now, is said as that
                    yield Found(WEAKER, f"the rule `{rule.name}` no longer selects it", f"`{kind}`")

    def _of_the_name(self, old: AnswerTerms, place: _Place) -> AnswerTerms | None:
        places = self._named.get((old.description, *place[1:]))
        while old.description and places:  # one for each answer, so that none is looked at twice
            if new := _nearest(old, self._spare[places.popleft()]):
                return new
        return None

    def _wider(self, old: AnswerTerms, place: _Place) -> AnswerTerms | None:
        """An answer whose variables are those of the old one, and more."""
        variables = old.question.variables
        held = self._holding.get((variables[0], *place[1:]), []) if variables else []
        for other in held[:_MOST]:
            question = other.question
            same = question.turns == old.question.turns
            has_more = same and set(variables) <= set(question.variables)
            if has_more and (new := _nearest(old, self._spare[other])):
                return new
        return None


def _nearest(old: AnswerTerms, spare: list[AnswerTerms]) -> AnswerTerms | None:
    """Take the answer that has most of the same assertions, and among these the same name."""
    grades, written = set(old.grades), {(grade.type, grade.value) for grade in old.grades}

    def near(number: int) -> tuple[int, int, bool]:
        new = spare[number]
        alike = sum((grade.type, grade.value) in written for grade in new.grades)
        return len(grades.intersection(new.grades)), alike, new.description == old.description

    return spare.pop(max(range(min(len(spare), _MOST)), key=near)) if spare else None


def _otherwise(old: AnswerTerms, new: AnswerTerms) -> Iterator[Found]:
    """The ways in which a test, apart from its assertions, is another one."""
    if not old.recorded and new.recorded:
        yield Found(WEAKER, "its answer is recorded now, and no model is asked")
    elif old.recorded != new.recorded:
        yield Found(CHANGED, "its recorded answer changed")
    if new.runs.milder(old.runs):
        passed, passes = old.runs, new.runs
        said = f"needs {passes.passes} of {format_count(passes.of, 'run')} to pass, and needed {passed.passes} of {passed.of}"
        each = (passed.of, passes.of) == (passed.passes, passes.passes)
        yield Found(
            WEAKER, f"runs {format_count(passes.of, 'time')}, not {passed.of}" if each else said
        )
    if _longer(old, new):
        was = f" until {old.quarantine}" if old.quarantine else " in none"
        yield Found(WEAKER, f"in quarantine until {new.quarantine}, and before{was}")
    yield from (
        Found(CHANGED, what)
        for what, was, now in zip(APART, old.apart, new.apart, strict=True)
        if was != now
    )
    yield from (Found(kind, what) for kind, what in compare_means(old.threshold, new.threshold))


def _longer(old: AnswerTerms, new: AnswerTerms) -> bool:
    """Whether failures only advise for longer."""
    return new.quarantine is not None and (
        old.quarantine is None or new.quarantine > old.quarantine
    )
