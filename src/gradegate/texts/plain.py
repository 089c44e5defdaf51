"""Tells the templates that take no more time and memory than their variables have, whatever these are.

They print variables and members of variables, choose between texts, compare a few, and use filters whose result does not grow however
often they are used: in other case, a text has at most three times the signs. Nothing repeats or calculates. What is not on these lists goes
to the worker: a list of what is dangerous would never be complete.
"""

from __future__ import annotations

from jinja2 import nodes

_KINDS = tuple(
    getattr(nodes, name) for name in "Template Output TemplateData If CondExpr And Or Not Test Name Const Getattr Compare Operand".split()
)
_DEEPEST = 24  # levels
_COMPARED = 4  # comparisons: each may look at the whole of a long list
_FILTERS = frozenset(["first", "last", "length", "lower", "string", "safe", "trim", "upper"])


def is_plain(tree: nodes.Template) -> bool:
    """Whether filling in a template is bounded by the size of the template and of its variables."""
    left: list[tuple[nodes.Node, int]] = [(tree, 0)]
    compared = 0
    while left:
        node, depth = left.pop()
        compared += isinstance(node, nodes.Compare)
        if depth > _DEEPEST or compared > _COMPARED or not _is_bounded(node):
            return False
        left.extend((child, depth + 1) for child in node.iter_child_nodes())
    return True


def _is_bounded(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Getitem):
        return isinstance(node.arg, nodes.Const)
    if not isinstance(node, nodes.Filter):
        return isinstance(node, _KINDS)
    if node.name == "dump":  # of a text it doubles the backslashes, so never of what was dumped
        path = node.node
        while isinstance(path, nodes.Getattr | nodes.Getitem):
            path = path.node
        return not node.args and isinstance(path, nodes.Name)
    return node.name in ("default", "d") or (node.name in _FILTERS and not node.args)
