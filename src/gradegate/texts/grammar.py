"""Reads expressions as Nunjucks does, which writes them out as JavaScript and leaves it to that what binds how tightly.

So ``not a == b`` asks whether *not a* equals b, and ``1 ~ 2 + 3`` is ``123``. What Nunjucks writes as a call (a filter,
``in``, ``is``, ``//``, ``**``, an inline ``if``) is a whole of its own; all else is a row of values and signs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from jinja2 import nodes
from jinja2.lexer import Token
from jinja2.parser import Parser

from gradegate.registry import near
from gradegate.texts.values import number

_PLUS = {"add": "+", "sub": "-", "tilde": "~"}
_TIMES = {"mul": "*", "div": "/", "mod": "%"}
_COMPARES = {"eq": "==", "ne": "!=", "lt": "<", "lteq": "<=", "gt": ">", "gteq": ">="}
_LEVELS = (("or",), ("and",), ("==", "!=", "===", "!=="), ("<", "<=", ">", ">="), ("+", "-", "~"), ("*", "/", "%"))
_BINDS = {sign: level for level, signs in enumerate(_LEVELS) for sign in signs}
_UNARY = {"not", "neg", "pos"}
_Row = list[Any]  # expressions and the signs between and before them
_CASES = ("name:case", "name:default", "name:endswitch")
UNDEFINED = "undefined value"  # a filter that no template can name
# What Jinja has and Nunjucks refuses, with what is written there.
_INSTEAD = {
    "with": "write `{% set %}`",
    "autoescape": "nothing is escaped here; `| escape` is a filter",
    "print": "write `{{ }}`",
    "include": "no template reads a file: put its text into a variable",
    "import": "no template reads a file: write the macro into this one",
    "from": "no template reads a file: write the macro into this one",
    "extends": "no template reads a file: write the whole of it",
    "tojson": "`dump` writes JSON",
    "count": "write `length`",
    "items": "write `{% for key, value in it %}`",
    "urlize": "it is not done here",
    "true": "write `== true`",
    "false": "write `== false`",
    "True": "write `true`",
    "False": "write `false`",
    "None": "write `none`",
}
REGEX = "regular expressions are not read in templates: compare texts, or use a `regex` assertion"


def call(name: str, *values: nodes.Expr) -> nodes.Filter:
    """An operator between values: a filter of that name."""
    return nodes.Filter(values[0], name, list(values[1:]), [], None, None, lineno=values[0].lineno)


class NunjucksParser(Parser):
    """Jinja's parser of templates with Nunjucks' grammar of expressions."""

    def parse_expression(self, with_condexpr: bool = True) -> nodes.Expr:
        """One expression."""
        return self.parse_condexpr() if with_condexpr else self.parse_or()

    def parse_condexpr(self) -> nodes.Expr:
        """``a if b else c``; without ``else`` it is an empty text."""
        node = self.parse_or()
        if not self.stream.skip_if("name:if"):
            return node
        test = self.parse_or()
        otherwise = self.parse_or() if self.stream.skip_if("name:else") else nodes.Const("", lineno=node.lineno)
        return nodes.CondExpr(test, node, otherwise, lineno=node.lineno)

    def parse_or(self) -> nodes.Expr:
        """All but the inline condition."""
        return _bound(self._words("or", lambda: self._words("and", self._not)))

    def _words(self, word: str, inner: Callable[[], _Row]) -> _Row:
        row = inner()
        while self.stream.skip_if(f"name:{word}"):
            row += [word, *inner()]
        return row

    def _not(self) -> _Row:
        return ["not", *self._not()] if self.stream.skip_if("name:not") else self._in()

    def _in(self) -> _Row:
        row = self._is()
        while True:
            negated = self.stream.current.test("name:not") and self.stream.look().test("name:in")
            if negated:
                next(self.stream)
            if not self.stream.skip_if("name:in"):
                return row
            row = [call("in", _bound(row), _bound(self._is()))]
            row = ["not", *row] if negated else row

    def _is(self) -> _Row:
        row = self._compare()
        return [self.parse_test(_bound(row))] if self.stream.current.test("name:is") else row

    def _compare(self) -> _Row:
        row = self._add()
        while self.stream.current.type in _COMPARES:
            sign = _COMPARES[next(self.stream).type]
            if sign in ("==", "!=") and self.stream.skip_if("assign"):
                sign += "="
            row += [sign, *self._add()]
        return row

    def _add(self) -> _Row:
        return self._signs(_PLUS, lambda: self._signs(_TIMES, self._floor))

    def _signs(self, signs: dict[str, str], inner: Callable[[], _Row]) -> _Row:
        row = inner()
        while self.stream.current.type in signs:
            row += [signs[next(self.stream).type], *inner()]
        return row

    def _floor(self) -> _Row:
        return self._calls("floordiv", "//", lambda: self._signs({"mod": "%"}, self._pow))

    def _pow(self) -> _Row:
        return self._calls("pow", "**", self._unary)

    def _calls(self, token: str, name: str, inner: Callable[[], _Row]) -> _Row:
        row = inner()
        while self.stream.skip_if(token):
            row = [call(name, _bound(row), _bound(inner()))]
        return row

    def _unary(self) -> _Row:
        row = self._signed()
        if self.stream.current.type != "pipe":
            return row
        node = _bound(row)
        while self.stream.current.type == "pipe":
            node = self.parse_filter(node)  # type: ignore[assignment]
        return [node]

    def _signed(self) -> _Row:
        sign = {"sub": "neg", "add": "pos"}.get(self.stream.current.type)
        if sign is None:
            return [self.parse_postfix(self.parse_primary())]
        next(self.stream)
        return [sign, *self._signed()]

    def parse_unary(self, with_filter: bool = True) -> nodes.Expr:
        """What stands behind a test without parentheses."""
        return _bound(self._unary() if with_filter else self._signed())

    def parse_primary(self, with_namespace: bool = False) -> nodes.Expr:
        """A literal, a name, or what is in brackets; ``null`` and ``undefined`` are known."""
        word = self.stream.current
        if word.test_any("name:null", "name:undefined"):
            next(self.stream)
            nothing = nodes.Const(None, lineno=word.lineno)
            return nothing if word.value == "null" else call(UNDEFINED, nothing)
        self._check_word(word)
        node = super().parse_primary(with_namespace)
        if isinstance(node, nodes.Const) and type(node.value) is int:
            return nodes.Const(number(node.value), lineno=word.lineno)
        if word.type == "lparen" and isinstance(node, nodes.Tuple):  # the comma of JavaScript gives what stands last
            return node.items[-1] if node.items else self.fail("nothing stands between the parentheses", word.lineno)
        return node

    def _check_word(self, word: Token) -> None:
        """What Jinja reads otherwise than Nunjucks is not read at all."""
        if word.test("name:r") and self.stream.look().type == "div":
            self.fail(REGEX, word.lineno)
        if word.test_any("name:True", "name:False", "name:None"):
            self.fail(f"`{word.value}` means nothing in Nunjucks: {_INSTEAD[word.value]}", word.lineno)
        if word.test("name:self"):
            self.fail("`self` is no variable here: give it another name", word.lineno)
        if word.type == "string" and self.stream.look().type == "string":
            self.fail("two texts stand side by side: put `~` between them", word.lineno)

    def parse_subscript(self, node: nodes.Expr) -> nodes.Expr:  # type: ignore[override]
        """``a.b`` and ``a[b]``; ``5.`` is the number."""
        ends = isinstance(node, nodes.Const) and type(node.value) is int and self.stream.current.type == "dot"
        if ends and self.stream.look().type not in ("name", "integer"):
            next(self.stream)
            return node
        return super().parse_subscript(node)

    def parse_subscribed(self) -> nodes.Expr:
        """What stands between square brackets."""
        node = super().parse_subscribed()
        if isinstance(node, nodes.Slice):
            self.fail("Nunjucks has no slices of `[a:b]`: write `.slice(a, b)`", node.lineno)
        return node

    def parse_tuple(
        self,
        simplified: bool = False,
        with_condexpr: bool = True,
        extra_end_rules: tuple[str, ...] | None = None,
        explicit_parentheses: bool = False,
        with_namespace: bool = False,
    ) -> nodes.Tuple | nodes.Expr:
        """An expression, or the names of a loop."""
        line = self.stream.current.lineno
        node = super().parse_tuple(simplified, with_condexpr, extra_end_rules, explicit_parentheses, with_namespace)
        if isinstance(node, nodes.Tuple) and not simplified and not explicit_parentheses:
            self.fail("a comma does not belong here", line)
        return node

    def parse_call_args(self) -> Any:
        """The values of a call."""
        line, found = self.stream.current.lineno, super().parse_call_args()
        if found[2] is not None or found[3] is not None:
            self.fail("Nunjucks has no `*` in a call: write the values", line)
        return found

    def parse_filter(self, node: nodes.Expr | None, start_inline: bool = False) -> nodes.Expr | None:
        """A value through filters, each of which Nunjucks has."""
        made = super().parse_filter(node, start_inline)
        step = made
        while isinstance(step, nodes.Filter) and step is not node:
            self._check_known("filter", step, self.environment.filters)
            step = step.node
        return made

    def parse_test(self, node: nodes.Expr) -> nodes.Expr:
        """What stands behind ``is``, which Nunjucks has."""
        made = super().parse_test(node)
        self._check_known("test", made.node if isinstance(made, nodes.Not) else made, self.environment.tests)
        return made

    def _check_known(self, kind: str, node: Any, known: Mapping[str, Any]) -> None:
        if node.name not in known or node.name == "in":  # the operator, which is a filter in the tree alone
            close = near(node.name, filter(str.isalpha, known.keys() - {"in"}))
            hint = _INSTEAD.get(node.name) or (f'did you mean "{close}"?' if close else "")
            self.fail(f"there is no {kind} `{node.name}` in Nunjucks" + (f": {hint}" if hint else ""), node.lineno)

    def parse_statement(self) -> nodes.Node | list[nodes.Node]:
        """One block; ``switch`` is one of Nunjucks alone."""
        word = self.stream.current
        if word.type == "name" and word.value in ("with", "autoescape", "print"):
            self.fail(f"Nunjucks has no `{{% {word.value} %}}`: {_INSTEAD[word.value]}", word.lineno)
        if word.type == "name" and word.value in ("include", "import", "from", "extends"):
            self.fail(f"`{{% {word.value} %}}` is not done: {_INSTEAD[word.value]}", word.lineno)
        return self._switch() if word.test("name:switch") else super().parse_statement()

    def parse_for(self) -> nodes.For:
        """A loop."""
        node = super().parse_for()
        if node.test is not None or node.recursive:
            what = "`recursive`" if node.recursive else "condition of its own: write `{% if %}` into it"
            self.fail(f"a loop of Nunjucks has no {what}", node.lineno)
        return node

    def parse_set(self) -> Any:
        """``set a = 1``, ``set a, b = 1``, which gives both the same, and ``set a``, whose text ends at ``endset``."""
        line = next(self.stream).lineno
        first, *others = self._names()
        if self.stream.skip_if("assign"):
            made: nodes.Node = nodes.Assign(first, self.parse_expression(), lineno=line)
        else:
            body = self.parse_statements(("name:endset",), drop_needle=True)
            made = nodes.AssignBlock(first, None, body, lineno=line)
        copies = [nodes.Assign(name, nodes.Name(first.name, "load", lineno=line), lineno=line) for name in others]
        return [made, *copies]

    def _names(self) -> list[nodes.Name]:
        names = [self.parse_assign_target(with_tuple=False)]
        while self.stream.skip_if("comma"):
            names.append(self.parse_assign_target(with_tuple=False))
        return names

    def _switch(self) -> nodes.Node:
        """Each case as a condition; one that holds nothing at all goes on into the next."""
        line = next(self.stream).lineno
        value = self.parse_expression()
        self.parse_statements(_CASES)  # what stands before the first case is not shown
        result = last = nodes.If(nodes.Const(False), [], [], [], lineno=line)
        wanted: list[nodes.Expr] = []
        while self.stream.skip_if("name:case"):
            wanted.append(call("===", value, self.parse_expression()))
            if body := self.parse_statements(_CASES):
                case = nodes.If(_any(wanted), body, [], [], lineno=line)
                last.else_, last, wanted = [case], case, []
        if self.stream.skip_if("name:default"):
            last.else_ = self.parse_statements(("name:endswitch",))
        self.stream.expect("name:endswitch")
        return result

    def parse_list(self) -> nodes.Expr:  # type: ignore[override]
        """``[a, b]``"""
        return call("[]", super().parse_list())

    def parse_dict(self) -> nodes.Expr:  # type: ignore[override]
        """``{a: b}``, where ``a`` is itself the key."""
        mapping = super().parse_dict()
        for pair in mapping.items:
            if isinstance(pair.key, nodes.Name):
                pair.key = nodes.Const(pair.key.name, lineno=pair.lineno)
        return call("{}", mapping)


def _any(tests: list[nodes.Expr]) -> nodes.Expr:
    return reduce(lambda left, right: nodes.Or(left, right, lineno=left.lineno), tests)


def _bound(row: _Row) -> nodes.Expr:
    """The expression of a row, by what binds how tightly in JavaScript."""
    left = list(reversed(row))
    node = _climb(left, 0)
    assert not left
    return node


def _climb(left: _Row, least: int) -> nodes.Expr:
    item = left.pop()
    node = _signed(item, _climb(left, len(_LEVELS))) if isinstance(item, str) else item
    while left and _BINDS[left[-1]] >= least:
        sign = left.pop()
        node = _joined(sign, node, _climb(left, _BINDS[sign] + 1))
    return node


def _signed(sign: str, node: nodes.Expr) -> nodes.Expr:
    assert sign in _UNARY
    return nodes.Not(node, lineno=node.lineno) if sign == "not" else call(sign, node)


def _joined(sign: str, left: nodes.Expr, right: nodes.Expr) -> nodes.Expr:
    if sign in ("or", "and"):
        return (nodes.Or if sign == "or" else nodes.And)(left, right, lineno=left.lineno)
    return call(sign, left, right)
