"""Adds up the size of a run before it is made: lists, prompts, providers and repetitions multiply."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gradegate.core.conversation import Variables
from gradegate.core.suite import Case, Suite
from gradegate.errors import ConfigError, Origin
from gradegate.files.limits import MAX_ANSWERS, MAX_GRADES, MAX_PLANNED, MIB
from gradegate.structs import Struct

_ANSWERS = f"tests, prompts, providers and repetitions make more than {MAX_ANSWERS:,} answers"
_GRADES = f"tests and their assertions make more than {MAX_GRADES:,} grades"


class TooLarge(ConfigError):
    """The plan is too large; nothing more of it is made."""


class PlanSize(Struct):
    """Of the plan so far, over all configs of a run."""

    answers: int = 0
    grades: int = 0
    characters: int = 0
    _known: dict[int, tuple[Any, int]] = {}  # sizes of lists and mappings, which tests share

    def expect(self, suite: Suite, cases: Sequence[Case]) -> None:
        """What is certain to come of a suite, before any of it is made. Raises TooLarge."""
        pairs = len(suite.prompts) * len(suite.targets)
        if pairs > MAX_ANSWERS:
            raise _too_large(
                f"prompts and providers make more than {MAX_ANSWERS:,} answers",
                suite.targets[0].origin,
            )
        certain = self.answers
        for case in cases:
            lists = [
                it
                for it in case.vars.values()
                if isinstance(it, list) and it and isinstance(it[0], str)
            ]
            certain += math.prod(map(len, lists)) if case.options.expand_vars else 1
            if certain > MAX_ANSWERS:
                raise _too_large(_ANSWERS, case.origin)

    def check(self, combinations: int, case: Case) -> None:
        """Before the assertions of a case are bound to its combinations of variables. Raises TooLarge."""
        if combinations * _grades(case) > MAX_GRADES:
            raise _too_large(_GRADES, case.origin)

    def add_answers(self, number: int, case: Case) -> None:
        """So many answers to a case. Raises TooLarge."""
        self.answers += number
        self.grades += number * _grades(case)
        if self.answers > MAX_ANSWERS:
            raise _too_large(_ANSWERS, case.origin)
        if self.grades > MAX_GRADES:
            raise _too_large(_GRADES, case.origin)

    def add_text(self, text: str, variables: Variables, times: int, origin: Origin) -> None:
        """A prompt with its variables, which every report shows so many times. Raises TooLarge."""
        self.characters += times * (len(text) + sum(map(self._size, variables.values())))
        if self.characters > MAX_PLANNED:
            raise _too_large(
                f"the prompts and variables of all answers have more than {MAX_PLANNED // MIB} MiB",
                origin,
            )

    def _size(self, value: Any) -> int:
        if isinstance(value, str):
            return len(value)
        if not isinstance(value, list | tuple | Mapping):
            return 8
        if id(value) not in self._known:
            members = value.values() if isinstance(value, Mapping) else value
            names = sum(map(len, value)) if isinstance(value, Mapping) else 0
            self._known[id(value)] = (value, 8 + names + sum(map(self._size, members)))
        return self._known[id(value)][1]


def _grades(case: Case) -> int:
    return len(case.assertions) + sum([len(assertion.members) for assertion in case.assertions])


def _too_large(what: str, origin: Origin) -> TooLarge:
    return TooLarge.at(what, origin, "ask fewer tests in one run")
