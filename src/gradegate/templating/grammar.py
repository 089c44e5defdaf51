"""Reads templates: the part of Nunjucks that is supported, with Jinja's lexer and parser. The rest is refused by name.

Where Jinja reads signs otherwise than Nunjucks (``not a == b``, ``1 + 2 ~ 3``, ``1 < 2 < 3``), brackets are asked for.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NoReturn

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.lexer import Lexer
from jinja2.parser import Parser

from gradegate.registry import near
from gradegate.security.redaction import excerpt
from gradegate.templating.filters import FILTERS, TESTS

_COMPARES = {"eq": "==", "ne": "!=", "lt": "<", "lteq": "<=", "gt": ">", "gteq": ">="}
_TAGS = ("if", "for", "set", "elif", "else", "endif", "endfor", "endset", "endraw")
BINARY = {nodes.Add: "+", nodes.Sub: "-", nodes.Mul: "*", nodes.Div: "/", nodes.Mod: "%"}
_JOINS = (*BINARY, nodes.Concat, nodes.Compare)
_IN = ("in", "not in")
_SUPPORTED = (
    *_JOINS,
    *(nodes.Operand, nodes.Neg, nodes.Pos, nodes.And, nodes.Or, nodes.Not, nodes.CondExpr),
    *(nodes.Const, nodes.List, nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Filter, nodes.Test),
    *(nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign, nodes.AssignBlock),
)
_NAMES: dict[type[nodes.Node], str] = {
    nodes.Dict: "`{}` with members",
    nodes.FloorDiv: "`//`",
    nodes.Keyword: "a value by name",
    nodes.Pow: "`**`",
    nodes.Slice: "`[a:b]`",
    nodes.Tuple: "a comma between values",
}
# What configs write most of what is not supported, and the filter that does it.
_INSTEAD = {
    "count": "length",
    "tojson": "dump",
    "toLowerCase": "lower",
    "toUpperCase": "upper",
    "replaceAll": "replace",
}
_INSTEAD |= {name: name for name in ("trim", "join", "replace", "lower", "upper")}


class _Lexer(Lexer):
    def wrap(
        self, stream: Iterable[Any], name: str | None = None, filename: str | None = None
    ) -> Iterator[Any]:
        return super().wrap(_tokens(stream), name, filename)


def _tokens(stream: Iterable[tuple[int, str, str]]) -> Iterator[tuple[int, str, str]]:
    """Tokens whose literals Jinja and Nunjucks read alike. Raises TemplateSyntaxError."""
    begins = False  # whether a block has just begun
    for line, kind, text in stream:
        if kind in ("integer", "float") and not re.fullmatch(r"\d+(\.\d+)?", text):
            raise TemplateSyntaxError(
                f"the number `{excerpt(text, 20)}` is not supported: write it in digits", line
            )
        if kind == "string":
            escapes = (
                escape
                for escape in re.finditer(r"\\(.)", text, re.DOTALL)
                if escape[1] not in "ntr\\\"'"
            )
            if escape := next(escapes, None):
                raise TemplateSyntaxError(
                    f"`{escape[0]}` in a text is not supported: write the sign itself", line
                )
        yield line, kind, "elif" if begins and text == "elseif" else text
        begins = kind == "block_begin" or (begins and kind == "whitespace")


class _Environment(Environment):
    @cached_property
    def lexer(self) -> Lexer:
        return _Lexer(self)


ENVIRONMENT = _Environment(keep_trailing_newline=True)


def parse_template(source: str) -> nodes.Template:
    """What a template is made of. Raises TemplateSyntaxError for what is not supported."""
    tree = _Parser(ENVIRONMENT, source).parse()
    for node in tree.find_all(nodes.Node):
        _check(node)
    return tree


class _Parser(Parser):
    def parse_statement(self) -> nodes.Node | list[nodes.Node]:
        word = self.stream.current
        if word.type == "name" and word.value not in _TAGS:
            self.fail(
                f"`{{% {word.value} %}}` is not supported: a template has `if`, `for`, `set`, `raw` and comments",
                word.lineno,
            )
        return super().parse_statement()

    def parse_compare(self) -> nodes.Expr:
        """One comparison, also with ``===``; in a row they would not be read as in JavaScript."""
        left = self.parse_math1()
        sign = self._sign()
        if not sign:
            return left
        right = self.parse_math1()
        if self._sign():
            self.fail(
                "comparisons in a row are not supported: put brackets around one", right.lineno
            )
        return nodes.Compare(left, [nodes.Operand(sign, right)], lineno=left.lineno)

    def _sign(self) -> str:
        token = self.stream.current
        if token.type in _COMPARES:
            next(self.stream)
            strictly = token.type in ("eq", "ne") and self.stream.skip_if("assign")
            return _COMPARES[token.type] + "=" * strictly
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


_BRACKETS = "gradegate_brackets"  # of a node that stands in brackets


def _check(node: nodes.Node) -> None:
    """Raises TemplateSyntaxError for a node that is not supported, or that Nunjucks would read in another way."""
    bare = [child for child in node.iter_child_nodes() if not hasattr(child, _BRACKETS)]
    match node:
        case nodes.Call():
            name = getattr(node.node, "attr", "") or getattr(node.node, "name", "")
            cure = (
                f"write `| {_INSTEAD[name]}`"
                if name in _INSTEAD
                else "put what it gives into a variable"
            )
            _refuse(node, f"a call such as `{name}()`", cure)
        case nodes.Filter() if node.name not in FILTERS:
            _refuse(node, f"the filter `{node.name}`", _nearest(node.name, FILTERS))
        case nodes.Test() if node.name not in TESTS or node.args:
            _refuse(node, f"`is {node.name}`", _nearest(node.name, TESTS))
        case nodes.Not() if any(
            isinstance(it, _JOINS) and not (isinstance(it, nodes.Compare) and it.ops[0].op in _IN)
            for it in bare
        ):
            _refuse(node, "`not` before a sign", "put brackets around what it negates")
        case nodes.Add() | nodes.Sub() if (
            isinstance(node.right, nodes.Concat) and node.right in bare
        ):
            _refuse(node, "`~` behind `+` or `-`", "put brackets around one")
        case nodes.For(test=test, recursive=recursive) if test or recursive:
            _refuse(node, "a loop with a condition or `recursive`", "write `{% if %}` into it")
    if isinstance(node, (*_JOINS, nodes.Operand)) and any(
        isinstance(child, nodes.Test | nodes.Not) for child in bare
    ):
        _refuse(node, "`is` or `not` beside a sign", "put brackets around it")
    names = (
        isinstance(node, nodes.Tuple)
        and node.ctx == "store"
        and all(isinstance(it, nodes.Name) for it in node.items)
    )
    if not names and not isinstance(node, _SUPPORTED):
        _refuse(
            node,
            _NAMES.get(type(node), f"`{type(node).__name__.lower()}`"),
            "put the value into a variable",
        )
    if isinstance(node, nodes.Assign | nodes.AssignBlock) and not isinstance(
        node.target, nodes.Name
    ):
        _refuse(node, "`set` of anything but one name", "write one `set` for each")
    if isinstance(node, nodes.AssignBlock) and node.filter:
        _refuse(node, "a filter of a whole block", "put it where the value is printed")


def _nearest(name: str, known: Iterable[str]) -> str:
    close = _INSTEAD.get(name) or near(name, known)
    return f"did you mean `{close}`?" if close else "there are " + ", ".join(sorted(known))


def _refuse(node: nodes.Node, what: str, cure: str) -> NoReturn:
    raise TemplateSyntaxError(f"{what} is not supported in templates: {cure}", node.lineno)
