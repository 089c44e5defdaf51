"""Two planned grades compared: whether the one of the head asks for as much as the one of the base."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gradegate.base.snapshot import GradeTerms, ModelTerms
from gradegate.errors import Origin
from gradegate.values.changes import ChangeKind
from gradegate.values.limits import exact

REMOVED, WEAKER, CHANGED = ChangeKind.REMOVED, ChangeKind.WEAKER, ChangeKind.CHANGED
Way = tuple[ChangeKind, str]
CONFIRM_MODES = ("off", "grader", "answers")  # from the strictest to the mildest
_OTHERS = {
    "value": "has a different value",
    "options": "has different options",
    "rubric": "has a different grading prompt",
    "metric": "counts for the metric `{new}`, not `{old}`",
}
# What makes two assertions the same one, from the most to the least alike.
_ALIKE: tuple[Callable[[GradeTerms], Hashable], ...] = (
    lambda grade: (grade.type, grade.value, grade.members, grade.options, grade.rubric, grade.models, grade.metric),
    lambda grade: (grade.type, grade.value, grade.members, grade.metric),
    lambda grade: (grade.type, grade.value, grade.members),
    lambda grade: (grade.type, grade.metric, id(grade) if grade.members else 0),
    lambda grade: (grade.type, id(grade) if grade.members else 0),
)


@dataclass(frozen=True, slots=True)
class Found:
    """A difference of an assertion, at its line in the head where it has one."""

    kind: ChangeKind
    what: str
    subject: str = ""  # the assertion; empty where it is the test
    origin: Origin | None = None


def compare_grades(base: Sequence[GradeTerms], head: Sequence[GradeTerms], threshold: float | None) -> Iterator[Found]:
    """Every way in which the assertions of an answer, or members of a set, are less. ``threshold`` is that of their mean."""
    left, spare = list(base), list(head)
    pairs = [pair for alike in (None, *_ALIKE) for pair in _paired(left, spare, alike)]
    for old in [grade for grade in left if grade.members]:  # sets whose members differ go with the set that has most of them
        if sets := [grade for grade in spare if grade.members and grade.type == old.type]:
            new = max(sets, key=lambda grade: len(set(grade.members) & set(old.members)))  # used at once
            left = [grade for grade in left if grade is not old]
            spare = [grade for grade in spare if grade is not new]
            pairs.append((old, new))
    for old in left:
        yield Found(REMOVED, "gone", f"`{old.type}`")
    whole = [sum((exact(grade.weight) for grade in grades if grade.counts), Fraction(0)) for grades in (base, head)]
    for old, new in pairs:
        ways = [*_compared(old, new), *_lighter(old, new, whole, threshold)]
        yield from (Found(kind, what, f"`{new.type}`", new.origin) for kind, what in ways)
        models = dict(new.models)
        for need, before in old.models:  # other models that grade, at the line that names them
            now = models.get(need)
            ways = [(CHANGED, f"no {need} model is asked")] if now is None else list(compare_models(before, now))
            where = now.origin if now is not None and now.origin.line else new.origin
            yield from (Found(kind, f"is graded differently: {what}", f"`{new.type}`", where) for kind, what in ways)
        if old.members and not new.negated:
            yield from compare_grades(old.members, new.members, new.limit)


def _paired(
    left: list[GradeTerms], spare: list[GradeTerms], alike: Callable[[GradeTerms], Hashable] | None
) -> Iterator[tuple[GradeTerms, GradeTerms]]:
    """Take the pairs of the same key out of both; of several the strictest goes with the strictest."""
    groups: dict[Hashable, list[GradeTerms]] = {}
    for new in sorted(spare, key=_strict):
        groups.setdefault(alike(new) if alike else new, []).append(new)
    taken: set[int] = set()
    for old in sorted(left, key=_strict, reverse=True):
        if group := groups.get(alike(old) if alike else old):
            new = group.pop()
            taken |= {id(old), id(new)}
            yield old, new
    left[:] = [grade for grade in left if id(grade) not in taken]
    spare[:] = [grade for grade in spare if id(grade) not in taken]


def _strict(grade: GradeTerms) -> tuple[bool, tuple[float, bool], float]:
    return grade.blocking, strictness(grade), grade.weight


def strictness(grade: GradeTerms) -> tuple[float, bool]:
    """How much the threshold asks for: more is stricter, whichever way the assertion is read.

    No threshold leaves the grader's own yes or no, which is more than a threshold of 0 and less than any above; the word
    ``none`` asks for nothing.
    """
    if grade.free:
        return -math.inf, False
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
    elif new.free and not old.free:
        was = "the grader's own verdict" if old.limit is None else f"the threshold {old.limit:g}"
        yield WEAKER, f"no longer decides: {was} became `threshold: none`"
    elif strictness(new) < strictness(old):
        yield WEAKER, f"is weaker: threshold {_shown(old.limit)} became {_shown(new.limit)}"
    elif old.limit is None and new.limit is not None and not old.free:  # a score without a yes or no counts from now on
        yield CHANGED, f"its score now decides, too, with threshold {_shown(new.limit)}"
    if old.blocking and not new.blocking:
        yield WEAKER, "no longer blocks"
    if old.confirm != new.confirm and milder(old.mode, new.mode):
        yield WEAKER, f"its failures are re-asked in a milder way: {old.mode} became {new.mode}"
    if old.opinions != new.opinions:
        further = set(new.asked_again) - set(old.asked_again)  # each may overturn a failure
        yield (WEAKER, "its `second-opinions` ask further models") if further else (CHANGED, "its `second-opinions` changed")
    for name, what in _OTHERS.items():
        if getattr(old, name) != getattr(new, name):
            yield CHANGED, what.format(new=new.metric, old=old.metric)


def milder(old: str, new: str) -> bool:
    """Whether failures are asked again in a way that forgives more."""
    return CONFIRM_MODES.index(new) > CONFIRM_MODES.index(old)


def compare_means(old: float | None, new: float | None) -> Iterator[Way]:
    """What another threshold on the mean of a test or a set comes to; without one, each assertion must pass."""
    if old is None and new is not None:
        yield WEAKER, f"now the mean decides, with threshold {new:g}; before, every assertion had to pass"
    elif old is not None and new is None:
        yield WEAKER, f"its threshold {old:g} is gone"
    elif old is not None and new is not None and new < old:
        yield WEAKER, f"is weaker: threshold {old:g} became {new:g}"


def compare_models(old: ModelTerms, new: ModelTerms) -> Iterator[Way]:
    """The ways in which a target or grader is another one. Values of options are not said: some are secret."""
    if old.source != new.source:
        kind = WEAKER if old.source == "model" else CHANGED
        yield kind, f"`{new.name}` gives replies from a {new.source}; `{old.name}` gave replies from a {old.source}"
    if old.id != new.id:
        at = f" at {new.host}" if new.host != old.host else ""
        yield CHANGED, f"`{new.id}`{at} replaces `{old.id}`"
    elif old.host != new.host:
        yield WEAKER, f"`{new.id}` is asked at {new.host or 'this machine'}, not at {old.host or 'this machine'}"
    before, now = dict(old.options), dict(new.options)
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    if names:
        yield CHANGED, f"`{new.name}` has different settings: " + ", ".join(f"`{name}`" for name in names)


def _lighter(old: GradeTerms, new: GradeTerms, whole: Sequence[Fraction], threshold: float | None) -> Iterator[Way]:
    """What a lower weight, or a lower share of the weights where their mean decides, comes to."""
    if not old.weight:
        return
    if not new.weight:
        yield WEAKER, "no longer counts: its weight became 0"
        return
    lower = new.weight < old.weight
    if threshold is None or not old.counts or not new.counts:
        if lower:
            yield CHANGED, f"weighs less: {old.weight:g} became {new.weight:g}"
        return
    before, now = exact(old.weight) / whole[0], exact(new.weight) / whole[1]
    if now < before:
        needed = 1 - before < exact(threshold) <= 1 - now  # its failure failed the mean, and no longer does
        kind = WEAKER if lower or needed else CHANGED
        yield kind, f"counts for less of the mean: {float(before * 100):.3g} % became {float(now * 100):.3g} %"
    elif lower:
        yield CHANGED, f"weighs less: {old.weight:g} became {new.weight:g}"


def _shown(limit: float | None) -> str:
    return "none" if limit is None else f"{limit:g}"
