"""A program of JavaScript as text: its words, what it uses and will not have, and what it is run as.

A name counts only where it is called, made or looked into, is not declared, and nobody asks first whether it is there: a
word in a text or a comment is no use of it. What is not found here is an error when it runs.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from gradegate.files.documents import table
from gradegate.registry import near
from gradegate.structs import JsonObject

_SKIPPED = re.compile(r"(?:\s++|//[^\n]*+|/\*(?s:.*?\*/|.*))++")
_TEXT = re.compile(r"\"(?:[^\"\\\n]|\\(?s:.))*+\"?|'(?:[^'\\\n]|\\(?s:.))*+'?")
_PATTERN = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*+\])++/[a-z]*+")
_PART = re.compile(r"(?:[^`\\$]|\\(?s:.)|\$(?!\{))*+(`|\$\{)?")  # of a template literal
_WORD = re.compile(r"[\w$]++")
_SIGN = re.compile(r"=>|\.\.\.|\?\.(?!\d)|[=!]==?|(?s:.)")
_NAME = re.compile(r"(?!\d)[\w$]+")
_DECLARES = re.compile(r"(?:const|let|var)\s")
FINAL_SEMICOLON = re.compile(r"(?<![;\s])\s*+;[;\s]*+$")
TYPESCRIPT = re.compile(  # as TypeScript has them, in a program that JavaScript cannot read
    r"[)\w]\??\s*:\s*(?:string|number|boolean|any|unknown|void|Record<|Promise<)|\bas\s+(?:any|string|number|const)\b"
    r"|^[^\S\n]*+(?:interface|type)\s+\w+",
    re.MULTILINE,
)
_CONDITIONS = frozenset({"if", "while", "for", "with"})  # behind their brackets no value ends
# Words after which a slash begins a pattern, as after most signs.
_BEFORE_VALUES = frozenset(
    "return typeof case in of delete void throw new do else instanceof yield await".split()
)
_WORDS = _CONDITIONS.union(
    _BEFORE_VALUES,
    "arguments async break case catch class const continue debugger default export extends false finally function get import let null of "
    "set static super switch this true try var".split(),
)
# Words that can be names
_NAME_WORDS = frozenset("async await get let of set static yield".split())
_RESERVED = _WORDS.difference(  # words with which no expression of a derived metric makes sense
    _NAME_WORDS, "arguments const false in instanceof null return true typeof void".split()
)
_BRINGS_NAMES = frozenset({"eval", "with", "globalThis"})
ELSEWHERE = "check it in the job that makes the answers (docs/answers.md), or write it without"
SCORES = "namedScores"  # the name under which derived metrics find all scores
_MATH_SHOWN = "abs, ceil, exp, floor, log, max, min, pow, round and sqrt"
_NUMBERS = frozenset({"Infinity", "NaN", "undefined"})  # names that no metric replaces
_COMPARISONS = frozenset({"<", ">", "==", "!=", "===", "!=="})
Refusal = tuple[str, int, str]  # what, the line of it, what to do instead


class Token(NamedTuple):
    """A word or a sign, where it starts, and in how many brackets it stands; texts and patterns have ``text`` "''"."""

    text: str
    place: int
    depth: int


@lru_cache(maxsize=1)  # a program is looked at for one thing after another
def split_tokens(code: str) -> tuple[Token, ...]:
    """All words and signs of a program, which is supposed to be right; of one that is not, something."""
    found = []
    place = 0
    depth = 0
    before = ""
    opened = []  # what stands before each open bracket
    patternless = 0  # up to where a slash begins no pattern: one that does not end in its line is looked for once
    # The depths at which the `}` of a template literal goes on with its text
    templates: list[int] = []
    while skipped := _SKIPPED.match(code, place) or place < len(code):
        place = place if skipped is True else skipped.end()
        if place >= len(code):
            break
        start = place
        sign = code[place]
        resumed = sign == "}" and bool(templates) and templates[-1] == depth
        if sign == "`" or resumed:
            part = _PART.match(code, place + 1)
            assert part
            place = part.end()
            text = "''"
            if resumed:
                templates.pop()
                depth -= 1
            if part[1] == "${":
                depth += 1
                templates.append(depth)
                text = "${"
        else:
            # Behind a value, a slash divides.
            value = before in (")", "]", "}", "''") or (
                before not in _BEFORE_VALUES and _WORD.fullmatch(before) is not None
            )
            begins = sign == "/" and place >= patternless and not value
            kind = _TEXT if sign in "\"'" else _PATTERN if begins else _WORD
            match = kind.match(code, place) or _SIGN.match(code, place)
            assert match
            if begins and match[0] == "/":
                patternless = code.find("\n", place) % (len(code) + 1)
            place = match.end()
            text = match[0]
            if sign in "\"'" or (sign == "/" and len(text) > 1):
                text = "''"
            depth -= text in (")", "]", "}")
        found.append(Token(text, start, depth))
        depth += text in ("(", "[", "{")
        if text == "(":
            opened.append(before)
        before = "" if text == ")" and opened and opened.pop() in _CONDITIONS else text
    return tuple(found)


def _words(kind: str) -> JsonObject:
    """Words that snippets cannot use, with what to write instead."""
    return table("templating", "javascript.yaml")[kind]  # type: ignore[no-any-return]


# --- what it uses ---------------------------------------------------------------------------------------------


def find_unsupported(code: str) -> Refusal | None:
    """What a snippet cannot have: modules, network, timers, languages; None where there is nothing."""
    found = split_tokens(code)
    free = {
        name: number
        for name, number in _free(found).items()
        if _text(found, number + 2) != "Segmenter"
    }
    lacking = _words("lacking")
    uses = ((number, *lacking[name]) for name, number in free.items() if name in lacking)
    said = [
        (number, f"`{found[number].text}` {what}, and there is none here", cure)
        for number, what, cure in uses
    ]
    first = min((*said, *_modules(found), *_languages(found)), default=None)
    return first and _said(code, found[first[0]], first[1], first[2])


def find_unknown_name(code: str, known: Collection[str]) -> Refusal | None:
    """A name that a program, which is right, neither declares nor finds among those that are ``known``; None for none."""
    found = split_tokens(code)
    if any(token.text in _BRINGS_NAMES for token in found):
        return None
    free = {name: number for name, number in _free(found).items() if name not in known}
    name = min(free, key=free.__getitem__, default="")
    if not name:
        return None
    names = {token.text for token in found if token.text.isidentifier()} - free.keys() - _WORDS
    meant = near(name, sorted(names.union(known)))
    cure = (
        f"did you mean `{meant}`?"
        if meant
        else f"declare it, or, if it is part of Node: {ELSEWHERE}"
    )
    return _said(
        code, found[free[name]], f"`{name}` is not declared, and the engine does not have it", cure
    )


def find_misreading(
    code: str, global_names: Collection[str], math_names: Collection[str]
) -> Refusal | None:
    """The first part of a derived metric that mathjs and JavaScript read differently, or an unknown function.

    ``global_names`` are those of the engine, ``math_names`` the members of ``Math``.
    """
    program = split_tokens(code)
    formula_words = _words("formula words")
    compared = set[int]()  # the depths at which a comparison has begun
    for number, token in enumerate(program):
        text = token.text
        after = _text(program, number + 1)
        calls = after == "(" and _NAME.fullmatch(text) is not None
        if _is_member(program, number):
            if calls and _text(program, number - 2) == "Math" and text not in math_names:
                what = f"`Math.{text}` is not a function"
                return _said(code, token, what, _math_function(text, math_names))
        elif text in formula_words:
            operator = "a power" if text == "^" else "an operator"
            what = f"`{text}` is not {operator} in JavaScript"
            return _said(code, token, what, f"write {formula_words[text]}")
        elif text == "=" and _text(program, number - 1) not in ("<", ">"):
            return _said(code, token, "`=` does not compare in JavaScript", "write `==`")
        elif text in ("=>", "function"):
            what = "an expression cannot contain a function"
            return _said(code, token, what, f"write one function, `({SCORES}) => ...`")
        elif text in _RESERVED:
            what = f"`{text}` is a reserved word of JavaScript"
            return _said(code, token, what, f'write `{SCORES}["{text}"]` for a metric of this name')
        elif calls and text not in global_names and text not in _WORDS:
            what = f"the function `{text}` is unknown"
            return _said(code, token, what, _math_function(text, math_names))
        if text in _COMPARISONS and token.depth in compared:
            what = "comparisons in a row mean something else in JavaScript"
            return _said(code, token, what, "write `a < b && b < c`")
        if text in _COMPARISONS:
            compared.add(token.depth)
        elif text in ("&", "|", "?", ":", ","):
            compared.discard(token.depth)
        elif text in ("(", "["):
            compared.discard(token.depth + 1)
    return None


def _math_function(name: str, math_names: Collection[str]) -> str:
    """What to write instead of a function that JavaScript does not have."""
    if cure := _words("formula functions").get(name):
        return f"write {cure}"
    if name in math_names:
        return f"write `Math.{name}(...)`"
    if meant := near(name, sorted(math_names)):
        return f"did you mean `Math.{meant}`?"
    return f"`Math` has {_MATH_SHOWN}; for anything else write a function, `({SCORES}) => ...`"


def score_names(
    code: str, global_names: Collection[str]
) -> tuple[frozenset[str], frozenset[str] | None]:
    """The variables of a derived metric's expression, and the members of ``namedScores``; None if it may read any of them.

    ``global_names`` are those of the engine: one of them that is called or looked into is no variable.
    """
    program = split_tokens(code)
    variables = set[str]()
    members = set[str]()
    reads_any = False
    for number, token in enumerate(program):
        name = token.text
        after = _text(program, number + 1)
        is_word = name in _WORDS and name not in _NAME_WORDS
        if not _NAME.fullmatch(name) or is_word or _is_member(program, number):
            continue
        if name == SCORES:
            key = _member_name(code, program, number + 1)
            if key is None:
                reads_any = True
            else:
                members.add(key)
        elif name in _NUMBERS or (name in global_names and after in (".", "?.", "[", "(")):
            continue
        else:
            variables.add(name)
    return frozenset(variables), None if reads_any else frozenset(members)


def _member_name(code: str, program: Sequence[Token], number: int) -> str | None:
    """The name in ``.name`` or ``["name"]`` at this token; None if there is another text."""
    sign = _text(program, number)
    after = _text(program, number + 1)
    if sign in (".", "?.") and _NAME.fullmatch(after):
        return after
    if sign == "[" and after == "''" and _text(program, number + 2) == "]":
        text = _TEXT.match(code, program[number + 1].place)
        if text and "\\" not in text[0]:
            return text[0][1:-1]
    return None


def _said(code: str, token: Token, what: str, cure: str) -> Refusal:
    return what, code.count("\n", 0, token.place) + 1, cure


def reads_member(code: str, name: str, whole: str = "") -> bool:
    """Whether a program names a member, or uses what is called ``whole`` otherwise than by the name of a member."""
    found = split_tokens(code)
    if any(token.text == name for token in found) or re.search(
        rf"\[\s*([\"'`]){name}\1\s*\]", code
    ):
        return True
    uses = (
        number
        for number, token in enumerate(found)
        if token.text == whole and not _is_member(found, number)
    )
    return any(not _by_name(found, number + 1) for number in uses)


def _by_name(found: Sequence[Token], number: int) -> bool:
    """Whether ``.name``, ``?.name`` or ``["name"]`` stands there."""
    number += _text(found, number) == "?." and _text(found, number + 1) == "["
    sign = _text(found, number)
    after = _text(found, number + 1)
    return sign in (".", "?.") or (
        sign == "[" and after == "''" and _text(found, number + 2) == "]"
    )


def is_arrow(code: str) -> bool:
    """Whether the whole is one arrow function: `output => ...`, `async (output, context) => ...`."""
    found = split_tokens(code)
    place = 1 if _text(found, 0) == "async" else 0
    if _text(found, place) == "(":
        closing = (
            number for number, token in enumerate(found) if token.text == ")" and not token.depth
        )
        place = next(closing, len(found))
    return _text(found, place + 1) == "=>"


def is_function(code: str) -> bool:
    """Whether the whole is one function, written with an arrow or the word ``function``."""
    words = [token.text for token in split_tokens(code)[:2]]
    return is_arrow(code) or "function" in (words if words[:1] == ["async"] else words[:1])


def _modules(found: Sequence[Token]) -> Iterator[tuple[int, str, str]]:
    for number, token in enumerate(found):
        after = _text(found, number + 1)
        if token.text == "import" and after != ":" and not _is_member(found, number):
            yield (
                number,
                "`import` loads a module",
                f"write what you need of it into the file; or {ELSEWHERE}",
            )
        elif token.text in ("export", "}") and after == "from" and _text(found, number + 2) == "''":
            yield number, "`export ... from` loads a module", "write it into the file"


def _languages(found: Sequence[Token]) -> Iterator[tuple[int, str, str]]:
    """Methods that need the rules of a language, which would come to something else here."""
    languages = _words("languages")
    own = {token.text for number, token in enumerate(found) if not _is_member(found, number)}
    brackets = _brackets(found)
    for number, token in enumerate(found):
        most, cure = languages.get(token.text, (0, ""))
        place = number + 1 + (_text(found, number + 1) == "?.")
        if not cure or token.text in own or place not in brackets:
            continue
        end, arguments = brackets[place]
        # The last of them are no arguments
        while _text(found, end - 1) == "undefined" and _text(found, end - 2) in ("(", ","):
            end = end - 2
            arguments = arguments - 1
        if arguments > most:
            yield (
                number,
                f"`{token.text}` needs language rules, which gradegate does not have",
                cure,
            )


def _free(found: Sequence[Token]) -> dict[str, int]:
    """The names that are called, made or looked into and stand nowhere else, with the number of the first such token."""
    used: dict[str, int] = {}
    known: set[str] = set()
    # `name (...) {` begins a function: behind the brackets comes its body.
    methods = {
        place - 1 for place, (end, _) in _brackets(found).items() if _text(found, end + 1) == "{"
    }
    for number, token in enumerate(found):
        name = token.text
        after = _text(found, number + 1)
        if (
            not _NAME.fullmatch(name)
            or name in _WORDS
            or _is_member(found, number)
            or name in known
        ):
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
    opened = []
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


# --- what it is run as: where the `return` goes, as promptfoo puts it, and modules without imports ------------------


def assertion_body(code: str) -> str:
    """More lines are a function's body; one line is an expression, behind declarations where it starts with one."""
    code = code.rstrip()
    if "\n" in code:
        return code
    code = FINAL_SEMICOLON.sub("", code.strip())
    if not _DECLARES.match(code):
        return f"return {code}"
    place = max(
        (token.place for token in split_tokens(code) if token.text == ";" and not token.depth),
        default=-1,
    )
    return f"{code[: place + 1]} return {code[place + 1 :].strip()}" if place >= 0 else code


