"""Regular expressions of a config, matched in the worker: one may backtrack for ever, or fill the memory.

Those of JavaScript run in its own engine, the rest in Python's ``re``. What the worker does comes first. What asks it
raises Exceeded and, for what is no pattern, ValueError.
"""

import json
import re
from collections.abc import Sequence
from functools import lru_cache

from gradegate.files.documents import fault
from gradegate.files.limits import MAX_PATTERN, SCRIPT_MEMORY
from gradegate.sandbox.evaluate import LimitExceeded, evaluate

NEEDS = ("quickjs",)  # of the worker, which imports nothing later
_HERE = "gradegate.templating.regex"
_MATCH = "(given) => { const [pattern, text] = JSON.parse(given); return new RegExp(pattern).test(text); }"
# What means something in other engines, and the letter itself in JavaScript.
_INSTEAD = {
    "A": "^",
    "Z": "$",
    "z": "$",
    "h": r"[ \t]",
    "R": r"\r?\n",
    "G": "^",
    "p": "[A-Za-z]",
    "P": "[^A-Za-z]",
}


def find_python(pattern: str, *texts: str) -> list[bool]:
    """Whether an expression of Python's matches somewhere in each text. Raises ValueError."""
    try:
        compiled = re.compile(pattern)
        return [compiled.search(text) is not None for text in texts]
    except (re.error, OverflowError, IndexError) as e:
        raise ValueError(f"is not a regular expression: {fault(e, pattern)}") from e


def find_javascript(pattern: str, text: str) -> bool:
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
        raise ValueError(
            f"is not a regular expression of JavaScript: {words.partition(': ')[2]}{cure}"
        ) from e


@lru_cache(maxsize=256)
def check_pattern(pattern: str) -> None:
    """Raises ValueError for what is no expression of JavaScript's, or cannot be compiled within the limits."""
    for escape in re.finditer(r"\\(.)", pattern, re.DOTALL):
        if cure := _INSTEAD.get(escape[1]):
            raise ValueError(
                f"`{escape[0]}` is the letter {escape[1]} in JavaScript's expressions: write `{cure}`"
            )
    if len(pattern) > MAX_PATTERN:
        raise ValueError(f"has more than {MAX_PATTERN:,} characters")
    try:
        has_match(pattern, "", javascript=True)
    except LimitExceeded as e:
        raise ValueError(f"cannot be used: {e}") from e


def has_match(pattern: str, text: str, javascript: bool = False) -> bool:
    """Whether the pattern, of JavaScript without flags, matches somewhere."""
    if javascript:
        return bool(evaluate(f"{_HERE}:find_javascript", pattern, text))
    return match_texts(pattern, [text])[0]


def match_texts(pattern: str, texts: Sequence[str]) -> list[bool]:
    """Of each text whether the pattern is found in it."""
    return list(evaluate(f"{_HERE}:find_python", pattern, *texts))
