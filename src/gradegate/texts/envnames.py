"""Which variables of the environment a value of a config shows: its templates are given these and no others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gradegate.texts.template import environment


def env_names(value: Any) -> frozenset[str]:
    """The names in ``{{ env.NAME }}`` and ``{{ env['NAME'] }}`` of every text in a nested value. Raises TemplateError."""
    return frozenset().union(*(environment(text)[0] for text in _texts(value)))


def env_needs(value: Any) -> frozenset[str]:
    """Those that the value does not do without: which no ``default`` and no condition guards. Raises TemplateError."""
    return frozenset().union(*(environment(text)[1] for text in _texts(value)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if "env" in value:
            yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