def value_expression(code: str, parameters: Sequence[str]) -> str:
    """An expression in brackets; a function is called with the parameters."""
    call = f"({', '.join(parameters)})" if is_function(code) else ""
    return in_brackets(code) + call


def in_brackets(code: str, opening: str = "(", closing: str = ")") -> str:
    """An expression in brackets, without the semicolon at its end. The line break ends a comment."""
    return f"{opening}{FINAL_SEMICOLON.sub('', code.strip())}\n{closing}"


def has_return(code: str) -> bool:
    """Whether code is the body of a function, and not an expression."""
    return re.search(r"\breturn\b", code) is not None and not is_function(code)


def request_body(code: str, parameters: Sequence[str]) -> str:
    """The body for ``transformRequest``: an expression, a function of the parameters, or a body with ``return``."""
    code = code.strip()
    if has_return(code):
        return code
    return f"return {value_expression(code, parameters)};"


def module_body(code: str) -> str:
    """A file as the body of a function of ``module`` and ``exports``. Raises ValueError for an export that is not known.

    Lines stay what they are. A module that exports is in strict mode, as Node has it.
    """
    found = split_tokens(code)
    exports = [
        place for place, token in enumerate(found) if token.text == "export" and not token.depth
    ]
    if not exports:
        return code
    parts = ['"use strict"; ']
    names = dict[str, str]()
    done = 0
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
    if words[0] != "{":
        raise ValueError(
            "`export` is written in a way that is not known here: write `export default (output, context) => ...`"
        )
    names, place = dict[str, str](), number + 2  # of `{ a, b as c }`
    while place < len(found) and found[place].text != "}":
        local = name = found[place].text
        if place + 2 < len(found) and found[place + 1].text == "as":
            name = found[place + 2].text
            place = place + 2
        names[name] = local
        place += 1
        place += place < len(found) and found[place].text == ","
    return place + 1, "", names
