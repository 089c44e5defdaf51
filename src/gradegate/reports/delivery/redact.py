"""Hides secrets in the values of a run, before a report escapes or cuts its texts."""

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeVar

from gradegate.core.conversation import Turn
from gradegate.core.options import resolve_option_names
from gradegate.core.policy import Note, Policy, Rule
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.results.accounts import AskedModel, BaselineReport, DerivedMetric, KeyUse, Made
from gradegate.results.gate_changes import GateChange, GateChanges
from gradegate.results.grades import Grade, GradedAssertion, Vote
from gradegate.results.rows import Row
from gradegate.results.run_result import RunResult
from gradegate.security.redaction import Hide, unchanged
from gradegate.structs import names, replace

T = TypeVar("T")
# Values that hold text from models, providers, the config or the environment.
_OF_RUN = (
    RunResult,
    Row,
    Grade,
    Vote,
    GradedAssertion,
    AskedModel,
    KeyUse,
    Made,
    BaselineReport,
    DerivedMetric,
    Note,
    Turn,
)
_OPEN = (*_OF_RUN, Policy, Rule, Mistake, Origin, GateChange, GateChanges)
_GRADED = frozenset({"prompt", "output", "turns", "metadata"})  # of a row: what its graders saw


def conceal(value: T, hide: Hide) -> T:
    """A run without secrets, before a report escapes or cuts its texts and makes a secret unrecognisable.

    What holds none is the same object, so that a large run is not copied.
    """
    return value if hide is unchanged else _concealed(value, hide)


def at_door(value: T, inputs: bool) -> T:
    """Mistakes and notes with options as flags of the command line, or as ``inputs`` of the Action."""
    return _concealed(value, partial(resolve_option_names, inputs=inputs))  # type: ignore[arg-type, no-any-return]


def concealed_mistakes(error: ConfigError, hide: Hide) -> ConfigError:
    """The same mistakes without secrets."""
    return ConfigError(*(conceal(mistake, hide) for mistake in error.mistakes))


def _concealed(value: Any, hide: Hide) -> Any:
    if isinstance(value, str):
        hidden = hide(value)
        return value if hidden == value else hidden
    if isinstance(value, _OPEN):
        changed = {}
        for name in names(value):
            before = getattr(value, name)
            if before and (after := _concealed(before, hide)) is not before:
                changed[name] = after
        if isinstance(value, Row) and _GRADED & changed.keys():
            changed["hidden"] = True
        return replace(value, **changed) if changed else value
    if isinstance(value, Mapping):
        mapping = {_concealed(key, hide): _concealed(item, hide) for key, item in value.items()}
        same = all(new is old for new, old in zip(mapping.values(), value.values(), strict=False))
        return value if same and list(mapping) == list(value) else mapping
    if isinstance(value, list | tuple):
        items = [_concealed(item, hide) for item in value]
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else tuple(items) if isinstance(value, tuple) else items
    return value
