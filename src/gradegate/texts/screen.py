"""Finds what a snippet uses and will not have, before anything is run: modules, network, timers, languages, slips.

A name counts only where it is called, made or looked into, is not declared, and nobody asks first whether it is there: a
word in a text or a comment is no use of it. What is not found here is an error when it runs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from gradegate.registry import near
from gradegate.texts.script_words import BEFORE_VALUES, CONDITIONS, Token, tokens

ELSEWHERE = "check it in the job that makes the answers (docs/answers.md), or write it without"
_TIMER = ("waits for a timer", "return the value, or a promise that needs no timer")
_LACKING = {
    "require": ("loads a module", f"write what you need of it into the snippet; or {ELSEWHERE}"),
    "fetch": ("asks the network", ELSEWHERE),
    "setTimeout": _TIMER,
    "setInterval": _TIMER,
    "setImmediate": _TIMER,
    "process": ("reads the process or its environment", "put what it reads into `vars`"),
    "Intl": ("needs language rules", "use `toFixed`, `toISOString` or `<`; `Intl.Segmenter` is here"),
    "Deno": ("needs another runtime", ELSEWHERE),
    "Bun": ("needs another runtime", ELSEWHERE),
}
# By name, with how many arguments they may have.
_OF_LANGUAGES = {
    "toLocaleString": (-1, "use `toFixed`, `toISOString` or `String`"),
    "toLocaleDateString": (-1, "use `toISOString`"),
    "toLocaleTimeString": (-1, "use `toISOString`"),
    "toLocaleUpperCase": (0, "name no language"),
    "toLocaleLowerCase": (0, "name no language"),
    "localeCompare": (1, "give it no options, or compare with `<`"),
}
_WORDS = CONDITIONS.union(
    BEFORE_VALUES,
    "arguments async break case catch class const continue debugger default export extends false finally function get import let null of "
    "set static super switch this true try var".split(),
)
_NAME = re.compile(r"(?!\d)[\w$]+")
_BRINGS_NAMES = frozenset({"eval", "with", "globalThis"})
_TYPES = re.compile(
    r"[)\w]\??\s*:\s*(?:string|number|boolean|any|unknown|void|Record<|Promise<)|\bas\s+(?:any|string|number|const)\b"
    r"|^[^\S\n]*+(?:interface|type)\s+\w+",
    re.MULTILINE,
)
Refusal = tuple[str, int, str]  # what, the line of it, what to do instead


def refused(code: str) -> Refusal | None:
    """What a snippet cannot have; None where there is nothing."""
    found = tokens(code)
    free = {name: number for name, number in _free(found).items() if _text(found, number + 2) != "Segmenter"}
    uses = ((number, *_LACKING[name]) for name, number in free.items() if name in _LACKING)
    said = [(number, f"`{found[number].text}` {what}, and there is none here", cure) for number, what, cure in uses]
    first = min((*said, *_modules(found), *_languages(found)), default=None)
    return first and _said(code, found[first[0]], first[1], first[2])


def unknown(code: str, known: Collection[str]) -> Refusal | None:
    """A name that a program, which is right, neither declares nor finds among those that are ``known``; None for none."""
    found = tokens(code)
    if any(token.text in _BRINGS_NAMES for token in found):
        return None
    free = {name: number for name, number in _free(found).items() if name not in known}
    name = min(free, key=free.__getitem__, default="")
    if not name:
        return None
    names = {token.text for token in found if token.text.isidentifier()} - free.keys() - _WORDS
    meant = near(name, sorted(names.union(known)))
    cure = f"did you mean `{meant}`?" if meant else f"declare it, or, if it is part of Node: {ELSEWHERE}"
    return _said(code, found[free[name]], f"`{name}` is not declared, and the engine does not have it", cure)


def reads(code: str, name: str, whole: str = "") -> bool:
    """Whether a program names a member, or uses what is called ``whole`` otherwise than by the name of a member."""
    found = tokens(code)
    if any(token.text == name for token in found) or re.search(rf"\[\s*([\"'`]){name}\1\s*\]", code):
        return True
    uses = (number for number, token in enumerate(found) if token.text == whole and not _is_member(found, number))
    return any(not _by_name(found, number + 1) for number in uses)


def _by_name(found: Sequence[Token], number: int) -> bool:
    """Whether ``.name``, ``?.name`` or ``["name"]`` stands there."""
    number += _text(found, number) == "?." and _text(found, number + 1) == "["
    sign, after = _text(found, number), _text(found, number + 1)
    return sign in (".", "?.") or (sign == "[" and after == "''" and _text(found, number + 2) == "]")


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


def _modules(found: Sequence[Token]) -> Iterator[tuple[int, str, str]]:
    for number, token in enumerate(found):
        after = _text(found, number + 1)
        if token.text == "import" and after != ":" and not _is_member(found, number):
            yield number, "`import` loads a module", f"write what you need of it into the file; or {ELSEWHERE}"
        elif token.text in ("export", "}") and after == "from" and _text(found, number + 2) == "''":
            yield number, "`export ... from` loads a module", "write it into the file"


def _languages(found: Sequence[Token]) -> Iterator[tuple[int, str, str]]:
    """Methods that need the rules of a language, which would come to something else here."""
    own = {token.text for number, token in enumerate(found) if not _is_member(found, number)}
    brackets = _brackets(found)
    for number, token in enumerate(found):
        if token.text not in _OF_LANGUAGES or token.text in own:
            continue
        most, cure = _OF_LANGUAGES[token.text]
        place = number + 1 + (_text(found, number + 1) == "?.")
        if place in brackets and _given(found, *brackets[place]) > most:
            yield number, f"`{token.text}` needs language rules, which gradegate does not have", cure


def _given(found: Sequence[Token], end: int, arguments: int) -> int:
    """How many arguments stand before the bracket at ``end``, without those that are `undefined` at the end of them."""
    while _text(found, end - 1) == "undefined" and _text(found, end - 2) in ("(", ","):
        end, arguments = end - 2, arguments - 1
    return arguments


def _free(found: Sequence[Token]) -> dict[str, int]:
    """The names that are called, made or looked into and stand nowhere else, with the number of the first such token."""
    used: dict[str, int] = {}
    known: set[str] = set()
    # `name (...) {` begins a function: behind the brackets comes its body.
    methods = {place - 1 for place, (end, _) in _brackets(found).items() if _text(found, end + 1) == "{"}
    for number, token in enumerate(found):
        name, after = token.text, _text(found, number + 1)
        if not _NAME.fullmatch(name) or name in _WORDS or _is_member(found, number) or name in known:
            continue
        if after == ":" and _text(found, number - 1) in ("{", ","):
            continue  # a key of an object
        uses = after in (".", "?.", "[") or (after == "(" and number not in methods)
        if uses or (_text(found, number - 1) == "new"):
            used.setdefault(name, number)
        else:
            known.add(name)
    return {name: number for name, number in used.items() if name not in known}


def _brackets(found: Sequence[Token]) -> dict[int, tuple[int, int]]:
    """Of each round bracket that opens: where it closes, and how many arguments stand in it."""
    opened: list[list[int]] = []
    brackets = {}
    for number, token in enumerate(found):
        if token.text in ("(", "[", "{"):
            opened.append([number, 0])
        elif token.text == "," and opened:
            opened[-1][1] += 1
        elif token.text in (")", "]", "}") and opened:
            place, commas = opened.pop()
            if found[place].text == "(":
                brackets[place] = (number, 0 if number == place + 1 else commas + 1)
    return brackets


def _is_member(found: Sequence[Token], number: int) -> bool:
    return _text(found, number - 1) in (".", "?.", "#", "\\")


def _text(found: Sequence[Token], number: int) -> str:
    return found[number].text if 0 <= number < len(found) else ""


def _said(code: str, token: Token, what: str, cure: str) -> Refusal:
    return what, code.count("\n", 0, token.place) + 1, cure
