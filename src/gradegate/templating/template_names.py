"""Finds the variables that a template uses, without filling it in."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from jinja2 import nodes


class TemplateNames(NamedTuple):
    """The variables of a template."""

    used: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()  # that it nowhere tests or gives a default for
    env_used: frozenset[str] = frozenset()  # of ``env``
    env_needed: frozenset[str] = frozenset()
    only_in_comments: frozenset[str] = frozenset()  # of HTML


def find_names(tree: nodes.Template) -> TemplateNames:
    """The variables that a parsed template uses."""
    used = _free_names(tree.body, set(), with_comments=True)
    # A chat is filled in value by value: a comment that begins in one value ends with it
    first_text = next(tree.find_all(nodes.TemplateData), None)
    is_chat = first_text is not None and first_text.data.lstrip().startswith(("[", "{", "- role:"))
    used_outside = _free_names(tree.body, set(), with_comments=is_chat)
    env_used = frozenset(_env_names(tree))

    guarded = set[str]()
    env_guarded = set[str]()
    for guard in _guards_in(tree):
        guarded |= _all_names(guard)
        env_guarded.update(_env_names(guard))

    return TemplateNames(
        used=frozenset(used),
        needed=frozenset(used - guarded),
        env_used=env_used,
        env_needed=env_used - env_guarded,
        only_in_comments=frozenset(used - used_outside),
    )


def _free_names(body: list[nodes.Node], bound: set[str], with_comments: bool) -> set[str]:
    """The names that statements use where neither a loop nor a ``set`` has bound them.

    ``bound`` are the names that are bound before the statements. Afterwards it also contains those that they bind for all that
    follows. Without ``with_comments``, what stands in a comment of HTML uses no name.
    """
    free = set[str]()
    for node in body:
        match node:
            case nodes.If():
                free |= _all_names(node.test) - bound
                bound_in_if = set(bound)
                bound_in_else = set(bound)
                free |= _free_names(node.body, bound_in_if, with_comments)
                # An `elif` is an `If` itself, so it stands where its own `else` would
                free |= _free_names([*node.elif_, *node.else_], bound_in_else, with_comments)
                bound |= bound_in_if & bound_in_else
            case nodes.For():
                free |= _all_names(node.iter) - bound
                bound_in_loop = bound | _all_names(node.target) | {"loop"}
                free |= _free_names(node.body, bound_in_loop, with_comments)
                free |= _free_names(node.else_, set(bound), with_comments)
            case nodes.Assign():
                free |= _all_names(node.node) - bound
                bound |= _all_names(node.target)
            case nodes.AssignBlock():
                free |= _free_names(node.body, bound, with_comments)
                bound |= _all_names(node.target)
            case nodes.Output():
                printed = node.nodes if with_comments else _outside_comments(node)
                for part in printed:
                    free |= _all_names(part) - bound
    return free


def _outside_comments(node: nodes.Output) -> list[nodes.Expr]:
    """The values of a text outside of comments of HTML. A comment that does not end in the same text is not a comment."""
    outside: list[nodes.Expr] = []
    inside: list[nodes.Expr] = []  # since the last comment began
    is_comment = False
    for part in node.nodes:
        if isinstance(part, nodes.TemplateData):
            for sign in re.findall("<!--|-->", part.data):
                is_comment = sign == "<!--"
                if not is_comment:
                    inside.clear()
        elif is_comment:
            inside.append(part)
        else:
            outside.append(part)
    return outside + inside


def _guards_in(tree: nodes.Template) -> Iterator[nodes.Node]:
    """The expressions that a template tests, or gives a default for."""
    for condition in _nodes_in(tree, (nodes.If, nodes.CondExpr)):
        yield condition.test
    yield from tree.find_all((nodes.Or, nodes.And, nodes.Test))
    for node in tree.find_all(nodes.Filter):
        if node.name in ("default", "d"):
            yield node


def _all_names(tree: nodes.Node) -> set[str]:
    """All names in a node, bound or not."""
    return {node.name for node in _nodes_in(tree, nodes.Name)}


def _env_names(tree: nodes.Node) -> Iterator[str]:
    """NAME of each ``env.NAME`` and ``env['NAME']``."""
    for node in _nodes_in(tree, (nodes.Getattr, nodes.Getitem)):
        if isinstance(node.node, nodes.Name) and node.node.name == "env":
            key = node.attr if isinstance(node, nodes.Getattr) else getattr(node.arg, "value", None)
            if key is not None:
                yield str(key)


def _nodes_in(tree: nodes.Node, kind: Any) -> Iterator[Any]:
    """The node itself, if it is of the kind, and all nodes of the kind below it."""
    if isinstance(tree, kind):
        yield tree
    yield from tree.find_all(kind)


# --- in the text of a variable ----------------------------------------------------------------------------------

# `{{ NAME }}` or `{{ NAME | filter }}`; `{% if NAME %}` or `{% for NAME in ... %}`
_USE = re.compile(r"\{\{\s*([^{}\s|]+)\s*(?:\|[^}]+)?\}\}|\{%\s*(?:if|for)\s+([^{}\s]+)[^\n]*?%\}")
_LOOP = re.compile(r"\{%\s*for\s+(\w+)\s+in\s+(\w+)\s*%\}")  # `{% for NAME in ITEMS %}`
_ROOT_NAME = re.compile(r"[A-Za-z_]\w*")  # `user` of `user.name`
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)


def mentioned_names(text: str) -> list[str]:
    """The names that a variable's value uses, sorted, as promptfoo finds them: by patterns that take quadratic time."""
    text = _COMMENT.sub("", text)
    uses = {printed or head for printed, head in _USE.findall(text)}
    for name, items in _LOOP.findall(text):
        uses.discard(name)
        uses.add(items)

    names = set()
    for use in uses:
        root = _ROOT_NAME.match(use)
        if root:
            names.add(root[0])
    return sorted(names)
