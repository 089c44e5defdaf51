"""Parses templates: the part of Nunjucks that is supported, with Jinja's lexer and parser. The rest is refused by its name.

Where Jinja reads operators in another way than Nunjucks (``not a == b``, ``1 + 2 ~ 3``, ``1 < 2 < 3``), the message asks for
brackets.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NoReturn

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.lexer import Lexer
from jinja2.parser import Parser

from gradegate.registry import near_miss
from gradegate.security.redaction import excerpt
from gradegate.templating.filters import FILTERS, TESTS

_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "lteq": "<=", "gt": ">", "gteq": ">="}
_TAGS = ("if", "for", "set", "elif", "else", "endif", "endfor", "endset", "endraw")
BINARY = {nodes.Add: "+", nodes.Sub: "-", nodes.Mul: "*", nodes.Div: "/", nodes.Mod: "%"}
_OPERATIONS = (*BINARY, nodes.Concat, nodes.Compare)
_SUPPORTED = (
    *_OPERATIONS,
    *(nodes.Operand, nodes.Neg, nodes.Pos, nodes.And, nodes.Or, nodes.Not, nodes.CondExpr),
    *(nodes.Const, nodes.List, nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Filter, nodes.Test),
    *(nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign, nodes.AssignBlock),
)
# What messages call the nodes that are not supported
_NODE_NAMES: dict[type[nodes.Node], str] = {
    nodes.Dict: "`{}` with members",
    nodes.FloorDiv: "`//`",
    nodes.Keyword: "a value by name",
    nodes.Pow: "`**`",
    nodes.Slice: "`[a:b]`",
    nodes.Tuple: "a comma between values",
}
# Calls and filters that configs often have and that are not supported, with the filter to use instead
_INSTEAD = {
    "count": "length",
    "tojson": "dump",
    "toLowerCase": "lower",
    "toUpperCase": "upper",
    "replaceAll": "replace",
    "trim": "trim",
    "join": "join",
    "replace": "replace",
    "lower": "lower",
    "upper": "upper",
}
_BRACKETS = "gradegate_brackets"  # an attribute that the parser sets on a node in brackets


class _Lexer(Lexer):
    """Jinja's lexer, but each token is checked."""

    def wrap(
        self, stream: Iterable[Any], name: str | None = None, filename: str | None = None
    ) -> Iterator[Any]:
        return super().wrap(_check_tokens(stream), name, filename)


def _check_tokens(stream: Iterable[tuple[int, str, str]]) -> Iterator[tuple[int, str, str]]:
    """The tokens; ``elseif`` becomes ``elif``. Raises TemplateSyntaxError for a literal that Jinja and Nunjucks read differently."""
    is_tag_name = False
    for line, kind, text in stream:
        if kind in ("integer", "float") and not re.fullmatch(r"\d+(\.\d+)?", text):
            raise TemplateSyntaxError(
                f"the number `{excerpt(text, 20)}` is not supported: write it in digits", line
            )
        if kind == "string":
            for escape in re.finditer(r"\\(.)", text, re.DOTALL):
                if escape[1] not in "ntr\\\"'":
                    raise TemplateSyntaxError(
                        f"`{escape[0]}` in a text is not supported: write the sign itself", line
                    )
        yield line, kind, "elif" if is_tag_name and text == "elseif" else text
        is_tag_name = kind == "block_begin" or (is_tag_name and kind == "whitespace")


class _Environment(Environment):
    """Jinja's environment, with our lexer."""

    @cached_property
    def lexer(self) -> Lexer:
        return _Lexer(self)


ENVIRONMENT = _Environment(keep_trailing_newline=True)


def parse_template(source: str) -> nodes.Template:
    """The tree of a template. Raises TemplateSyntaxError for what is not supported."""
    tree = _Parser(ENVIRONMENT, source).parse()
    for node in tree.find_all(nodes.Node):
        _check_node(node)
    return tree


