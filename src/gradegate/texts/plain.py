"""Tells the templates that take no more time and memory than their variables have, whatever these are.

They print variables and members of variables, choose between texts, compare a few, and use filters whose result does not grow however
often they are used: in other case, a text has at most three times the signs. Nothing repeats, calls or calculates. What is not on these lists goes to the worker: a list of what
is dangerous would never be complete.
"""

from __future__ import annotations

from collections.abc import Callable

from jinja2 import nodes

from gradegate.texts.grammar import UNDEFINED
from gradegate.texts.operators import COMPARISONS

_KINDS: tuple[type[nodes.Node], ...] = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.Name,
    nodes.Const,
    nodes.Getattr,
    nodes.If,
    nodes.CondExpr,
    nodes.And,
    nodes.Or,
    nodes.Not,
)
_TESTS = frozenset("defined undefined none string number mapping sequence boolean integer float true false".split())
_DEEPEST = 24  # levels: to compile a chain of filters takes more than the square of its length
_COMPARED = 4  # comparisons: each may look at the whole of a long list
_FILTERS = frozenset(["default", "d", "first", "last", "length", "lower", "string", "safe", "trim", "upper", UNDEFINED])


def is_plain(tree: nodes.Template) -> bool:
    """Whether filling in a template is bounded by the size of the template and of its variables."""
    left: list[tuple[nodes.Node, int]] = [(tree, 0)]
    compared = 0
    while left:
        node, depth = left.pop()
        if depth > _DEEPEST:
            return False
        if not isinstance(node, _KINDS) and not _SPECIAL.get(type(node), _never)(node):
            return False
        compared += isinstance(node, nodes.Filter) and node.name in COMPARISONS
        if compared > _COMPARED:
            return False
        left.extend((child, depth + 1) for child in node.iter_child_nodes())
    return True


def _filter(node: nodes.Node) -> bool:
    assert isinstance(node, nodes.Filter)
    if node.kwargs or node.dyn_args or node.dyn_kwargs:
        return False
    if node.name in COMPARISONS:
        return True
    if node.name == "dump":  # of a text it doubles the backslashes, so never of what was dumped
        return not node.args and _is_path(node.node)
    return node.name in _FILTERS and (not node.args or node.name in ("default", "d"))


def _test(node: nodes.Node) -> bool:
    assert isinstance(node, nodes.Test)
    return node.name in _TESTS and not node.args


def _item(node: nodes.Node) -> bool:
    assert isinstance(node, nodes.Getitem)
    return isinstance(node.arg, nodes.Const)


def _is_path(node: nodes.Node | None) -> bool:
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        node = node.node
    return isinstance(node, nodes.Name)


def _never(_: nodes.Node) -> bool:
    return False


_SPECIAL: dict[type[nodes.Node], Callable[[nodes.Node], bool]] = {
    nodes.Filter: _filter,
    nodes.Test: _test,
    nodes.Getitem: _item,
}
