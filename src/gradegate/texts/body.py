"""What the text of a config is run as: where the ``return`` goes, as promptfoo puts it, and modules without imports."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gradegate.texts.screen import is_arrow
from gradegate.texts.script_words import Token, tokens

_DECLARES = re.compile(r"(?:const|let|var)\s")
_ENDS = re.compile(r"(?<![;\s])\s*+;[;\s]*+$")
_FUNCTION = re.compile(r"(?:\([^\n]*?\)\s*=>|function\s*\([^\n]*?\))")  # as promptfoo's http provider tells one


def of_assertion(code: str) -> str:
    """More lines are a function's body; one line is an expression, behind declarations where it starts with one."""
    code = code.rstrip()
    if "\n" in code:
        return code
    code = _ENDS.sub("", code.strip())
    if not _DECLARES.match(code):
        return f"return {code}"
    place = max((token.place for token in tokens(code) if token.text == ";" and not token.depth), default=-1)
    return f"{code[: place + 1]} return {code[place + 1 :].strip()}" if place >= 0 else code


def of_transform(code: str) -> str:
    """As of an assertion, but nothing is stripped and nothing is looked for."""
    return code if "\n" in code else f"return {code}"


def of_response(code: str) -> str:
    """``transformResponse``: an expression over ``json``, ``text`` and ``context``, or a function of these."""
    code = code.strip()
    return f"return ({code})(json, text, context);" if _is_function(code) else f"return ({code});"


def of_request(code: str) -> str:
    """``transformRequest``: an expression over ``prompt``, ``vars`` and ``context``, a body with ``return``, or a function."""
    code = code.strip()
    if _is_function(code):
        return f"return ({code})(prompt, vars, context);"
    return code if re.search(r"\breturn\b", code) else f"return ({code});"


def of_function(code: str, *parameters: str) -> str:
    """A whole that is a function, called with what the parameters are."""
    return f"return ({_ENDS.sub('', code.strip())})({', '.join(parameters)});"


def is_function(code: str) -> bool:
    """Whether the whole of a text is written as a function of JavaScript."""
    return re.match(r"\s*(?:async\s+)?function\b", code) is not None or is_arrow(code)


def _is_function(code: str) -> bool:
    """As promptfoo tells it, and `json => ...` without brackets, which nobody means as a value."""
    return _FUNCTION.match(code) is not None or is_arrow(code)


def of_module(code: str) -> str:
    """A file as the body of a function of ``module`` and ``exports``. Raises ValueError for an export that is not known.

    Lines stay what they are. A module that exports is in strict mode, as Node has it.
    """
    found = tokens(code)
    exports = [place for place, token in enumerate(found) if token.text == "export" and not token.depth]
    if not exports:
        return code
    parts, names, done = ['"use strict"; '], dict[str, str](), 0
    for number in exports:
        end, put, exported = _export(found, number)
        parts += [code[done : found[number].place], put]
        done = found[end].place if end < len(found) else len(code)
        parts.append("\n" * code.count("\n", found[number].place, done))
        names |= exported
    assigned = "".join(f"\nexports.{name} = {local};" for name, local in names.items())
    return "".join([*parts, code[done:], assigned])


def _export(found: Sequence[Token], number: int) -> tuple[int, str, dict[str, str]]:
    """The token at which a statement goes on behind ``export``, what to put there, and what it exports by which name."""
    words = [token.text for token in found[number + 1 : number + 5]] + [""] * 4
    if words[0] == "default":
        return number + 2, "exports.default = ", {}
    if words[0] in ("const", "let", "var", "function", "class", "async"):
        skipped = 1 + (words[0] == "async")
        skipped += words[skipped] == "*"
        name = words[skipped]
        if name.isidentifier() or "$" in name:
            return number + 1, "", {name: name}
    if words[0] == "{":
        return _listed(found, number + 2)
    raise ValueError("`export` is written in a way that is not known here: write `export default (output, context) => ...`")


def _listed(found: Sequence[Token], place: int) -> tuple[int, str, dict[str, str]]:
    """``export { a, b as c }``."""
    names: dict[str, str] = {}
    while place < len(found) and found[place].text != "}":
        local = name = found[place].text
        if place + 2 < len(found) and found[place + 1].text == "as":
            name, place = found[place + 2].text, place + 2
        names[name] = local
        place += 1
        place += place < len(found) and found[place].text == ","
    return place + 1, "", names
