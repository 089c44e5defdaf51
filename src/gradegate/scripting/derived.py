"""What a derived metric is worked out by: an expression as mathjs has them, or a function of JavaScript, over named scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gradegate.scripting import body, script
from gradegate.scripting.formula import FormulaError, formula
from gradegate.scripting.script import Script, ScriptError
from gradegate.suite import Code

COUNT = "__count"  # the name of how many answers there are


@dataclass(frozen=True, slots=True)
class Working:
    """``names`` are the scores that it reads; None where it may read any."""

    script: Script
    names: frozenset[str] | None

    def value(self, scores: Mapping[str, float], step: Mapping[str, Any]) -> float:
        """The number that it gives for the sums of the named scores; true is 1. Raises ScriptError for what is none."""
        arguments = [scores] if self.names is not None else [scores, step]
        found = self.script.call(*arguments)
        if found.type not in ("number", "boolean"):
            raise ScriptError(f"it gives {_SAID.get(found.type, 'an ' + found.type)}, and a metric is a number")
        number = float(found.value)
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
    try:
        made = formula(code)
    except FormulaError as e:
        raise ScriptError(e.what, cure=e.cure) from e
    return Working(Script(made.body, ("scores",)), made.names)
