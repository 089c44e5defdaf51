"""Fills in a plain template along its tree, so that no code is written and compiled for it: 100,000 tests may have as many templates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jinja2 import nodes

from gradegate.texts.engine import ENVIRONMENT, joined
from gradegate.texts.methods import UNDEFINED
from gradegate.texts.values import show

_Variables = Mapping[str, Any]


def fill(tree: nodes.Template, variables: _Variables) -> str:
    """The text of a plain template. Raises TemplateError, also when there is too much of it."""
    return joined(_texts(tree.body, variables))


def _texts(body: list[nodes.Node], variables: _Variables) -> Iterator[str]:
    for node in body:
        if isinstance(node, nodes.Output):
            for part in node.nodes:
                yield part.data if isinstance(part, nodes.TemplateData) else show(_value(part, variables))
        else:
            assert isinstance(node, nodes.If)
            branches = (branch.body for branch in (node, *node.elif_) if _value(branch.test, variables))
            yield from _texts(next(branches, node.else_), variables)


def _value(node: nodes.Node, variables: _Variables) -> Any:
    return _VALUES[type(node)](node, variables)


def _name(node: Any, variables: _Variables) -> Any:
    if node.name in variables:
        return variables[node.name]
    return ENVIRONMENT.globals[node.name] if node.name in ENVIRONMENT.globals else UNDEFINED(name=node.name)


def _choice(node: Any, variables: _Variables) -> Any:
    return _value(node.expr1 if _value(node.test, variables) else node.expr2, variables)


def _filtered(node: Any, variables: _Variables) -> Any:
    arguments = [_value(argument, variables) for argument in node.args]
    return ENVIRONMENT.call_filter(node.name, _value(node.node, variables), arguments)


_VALUES: Mapping[type[nodes.Node], Callable[[Any, _Variables], Any]] = {
    nodes.Name: _name,
    nodes.Const: lambda node, _: node.value,
    nodes.Getattr: lambda node, given: ENVIRONMENT.getattr(_value(node.node, given), node.attr),
    nodes.Getitem: lambda node, given: ENVIRONMENT.getitem(_value(node.node, given), node.arg.value),
    nodes.And: lambda node, given: _value(node.left, given) and _value(node.right, given),
    nodes.Or: lambda node, given: _value(node.left, given) or _value(node.right, given),
    nodes.Not: lambda node, given: not _value(node.node, given),
    nodes.CondExpr: _choice,
    nodes.Filter: _filtered,
    nodes.Test: lambda node, given: ENVIRONMENT.call_test(node.name, _value(node.node, given)),
}
