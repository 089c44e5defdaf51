"""Digests of values, so that two plans can be compared without keeping what they hold."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from enum import Enum
from operator import itemgetter
from typing import Any


def digest(value: Any) -> bytes:
    """16 bytes that tell values apart whatever the order of keys; equal values of two processes have the same."""
    text = "s" + value if isinstance(value, str) else _canonical(value)  # no JSON starts so
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def sha256(value: Any) -> bytes:
    """The SHA-256 of a value's canonical JSON: the same in every later version of gradegate."""
    return hashlib.sha256(_canonical(value).encode("utf-8", "surrogatepass")).digest()


def _canonical(value: Any) -> str:
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError):  # keys of several types have no order, and numbers of 5,000 digits no text
        return json.dumps(_spelled(value), default=lambda other: _spelled(_plain(other)))


def _spelled(value: Any) -> Any:
    if isinstance(value, Mapping):
        return sorted(([repr(_spelled(key)), _spelled(item)] for key, item in value.items()), key=itemgetter(0))
    if isinstance(value, list | tuple):
        return [_spelled(item) for item in value]
    return hex(value) if type(value) is int else value


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if isinstance(value, Enum):
        return value.name
    return str(value)


_ENCODER = json.JSONEncoder(sort_keys=True, default=_plain, separators=(",", ":"))
