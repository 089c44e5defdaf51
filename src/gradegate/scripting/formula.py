"""Expressions of ``derivedMetrics`` as mathjs has them, written out as JavaScript: arithmetic over named scores.

What mathjs has beside that (matrices, units, complex numbers, assignments) is told by name before anything is run. The
grammar: https://mathjs.org/docs/expressions/syntax.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gradegate.registry import suggest

MAX_CHARACTERS = 2_000  # of one expression
_DEPTH = 50  # of brackets, signs and powers within one another
_SCORES = "namedScores"  # what functions call them; expressions of real configs do so too
_TOKEN = re.compile(
    r"(?:\s|\#.*)*+(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>(?:[^\W\d]|\$)[\w$]*)"
    r"|(?P<text>\"[^\"]*\"|'[^']*')|(?P<sign>===|!==|[=!<>]=|&&|\|\||\*\*|\S))"
)
# How many arguments each function takes; what `formulas.js` has.
_ANY = 1000
_FUNCTIONS = {
    **dict.fromkeys("abs cbrt cube exp expm1 isNaN log10 log1p log2 sign sqrt square unaryMinus".split(), (1, 1)),
    **dict.fromkeys("ceil fix floor log nthRoot round".split(), (1, 2)),
    **dict.fromkeys("divide mod pow subtract".split(), (2, 2)),
    **dict.fromkeys("add multiply".split(), (2, _ANY)),
    **dict.fromkeys("hypot max mean median min prod std sum variance".split(), (1, _ANY)),
}
_OF_LISTS = frozenset("hypot max mean median min prod std sum variance".split())
_RELATIONS = ("==", "!=", "<", ">", "<=", ">=")
_RELATION = 6
# Operators from the loosest to the tightest; all group to the left. `^` and what stands before a value are tighter.
_LEVELS = {"or": 1, "xor": 2, "and": 3, "|": 4, "&": 5, **dict.fromkeys(_RELATIONS, _RELATION)}
_LEVELS |= {"+": 7, "-": 7, "*": 8, "/": 8, "%": 8, "mod": 8}
_WRITTEN: dict[str, Callable[[str, str], str]] = {
    "or": lambda a, b: f"(!!{a} || !!{b})",
    "xor": lambda a, b: f"(!!{a} !== !!{b})",
    "and": lambda a, b: f"(!!{a} && !!{b})",
    "|": lambda a, b: f"F.bitOr({a}, {b})",
    "&": lambda a, b: f"F.bitAnd({a}, {b})",
    "+": lambda a, b: f"({a} + {b})",
    "-": lambda a, b: f"({a} - {b})",
    "*": lambda a, b: f"({a} * {b})",
    "/": lambda a, b: f"({a} / {b})",
    "%": lambda a, b: f"F.mod({a}, {b})",
    "mod": lambda a, b: f"F.mod({a}, {b})",
}
_INSTEAD = {"&&": "and", "||": "or", "!": "not", "**": "^", "===": "==", "!==": "!=", "=": "=="}
_WORDS = frozenset(("not", "to", "in", *(word for word in _LEVELS if word.isalpha())))


CONSTANTS = frozenset("pi e tau phi PI E Infinity NaN true false".split())  # names of formulas.js


class FormulaError(ValueError):
    """What is wrong with an expression, and what to do about it."""

    def __init__(self, what: str, cure: str) -> None:
        super().__init__(what)
        self.what, self.cure = what, cure


@dataclass(frozen=True, slots=True)
class Formula:
    """The body of a function of ``scores`` that gives what an expression does; ``names`` are the scores that it reads."""

    body: str
    names: frozenset[str]


def formula(text: str) -> Formula:
    """Raises FormulaError for what is no arithmetic over named scores."""
    if len(text) > MAX_CHARACTERS:
        raise FormulaError(f"it has more than {MAX_CHARACTERS:,} characters", "write less")
    reader = _Reader(_tokens(text.strip()))
    return Formula(f"{_library()}return {reader.whole()};", frozenset(reader.names))


@cache
def _library() -> str:
    return Path(__file__).with_name("formulas.js").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # number, name, text, sign; empty at the end
    text: str


def _tokens(text: str) -> list[_Token]:
    """Raises FormulaError for a line break outside of brackets, where mathjs begins another statement."""
    found: list[_Token] = []
    place = depth = 0
    while match := _TOKEN.match(text, place):
        kind = match.lastgroup or ""
        if found and not depth and "\n" in text[place : match.start(kind)]:
            raise FormulaError("its lines are several statements", "write it on one line, or in brackets")
        found.append(_Token(kind, match[kind]))
        depth += (match[kind] in "([") - (match[kind] in ")]")
        place = match.end()
    return [*found, _Token("", "")]


class _Reader:
    """Reads tokens by precedence; each method gives JavaScript, in brackets where it joins anything."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._left = tokens
        self._place = 0
        self._depth = 0
        self.names: set[str] = set()

    def whole(self) -> str:
        """All of it is one expression."""
        if not self._next.kind:
            raise FormulaError("it is empty", "write an expression such as `hits / (hits + misses)`")
        written = self._expression()
        if self._next.kind:
            raise self._unexpected()
        return written

    @property
    def _next(self) -> _Token:
        return self._left[self._place]

    def _take(self) -> str:
        text = self._next.text
        self._place += 1
        return text

    def _is(self, *texts: str) -> bool:
        return self._next.kind in ("sign", "name") and self._next.text in texts

    def _close(self, sign: str) -> None:
        if not self._is(sign):
            raise self._unexpected()
        self._take()

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        self._depth += 1
        if self._depth > _DEPTH:
            raise FormulaError("it is nested too deeply", "split it into several derived metrics")
        yield
        self._depth -= 1

    def _expression(self) -> str:
        with self._deeper():
            written = self._joined(1)
            if not self._is("?"):
                return written
            self._take()
            yes = self._expression()
            self._close(":")
            return f"({written} ? {yes} : {self._expression()})"

    def _joined(self, least: int) -> str:
        left = self._signed()
        while self._next.kind in ("sign", "name") and (level := _LEVELS.get(self._next.text, 0)) >= least:
            compares = level == _RELATION
            left = self._compared(left) if compares else _WRITTEN[self._take()](left, self._joined(level + 1))
        return left

    def _compared(self, first: str) -> str:
        """``a < b <= c`` compares each with the next."""
        values, signs = [first], []
        while self._is(*_RELATIONS):
            signs.append(self._take())
            values.append(self._joined(_RELATION + 1))
        return f"F.compared([{', '.join(values)}], {json.dumps(signs)})"

    def _signed(self) -> str:
        if not self._is("-", "+", "not"):
            return self._powered()
        sign = self._take().replace("not", "!")
        with self._deeper():
            return f"({sign}{self._signed()})"

    def _powered(self) -> str:
        base = self._value()
        if not self._is("^"):
            return base
        self._take()
        with self._deeper():
            return f"F.pow({base}, {self._signed()})"  # of `a ^ b ^ c` the last is first

    def _value(self) -> str:
        token = self._next
        if token.kind == "number":
            return _number(self._take())
        if token.kind == "name" and (token.text not in _WORDS or token.text in _FUNCTIONS):
            name = self._take()
            if self._is("("):
                return self._call(name)
            if name == _SCORES and self._is(".", "["):
                return self._member()
            self.names.add(name)
            return f"of({json.dumps(name)})"
        if self._is("("):
            self._take()
            written = self._expression()
            self._close(")")
            return f"({written})"
        raise self._unexpected()

    def _member(self) -> str:
        """``namedScores.NAME`` and ``namedScores["NAME"]``, which also names what is no word."""
        sign, token = self._take(), self._next
        if token.kind != ("name" if sign == "." else "text"):
            raise self._unexpected()
        name = self._take() if sign == "." else self._take()[1:-1]
        if sign == "[":
            self._close("]")
        self.names.add(name)
        return f"of({json.dumps(name)})"

    def _call(self, name: str) -> str:
        if name not in _FUNCTIONS:
            near = suggest(name, _FUNCTIONS) or f"the functions are {', '.join(sorted(_FUNCTIONS))}"
            raise FormulaError(f"the function `{name}` is not known here", f"{near}; or write a function of JavaScript")
        self._take()
        arguments: list[str] = []
        while not self._is(")"):
            arguments += self._list() if self._is("[") and name in _OF_LISTS else [self._expression()]
            if not self._is(")"):
                self._close(",")
        self._take()
        least, most = _FUNCTIONS[name]
        if not least <= len(arguments) <= most:
            wanted = f"{least} or more" if most == _ANY else str(least) if least == most else f"{least} or {most}"
            raise FormulaError(f"`{name}` takes {wanted} arguments, not {len(arguments)}", "correct them")
        return f"F.{name}({', '.join(arguments)})"

    def _list(self) -> list[str]:
        self._take()
        items = [self._expression()]
        while self._is(","):
            self._take()
            items.append(self._expression())
        self._close("]")
        return items

    def _unexpected(self) -> FormulaError:
        token, after_value = self._next, self._place and self._left[self._place - 1].kind in ("number", "name")
        if self._place and self._left[self._place - 1].text == "%":
            return FormulaError("`%` is the remainder of a division", "write `/ 100` for per cent")
        if not token.kind:
            return FormulaError("it ends too early", "complete it")
        if token.kind == "text":
            return FormulaError(f"{token.text} is a text, and a metric is a number", "leave it out")
        if token.text in _INSTEAD:
            return FormulaError(f"`{token.text}` is not known here", f"write `{_INSTEAD[token.text]}`")
        if after_value and (token.kind in ("number", "name") or token.text == "(") and token.text not in _WORDS:
            return FormulaError(f"nothing joins `{self._left[self._place - 1].text}` and `{token.text}`", "write `*`")
        return FormulaError(f"`{token.text}` is not expected there", "correct it, or write a function of JavaScript")


def _number(text: str) -> str:
    number = float(text)
    return "Infinity" if number == float("inf") else repr(number)
