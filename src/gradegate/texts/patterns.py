"""Regular expressions of a config, matched in the worker: one may backtrack for ever, or fill the memory.

Those of JavaScript run in its own engine, the rest in Python's ``re``. What the worker does comes first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from gradegate.files.bounds import MAX_PATTERN, SCRIPT_MEMORY
from gradegate.files.faults import fault
from gradegate.processes.evaluate import Exceeded, Refused, evaluate

NEEDS = ("quickjs",)  # of the worker, which imports nothing later
_HERE = "gradegate.texts.patterns"
_MATCH = "(given) => { const [pattern, text] = JSON.parse(given); return new RegExp(pattern).test(text); }"
# What means something in other engines, and the letter itself in JavaScript.
_INSTEAD = {"A": "^", "Z": "$", "z": "$", "h": r"[ \t]", "R": r"\r?\n", "G": "^", "p": "[A-Za-z]", "P": "[^A-Za-z]"}


def do(method: str, pattern: str, *arguments: Any) -> Any:
    """A method of a compiled ``re``; of ``search``: whether it finds anything. Raises ValueError."""
    try:
        found = getattr(re.compile(pattern), method)(*arguments)
    except (re.error, OverflowError, IndexError) as e:
        raise ValueError(f"is not a regular expression: {fault(e, pattern)}") from e
    return found is not None if method == "search" else found


def which(pattern: str, texts: Sequence[str]) -> list[bool]:
    """Of each text whether the pattern is found in it. Raises ValueError."""
    return [do("search", pattern, text) for text in texts]


def matches(pattern: str, text: str) -> bool:
    """Whether an expression of JavaScript's matches somewhere. Raises ValueError, and MemoryError."""
    import quickjs

    context = quickjs.Context()
    context.set_memory_limit(SCRIPT_MEMORY)
    try:
        return bool(context.eval(_MATCH)(json.dumps([pattern, text])))
    except quickjs.JSException as e:
        words = str(e).partition("\n")[0]
        if not words.startswith("SyntaxError: "):
            raise MemoryError from e  # the engine has no other limit here
        cure = ": `[Aa]` is either letter, and `icontains` ignores case" if "(?i" in pattern else ""
        raise ValueError(f"is not a regular expression of JavaScript: {words.partition(': ')[2]}{cure}") from e


# --- what asks the worker: each raises Exceeded and, for what is no pattern, ValueError ---------------------------


@lru_cache(maxsize=256)
def check(pattern: str) -> None:
    """Raises ValueError for what cannot be compiled within the limits."""
    _check(pattern, "do", "search", pattern, "")


@lru_cache(maxsize=256)
def check_javascript(pattern: str) -> None:
    """Raises ValueError for what is no expression of JavaScript's, or cannot be compiled within the limits."""
    for escape in re.finditer(r"\\(.)", pattern, re.DOTALL):
        if escape[1] in _INSTEAD:
            letter = escape[1]
            cure = f"write `{_INSTEAD[letter]}`"
            raise ValueError(f"`{escape[0]}` is the letter {letter} in JavaScript's expressions: {cure}")
    _check(pattern, "matches", pattern, "")


def _check(pattern: str, function: str, *arguments: str) -> None:
    if len(pattern) > MAX_PATTERN:
        raise ValueError(f"has more than {MAX_PATTERN:,} characters")
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
    return bool(evaluate(f"{_HERE}:matches", pattern, text))


def split(pattern: str, text: str) -> list[str | None]:
    """The text as the pattern parts it; a group that takes no part is None."""
    return list(evaluate(f"{_HERE}:do", "split", pattern, text))


def without(pattern: str, text: str) -> str:
    """The text without what the pattern matches."""
    return str(evaluate(f"{_HERE}:do", "sub", pattern, "", text))


def found_in(pattern: str, texts: Sequence[str]) -> list[bool]:
    """Of each text whether the pattern is found in it."""
    return list(evaluate(f"{_HERE}:which", pattern, list(texts)))
