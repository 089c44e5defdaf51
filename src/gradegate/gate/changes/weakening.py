"""Finds what a pull request makes weaker in its tests: their assertions, models and runs.

Everything that the base planned must be in the head, as strict or stricter. ``compare_grades`` compares the assertions of one
answer, ``compare_models`` a target or grader, and ``AnswerComparison`` all answers of a config.
"""

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

REMOVED = ChangeKind.REMOVED
WEAKER = ChangeKind.WEAKER
CHANGED = ChangeKind.CHANGED
Change = tuple[ChangeKind, str]  # the kind, and what changed in words
REASK_MODES = ("off", "grader", "answers")  # from the strictest to the mildest
_MAX_CANDIDATES = 500  # answers to one question among which the nearest is looked for
_CHANGED_TERMS = {
    "value": "has a different value",
    "options": "has different options",
    "rubric": "has a different grading prompt",
    "metric": "counts for the metric `{new}`, not `{old}`",
}
# What makes two grades the same one, from the most to the least alike. Sets with other members are paired later: the id of a
# set is a key that equals no other.
_GRADE_KEYS: Keys[GradeTerms] = (
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


class Difference(FrozenStruct):
    """A difference of an assertion or a test, with its line in the head if it has one."""

    kind: ChangeKind
    text: str
    subject: str = ""  # the assertion; empty if it is the test
    origin: Origin | None = None


# --- assertions -----------------------------------------------------------------------------------------------


def compare_grades(
    base: Sequence[GradeTerms], head: Sequence[GradeTerms], threshold: float | None
) -> Iterator[Difference]:
    """Yield what is gone, weaker or changed in the assertions of an answer, or in the members of a set.

    ``threshold`` is the one on their weighted mean. None: each of them must pass.
    """
    matched = _match_grades(base, head)
    for old in matched.missing:
        yield Difference(REMOVED, "gone", f"`{old.type}`")
    for old, new in matched.pairs:
        subject = f"`{new.type}`"
        shares = None
        if threshold is not None and old.counts and new.counts:
            shares = Shares(_share(old, base), _share(new, head), exact_fraction(threshold))
        for kind, text in (*_compare_terms(old, new), *_compare_weights(old, new, shares)):
            yield Difference(kind, text, subject, new.origin)
        for kind, text, origin in _compare_graders(old, new):
            yield Difference(kind, f"is graded differently: {text}", subject, origin)
        if old.members and not new.is_negated:
            yield from compare_grades(old.members, new.members, new.limit)


class MatchedGrades(NamedTuple):
    """The grades of the base: in pairs with those of the head that stand for them, and those without one."""

    pairs: list[tuple[GradeTerms, GradeTerms]]  # base and head
    missing: list[GradeTerms]


def _match_grades(base: Sequence[GradeTerms], head: Sequence[GradeTerms]) -> MatchedGrades:
    """Find the grade of the head that stands for each grade of the base."""
    # The strictest first, so that of several alike the strictest ones are compared.
    old_grades = sorted(base, key=_grade_strictness, reverse=True)
    new_grades = sorted(head, key=_grade_strictness)[::-1]
    matched = MatchedGrades([], [])
    matched_ids = set[int]()
    for old_number, new_number in match_by_keys(old_grades, new_grades, _GRADE_KEYS).items():
        old = old_grades[old_number]
        new = new_grades[new_number]
        matched.pairs.append((old, new))
        matched_ids.update((id(old), id(new)))

    # A set with other members is compared with the set of its type that has most of them.
    spare = [grade for grade in head if id(grade) not in matched_ids]
    for old in base:
        if id(old) in matched_ids:
            continue
        nearest = _nearest_set(old, spare)
        if nearest is None:
            matched.missing.append(old)
            continue
        matched.pairs.append((old, nearest))
        spare = [grade for grade in spare if grade is not nearest]
    return matched


def _nearest_set(old: GradeTerms, grades: Iterable[GradeTerms]) -> GradeTerms | None:
    """The first set of the same type with most of the same members. None if ``old`` is no set, or if there is no set."""
    if not old.members:
        return None
    nearest = None
    most_shared = -1
    members = set(old.members)
    for grade in grades:
        if not grade.members or grade.type != old.type:
            continue
        shared = len(members.intersection(grade.members))
        if shared > most_shared:
            nearest = grade
            most_shared = shared
    return nearest


def _grade_strictness(grade: GradeTerms) -> tuple[bool, tuple[float, bool], float]:
    """A sort key: whether the grade blocks, then its threshold, then its weight."""
    return grade.blocking, threshold_strictness(grade), grade.weight


def threshold_strictness(grade: GradeTerms) -> tuple[float, bool]:
    """A sort key for thresholds: the larger key is the stricter one.

    The limit comes first. It counts with a minus where a lower limit is stricter. Second is whether it is the stricter one of
    two that look like 0: no limit and a limit of 0.
    """
    # Without a limit, the grader's yes or no decides. That is stricter than a limit that every score meets, and milder than
    # one that only a perfect score meets.
    has_limit = grade.limit is not None
    limit = grade.limit or 0.0
    is_upper_limit = (
        grade.most != grade.is_negated
    )  # `not-` turns a limit from above into one from below
    if is_upper_limit:
        return -limit, has_limit
    return limit, not has_limit


def _compare_terms(old: GradeTerms, new: GradeTerms) -> Iterator[Change]:
    """What changed in an assertion, apart from its weight and its graders."""
    yield from _compare_thresholds(old, new)
    if old.blocking and not new.blocking:
        yield WEAKER, "no longer blocks"
    if old.reask != new.reask and is_milder_mode(old.mode, new.mode):
        yield WEAKER, f"its failures are re-asked in a milder way: {old.mode} became {new.mode}"
    for name, text in _CHANGED_TERMS.items():
        if getattr(old, name) != getattr(new, name):
            yield CHANGED, text.format(new=new.metric, old=old.metric)
    fields = differing_keys(dict(old.others), dict(new.others))
    if fields:
        yield CHANGED, f"has a different {fields}"


def _compare_thresholds(old: GradeTerms, new: GradeTerms) -> Iterator[Change]:
    """What changed in the threshold of an assertion or a set."""
    if old.members and not old.is_negated:
        yield from compare_means(old.limit, new.limit)
    elif old.members:
        # Under `not-`, the set must miss its threshold, so a lower one is stricter.
        is_stricter = old.limit is not None and new.limit is not None and new.limit < old.limit
        has_same_limit = old.limit == new.limit or is_stricter
        has_same_members = Counter(old.members) == Counter(new.members)
        if not (has_same_limit and has_same_members):
            yield WEAKER, "its negated assertions changed"
    elif threshold_strictness(new) < threshold_strictness(old):
        change = f"{_show_limit(old.limit)} became {_show_limit(new.limit)}"
        yield WEAKER, f"is weaker: threshold {change}"
    elif old.limit is None and new.limit is not None:
        # Until now, only the grader's yes or no counted.
        yield CHANGED, f"its score now decides, too, with threshold {_show_limit(new.limit)}"


def compare_means(old: float | None, new: float | None) -> Iterator[Change]:
    """What another threshold on the mean of a test or a set means. Without one, each assertion must pass."""
    if old is None and new is not None:
        text = f"now the mean decides, with threshold {new:g}"
        yield WEAKER, f"{text}; before, every assertion had to pass"
    elif old is not None and new is None:
        yield WEAKER, f"its threshold {old:g} is gone"
    elif old is not None and new is not None and new < old:
        yield WEAKER, f"is weaker: threshold {old:g} became {new:g}"


def _show_limit(limit: float | None) -> str:
    return "none" if limit is None else f"{limit:g}"


def is_milder_mode(old: str, new: str) -> bool:
    """Whether failures are re-asked in a way that forgives more."""
    return REASK_MODES.index(new) > REASK_MODES.index(old)


class Shares(NamedTuple):
    """The shares of an assertion in the weighted mean of base and head, and the threshold on that mean."""

    old: Fraction
    new: Fraction
    threshold: Fraction


def _share(grade: GradeTerms, grades: Iterable[GradeTerms]) -> Fraction:
    """The share of one grade in the weights of all grades that count."""
    total = Fraction(0)
    for counting in grades:
        if counting.counts:
            total += exact_fraction(counting.weight)
    return exact_fraction(grade.weight) / total


def _compare_weights(old: GradeTerms, new: GradeTerms, shares: Shares | None) -> Iterator[Change]:
    """What a lower weight means, or a lower share of the weights if their mean decides."""
    if not old.weight:
        return
    is_lower = new.weight < old.weight
    if not new.weight:
        yield WEAKER, "no longer counts: its weight became 0"
    elif shares and shares.new < shares.old:
        # Until now, its failure was enough to fail the mean. Is it still enough?
        no_longer_decides = 1 - shares.old < shares.threshold <= 1 - shares.new
        kind = WEAKER if is_lower or no_longer_decides else CHANGED
        before = float(shares.old * 100)
        now = float(shares.new * 100)
        yield kind, f"counts for less of the mean: {before:.3g} % became {now:.3g} %"
    elif is_lower:
        yield CHANGED, f"weighs less: {old.weight:g} became {new.weight:g}"


# --- models ---------------------------------------------------------------------------------------------------


def _compare_graders(old: GradeTerms, new: GradeTerms) -> Iterator[tuple[ChangeKind, str, Origin]]:
    """What changed in the models that grade, at the line that names them."""
    new_models = dict(new.models)
    for need, old_model in old.models:
        model = new_models.get(need)
        if model is None:
            yield CHANGED, f"no {need} model is asked", new.origin
            continue
        origin = model.origin if model.origin.line else new.origin
        for kind, text in compare_models(old_model, model):
            yield kind, text, origin


def compare_models(old: ModelTerms, new: ModelTerms) -> Iterator[Change]:
    """What changed in a target or grader. No value of an option is shown: some are secret."""
    if old.source != new.source:
        kind = WEAKER if old.source == "model" else CHANGED
        now = f"`{new.name}` gives replies from a {new.source}"
        yield kind, f"{now}; `{old.name}` gave replies from a {old.source}"
    if old.id != new.id:
        at_host = f" at {new.host}" if new.host != old.host else ""
        yield CHANGED, f"`{new.id}`{at_host} replaces `{old.id}`"
    elif old.host != new.host:
        old_host = old.host or "this machine"
        new_host = new.host or "this machine"
        yield WEAKER, f"`{new.id}` is asked at {new_host}, not at {old_host}"
    options = differing_keys(dict(old.options), dict(new.options))
    if options:
        yield CHANGED, f"`{new.name}` has different settings: {options}"


def differing_keys(old: Mapping[str, object], new: Mapping[str, object]) -> str:
    """The keys that one of two mappings lacks or has with another value, sorted, each as code."""
    keys = sorted({*old, *new})
    return ", ".join(f"`{key}`" for key in keys if old.get(key) != new.get(key))


# --- tests ----------------------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """A question with the target and the prompt that it is asked with, by their numbers in the head."""

    question: CaseInput
    target: int
    prompt: int


class SideMatch(FrozenStruct):
    """Which target and prompt of the head stand for which of the base. Those that are gone are missing."""

    targets: Mapping[int, int]  # the number in the head by the number in the base
    prompts: Mapping[int, int]
    base_targets: Sequence[ModelTerms]
    head_targets: Sequence[ModelTerms]
    rules: tuple[Rule, ...]  # those of the base that block and select


class AnswerDifference(FrozenStruct):
    """A difference of a test."""

    difference: Difference
    name: str
    origin: Origin | None = None  # of the test in the head


class AnswerComparison:
    """The answers of the base that the head does not have as they are, compared with what the head has instead.

    Both sides are read once.
    """

    def __init__(
        self, base: Iterable[AnswerTerms], head: Iterable[AnswerTerms], match: SideMatch
    ) -> None:
        self._match = match
        # Answers of the base, by place and a hash of their grades, until an equal one of the head is found.
        self._waiting: dict[tuple[_Place, int], list[AnswerTerms]] = {}
        # Answers of the head that equal none of the base.
        self._spare: dict[_Place, list[AnswerTerms]] = {}
        self._head_questions: set[CaseInput] = set()
        # How much more often an answer counts in rates, with the first answers of base and head that grew so.
        self._growths: dict[Fraction, tuple[AnswerTerms, AnswerTerms]] = {}
        for old in base:
            self._add_base_answer(old)
        for new in head:
            self._add_head_answer(new)

        # Where to look for a spare answer if there is none at the same place.
        # Names and variables come with the numbers of target and prompt.
        self._recorded: dict[CaseInput, AnswerTerms] = {}
        self._by_name: dict[tuple[str, int, int], deque[_Place]] = {}
        self._by_variable: dict[tuple[bytes, int, int], list[_Place]] = {}
        for place, answers in self._spare.items():
            self._index_spare_answers(place, answers)

    def _index_spare_answers(self, place: _Place, answers: Iterable[AnswerTerms]) -> None:
        """Let spare answers be found by their question, by the name of their case and by each variable."""
        for answer in answers:
            if answer.recorded:
                self._recorded[place.question] = answer
            name_key = (answer.description, place.target, place.prompt)
            self._by_name.setdefault(name_key, deque()).append(place)
        for variable in place.question.variables:
            variable_key = (variable, place.target, place.prompt)
            self._by_variable.setdefault(variable_key, []).append(place)

    def differences(self) -> Iterator[AnswerDifference]:
        """Every way in which the head asks or grades less."""
        for (place, _), answers in self._waiting.items():
            for old in answers:
                new, differences = self._compare_with_head(old, place)
                for difference in differences:
                    yield AnswerDifference(difference, old.name, new.origin if new else None)
        yield from self._uneven_growths()

    def _add_base_answer(self, old: AnswerTerms) -> None:
        """Let an answer of the base wait for an equal one of the head."""
        target = self._match.targets.get(old.target)
        prompt = self._match.prompts.get(old.prompt)
        if prompt is None and old.prompt < 0:
            prompt = old.prompt  # a recorded answer to no prompt
        if target is None or prompt is None:
            return  # A target or prompt that is gone is one finding, not one for each of its answers.
        key = (_Place(old.question, target, prompt), _hash_grades(old))
        self._waiting.setdefault(key, []).append(old)

    def _add_head_answer(self, new: AnswerTerms) -> None:
        """Find the waiting answer that an answer of the head equals, or keep it as a spare one."""
        place = _Place(new.question, new.target, new.prompt)
        self._head_questions.add(new.question)
        waiting = self._waiting.get((place, _hash_grades(new)), [])
        for number, old in enumerate(waiting):
            if self._is_as_strict(old, new):
                self._note_growth(old, new)
                del waiting[number]
                return
        self._spare.setdefault(place, []).append(new)

    def _is_as_strict(self, old: AnswerTerms, new: AnswerTerms) -> bool:
        """Whether an answer of the head is graded in the same way, and its case passes no more easily."""
        if new.runs.is_milder_than(old.runs) or _is_quarantined_longer(old, new):
            return False
        if old.recorded != new.recorded or old.apart != new.apart:
            return False
        if old.threshold != new.threshold:
            return False
        # The order of the assertions means nothing.
        if old.grades != new.grades and Counter(old.grades) != Counter(new.grades):
            return False
        return not any(self._lost_selections(old, new))

    def _compare_with_head(
        self, old: AnswerTerms, place: _Place
    ) -> tuple[AnswerTerms | None, Iterable[Difference]]:
        """The answer of the head that stands for an old one, if there is one, and what about it is less."""
        # The same question, asked of the same target with the same prompt
        new = _take_nearest(old, self._spare.get(place, []))
        if new:
            return new, self._compare_answers(old, new)

        # The same question, with an answer that the config brings
        recorded = self._recorded.get(old.question)
        if recorded and not old.recorded:
            text = "its answer is recorded now, and no model is asked"
            return recorded, [Difference(WEAKER, text)]

        # The same question, but not as often
        if place.question in self._head_questions:
            target = self._match.head_targets[place.target].name
            text = f"runs less often, or with fewer prompts, on `{target}`"
            return None, [Difference(REMOVED, text)]

        # Another question: the same with more variables, or one of a case with the same name
        new = self._take_with_more_variables(old, place)
        if new:
            more = Difference(CHANGED, "has more variables")
            return new, [more, *self._compare_answers(old, new)]
        new = self._take_with_same_name(old, place)
        if new:
            text = "its question is gone, because its variables changed"
            return new, [Difference(REMOVED, text)]
        return None, [Difference(REMOVED, "gone")]

    def _compare_answers(self, old: AnswerTerms, new: AnswerTerms) -> Iterator[Difference]:
        self._note_growth(old, new)
        yield from _compare_test_terms(old, new)
        yield from compare_grades(old.grades, new.grades, new.threshold)
        yield from self._lost_selections(old, new)

    def _lost_selections(self, old: AnswerTerms, new: AnswerTerms) -> Iterator[Difference]:
        """The rules that no longer look at a type of assertion of this answer, because a name changed."""
        counting = Counter(grade.type for grade in new.grades if grade.counts)
        for rule in self._match.rules:
            before = _selected_types(rule, old, self._match.base_targets)
            now = _selected_types(rule, new, self._match.head_targets)
            for kind in before:
                is_selected_less = now[kind] < before[kind]
                # An assertion that is gone or only advises now is a finding of its own.
                if is_selected_less and now[kind] < counting[kind]:
                    text = f"the rule `{rule.name}` no longer selects it"
                    yield Difference(WEAKER, text, f"`{kind}`")

    def _note_growth(self, old: AnswerTerms, new: AnswerTerms) -> None:
        """Note how much more often the answer counts in rates than that of the base."""
        self._growths.setdefault(Fraction(new.cases, old.cases), (old, new))

    def _uneven_growths(self) -> Iterator[AnswerDifference]:
        """The tests that count more often in rates than before, while others do not."""
        least = min(self._growths, default=Fraction(1))
        for growth, (old, new) in self._growths.items():
            if growth > 1 and growth > least:
                cases = format_count(new.cases, "case")
                text = f"counts as {cases} in rates, not {old.cases}; other tests are not repeated as often"
                yield AnswerDifference(Difference(WEAKER, text), old.name, new.origin)

    def _take_with_same_name(self, old: AnswerTerms, place: _Place) -> AnswerTerms | None:
        """Take a spare answer of a case with the same name. None if there is none, or if the case has no name."""
        places = self._by_name.get((old.description, place.target, place.prompt))
        # There is one place for each answer, so no place is looked at twice.
        while old.description and places:
            new = _take_nearest(old, self._spare[places.popleft()])
            if new:
                return new
        return None

    def _take_with_more_variables(self, old: AnswerTerms, place: _Place) -> AnswerTerms | None:
        """An answer that has the variables of the old one, and more."""
        variables = old.question.variables
        if not variables:
            return None
        places = self._by_variable.get((variables[0], place.target, place.prompt), [])
        for candidate in places[:_MAX_CANDIDATES]:
            question = candidate.question
            has_all = set(variables) <= set(question.variables)
            if not has_all or question.turns != old.question.turns:
                continue
            new = _take_nearest(old, self._spare[candidate])
            if new:
                return new
        return None


def _hash_grades(answer: AnswerTerms) -> int:
    return hash(frozenset(answer.grades))


def _selected_types(rule: Rule, answer: AnswerTerms, targets: Sequence[ModelTerms]) -> Counter[str]:
    """How many assertions of each type the rule selects."""
    target = targets[answer.target].name
    types = Counter[str]()
    for grade in answer.grades:
        if rule.selects(grade, target, answer.description, answer.metadata):
            types[grade.type] += 1
    return types


def _take_nearest(old: AnswerTerms, spare: list[AnswerTerms]) -> AnswerTerms | None:
    """Take the answer with most of the same assertions out of ``spare``. None if there are no spare answers."""
    if not spare:
        return None
    old_grades = set(old.grades)
    old_values = {(grade.type, grade.value) for grade in old.grades}

    def likeness(number: int) -> tuple[int, int, bool]:
        """A sort key: equal assertions first, then those with equal type and value, then an equal name."""
        new = spare[number]
        same_grades = len(old_grades.intersection(new.grades))
        same_values = [grade for grade in new.grades if (grade.type, grade.value) in old_values]
        return same_grades, len(same_values), new.description == old.description

    candidates = range(min(len(spare), _MAX_CANDIDATES))
    return spare.pop(max(candidates, key=likeness))


def _compare_test_terms(old: AnswerTerms, new: AnswerTerms) -> Iterator[Difference]:
    """What changed in a test, apart from its assertions."""
    if not old.recorded and new.recorded:
        yield Difference(WEAKER, "its answer is recorded now, and no model is asked")
    elif old.recorded != new.recorded:
        yield Difference(CHANGED, "its recorded answer changed")
    if new.runs.is_milder_than(old.runs):
        yield Difference(WEAKER, _milder_runs(old, new))
    if _is_quarantined_longer(old, new):
        earlier = f" until {old.quarantine}" if old.quarantine else " in none"
        yield Difference(WEAKER, f"in quarantine until {new.quarantine}, and before{earlier}")
    for text, old_digest, new_digest in zip(APART, old.apart, new.apart, strict=True):
        if old_digest != new_digest:
            yield Difference(CHANGED, text)
    for kind, text in compare_means(old.threshold, new.threshold):
        yield Difference(kind, text)


def _milder_runs(old: AnswerTerms, new: AnswerTerms) -> str:
    """Say ``runs 3 times, not 5``, or ``needs 2 of 3 runs to pass, and needed 3 of 3``."""
    must_all_pass = old.runs.of == old.runs.passes and new.runs.of == new.runs.passes
    if must_all_pass:
        return f"runs {format_count(new.runs.of, 'time')}, not {old.runs.of}"
    runs = format_count(new.runs.of, "run")
    before = f"needed {old.runs.passes} of {old.runs.of}"
    return f"needs {new.runs.passes} of {runs} to pass, and {before}"


def _is_quarantined_longer(old: AnswerTerms, new: AnswerTerms) -> bool:
    """Whether failures only advise for a longer time."""
    if new.quarantine is None:
        return False
    return old.quarantine is None or new.quarantine > old.quarantine