class _Parser(Parser):
    """Jinja's parser, which refuses by name what is not supported."""

    def parse_statement(self) -> nodes.Node | list[nodes.Node]:
        word = self.stream.current
        if word.type == "name" and word.value not in _TAGS:
            self.fail(
                f"`{{% {word.value} %}}` is not supported: a template has `if`, `for`, `set`, `raw` and comments",
                word.lineno,
            )
        return super().parse_statement()

    def parse_compare(self) -> nodes.Expr:
        """One comparison, also with ``===``. Comparisons in a row would not be read as in JavaScript."""
        left = self.parse_math1()
        operator = self._take_comparison()
        if not operator:
            return left
        right = self.parse_math1()
        if self._take_comparison():
            self.fail(
                "comparisons in a row are not supported: put brackets around one", right.lineno
            )
        return nodes.Compare(
            left, [nodes.Operand(operator, right, lineno=right.lineno)], lineno=left.lineno
        )

    def _take_comparison(self) -> str:
        """The operator of a comparison, if it comes next; else empty."""
        token = self.stream.current
        if token.type in _COMPARISONS:
            next(self.stream)
            operator = _COMPARISONS[token.type]
            if token.type in ("eq", "ne") and self.stream.skip_if("assign"):
                operator += "="
            return operator
        if token.test("name:not") and self.stream.look().test("name:in"):
            self.stream.skip(2)
            return "not in"
        return "in" if self.stream.skip_if("name:in") else ""

    def parse_primary(self, with_namespace: bool = False) -> nodes.Expr:
        token = self.stream.current
        if token.test("name:null"):
            next(self.stream)
            return nodes.Const(None, lineno=token.lineno)
        if token.test_any("name:True", "name:False", "name:None"):
            self.fail(
                f"`{token.value}` is not supported: write `{token.value.lower()}`", token.lineno
            )
        if token.type == "string" and self.stream.look().type == "string":
            self.fail("texts side by side are not supported: put `~` between them", token.lineno)
        node = super().parse_primary(with_namespace)
        if token.type == "lparen":
            setattr(node, _BRACKETS, True)
        return node


def _check_node(node: nodes.Node) -> None:
    """Raises TemplateSyntaxError for a node that is not supported, or that Nunjucks would read in another way."""
    unbracketed = [child for child in node.iter_child_nodes() if not _is_in_brackets(child)]
    match node:
        case nodes.Call():
            name = getattr(node.node, "attr", "") or getattr(node.node, "name", "")
            cure = "put what it gives into a variable"
            if name in _INSTEAD:
                cure = f"write `| {_INSTEAD[name]}`"
            _refuse(node, f"a call such as `{name}()`", cure)
        case nodes.Filter() if node.name not in FILTERS:
            _refuse(node, f"the filter `{node.name}`", _suggest_name(node.name, FILTERS))
        case nodes.Test() if node.name not in TESTS or node.args:
            _refuse(node, f"`is {node.name}`", _suggest_name(node.name, TESTS))
        case nodes.Not() if any(_is_misread_behind_not(child) for child in unbracketed):
            _refuse(node, "`not` before a sign", "put brackets around what it negates")
        case nodes.Add() | nodes.Sub() if isinstance(node.right, nodes.Concat):
            if not _is_in_brackets(node.right):
                _refuse(node, "`~` behind `+` or `-`", "put brackets around one")
        case nodes.For(test=test, recursive=recursive) if test or recursive:
            _refuse(node, "a loop with a condition or `recursive`", "write `{% if %}` into it")

    if isinstance(node, (*_OPERATIONS, nodes.Operand)):
        for child in unbracketed:
            if isinstance(child, nodes.Test | nodes.Not):
                _refuse(node, "`is` or `not` beside a sign", "put brackets around it")
    if not isinstance(node, _SUPPORTED) and not _is_loop_target(node):
        problem = _NODE_NAMES.get(type(node), f"`{type(node).__name__.lower()}`")
        _refuse(node, problem, "put the value into a variable")
    if isinstance(node, nodes.Assign | nodes.AssignBlock):
        if not isinstance(node.target, nodes.Name):
            _refuse(node, "`set` of anything but one name", "write one `set` for each")
        if isinstance(node, nodes.AssignBlock) and node.filter:
            _refuse(node, "a filter of a whole block", "put it where the value is printed")


def _is_in_brackets(node: nodes.Node) -> bool:
    return hasattr(node, _BRACKETS)


def _is_misread_behind_not(node: nodes.Node) -> bool:
    """Whether Jinja and Nunjucks read ``not`` before this operation in different ways."""
    if isinstance(node, nodes.Compare) and node.ops[0].op in ("in", "not in"):
        return False
    return isinstance(node, _OPERATIONS)


def _is_loop_target(node: nodes.Node) -> bool:
    """Whether a node has the names of a loop, as in ``for key, value in``."""
    if not isinstance(node, nodes.Tuple) or node.ctx != "store":
        return False
    return all(isinstance(item, nodes.Name) for item in node.items)


def _suggest_name(name: str, names: Iterable[str]) -> str:
    close = _INSTEAD.get(name) or near_miss(name, names)
    return f"did you mean `{close}`?" if close else "there are " + ", ".join(sorted(names))


def _refuse(node: nodes.Node, problem: str, cure: str) -> NoReturn:
    raise TemplateSyntaxError(f"{problem} is not supported in templates: {cure}", node.lineno)
