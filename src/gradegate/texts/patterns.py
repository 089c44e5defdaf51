"""Regular expressions of a config, matched in the worker: one may backtrack for ever, or fill the memory.

What the worker does comes first, what asks it comes last.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from gradegate.bounded.bounds import MAX_PATTERN
from gradegate.bounded.evaluate import Exceeded, Refused, evaluate
from gradegate.texts.jsregex import translated

_HERE = "gradegate.texts.patterns"


def do(method: str, pattern: str, *arguments: Any) -> Any:
    """A method of a compiled ``regex``; of ``search``: whether it finds anything. Raises ValueError."""
    import regex

    try:
        found = getattr(regex.compile(pattern), method)(*arguments)
    except (regex.error, OverflowError, IndexError) as e:
        raise ValueError(f"is not a regular expression: {e}") from e
    return found is not None if method == "search" else found


def matches(pattern: str, text: str) -> bool:
    """Whether an expression as ``jsregex`` translates it matches somewhere. Raises ValueError."""
    import regex

    try:
        return regex.search(pattern, text, regex.ASCII) is not None
    except (regex.error, OverflowError, IndexError) as e:
        raise ValueError(f"is not a regular expression: {e}") from e


def which(pattern: str, texts: Sequence[str]) -> list[bool]:
    """Of each text whether Python's ``re`` finds the pattern in it. Raises ValueError."""
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError) as e:
        raise ValueError(f"is not a regular expression: {e}") from e
    return [compiled.search(text) is not None for text in texts]


# --- what asks the worker: each raises Exceeded and, for what is no pattern, ValueError ---------------------------


@lru_cache(maxsize=256)
def check(pattern: str) -> None:
    """Raises ValueError for what cannot be compiled within the limits."""
    if len(pattern) > MAX_PATTERN:
        raise ValueError(f"has more than {MAX_PATTERN:,} characters")
    _tried("do", "search", pattern, "")


@lru_cache(maxsize=256)
def check_javascript(pattern: str) -> None:
    """Raises ValueError for what is no expression of JavaScript's, or cannot be compiled within the limits."""
    if len(pattern) > MAX_PATTERN:
        raise ValueError(f"has more than {MAX_PATTERN:,} characters")
    _tried("matches", translated(pattern), "")


def _tried(function: str, *arguments: str) -> None:
    try:
        evaluate(f"{_HERE}:{function}", *arguments)
    except Exceeded as e:
        raise ValueError(f"cannot be used: {e}") from e
    except Refused as e:
        raise ValueError(str(e)) from e


def search(pattern: str, text: str) -> bool:
    """Whether the pattern matches somewhere."""
    return bool(evaluate(f"{_HERE}:do", "search", pattern, text))


def search_javascript(pattern: str, text: str) -> bool:
    """Whether an expression of JavaScript's, without flags, matches somewhere."""
    return bool(evaluate(f"{_HERE}:matches", translated(pattern), text))


def split(pattern: str, text: str) -> list[str | None]:
    """The text as the pattern parts it; a group that takes no part is None."""
    return list(evaluate(f"{_HERE}:do", "split", pattern, text))


def without(pattern: str, text: str) -> str:
    """The text without what the pattern matches."""
    return str(evaluate(f"{_HERE}:do", "sub", pattern, "", text))


def found_in(pattern: str, texts: Sequence[str]) -> list[bool]:
    """Of each text whether the pattern, one of Python's ``re``, is found in it."""
    return list(evaluate(f"{_HERE}:which", pattern, list(texts)))
