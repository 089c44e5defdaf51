"""Finds what a snippet uses and will not have, before anything is run: modules, network, timers, the environment.

A name counts only where it is called or looked into, is not declared, and nobody asks first whether it is there: a
word in a text or a comment is no use of it. What is not found here is an error when it runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gradegate.scripting.tokens import Token, tokens

ELSEWHERE = "check it in a job of your own and give `--answers`, or write it without"
_CALLED = {
    "require": ("loads a module", f"write what you need of it into the snippet; or {ELSEWHERE}"),
    "fetch": ("asks the network", ELSEWHERE),
    "setTimeout": ("waits for a timer", "return the value, or a promise that needs no timer"),
    "setInterval": ("waits for a timer", "return the value, or a promise that needs no timer"),
    "setImmediate": ("waits for a timer", "return the value, or a promise that needs no timer"),
}
_LOOKED_INTO = {
    "process": ("reads the process or its environment", "put what it reads into `vars`"),
    "Deno": ("needs another runtime", ELSEWHERE),
    "Bun": ("needs another runtime", ELSEWHERE),
}
_TYPES = re.compile(
    r"[)\w]\??\s*:\s*(?:string|number|boolean|any|unknown|void|Record<|Promise<)|\bas\s+(?:any|string|number|const)\b|^\s*(?:interface|type)\s+\w+",
    re.MULTILINE,
)


def refused(code: str) -> tuple[str, int, str] | None:
    """What a snippet cannot have, the line of it, and what to do instead; None where there is nothing."""
    found = tokens(code)
    for number, token in enumerate(found):
        after = _text(found, number + 1)
        if _text(found, number - 1) in (".", "?."):
            continue
        if token.text == "import" and after != ":":
            return _said(
                code, token, "`import` loads a module", f"write what you need of it into the file; or {ELSEWHERE}"
            )
        if token.text in ("export", "}") and after == "from" and _text(found, number + 2) == "''":
            return _said(code, token, "`export ... from` loads a module", "write it into the file")
        what = _use(found, number)
        if what and not _is_known(found, token.text):
            return _said(code, token, f"`{token.text}` {what[0]}, and there is none here", what[1])
    return None


def is_typescript(code: str) -> bool:
    """Whether a program that JavaScript cannot read looks as if it had types."""
    return _TYPES.search(code) is not None


def is_arrow(code: str) -> bool:
    """Whether the whole is one arrow function: `output => ...`, `async (output, context) => ...`."""
    found = tokens(code)
    place = 1 if _text(found, 0) == "async" else 0
    if _text(found, place) == "(":
        closing = (number for number, token in enumerate(found) if token.text == ")" and not token.depth)
        place = next(closing, len(found))
    return _text(found, place + 1) == "=>"


def _use(found: Sequence[Token], number: int) -> tuple[str, str] | None:
    name, after = found[number].text, _text(found, number + 1)
    if after == "(" and not _defines(found, number):
        return _CALLED.get(name)
    return _LOOKED_INTO.get(name) if after in (".", "?.", "[") else None


def _defines(found: Sequence[Token], number: int) -> bool:
    """Whether ``name (`` begins a method: behind the brackets comes its body."""
    depth = found[number].depth
    for place in range(number + 2, len(found)):
        if found[place].text == ")" and found[place].depth == depth:
            return _text(found, place + 1) == "{"
    return False


def _is_known(found: Sequence[Token], name: str) -> bool:
    """Whether the program declares the name itself, or looks whether it is there."""
    return any(
        token.text == name and _text(found, number - 1) not in (".", "?.") and not _use(found, number)
        for number, token in enumerate(found)
    )


def _text(found: Sequence[Token], number: int) -> str:
    return found[number].text if 0 <= number < len(found) else ""


def _said(code: str, token: Token, what: str, cure: str) -> tuple[str, int, str]:
    return what, code.count("\n", 0, token.place) + 1, cure
