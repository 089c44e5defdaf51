"""Which variables of the environment a template shows: it is given these and no others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from jinja2 import nodes

from gradegate.texts.template import is_template, parsed

ENV = "env"


def env_names(value: Any) -> frozenset[str]:
    """The names in ``{{ env.NAME }}`` and ``{{ env['NAME'] }}`` of every text in a nested value. Raises TemplateError."""
    return frozenset().union(*(_names(text)[0] for text in _texts(value)))


def env_needs(value: Any) -> frozenset[str]:
    """Those that the value does not do without: which no ``default`` and no condition guards. Raises TemplateError."""
    return frozenset().union(*(_names(text)[1] for text in _texts(value)))


@lru_cache(maxsize=512)
def _names(source: str) -> tuple[frozenset[str], frozenset[str]]:
    tree = parsed(source)
    guards: list[nodes.Node] = [*tree.find_all((nodes.Or, nodes.And, nodes.Test))]
    guards += [branch.test for branch in tree.find_all(nodes.If)]
    guards += [choice.test for choice in tree.find_all(nodes.CondExpr)]
    guards += [call for call in tree.find_all(nodes.Filter) if call.name in ("default", "d")]
    guarded = {name for guard in guards for name in _shown(guard)}
    names = frozenset(_shown(tree))
    return names, names - guarded


def _shown(tree: nodes.Node) -> Iterator[str]:
    inner = [tree] if isinstance(tree, nodes.Getattr | nodes.Getitem) else []
    node: Any
    for node in (*inner, *tree.find_all((nodes.Getattr, nodes.Getitem))):
        if not isinstance(node.node, nodes.Name) or node.node.name != ENV:
            continue
        if isinstance(node, nodes.Getattr):
            yield node.attr
        elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
            yield str(node.arg.value)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if is_template(value) and ENV in value:
            yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
