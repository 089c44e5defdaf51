"""Options of graders, and those that a test sets for all of its own."""

from functools import cache

from gradegate.assertions.grading.evaluator import GRADERS, Grader
from gradegate.config import unknown_keys as wrongkeys
from gradegate.config.idle import is_own
from gradegate.config.keys import STEERING, OptionKeys, belongs, names_of
from gradegate.core.suite import CaseOptions, Idle
from gradegate.errors import Mistake, Origin
from gradegate.providers.api.options import TEST_PARAMETERS
from gradegate.structs import names

# Fields of graders that an assertion sets alone.
_NO_OPTIONS = frozenset({"value", "threshold", "config", "test", "context_transform"})


def option_names(kind: type[Grader]) -> tuple[str, ...]:
    """The options of a grader."""
    return _options_of(kind)  # type: ignore[arg-type]  # a class can be hashed


_options_of = cache(names)


def check_options(options: CaseOptions, origin: Origin, idle: list[Idle]) -> list[Mistake]:
    """Keys of a test's ``options`` that nobody knows; what documents them is added to ``idle``."""
    free = [
        name
        for name in options.settings
        if name not in STEERING and name not in TEST_PARAMETERS and not is_own(name)
    ]
    if not free:
        return []  # without every grader's module, which takes as long to import as all of a small run
    strange = [name for name in free if name not in _grader_options()]
    idle += [Idle(name, origin) for name in strange if wrongkeys.documents(name)]
    known = STEERING | TEST_PARAMETERS | _grader_options() | names_of(OptionKeys)
    said = [
        wrongkeys.said(name, "options", known, belongs)
        for name in strange
        if not wrongkeys.documents(name)
    ]
    return [
        Mistake(what.replace("unknown key", "unknown option"), origin, cure) for what, cure in said
    ]


@cache
def _grader_options() -> frozenset[str]:
    return frozenset(name for _, kind in GRADERS for name in option_names(kind) if is_shared(name))


def is_shared(name: str) -> bool:
    """Whether a test's ``options`` may set it for its graders; parameters of models are those of the model under test."""
    return name not in TEST_PARAMETERS and name not in _NO_OPTIONS
