"""Fills in the parsed tree of a template. gradegate uses these functions itself, and in the worker what may take long.

A text knows which of its parts the template itself wrote, and which come from values. So in JSON and in addresses, values are
escaped once.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache, reduce
from itertools import islice
from json import JSONDecodeError
from typing import Any, NamedTuple
from urllib.parse import quote

import jinja2
from jinja2 import nodes

from gradegate.core.conversation import Variables
from gradegate.files.limits import MAX_TEXT_CHARACTERS
from gradegate.templating import grammar
from gradegate.templating.filters import FILTERS, TESTS
from gradegate.templating.printing import (
    OPERATORS,
    UNDEFINED,
    add_values,
    get_member,
    is_true,
    js_number,
    show_value,
    to_number,
    to_string,
    with_json_text,
)

# Of the worker, which imports nothing later.
NEEDS = (
    "encodings.unicode_escape",
    "encodings.utf_16_le",
    "jinja2.debug",
    "logging",
    "pprint",
    "textwrap",
)
_ERRORS = (jinja2.TemplateError, ArithmeticError, TypeError, ValueError, RecursionError)


class TemplateError(ValueError):
    """A template cannot be parsed or filled in; the message says why and, if known, in which line of it."""


class TemplateNames(NamedTuple):
    """The variables of a template."""

    used: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()  # that it nowhere tests or gives a default for
    env_used: frozenset[str] = frozenset()  # of ``env``
    env_needed: frozenset[str] = frozenset()
    only_in_comments: frozenset[str] = frozenset()  # of HTML


# --- reading ----------------------------------------------------------------------------------------------------


def has_more_tokens(source: str, limit: int) -> bool:
    """Whether a template has more than ``limit`` tokens. Looks at no more than these."""
    if len(source) <= limit:
        return False
    try:
        return next(islice(grammar.ENVIRONMENT.lex(source), limit, None), None) is not None
    except _ERRORS:
        return False  # parsing will say what is wrong


def parse_template(source: str) -> nodes.Template:
    """The tree of a template; nothing in it is evaluated. Raises TemplateError."""
    try:
        return grammar.parse_template(source)
    except _ERRORS as e:
        raise _template_error(e) from e


def straight_parts(tree: nodes.Template) -> tuple[tuple[str, bool], ...]:
    """The texts and the names (True) of a template that has nothing else; empty for any other."""
    parts = []
    for node in tree.body:
        for part in getattr(node, "nodes", [node]):
            if isinstance(part, nodes.Name):
                parts.append((part.name, True))
            elif isinstance(part, nodes.TemplateData):
                parts.append((part.data, False))
            else:
                return ()
    return tuple(parts)


def _template_error(error: Exception) -> TemplateError:
    if isinstance(error, TemplateError):
        return error
    if isinstance(error, jinja2.TemplateSyntaxError):
        return TemplateError(f"{error.message} (line {error.lineno} of the template)")
    if isinstance(error, RecursionError):
        return TemplateError("it is nested too deeply, or refers to itself")
    if isinstance(error, ArithmeticError):
        return TemplateError("a number in it is too large")
    return TemplateError(str(error))


# --- filling in -------------------------------------------------------------------------------------------------


def render_tree(tree: nodes.Template, variables: Variables, into: str = "") -> str:
    """The text of a template. Raises TemplateError, also for a text that is too long.

    With ``into`` "json" or "url", no value breaks out of its place in such a text.
    """
    texts = []
    length = 0
    escape = _escape_for(into)
    try:
        for part in _Renderer(variables, into).render(tree.body):
            text = escape(part)
            length += len(text)
            if length > MAX_TEXT_CHARACTERS:
                raise TemplateError(
                    f"the filled-in text has more than {MAX_TEXT_CHARACTERS:,} characters"
                )
            texts.append(text)
    except _ERRORS as e:
        raise _template_error(e) from e
    return "".join(texts)


class _Writer(Enum):
    """Who wrote a text."""

    TEMPLATE = "template"
    VALUE = "value"
    BOTH = "both"  # a filter has changed a text of both, so they cannot be told apart


class _Part(NamedTuple):
    """A piece of a filled-in text."""

    text: str
    writer: _Writer


class _PartedText(str):
    """A text that knows its parts, some of which the template itself wrote."""

    __slots__ = ("parts",)
    parts: tuple[_Part, ...]


_COMMA = (_Part(",", _Writer.TEMPLATE),)


def _join_parts(parts: Iterable[_Part]) -> _PartedText:
    parts = tuple(parts)
    text = _PartedText("".join(part.text for part in parts))
    text.parts = parts
    return text


def _parts_of(value: Any, separator: Sequence[_Part] = _COMMA) -> Iterator[_Part]:
    """Yield the parts that a value prints; for a list those of its items, with ``separator`` between them.

    A short YAML file can make a list that prints without end. So nothing is collected before the length is checked.
    """
    if isinstance(value, _PartedText):
        yield from value.parts
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            if number:
                yield from separator
            yield from _parts_of(item)
    else:
        yield _Part(show_value(value), _Writer.VALUE)


def _template_text(text: str) -> _PartedText:
    """A text that the template itself wrote."""
    return _join_parts([_Part(text, _Writer.TEMPLATE)])


def _has_template_text(value: Any) -> bool:
    """Whether the template itself wrote a text in a value."""
    if isinstance(value, list | tuple):
        return any(map(_has_template_text, value))
    return isinstance(value, _PartedText)


class _JsonEscape:
    """Escapes a value inside a string of JSON. Elsewhere, a value must be whole JSON, or nothing."""

    is_in_string = False

    def __call__(self, part: _Part) -> str:
        text = part.text
        if part.writer is _Writer.TEMPLATE:
            return _STRING_SIGN.sub(self._pass_sign, text)
        if self.is_in_string:
            return json.dumps(text, ensure_ascii=False)[1:-1]
        try:
            value = json.loads(text) if text.strip() else ""
        except ValueError as e:
            raise TypeError("a value outside of quotes is not JSON: write `| dump`") from e
        if part.writer is _Writer.BOTH and isinstance(value, dict | list):
            raise TypeError(
                "a filter changes JSON that the template puts together: write `| dump` behind each value"
            )
        return text

    def _pass_sign(self, match: re.Match[str]) -> str:
        sign = match[0]
        if sign == '"':
            self.is_in_string = not self.is_in_string
        if self.is_in_string and sign == "\\":
            raise TypeError("a value stands behind a backslash")
        if self.is_in_string and sign < " ":
            return json.dumps(sign)[1:-1]
        return sign


_STRING_SIGN = re.compile(r'\\.?|["\x00-\x1f]', re.DOTALL)


def _escape_for_url(part: _Part) -> str:
    """An address or a form has each value percent-encoded once, even if the template encodes it, too."""
    return part.text if part.writer is _Writer.TEMPLATE else quote(part.text, safe="")


def _escape_nothing(part: _Part) -> str:
    return part.text


def _escape_for(into: str) -> Callable[[_Part], str]:
    """What makes the parts of one text harmless, in their order."""
    match into:
        case "json":
            return _JsonEscape()
        case "url":
            return _escape_for_url
    return _escape_nothing


class _Renderer:
    """One template with its variables. A loop has a scope; ``set`` changes the nearest name that is set around it."""

    def __init__(self, variables: Variables, into: str) -> None:
        self._variables = variables
        self._into = into
        self._scopes: list[dict[str, Any]] = [{}]
        if into == "url" and "env" in variables:
            # The environment may contain a part of an address, which is sent as it is.
            env = variables["env"]
            self._scopes[0]["env"] = {name: _template_text(env[name]) for name in env}

    def render(self, body: Iterable[nodes.Node]) -> Iterator[_Part]:
        """The parts of the text that these nodes print. Raises what filters and operators raise."""
        for node in body:
            match node:
                case nodes.Output():
                    for part in node.nodes:
                        if isinstance(part, nodes.TemplateData):
                            yield _Part(part.data, _Writer.TEMPLATE)
                        else:
                            yield from _parts_of(self._evaluate(part))
                case nodes.If():
                    yield from self.render(self._chosen_branch(node))
                case nodes.For():
                    yield from self._render_loop(node)
                case nodes.Assign():
                    self._assign(node.target, self._evaluate(node.node))
                case nodes.AssignBlock():
                    text = _join_parts(self.render(node.body))
                    self._assign(node.target, text if self._into else str(text))

    def _chosen_branch(self, node: nodes.If) -> list[nodes.Node]:
        for branch in (node, *node.elif_):
            if is_true(self._evaluate(branch.test)):
                return branch.body
        return node.else_

    def _assign(self, target: Any, value: Any) -> None:
        """Change the innermost name that is set, or set a new name in the innermost scope."""
        for scope in reversed(self._scopes):
            if scope.get(target.name, UNDEFINED) is not UNDEFINED:
                break
        else:
            scope = self._scopes[-1]
        scope[target.name] = value

    def _render_loop(self, node: nodes.For) -> Iterator[_Part]:
        if isinstance(node.target, nodes.Name):
            names = [node.target.name]
        else:
            names = [target.name for target in node.target.items]  # type: ignore[attr-defined]
        rows = [*_loop_rows(self._evaluate(node.iter), len(names))]

        scope: dict[str, Any] = {}
        self._scopes.append(scope)
        for index, row in enumerate(rows):
            rows_left = len(rows) - index
            scope["loop"] = {
                "index": index + 1,
                "index0": index,
                "revindex": rows_left,
                "revindex0": rows_left - 1,
                "first": index == 0,
                "last": rows_left == 1,
                "length": len(rows),
            }
            scope.update(zip(names, row, strict=True))
            yield from self.render(node.body)
        self._scopes.pop()

        if not rows:
            yield from self.render(node.else_)

    def _look_up(self, name: str) -> Any:
        for scope in reversed(self._scopes):
            value = scope.get(name, UNDEFINED)
            if value is not UNDEFINED:
                return value
        return self._variables.get(name, UNDEFINED)

    def _evaluate(self, node: Any) -> Any:
        """The value of an expression. Raises what filters and operators raise."""
        evaluate = self._evaluate
        match node:
            case nodes.Name():
                return self._look_up(node.name)
            case nodes.Const():
                return self._constant(node.value)
            case nodes.Getattr():
                return get_member(evaluate(node.node), node.attr)
            case nodes.Getitem():
                return get_member(evaluate(node.node), evaluate(node.arg))
            case nodes.List():
                return [evaluate(item) for item in node.items]
            case nodes.Filter():
                arguments = [evaluate(argument) for argument in (node.node, *node.args)]
                return self._apply_filter(node.name, arguments)
            case nodes.Test():
                return TESTS[node.name](evaluate(node.node))
            case nodes.Not():
                return not is_true(evaluate(node.node))
            case nodes.And() | nodes.Or():
                left = evaluate(node.left)
                needs_right = is_true(left) == isinstance(node, nodes.And)
                return evaluate(node.right) if needs_right else left
            case nodes.CondExpr():
                branch = node.expr1 if is_true(evaluate(node.test)) else node.expr2
                return "" if branch is None else evaluate(branch)
            case nodes.Compare():
                operand = node.ops[0]
                return OPERATORS[operand.op](evaluate(node.expr), evaluate(operand.expr))
            case nodes.Concat():
                return self._concatenate([evaluate(item) for item in node.nodes])
            case nodes.Neg():
                return js_number(-to_number(evaluate(node.node)))
            case nodes.Pos():
                return js_number(to_number(evaluate(node.node)))
        # Every other expression has an operator between two values.
        operands = [evaluate(node.left), evaluate(node.right)]
        result = OPERATORS[grammar.BINARY[type(node)]](*operands)
        return self._concatenate(operands) if isinstance(result, str) else result

    def _constant(self, value: Any) -> Any:
        if self._into and isinstance(value, str):
            return _template_text(value)
        if type(value) in (int, float):
            return js_number(value)
        return value

    def _concatenate(self, values: Iterable[Any]) -> str:
        """The text of values one behind the other."""
        if not self._into:
            return reduce(add_values, values, "")
        parts: list[_Part] = []
        for value in values:
            parts += _parts_of(value if isinstance(value, str | list | tuple) else to_string(value))
        return _join_parts(parts)

    def _apply_filter(self, name: str, arguments: Sequence[Any]) -> Any:
        """The result of a filter; a text knows its parts as far as the filter leaves them. Raises TypeError."""
        try:
            result = FILTERS[name](*arguments)
            return self._with_parts(result, name, arguments)
        except (TypeError, ValueError) as e:
            reason = str(e)
            # These words are Python's
            if "positional argument" in reason or isinstance(e, JSONDecodeError):
                reason = "it takes other values"
            raise TypeError(f"`{name}`: {reason}") from e

    def _with_parts(self, result: Any, name: str, arguments: Sequence[Any]) -> Any:
        """The result of a filter; if it is a text, with the parts of the arguments. Raises TypeError."""
        value = arguments[0]
        if name == "join" and len(arguments) < 3 and self._into:
            separator = tuple(_parts_of(arguments[1])) if len(arguments) > 1 else ()
            return _join_parts(_parts_of(value, separator))
        if name == "urlencode" and self._into == "url":
            return _template_text(result)
        if isinstance(result, _PartedText) or name == "dump" or not _has_template_text(value):
            return result

        # The filter has changed a text of the template. If all its texts are the template's, the result is the template's, too.
        writer = _Writer.TEMPLATE
        for argument in arguments:
            if isinstance(argument, str | list | tuple):
                for part in _parts_of(argument):
                    if part.writer is not _Writer.TEMPLATE:
                        writer = _Writer.BOTH
        if name == "load" and writer is _Writer.BOTH:
            raise TypeError(
                "it reads JSON that the template puts together: write `| dump` behind each value"
            )
        return _join_parts([_Part(result, writer)]) if isinstance(result, str) else result


def _loop_rows(value: Any, count: int) -> Iterable[tuple[Any, ...]]:
    """The values that each round of a loop gives its ``count`` names.

    One name gets the items of a list or the characters of a text. More names get the keys and values of an object, or the
    items of each list in a list.
    """
    if count == 1:
        if isinstance(value, str | list | tuple):
            for index in range(get_member(value, "length")):
                yield (get_member(value, index),)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield (key, item, *[UNDEFINED] * (count - 2))
    elif isinstance(value, list | tuple):
        for item in value:
            yield tuple(get_member(item, index) for index in range(count))


# --- names ------------------------------------------------------------------------------------------------------


def find_names(tree: nodes.Template) -> TemplateNames:
    """The variables that a template uses."""
    used = _used_names(tree, with_comments=True)
    # A chat is filled in value by value: a comment that begins in one value ends with it
    first_text = next(tree.find_all(nodes.TemplateData), None)
    is_chat = first_text is not None and first_text.data.lstrip().startswith(("[", "{", "- role:"))
    used_outside = _used_names(tree, with_comments=is_chat)
    env_used = frozenset(_env_names(tree))

    guarded = set[str]()
    env_guarded = set[str]()
    for guard in _guards_in(tree):
        guarded.update(node.name for node in _nodes_in(guard, nodes.Name))
        env_guarded.update(_env_names(guard))

    return TemplateNames(
        used=used,
        needed=used - guarded,
        env_used=env_used,
        env_needed=env_used - env_guarded,
        only_in_comments=used - used_outside,
    )


def _guards_in(tree: nodes.Template) -> Iterator[nodes.Node]:
    """The expressions that a template tests, or gives a default for."""
    for condition in _nodes_in(tree, (nodes.If, nodes.CondExpr)):
        yield condition.test
    yield from tree.find_all((nodes.Or, nodes.And, nodes.Test))
    for node in tree.find_all(nodes.Filter):
        if node.name in ("default", "d"):
            yield node


def _used_names(tree: nodes.Template, with_comments: bool) -> frozenset[str]:
    """The names that are used where nothing has set them. Without comments, a comment of HTML uses no name."""
    names = set[str]()

    def look(body: Iterable[nodes.Node], known: set[str]) -> None:
        """Add the names that are not ``known``, and add to ``known`` what the body sets."""
        for node in body:
            match node:
                case nodes.If():
                    look([node.test], known)
                    known_if = set(known)
                    known_else = set(known)
                    look(node.body, known_if)
                    look([*node.elif_, *node.else_], known_else)
                    known |= known_if & known_else
                case nodes.For():
                    look([node.iter], known)
                    targets = {name.name for name in _nodes_in(node.target, nodes.Name)}
                    look(node.body, known | targets | {"loop"})
                    look(node.else_, set(known))
                case nodes.Assign() | nodes.AssignBlock():
                    look([node.node] if isinstance(node, nodes.Assign) else node.body, known)
                    known.add(node.target.name)  # type: ignore[attr-defined]
                case _:
                    parts = [node]
                    if isinstance(node, nodes.Output) and not with_comments:
                        parts = _outside_comments(node)
                    for part in parts:
                        names.update({name.name for name in _nodes_in(part, nodes.Name)} - known)

    look(tree.body, set())
    return frozenset(names)


def _outside_comments(node: nodes.Output) -> list[nodes.Node]:
    """The values of a text outside of comments of HTML. A comment that does not end there is none."""
    outside: list[nodes.Node] = []
    inside: list[nodes.Node] | None = None
    for part in node.nodes:
        if not isinstance(part, nodes.TemplateData):
            (outside if inside is None else inside).append(part)
            continue
        for sign in re.findall("<!--|-->", part.data):
            if sign == "-->":
                inside = None
            elif inside is None:
                inside = []
    return outside + (inside or [])


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


# A name that a value uses: printed alone or through filters, or in the head of a condition or a loop
_USE = re.compile(r"\{\{\s*([^{}\s|]+)\s*(?:\|[^}]+)?\}\}|\{%\s*(?:if|for)\s+([^{}\s]+)[^\n]*?%\}")
_LOOP = re.compile(r"\{%\s*for\s+(\w+)\s+in\s+(\w+)\s*%\}")
_ROOT_NAME = re.compile(r"[A-Za-z_]\w*")
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


# --- what the worker does ---------------------------------------------------------------------------------------

_parse_once = lru_cache(maxsize=256)(parse_template)


def fill_template(
    source: str, variables: Variables, json_names: Iterable[str], into: str = ""
) -> str:
    """The text of a template; the variables ``json_names`` print as JSON. Raises TemplateError."""
    values = dict(variables)
    for name in json_names:
        values[name] = with_json_text(values[name])
    return render_tree(_parse_once(source), values, into)


def template_names(source: str) -> list[list[str]]:
    """``TemplateNames`` as sorted lists. Raises TemplateError."""
    return [sorted(names) for names in find_names(_parse_once(source))]
