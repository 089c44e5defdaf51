"""Hides secrets in the values of a run, before a report escapes or cuts its texts."""

from collections.abc import Mapping, Sequence
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
        return _change_mapping(value, change)
    if isinstance(value, list | tuple):
        return _change_items(value, change)
    return value


def _change_mapping(mapping: Mapping[Any, Any], change: Redact) -> Mapping[Any, Any]:
    """Apply a function to all texts in a mapping, its keys included. The result is the same object if no text changes."""
    changed = {}
    is_same = True
    for key, item in mapping.items():
        changed_key = _change_texts(key, change)
        changed_item = _change_texts(item, change)
        changed[changed_key] = changed_item
        if changed_key != key or changed_item is not item:
            is_same = False
    return mapping if is_same else changed


def _change_items(items: list[Any] | tuple[Any, ...], change: Redact) -> Sequence[Any]:
    """Apply a function to all texts in a list or a tuple. The result is the same object if no text changes."""
    changed_items = []
    is_same = True
    for item in items:
        changed_item = _change_texts(item, change)
        changed_items.append(changed_item)
        if changed_item is not item:
            is_same = False
    if is_same:
        return items
    return tuple(changed_items) if isinstance(items, tuple) else changed_items


def _change_fields(value: Any, change: Redact) -> Any:
    """Apply a function to all texts in the fields of a struct."""
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
