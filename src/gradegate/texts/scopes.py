"""Loops and ``{% set %}`` as in Nunjucks: a loop changes the variables that are set around it, and keeps its own.

Jinja gives each round of a loop a scope of its own, so that no template could count. Names that are set inside a loop
are therefore kept in one store beside the variables; what a loop alone sets is gone with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jinja2 import nodes

from gradegate.texts.grammar import UNDEFINED, call

_STORE = "gradegate_set"
STORE, ITEMS, PAIRS = "set store", "loop items", "loop pairs"  # filters that no template can name


def adjust(tree: nodes.Template) -> None:
    """Rewrite the loops and sets of a template."""
    loops: list[Any] = list(tree.find_all(nodes.For))
    for loop in loops:
        if isinstance(loop.target, nodes.Tuple):
            count = nodes.Const(len(loop.target.items), lineno=loop.lineno)
            loop.iter = call(PAIRS, loop.iter, count)
        else:
            loop.iter = call(ITEMS, loop.iter)
    names = {name for loop in loops for node in loop.body for name in _set_below(node)}
    if names:
        _Store(names).put_into(tree)


def _set_below(node: nodes.Node) -> Iterator[str]:
    yield from _set_by(node)
    for inner in node.find_all((nodes.Assign, nodes.AssignBlock)):
        yield from _set_by(inner)


def _set_by(node: nodes.Node) -> Iterator[str]:
    if isinstance(node, nodes.Assign | nodes.AssignBlock) and isinstance(node.target, nodes.Name):
        yield node.target.name


class _Store:
    """The names that are kept in it; finds what is read before it is set, and what a loop alone sets."""

    def __init__(self, names: set[str]) -> None:
        self._names = names
        self._set: set[str] = set()
        self._given: set[str] = set()  # asked for where nothing has set them: variables of the test as well
        self._own: dict[int, list[str]] = {}  # what a loop alone sets

    def put_into(self, tree: nodes.Template) -> None:
        """Put members of the store in place of names."""
        self._look(tree)
        self._replace(tree, self._names)
        start = nodes.Assign(nodes.Name(_STORE, "store"), call(STORE, nodes.Const(None)))
        tree.body[:0] = [it.set_lineno(1) for it in (start, *(self._reset(name) for name in sorted(self._given)))]

    def _look(self, node: nodes.Node) -> None:
        before = set(self._set)
        if isinstance(node, nodes.Assign):  # its value is known before its name
            self._look(node.node)
        if isinstance(node, nodes.Name) and node.ctx == "load" and node.name in self._names - self._set:
            self._given.add(node.name)
        self._set.update(_set_by(node))
        for child in node.iter_child_nodes():
            self._look(child)
        if isinstance(node, nodes.For):
            self._own[id(node)] = sorted((self._set - before) & self._names)
            self._set = before

    def _reset(self, name: str) -> nodes.Node:
        given = name in self._given  # a variable that the test may have or not: so with a default
        value = call("default", nodes.Name(name, "load")) if given else call(UNDEFINED, nodes.Const(None))
        return nodes.Assign(nodes.NSRef(_STORE, name), value)

    def _replace(self, node: nodes.Node, names: set[str]) -> None:
        """A name that a loop or macro binds itself is its own."""
        names = names - set(_bound_by(node))
        for field, value in list(node.iter_fields()):
            if isinstance(value, list):
                kept = [(item, self._kept(item, names) if isinstance(item, nodes.Node) else item) for item in value]
                setattr(node, field, [it for was, now in kept for it in (now, *self._resets(was))])
            elif isinstance(value, nodes.Node):
                setattr(node, field, self._kept(value, names))

    def _resets(self, loop: Any) -> Iterator[nodes.Node]:
        for name in self._own.get(id(loop), ()):
            yield self._reset(name).set_lineno(loop.lineno)

    def _kept(self, node: nodes.Node, names: set[str]) -> nodes.Node:
        if not isinstance(node, nodes.Name) or node.name not in names:
            self._replace(node, names)
            return node
        if node.ctx == "store":
            return nodes.NSRef(_STORE, node.name, lineno=node.lineno)
        return nodes.Getattr(nodes.Name(_STORE, "load", lineno=node.lineno), node.name, "load", lineno=node.lineno)


def _bound_by(node: nodes.Node) -> Iterator[str]:
    bound = node.args if isinstance(node, nodes.Macro) else [node.target] if isinstance(node, nodes.For) else []
    for target in bound:
        yield from (name.name for name in ([target] if isinstance(target, nodes.Name) else target.find_all(nodes.Name)))
