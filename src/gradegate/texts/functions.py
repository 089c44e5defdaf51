"""What a template can call by name: ``range``, ``cycler`` and ``joiner`` of Nunjucks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import jinja2

from gradegate.texts.methods import UNDEFINED
from gradegate.texts.values import Built, number, to_number

MAX_RANGE = 100_000
_NONE = UNDEFINED()


def span(start: Any, stop: Any = _NONE, step: Any = 1) -> Built:
    """``range``. Raises TypeError for one that is too long."""
    first, end = (0, to_number(start)) if isinstance(stop, jinja2.Undefined) else (to_number(start), to_number(stop))
    by = to_number(step) or 1
    count = math.ceil((end - first) / by) if math.isfinite(end - first) else MAX_RANGE + 1
    if count > MAX_RANGE:
        raise TypeError(f"a range of a template has at most {MAX_RANGE:,} numbers")
    return Built(number(first + at * by) for at in range(count))


class Cycler:
    """``cycler``: one item after another, and then again."""

    def __init__(self, *items: Any) -> None:
        self._items, self._at = items, -1

    @property
    def current(self) -> Any:
        """The item that was given last."""
        return self._items[self._at] if self._at >= 0 else None

    def next(self) -> Any:
        """The next item."""
        self._at = (self._at + 1) % len(self._items) if self._items else -1
        return self._items[self._at] if self._items else UNDEFINED()

    def reset(self) -> None:
        """Begin anew."""
        self._at = -1


def joiner(separator: Any = ",") -> Callable[[], str]:
    """``joiner``: nothing at the first call, the separator at each other."""
    calls = iter(("",))
    return lambda: next(calls, separator or ",")


FUNCTIONS: Mapping[str, Callable[..., Any]] = {"range": span, "cycler": Cycler, "joiner": joiner}
