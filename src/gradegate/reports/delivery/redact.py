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
from gradegate.security.redaction import Redact, unchanged
from gradegate.structs import field_names, replace

T = TypeVar("T")
# Values with text from models, providers, the config or the environment.
_STRUCTS = (
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
    Policy,
    Rule,
    Mistake,
    Origin,
    GateChange,
    GateChanges,
)
_SEEN_BY_GRADERS = frozenset({"prompt", "output", "turns", "metadata"})  # of a row


def redact_values(value: T, hide: Redact) -> T:
    """Redact secrets in all texts of a value, before escaping or cutting makes them unrecognizable.

    A value without secrets is returned as it is, so that a large run is not copied.
    """
    return value if hide is unchanged else _change_texts(value, hide)


def redact_mistakes(error: ConfigError, hide: Redact) -> ConfigError:
    """The same mistakes without secrets."""
    return ConfigError(*(redact_values(mistake, hide) for mistake in error.mistakes))


def with_option_names(value: T, inputs: bool) -> T:
    """Mistakes and notes with options as flags of the command line, or as ``inputs`` of the Action."""
    return _change_texts(value, partial(resolve_option_names, inputs=inputs))  # type: ignore[arg-type, no-any-return]


def _change_texts(value: Any, change: Redact) -> Any:
    """Apply a function to all texts in a value. The result is the same object if no text changes."""
    if isinstance(value, str):
        text = change(value)
        return value if text == value else text
    if isinstance(value, _STRUCTS):
        return _change_fields(value, change)
    if isinstance(value, Mapping):
        mapping = {
            _change_texts(key, change): _change_texts(item, change) for key, item in value.items()
        }
        same = all(new is old for new, old in zip(mapping.values(), value.values(), strict=False))
        return value if same and list(mapping) == list(value) else mapping
    if isinstance(value, list | tuple):
        items = [_change_texts(item, change) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return tuple(items) if isinstance(value, tuple) else items
    return value


def _change_fields(value: Any, change: Redact) -> Any:
    changes: dict[str, Any] = {}
    for name in field_names(value):
        before = getattr(value, name)
        if before:
            after = _change_texts(before, change)
            if after is not before:
                changes[name] = after
    if isinstance(value, Row) and _SEEN_BY_GRADERS & changes.keys():
        changes["hidden"] = True
    return replace(value, **changes) if changes else value
