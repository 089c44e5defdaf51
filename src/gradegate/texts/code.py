"""Code of a config that turns one value into another: JavaScript in the engine, programs with `--allow-exec`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradegate.processes import pool
from gradegate.processes.program import Program, quoted
from gradegate.texts import script
from gradegate.texts.script import Fault, Returned, Script, ScriptError
from gradegate.values.suite import Code

_ROLE = "gate"  # what makes another answer of an answer is part of judging it


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a file, in Python or for node."""

    program: Program
    default: str = "get_transform"  # the function, where none is named

    def call(self, *arguments: Any) -> Returned:
        """Raises ScriptError for what raises, takes too long or is no plain data: Fault where the arguments made it so."""
        try:
            value = pool.call(self.program, list(arguments), _ROLE, self.default)
        except pool.Failed as e:
            raise (Fault if e.raised else ScriptError)(str(e)) from e
        return Returned(value, "nothing" if value is None else type(value).__name__)


def of_assertion(code: Code) -> Script | Function:
    """The ``value`` of a ``javascript`` assertion. Raises ScriptError for what cannot be used."""
    return Function(code, "get_assert") if isinstance(code, Program) else script.of_assertion(code)


def of_transform(code: Code, parameter: str = "output") -> Script | Function:
    """A ``transform``; ``parameter`` is "vars" for ``transformVars``. Raises ScriptError for what cannot be used."""
    return Function(code) if isinstance(code, Program) else script.of_transform(code, parameter)


def of_scoring(code: Code) -> Script | Function:
    """An ``assertScoringFunction``. Raises ScriptError for what cannot be used."""
    return Function(code, "func") if isinstance(code, Program) else script.of_transform(code)


def reads(code: Code, name: str, *, python: bool = False) -> bool:
    """Whether code may look at a part of what it is told; ``python``: a snippet is Python."""
    if isinstance(code, Program):
        return name in code.words
    if python and isinstance(code, str):
        return name in quoted(code)
    return script.reads(code, name)


def shown(value: Any) -> Any:
    """A value as reports show it: of a file of code its name, with a digest that tells another code."""
    return value.shown if isinstance(value, Program) else script.shown(value)
