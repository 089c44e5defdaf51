"""Adds up the size of a plan while it is made: lists, prompts, providers and repetitions multiply."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gradegate.core.conversation import Variables
from gradegate.core.suite import Case, Suite
from gradegate.errors import ConfigError, Origin
from gradegate.files.limits import MAX_ANSWERS, MAX_GRADES, MAX_PLANNED_CHARACTERS, MIB
from gradegate.structs import Struct

_TOO_MANY_ANSWERS = (
    f"tests, prompts, providers and repetitions make more than {MAX_ANSWERS:,} answers"
)
_TOO_MANY_GRADES = f"tests and their assertions make more than {MAX_GRADES:,} grades"


class TooLarge(ConfigError):
    """The plan is too large; no more of it is made."""


class PlanSize(Struct):
    """The size of the plan so far, over all configs of a run."""

    answers: int = 0
    grades: int = 0
    characters: int = 0
    # Sizes of lists and mappings, which tests share, by identity; the value keeps them alive
    _sizes: dict[int, tuple[Any, int]] = {}

    def expect(self, suite: Suite, cases: Sequence[Case]) -> None:
        """Check the smallest possible size of a suite before it is planned. Raises TooLarge."""
        if len(suite.prompts) * len(suite.targets) > MAX_ANSWERS:
            what = f"prompts and providers make more than {MAX_ANSWERS:,} answers"
            raise _too_large(what, suite.targets[0].origin)
        answers = self.answers
        for case in cases:
            answers += _combinations(case) if case.options.expand_vars else 1
            if answers > MAX_ANSWERS:
                raise _too_large(_TOO_MANY_ANSWERS, case.origin)

    def check(self, combinations: int, case: Case) -> None:
        """Check the grades of a case before its assertions are bound for each combination. Raises TooLarge."""
        if combinations * _grades(case) > MAX_GRADES:
            raise _too_large(_TOO_MANY_GRADES, case.origin)

    def add_answers(self, number: int, case: Case) -> None:
        """Add a number of answers to a case. Raises TooLarge."""
        self.answers += number
        self.grades += number * _grades(case)
        if self.answers > MAX_ANSWERS:
            raise _too_large(_TOO_MANY_ANSWERS, case.origin)
        if self.grades > MAX_GRADES:
            raise _too_large(_TOO_MANY_GRADES, case.origin)

    def add_text(self, text: str, variables: Variables, times: int, origin: Origin) -> None:
        """Add a prompt with its variables, which every report shows so many times. Raises TooLarge."""
        self.characters += times * (len(text) + sum(map(self._size_of, variables.values())))
        if self.characters > MAX_PLANNED_CHARACTERS:
            what = f"the prompts and variables of all answers have more than {MAX_PLANNED_CHARACTERS // MIB} MiB"
            raise _too_large(what, origin)

    def _size_of(self, value: Any) -> int:
        """The characters of a value, about."""
        if isinstance(value, str):
            return len(value)
        if not isinstance(value, list | tuple | Mapping):
            return 8
        if id(value) not in self._sizes:
            size = 8
            members: Iterable[Any] = value
            if isinstance(value, Mapping):
                size += sum(map(len, value))
                members = value.values()
            size += sum(map(self._size_of, members))
            self._sizes[id(value)] = value, size
        return self._sizes[id(value)][1]


def _combinations(case: Case) -> int:
    """The combinations of the lists of texts in the variables of a case."""
    product = 1
    for value in case.vars.values():
        if isinstance(value, list) and value and isinstance(value[0], str):
            product *= len(value)
    return product


def _grades(case: Case) -> int:
    return sum(1 + len(assertion.members) for assertion in case.assertions)


def _too_large(what: str, origin: Origin) -> TooLarge:
    return TooLarge.at(what, origin, "ask fewer tests in one run")
