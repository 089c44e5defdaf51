"""Regular expressions of a config, matched in the worker: one may backtrack for ever, or fill the memory.

Those of JavaScript run in an engine of JavaScript, the rest in Python's ``re``. The functions that ask the worker raise
LimitExceeded, and ValueError if the pattern is none.
"""

import json
import re
from collections.abc import Sequence
from functools import lru_cache

from gradegate.files.json_text import describe_syntax_error
from gradegate.files.limits import MAX_PATTERN, SCRIPT_MEMORY
from gradegate.sandbox.evaluate import LimitExceeded, evaluate

NEEDS = ("quickjs",)  # of the worker, which imports nothing later
_MODULE = "gradegate.templating.regex"
_TEST_SOURCE = "(given) => { const [pattern, text] = JSON.parse(given); return new RegExp(pattern).test(text); }"
# Letters that have a meaning behind a backslash in other engines, and are only letters in JavaScript
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


@lru_cache(maxsize=256)
def check_pattern(pattern: str) -> None:
    """Raises ValueError for a pattern that JavaScript does not have, or that cannot be compiled within the limits."""
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
    """Whether a pattern matches somewhere; in ``javascript`` it has no flags."""
    if javascript:
        return bool(evaluate(f"{_MODULE}:find_javascript", pattern, text))
    return match_texts(pattern, [text])[0]


def match_texts(pattern: str, texts: Sequence[str]) -> list[bool]:
    """Whether a pattern of Python matches somewhere in each text."""
    return list(evaluate(f"{_MODULE}:find_python", pattern, *texts))


# --- what the worker does ---------------------------------------------------------------------------------------


def find_python(pattern: str, *texts: str) -> list[bool]:
    """Whether a pattern of Python matches somewhere in each text. Raises ValueError."""
    try:
        compiled = re.compile(pattern)
        return [compiled.search(text) is not None for text in texts]
    except (re.error, OverflowError, IndexError) as e:
        raise ValueError(f"is not a regular expression: {describe_syntax_error(e, pattern)}") from e


def find_javascript(pattern: str, text: str) -> bool:
    """Whether a pattern of JavaScript matches somewhere. Raises ValueError, and MemoryError."""
    import quickjs

    context = quickjs.Context()
    context.set_memory_limit(SCRIPT_MEMORY)
    try:
        return bool(context.eval(_TEST_SOURCE)(json.dumps([pattern, text])))
    except quickjs.JSException as e:
        message = str(e).partition("\n")[0]
        if not message.startswith("SyntaxError: "):
            raise MemoryError from e  # the engine has no other limit here
        cure = ": `[Aa]` is either letter, and `icontains` ignores case" if "(?i" in pattern else ""
        raise ValueError(
            f"is not a regular expression of JavaScript: {message.partition(': ')[2]}{cure}"
        ) from e
