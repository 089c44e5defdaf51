"""Hides secrets in whatever leaves the program: as they are, and as base64, URL, JSON and HTML write them."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar
from urllib.parse import quote

from gradegate.changes import GateChange, GateChanges
from gradegate.conversation import Turn
from gradegate.result import AskedModel, Asserted, CaseResult, Grade, Row, RunResult
from gradegate.suite import Note

T = TypeVar("T")
HIDDEN = "***"
Hide = Callable[[str], str]
# Values that hold text from models, providers, the config or the environment.
_OPEN = (RunResult, CaseResult, Row, Grade, Asserted, AskedModel, Note, Turn, GateChange, GateChanges)


def redactor(secrets: Iterable[str]) -> Hide:
    """A function that replaces every form of every secret in a text."""
    forms = sorted({form for secret in secrets for form in _forms(secret)}, key=len, reverse=True)
    if not forms:
        return _unchanged
    pattern = re.compile("|".join(map(re.escape, forms)))
    return lambda text: pattern.sub(HIDDEN, text) if pattern.search(text) else text


def _unchanged(text: str) -> str:
    return text


def conceal(value: T, hide: Hide) -> T:
    """A run without secrets, before a report escapes its texts and makes a secret unrecognisable.

    What holds none is the same object, so that a large run is not copied.
    """
    return value if hide is _unchanged else _concealed(value, hide)


def _concealed(value: Any, hide: Hide) -> Any:
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, _OPEN):
        changed = {}
        for name in _names(type(value)):  # type: ignore[arg-type]  # a class can be hashed
            before = getattr(value, name)
            if before and (after := _concealed(before, hide)) is not before:
                changed[name] = after
        return replace(value, **changed) if changed else value
    if isinstance(value, Mapping):
        mapping = {_concealed(key, hide): _concealed(item, hide) for key, item in value.items()}
        same = all(new is old for new, old in zip(mapping.values(), value.values(), strict=False))
        return value if same and list(mapping) == list(value) else mapping
    if isinstance(value, list | tuple):
        items = [_concealed(item, hide) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else type(value)(items)
    return value


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _forms(secret: str) -> Iterator[str]:
    if not secret.strip():
        return
    yield secret
    yield secret.strip()  # a key from a file often ends in a newline
    yield quote(secret, safe="")
    yield json.dumps(secret)[1:-1]
    yield html.escape(secret)
    encoded = secret.encode("utf-8", "replace")
    yield base64.b64encode(encoded).decode()
    yield base64.urlsafe_b64encode(encoded).decode()
