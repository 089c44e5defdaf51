"""What a derived metric is worked out by: arithmetic over named scores, or a function of JavaScript.

Expressions have the signs and functions of two tables, brackets, numbers, metrics and ``a ? b : c``, and mean what they mean to
mathjs (https://mathjs.org/docs/expressions/syntax.html). The rest of mathjs is refused by name before anything is run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from statistics import median
from typing import Any

from gradegate.registry import suggest
from gradegate.texts import body, script
from gradegate.texts.script import Script, ScriptError
from gradegate.values.suite import Code

CONSTANTS = {"pi": math.pi, "e": math.e}
COUNT = "__count"  # the name of how many answers there are
MAX_CHARACTERS = 2_000  # of one expression
_DEPTH = 50  # of brackets and signs within one another
_SCORES = "namedScores"  # what functions call them; expressions of real configs do so too
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|{_SCORES}\s*(?:\.\s*|\[\s*[\"'])(?P<member>(?<=\.)[\w$]+|[^\"']*(?=[\"']))"
    r"(?:[\"']\s*\])?|(?P<name>(?:[^\W\d]|\$)[\w$]*)|(?P<sign>[=!<>]=|\S))"
)
_Value = Callable[[Mapping[str, float]], float]


@dataclass(frozen=True, slots=True)
class Working:
    """``names`` are the scores that it reads; None where it may read any."""

    way: Script | _Value
    names: frozenset[str] | None

    def value(self, scores: Mapping[str, float], step: Mapping[str, Any]) -> float:
        """The number that it gives for the sums of the named scores; true is 1. Raises ScriptError for what is none."""
        if isinstance(self.way, Script):
            found = self.way.call(scores, step)
            if found.type not in ("number", "boolean"):
                raise ScriptError(f"it gives {_SAID.get(found.type, 'an ' + found.type)}, and a metric is a number")
            number = float(found.value)
        else:
            try:
                number = float(self.way(scores))
            except ScriptError:
                raise
            except OverflowError:
                number = math.inf
            except ValueError:  # such as the root of a negative number
                number = math.nan
        if math.isnan(number):
            raise ScriptError("it gives NaN, as 0 / 0 does")
        if math.isinf(number):
            raise ScriptError("it gives Infinity, as a division by 0 does")
        return number


_SAID = {"string": "a text", "undefined": "nothing", "null": "nothing"}


def working(code: Code) -> Working:
    """How a ``value`` of ``derivedMetrics`` is worked out. Raises ScriptError for what cannot be used."""
    if not isinstance(code, str) or body.is_function(code):
        return Working(script.of_function(code, "namedScores", "evalStep"), None)
    if len(code) > MAX_CHARACTERS:
        raise ScriptError(f"it has more than {MAX_CHARACTERS:,} characters", cure="write less")
    found = ((match.lastgroup or "", match[match.lastgroup or 0]) for match in _TOKEN.finditer(code.strip()))
    tokens = [("sign" if text in _WORDS else kind, text) for kind, text in found]
    if not tokens:
        raise ScriptError("it is empty", cure="write an expression such as `hits / (hits + misses)`")
    reader = _Reader([*tokens, ("", "")])
    value = reader.whole()
    reader.take("")
    return Working(value, frozenset(reader.names))


def _round(value: float, places: float = 0) -> float:
    if not 0 <= places <= 15 or places % 1:
        raise ScriptError("places behind the point are a number from 0 to 15")
    if not abs(value) < 1e12:  # no place behind the point is left
        return value
    return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-int(places)), ROUND_HALF_UP))


def _divided(left: float, right: float) -> float:
    if right:
        return left / right
    return math.copysign(math.inf, left) if left and not math.isnan(left) else math.nan


def _is_true(value: float) -> bool:
    return value != 0 and not math.isnan(value)


def _is_near(left: float, right: float) -> bool:
    """What mathjs takes for equal."""
    return math.isclose(left, right, rel_tol=1e-12, abs_tol=1e-15)


_COMPARES = 3
_SIGNS: Mapping[str, tuple[int, Callable[[float, float], float]]] = {  # with how tightly each binds
    "or": (1, lambda a, b: _is_true(a) or _is_true(b)),
    "and": (2, lambda a, b: _is_true(a) and _is_true(b)),
    "==": (_COMPARES, _is_near),
    "!=": (_COMPARES, lambda a, b: not _is_near(a, b)),
    "<": (_COMPARES, lambda a, b: a < b and not _is_near(a, b)),
    ">": (_COMPARES, lambda a, b: a > b and not _is_near(a, b)),
    "<=": (_COMPARES, lambda a, b: a <= b or _is_near(a, b)),
    ">=": (_COMPARES, lambda a, b: a >= b or _is_near(a, b)),
    "+": (4, lambda a, b: a + b),
    "-": (4, lambda a, b: a - b),
    "*": (5, lambda a, b: a * b),
    "/": (5, _divided),
    "%": (5, lambda a, b: a - b * math.floor(a / b) if b else a),
}
_BEFORE: Mapping[str, Callable[[float], float]] = {
    "-": lambda a: -a,
    "+": lambda a: a,
    "not": lambda a: not _is_true(a),
}
_WORDS = frozenset({"or", "and", "not"})
_ANY = 1000
_FUNCTIONS: Mapping[str, tuple[int, int, Callable[..., float]]] = {  # with how many arguments each takes
    "abs": (1, 1, abs),
    "log": (1, 2, math.log),
    "max": (1, _ANY, max),
    "mean": (1, _ANY, lambda *values: sum(values) / len(values)),
    "median": (1, _ANY, lambda *values: median(values)),
    "min": (1, _ANY, min),
    "pow": (2, 2, math.pow),
    "round": (1, 2, _round),
    "sqrt": (1, 1, math.sqrt),
    "sum": (1, _ANY, lambda *values: sum(values)),
}


class _Reader:
    """Reads tokens by precedence; each method gives a function of the scores. Raises ScriptError."""

    def __init__(self, tokens: Sequence[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0
        self.names: set[str] = set()

    def take(self, *texts: str) -> str:
        """The next token, which has to be one of these."""
        kind, text = self._tokens[self._place]
        if text in texts and kind in ("sign", ""):
            self._place += 1
            return text
        if not kind:
            raise ScriptError("it ends too early", cure="complete it")
        cure = "correct it, or write a function of JavaScript"
        raise ScriptError(f"`{text}` is not supported there", cure=cure)

    def _is(self, *texts: str) -> bool:
        kind, text = self._tokens[self._place]
        return kind == "sign" and text in texts

    def whole(self) -> _Value:
        """Values with signs between them, and a choice between two."""
        value = self._joined(1)
        if not self._is("?"):
            return value
        self.take("?")
        yes = self._deeper(self.whole)
        self.take(":")
        no = self._deeper(self.whole)
        return lambda scores: yes(scores) if _is_true(value(scores)) else no(scores)

    def _joined(self, least: int) -> _Value:
        left = self._signed()
        while self._is(*_SIGNS) and (level := _SIGNS[self._tokens[self._place][1]][0]) >= least:
            join = _SIGNS[self.take(*_SIGNS)][1]
            left = _call(join, left, self._joined(level + 1))
            if level == _COMPARES and self._is(*_SIGNS) and _SIGNS[self._tokens[self._place][1]][0] == level:
                self.take()  # which mathjs would compare with the next
        return left

    def _signed(self) -> _Value:
        if self._is(*_BEFORE):
            return _call(_BEFORE[self.take(*_BEFORE)], self._deeper(self._signed))
        base = self._value()
        if not self._is("^"):
            return base
        self.take("^")
        return _call(math.pow, base, self._deeper(self._signed))

    def _deeper(self, read: Callable[[], _Value]) -> _Value:
        self._depth += 1
        if self._depth > _DEPTH:
            raise ScriptError("it is nested too deeply", cure="split it into several derived metrics")
        value = read()
        self._depth -= 1
        return value

    def _value(self) -> _Value:
        kind, text = self._tokens[self._place]
        if kind not in ("number", "name", "member"):
            self.take("(")
            value = self._deeper(self.whole)
            self.take(")")
            return value
        self._place += 1
        if kind == "number":
            return lambda _: float(text)
        if kind == "name" and self._is("("):
            return self._call(text)
        self.names.add(text)
        return lambda scores: _score(scores, text)

    def _call(self, name: str) -> _Value:
        if name not in _FUNCTIONS:
            near = suggest(name, _FUNCTIONS) or f"the functions are {', '.join(_FUNCTIONS)}"
            raise ScriptError(f"the function `{name}` is not supported", cure=f"{near}; or write one of JavaScript")
        self.take("(")
        least, most, function = _FUNCTIONS[name]
        listed = most == _ANY and self._is("[") and bool(self.take("["))
        values = [self._deeper(self.whole)]
        while self._is(","):
            self.take(",")
            values.append(self._deeper(self.whole))
        if listed:
            self.take("]")
        self.take(")")
        if not least <= len(values) <= most:
            wanted = f"{least}" if least == most else f"{least} or {most}"
            raise ScriptError(f"`{name}` takes {wanted} arguments, not {len(values)}", cure="correct them")
        return _call(function, *values)


def _call(function: Callable[..., float], *values: _Value) -> _Value:
    return lambda scores: function(*(value(scores) for value in values))


def _score(scores: Mapping[str, float], name: str) -> float:
    if name not in scores and name not in CONSTANTS:
        raise ScriptError(f"there is no value of the metric `{name}`")
    return scores[name] if name in scores else CONSTANTS[name]
