"""What a derived metric is worked out by: arithmetic over named scores, or a function of JavaScript.

Expressions have the signs and functions of two tables, brackets, numbers and metrics, and mean what they mean to mathjs
(https://mathjs.org/docs/expressions/syntax.html). The rest of mathjs is refused before anything is run.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from statistics import median
from typing import Any

from gradegate.core.provider_spec import Code
from gradegate.registry import suggest
from gradegate.structs import Struct
from gradegate.templating import javascript as snippet
from gradegate.templating import script
from gradegate.templating.script import Script, ScriptError

CONSTANTS = {"pi": math.pi, "e": math.e}
COUNT = "__count"  # the name of how many answers there are
MAX_CHARACTERS = 2_000  # of one expression
_DEEPEST = 150  # signs and brackets within one another; a sum of so many metrics is one
_SCORES = "namedScores"  # what functions call them; expressions of real configs do so too
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|{_SCORES}\s*(?:\.\s*|\[\s*[\"'])(?P<member>(?<=\.)[\w$]+|[^\"']*(?=[\"']))"
    r"(?:[\"']\s*\])?|(?P<name>(?:[^\W\d]|\$)[\w$]*)|(?P<sign>\S))"
)
_CURE = "correct it, or write a function of JavaScript"
_Value = Callable[[Mapping[str, float]], float]


class Working(Struct, frozen=True):
    """``names`` are the scores that it reads; None where it may read any."""

    way: Script | _Value
    names: frozenset[str] | None

    def value(self, scores: Mapping[str, float], step: Mapping[str, Any]) -> float:
        """The number that it gives for the sums of the named scores; true is 1. Raises ScriptError for what is none."""
        if isinstance(self.way, Script):
            found = self.way.call(scores, step)
            if found.type not in ("number", "boolean"):
                given = {"string": "a text", "undefined": "nothing", "null": "nothing"}.get(
                    found.type, f"an {found.type}"
                )
                raise ScriptError(f"it gives {given}, and a metric is a number")
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
        if not math.isfinite(number):
            raise ScriptError(
                "it gives NaN, as 0 / 0 does"
                if math.isnan(number)
                else "it gives Infinity, as a division by 0 does"
            )
        return number


def working(code: Code) -> Working:
    """How a ``value`` of ``derivedMetrics`` is worked out. Raises ScriptError for what cannot be used."""
    if (
        not isinstance(code, str)
        or re.match(r"\s*(?:async\s+)?function\b", code)
        or snippet.is_arrow(code)
    ):
        return Working(script.of_function(code, "namedScores", "evalStep"), None)
    if len(code) > MAX_CHARACTERS:
        raise ScriptError(f"it has more than {MAX_CHARACTERS:,} characters", cure="write less")
    words: dict[
        str, str | float
    ] = {}  # numbers, metrics and functions, by names that Python takes for names
    source = ""
    for match in _TOKEN.finditer(code.strip()):
        text = match[match.lastgroup or 0]
        if match.lastgroup == "sign" and text not in "+-*/%^()[],":
            raise ScriptError(f"`{text}` is not supported there", cure=_CURE)
        if match.lastgroup == "sign":
            source += " **" if text == "^" else f" {text}"
        else:
            source += f" v{len(words)}"
            words[f"v{len(words)}"] = float(text) if match.lastgroup == "number" else text
    if not source:
        raise ScriptError(
            "it is empty", cure="write an expression such as `hits / (hits + misses)`"
        )
    names = set[str]()
    try:
        value = _read(ast.parse(source.strip(), mode="eval").body, words, names, 1)
    except SyntaxError as e:
        raise ScriptError(
            "an operator, a bracket or a value is missing or extra", cure=_CURE
        ) from e
    except (RecursionError, MemoryError) as e:
        raise ScriptError(
            "it is nested too deeply", cure="split it into several derived metrics"
        ) from e
    return Working(value, frozenset(names))


def _read(node: ast.expr, words: Mapping[str, str | float], names: set[str], depth: int) -> _Value:
    """What a node comes to; ``names`` gathers the metrics. Raises ScriptError for a node of another kind, and RecursionError."""
    if depth > _DEEPEST:
        raise RecursionError
    match node:
        case ast.Name(id=key):
            word = words[key]
            if isinstance(word, float):
                return lambda _: word
            names.add(word)
            return lambda scores: _score(scores, word)
        case ast.BinOp(op=sign) if type(sign) in _SIGNS:
            join = _SIGNS[type(sign)]
            left, right = (_read(side, words, names, depth + 1) for side in (node.left, node.right))
            return lambda scores: join(left(scores), right(scores))
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            value, factor = (
                _read(node.operand, words, names, depth + 1),
                -1 if isinstance(node.op, ast.USub) else 1,
            )
            return lambda scores: factor * value(scores)
        case ast.Call(func=ast.Name(id=key), args=given) if isinstance(name := words[key], str):
            if name not in _FUNCTIONS:
                near = suggest(name, _FUNCTIONS) or f"the functions are {', '.join(_FUNCTIONS)}"
                raise ScriptError(
                    f"the function `{name}` is not supported",
                    cure=f"{near}; or write one of JavaScript",
                )
            least, most, function = _FUNCTIONS[name]
            if most == _ANY and len(given) == 1 and isinstance(given[0], ast.List):
                given = given[0].elts
            if not least <= len(given) <= most:
                wanted = (
                    f"{least}"
                    if least == most
                    else f"{least} or {'more' if most == _ANY else most}"
                )
                raise ScriptError(
                    f"`{name}` takes {wanted} arguments, not {len(given)}", cure="correct them"
                )
            values = [_read(item, words, names, depth + 1) for item in given]
            return lambda scores: function(*[value(scores) for value in values])
    raise ScriptError("a bracket or a comma is not supported there", cure=_CURE)


def _round(value: float, places: float = 0) -> float:
    if not 0 <= places <= 15 or places % 1:
        raise ScriptError("places behind the point are a number from 0 to 15")
    if not abs(value) < 1e12:  # no place behind the point is left
        return value
    return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-int(places)), ROUND_HALF_UP))


_SIGNS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: (
        a / b if b else math.copysign(math.inf, a) if a and not math.isnan(a) else math.nan
    ),
    ast.Mod: lambda a, b: a - b * math.floor(a / b) if b else a,
    ast.Pow: math.pow,
}
_ANY = 1000
_FUNCTIONS: Mapping[
    str, tuple[int, int, Callable[..., float]]
] = {  # with how many arguments each takes
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


def _score(scores: Mapping[str, float], name: str) -> float:
    if name not in scores and name not in CONSTANTS:
        raise ScriptError(f"there is no value of the metric `{name}`")
    return scores[name] if name in scores else CONSTANTS[name]
