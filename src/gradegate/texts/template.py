"""Fills templates the way Nunjucks prints values, in a sandboxed Jinja2; what a model wrote is never a template."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

import jinja2
from jinja2 import meta, nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

MAX_CHARACTERS = 8 * 1024 * 1024
_MARK = re.compile(r"\{[{%#]")


class TemplateError(ValueError):
    """A template cannot be parsed or filled; the message says why and, where known, in which line of it."""


class _Array(list[Any]):
    """A list that is true even when it is empty, as in JavaScript."""

    def __bool__(self) -> bool:
        return True


class _Object(dict[str, Any]):
    def __bool__(self) -> bool:
        return True


class _Printed(_Object):
    """A mapping that prints as its JSON text."""


def printed(value: Any) -> Any:
    """A variable as grading prompts show it: an object, also one in a list, prints as JSON and still has its members."""
    if isinstance(value, Mapping):
        return _Printed({key: javascript(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return _Array(printed(item) for item in value)
    return value


def javascript(value: Any) -> Any:
    """A value as templates see it; what has been through this once is not converted again."""
    if isinstance(value, _Array | _Object):
        return value
    if isinstance(value, Mapping):
        return _Object({key: javascript(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return _Array(javascript(item) for item in value)
    return value


def show(value: Any) -> str:
    """A value as Nunjucks prints it: ``true``, ``1`` for 1.0, ``a,b`` for a list, nothing for null."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, jinja2.Undefined):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list | tuple):
        return ",".join(map(show, value))
    if isinstance(value, Mapping):
        return _dump(value) if isinstance(value, _Printed) else "[object Object]"
    return str(value)


def _number(value: float) -> str:
    """As JavaScript prints it (ECMA-262, Number::toString): plain digits from 1e-6 up to below 1e21."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    if 1e-6 <= abs(value) < 1e21:
        return f"{Decimal(repr(value)):f}".removesuffix(".0")
    digits, _, exponent = repr(value).partition("e")
    return f"{digits.removesuffix('.0')}e{int(exponent):+d}"


class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset(["*", "**", "+", "%"])

    def getattr(self, obj: Any, attribute: str) -> Any:
        if attribute == "length" and isinstance(obj, str | list | tuple | Mapping):
            return len(obj)
        if isinstance(obj, Mapping):  # data, not the methods of a dict: `{{ row.items }}` is a key
            return obj[attribute] if attribute in obj else self._absent(obj, attribute)
        return super().getattr(obj, attribute)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for loop in tree.find_all(nodes.For):
            if isinstance(loop.target, nodes.Tuple):  # Nunjucks walks a mapping by key and value
                loop.iter = nodes.Filter(loop.iter, "pairs", [], [], None, None, lineno=loop.lineno)
        return tree

    def _absent(self, obj: Any, attribute: str) -> Any:
        method = super().getattr(obj, attribute) if attribute in ("items", "keys", "values") else None
        return method if callable(method) else self.undefined(obj=obj, name=attribute)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "*" and not (isinstance(left, int | float) and isinstance(right, int | float)):
            raise SecurityError("only numbers can be multiplied")
        if operator == "**" and (abs(left) > 1_000_000 or abs(right) > 64):
            raise SecurityError("the power is too large")
        if operator == "+" and isinstance(left, str) != isinstance(right, str):
            return show(left) + show(right)
        if operator == "%" and isinstance(left, str):
            raise SecurityError("text cannot be formatted with %")
        return super().call_binop(context, operator, left, right)


def _dump(value: Any, indent: int | None = None) -> str:
    separators = (",", ":") if indent is None else None
    return json.dumps(value, ensure_ascii=False, indent=indent, separators=separators, default=str)


def _pairs(value: Any) -> Any:
    return list(value.items()) if isinstance(value, Mapping) else value


def _environment() -> _Environment:
    environment = _Environment(undefined=jinja2.ChainableUndefined, keep_trailing_newline=True, finalize=show)
    for name in ("lipsum", "cycler", "joiner", "namespace", "dict"):
        environment.globals.pop(name, None)
    for name in ("format", "xmlattr", "pprint"):
        environment.filters.pop(name, None)
    environment.filters.update(dump=_dump, load=json.loads, pairs=_pairs)
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False}
    return environment


_ENVIRONMENT = _environment()


@lru_cache(maxsize=512)
def _compiled(source: str) -> jinja2.Template:
    return _ENVIRONMENT.from_string(source)


def is_template(text: str) -> bool:
    """Whether the text holds anything to fill in."""
    return "{" in text and _MARK.search(text) is not None


def render(source: str, variables: Mapping[str, Any]) -> str:
    """Fill a template. Variables are data: what they hold is not filled in again. Raises TemplateError."""
    if not is_template(source):
        return source
    parts, length = [], 0
    try:
        for part in _compiled(source).generate(javascript(variables)):
            length += len(part)
            if length > MAX_CHARACTERS:
                raise TemplateError(f"the filled-in text has more than {MAX_CHARACTERS:,} characters")
            parts.append(part)
    except jinja2.TemplateSyntaxError as e:
        raise TemplateError(f"{e.message} (line {e.lineno} of the template)") from e
    except TemplateError:
        raise
    except (jinja2.TemplateError, ArithmeticError, TypeError, ValueError, LookupError, RecursionError) as e:
        raise TemplateError(f"{type(e).__name__}: {e}") from e
    return "".join(parts)


def render_values(value: Any, variables: Mapping[str, Any]) -> Any:
    """Fill every string in a nested value. Raises TemplateError."""
    if isinstance(value, str):
        return render(value, variables)
    if isinstance(value, Mapping):
        return {key: render_values(item, variables) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [render_values(item, variables) for item in value]
    return value


def parsed(source: str) -> nodes.Template:
    """The syntax tree of a template. Raises TemplateError."""
    try:
        return _ENVIRONMENT.parse(source)
    except jinja2.TemplateSyntaxError as e:
        raise TemplateError(f"{e.message} (line {e.lineno} of the template)") from e


def uses(source: str) -> frozenset[str]:
    """The variables that a template asks for. Raises TemplateError."""
    if not is_template(source):
        return frozenset()
    try:
        return frozenset(meta.find_undeclared_variables(parsed(source))) - _ENVIRONMENT.globals.keys()
    except jinja2.TemplateSyntaxError as e:  # a filter or a test that there is not
        raise TemplateError(f"{e.message} (line {e.lineno} of the template)") from e


@lru_cache(maxsize=512)
def needs(source: str) -> frozenset[str]:
    """The variables that a template does not work without: those that it asks for and nowhere tests or defaults.

    Raises TemplateError.
    """
    asked = uses(source)
    if not asked:
        return asked
    tree = _ENVIRONMENT.parse(source)
    guards: list[nodes.Node] = [*tree.find_all((nodes.Or, nodes.And, nodes.Test))]
    guards += [branch.test for branch in tree.find_all(nodes.If)]
    guards += [choice.test for choice in tree.find_all(nodes.CondExpr)]
    guards += [call for call in tree.find_all(nodes.Filter) if call.name in ("default", "d")]
    names = [name for guard in guards for name in (guard, *guard.find_all(nodes.Name)) if isinstance(name, nodes.Name)]
    return asked - {name.name for name in names}


def render_env(value: Any, env: Mapping[str, str]) -> Any:
    """Fill every string that needs the environment alone; what asks for more is filled when it is known."""
    if isinstance(value, str):
        return render(value, {"env": env}) if uses(value) <= {"env"} else value
    if isinstance(value, Mapping):
        return {key: render_env(item, env) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [render_env(item, env) for item in value]
    return value
