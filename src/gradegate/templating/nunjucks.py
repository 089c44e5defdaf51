"""Fills templates in along their tree; what may take long is done in the worker, with the same functions."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import islice
from json import JSONDecodeError
from typing import Any
from urllib.parse import quote

import jinja2
from jinja2 import nodes

from gradegate.core.conversation import Variables
from gradegate.files.limits import MAX_CHARACTERS
from gradegate.templating import grammar
from gradegate.templating.filters import FILTERS, TESTS
from gradegate.templating.printing import (
    SIGNS,
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
_TROUBLE = (jinja2.TemplateError, ArithmeticError, TypeError, ValueError, RecursionError)
# What a value asks for: printed alone or through filters, or in the head of a condition or a loop.
_ASKED = re.compile(
    r"\{\{\s*([^{}\s|]+)\s*(?:\|[^}]+)?\}\}|\{%\s*(?:if|for)\s+([^{}\s]+)[^\n]*?%\}"
)
_LOOP = re.compile(r"\{%\s*for\s+(\w+)\s+in\s+(\w+)\s*%\}")
_ROOT = re.compile(r"[A-Za-z_]\w*")
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)


class TemplateError(ValueError):
    """A template cannot be parsed or filled; the message says why and, where known, in which line of it."""


def _error(trouble: Exception) -> TemplateError:
    if isinstance(trouble, TemplateError):
        return trouble
    if isinstance(trouble, jinja2.TemplateSyntaxError):
        return TemplateError(f"{trouble.message} (line {trouble.lineno} of the template)")
    if isinstance(trouble, RecursionError):
        return TemplateError("it is nested too deeply, or refers to itself")
    return TemplateError(
        "a number in it is too large" if isinstance(trouble, ArithmeticError) else str(trouble)
    )


def has_more_tokens(source: str, limit: int) -> bool:
    """Whether a template has more than ``limit`` words and signs; no more than those are looked at."""
    if len(source) <= limit:
        return False
    try:
        return next(islice(grammar.ENVIRONMENT.lex(source), limit, None), None) is not None
    except _TROUBLE:
        return False  # parsing it will say what is wrong


def parse_template(source: str) -> nodes.Template:
    """What a template is made of; nothing of it is evaluated. Raises TemplateError."""
    try:
        return grammar.parse_template(source)
    except _TROUBLE as e:
        raise _error(e) from e


def straight_parts(tree: nodes.Template) -> tuple[tuple[str, bool], ...]:
    """The texts and the names (True) of a template that is made of nothing else; none of any other."""
    parts = [part for node in tree.body for part in getattr(node, "nodes", [node])]
    if not all(isinstance(part, nodes.TemplateData | nodes.Name) for part in parts):
        return ()
    return tuple(
        (part.name, True) if isinstance(part, nodes.Name) else (part.data, False) for part in parts
    )


def render_tree(tree: nodes.Template, variables: Variables, into: str = "") -> str:
    """The text of a template; ``into`` "json" or "url", out of whose places no value breaks. Raises TemplateError, also for too much."""
    parts = []
    length = 0
    place = _PLACES[into]()
    try:
        for text, own in _Filling(variables, into).texts(tree.body):
            part = place(text, own)
            length += len(part)
            if length > MAX_CHARACTERS:
                raise TemplateError(
                    f"the filled-in text has more than {MAX_CHARACTERS:,} characters"
                )
            parts.append(part)
    except _TROUBLE as e:
        raise _error(e) from e
    return "".join(parts)


# With whether the template itself has it, or a value is it; None: it cannot be told what of it is whose
Part = tuple[str, bool | None]


class _Made(str):
    """A text that a template has, or put together of ``parts``."""

    __slots__ = ("parts",)
    parts: tuple[Part, ...]


def _made(parts: Iterable[Part]) -> _Made:
    parts = tuple(parts)
    made = _Made("".join(text for text, _ in parts))
    made.parts = parts
    return made


def _parts(value: Any, by: Iterable[Part] = ((",", True),)) -> Iterable[Part]:
    """What a value prints; of a list its items, with ``by`` between them."""
    if not isinstance(value, list | tuple):
        return value.parts if isinstance(value, _Made) else ((show_value(value), False),)
    return (part for at, item in enumerate(value) for part in (*(by if at else ()), *_parts(item)))


def _holds_made(value: Any) -> bool:
    return isinstance(value, _Made) or (
        isinstance(value, list | tuple) and any(map(_holds_made, value))
    )


class _Json:
    """JSON: in a string a value is escaped; elsewhere it is a whole value itself, or nothing."""

    inside = False  # a string

    def __call__(self, text: str, own: bool | None) -> str:
        if own:
            return _STRING_SIGN.sub(self._passed, text)
        if self.inside:
            return json.dumps(text, ensure_ascii=False)[1:-1]
        try:
            whole = json.loads(text) if text.strip() else ""
        except ValueError as e:
            raise TypeError("a value outside of quotes is not JSON: write `| dump`") from e
        if own is None and isinstance(whole, dict | list):
            raise TypeError(
                "a filter changes JSON that the template puts together: write `| dump` behind each value"
            )
        return text

    def _passed(self, sign: re.Match[str]) -> str:
        self.inside ^= sign[0] == '"'
        if self.inside and sign[0] == "\\":
            raise TypeError("a value stands behind a backslash")
        return json.dumps(sign[0])[1:-1] if self.inside and sign[0] < " " else sign[0]


_STRING_SIGN = re.compile(r'\\.?|["\x00-\x1f]', re.DOTALL)
# Gives what of a text is filled in. An address or a form has each value percent-encoded once, also if the template does it.
_PLACES: Mapping[str, Callable[[], Callable[[str, bool | None], str]]] = {
    "": lambda: lambda text, _: text,
    "json": _Json,
    "url": lambda: lambda text, own: text if own else quote(text, safe=""),
}


class _Filling:
    """One template with its variables. A loop has a scope; ``set`` changes the nearest name that is set around it."""

    def __init__(self, variables: Variables, into: str) -> None:
        self._variables = variables
        self._into = into
        self._scopes: list[dict[str, Any]] = [{}]
        if into == "url" and "env" in variables:
            self._scopes[0]["env"] = {
                name: _made([(text, True)]) for name, text in variables["env"].items()
            }

    def texts(self, body: Iterable[nodes.Node]) -> Iterator[Part]:
        for node in body:
            match node:
                case nodes.Output():
                    for part in node.nodes:
                        if isinstance(part, nodes.TemplateData):
                            yield part.data, True
                        else:
                            yield from _parts(self._value(part))
                case nodes.If():
                    branches = (
                        it.body for it in (node, *node.elif_) if is_true(self._value(it.test))
                    )
                    yield from self.texts(next(branches, node.else_))
                case nodes.For():
                    yield from self._loop(node)
                case nodes.Assign():
                    self._set(node.target, self._value(node.node))
                case nodes.AssignBlock():
                    made = _made(self.texts(node.body))
                    self._set(node.target, made if self._into else str(made))

    def _set(self, target: Any, value: Any) -> None:
        around = (
            scope
            for scope in reversed(self._scopes)
            if scope.get(target.name, UNDEFINED) is not UNDEFINED
        )
        next(around, self._scopes[-1])[target.name] = value

    def _loop(self, node: nodes.For) -> Iterator[Part]:
        names = [node.target] if isinstance(node.target, nodes.Name) else node.target.items  # type: ignore[attr-defined]
        rows = [*_rows(self._value(node.iter), len(names))]
        scope: dict[str, Any] = {}
        self._scopes.append(scope)
        for at, row in enumerate(rows):
            left = len(rows) - at
            scope["loop"] = {"index": at + 1, "index0": at, "revindex": left, "revindex0": left - 1}
            scope["loop"] |= {"first": at == 0, "last": left == 1, "length": len(rows)}
            scope.update(zip((name.name for name in names), row, strict=True))
            yield from self.texts(node.body)
        self._scopes.pop()
        if not rows:
            yield from self.texts(node.else_)

    def _value(self, node: Any) -> Any:
        value = self._value
        match node:
            case nodes.Name():
                found = (scope[node.name] for scope in reversed(self._scopes) if node.name in scope)
                return next(
                    (it for it in found if it is not UNDEFINED),
                    self._variables.get(node.name, UNDEFINED),
                )
            case nodes.Const():
                own = self._into and isinstance(node.value, str)
                if own:
                    return _made([(node.value, True)])
                if type(node.value) in (int, float):
                    return js_number(node.value)
                return node.value
            case nodes.Getattr():
                return get_member(value(node.node), node.attr)
            case nodes.Getitem():
                return get_member(value(node.node), value(node.arg))
            case nodes.Filter():
                given = [value(node.node), *map(value, node.args)]
                try:
                    return self._kept(FILTERS[node.name](*given), node.name, given)
                except (TypeError, ValueError) as e:
                    words = (
                        "it takes other values"
                        if "positional argument" in str(e) or isinstance(e, JSONDecodeError)
                        else e
                    )
                    raise TypeError(f"`{node.name}`: {words}") from e
            case nodes.Test():
                return TESTS[node.name](value(node.node))
            case nodes.Compare():
                return SIGNS[node.ops[0].op](value(node.expr), value(node.ops[0].expr))
            case nodes.Not():
                return not is_true(value(node.node))
            case nodes.And() | nodes.Or():
                left = value(node.left)
                return value(node.right) if is_true(left) is isinstance(node, nodes.And) else left
            case nodes.CondExpr():
                branch = node.expr1 if is_true(value(node.test)) else node.expr2
                return "" if branch is None else value(branch)
            case nodes.Concat():
                return self._sum(map(value, node.nodes))
            case nodes.List():
                return [value(item) for item in node.items]
            case nodes.Neg() | nodes.Pos():
                return js_number(
                    to_number(value(node.node)) * (-1 if isinstance(node, nodes.Neg) else 1)
                )
        pair = value(node.left), value(node.right)
        found = SIGNS[grammar.BINARY[type(node)]](*pair)
        return self._sum(pair) if isinstance(found, str) else found

    def _sum(self, values: Iterable[Any]) -> str:
        """The text of values one behind the other."""
        if not self._into:
            return reduce(add_values, values, "")
        return _made(
            part
            for it in values
            for part in _parts(it if isinstance(it, str | list | tuple) else to_string(it))
        )

    def _kept(self, found: Any, name: str, given: Sequence[Any]) -> Any:
        """What a filter gives, with what is known of whose text it is."""
        if name == "join" and len(given) < 3 and self._into:
            return _made(_parts(given[0], _parts(given[1]) if len(given) > 1 else ()))
        if name == "urlencode" and self._into == "url":
            return _made([(found, True)])
        if isinstance(found, _Made) or name == "dump" or not _holds_made(given[0]):
            return found
        own = all(
            own for it in given if isinstance(it, str | list | tuple) for _, own in _parts(it)
        )
        if name == "load" and not own:
            raise TypeError(
                "it reads JSON that the template puts together: write `| dump` behind each value"
            )
        return _made([(found, own or None)]) if isinstance(found, str) else found


def _rows(value: Any, names: int) -> Iterable[tuple[Any, ...]]:
    """What each round of a loop gives its names: items and signs, or of objects keys and values, of lists their items."""
    if names == 1:
        if isinstance(value, str | list | tuple):
            return ((get_member(value, at),) for at in range(get_member(value, "length")))
        return ()
    if isinstance(value, Mapping):
        return ((key, item, *[UNDEFINED] * (names - 2)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return (tuple(get_member(item, at) for at in range(names)) for item in value)
    return ()


_parsed = lru_cache(maxsize=256)(parse_template)  # of the worker


def fill_template(source: str, variables: Variables, as_json: Iterable[str], into: str = "") -> str:
    """What the worker does: the text of a template; the variables ``as_json`` print as ``printed``. Raises TemplateError."""
    special = frozenset(as_json)
    return render_tree(
        _parsed(source),
        {
            name: with_json_text(value) if name in special else value
            for name, value in variables.items()
        },
        into,
    )


def template_names(source: str) -> tuple[list[str], ...]:
    """What the worker does: ``asked_by`` of a template. Raises TemplateError."""
    return find_names(_parsed(source))


def find_names(tree: nodes.Template) -> tuple[list[str], ...]:
    """The variables that it asks for, those of them that it nowhere tests or defaults, the same of ``env``, and those in comments alone."""
    names = set[str]()
    outside = set[str]()
    _look(tree.body, set(), names)
    # A chat is filled in value by value: a comment of one ends with it
    first = next(tree.find_all(nodes.TemplateData), None)
    _look(
        tree.body,
        set(),
        outside,
        comments=first is not None and first.data.lstrip().startswith(("[", "{", "- role:")),
    )
    # What the template tests or gives a default for.
    guards = [node.test for node in _nodes(tree, (nodes.If, nodes.CondExpr))]
    guards += tree.find_all((nodes.Or, nodes.And, nodes.Test))
    guards += (node for node in tree.find_all(nodes.Filter) if node.name in ("default", "d"))
    tested = {node.name for guard in guards for node in _nodes(guard, nodes.Name)}
    shown = set(_env_names(tree))
    spared = {name for guard in guards for name in _env_names(guard)}
    return tuple(map(sorted, (names, names - tested, shown, shown - spared, names - outside)))


def _look(
    body: Iterable[nodes.Node], known: set[str], names: set[str], comments: bool = True
) -> None:
    """Add to ``names`` those that are asked for where nothing has set them, and to ``known`` those that are set then.

    Without ``comments``, what stands between ``<!--`` and ``-->`` of one text, with nothing but texts and values between, asks for nothing.
    """
    for node in body:
        if isinstance(node, nodes.If):
            _look([node.test], known, names, comments)
            branches = [set(known), set(known)]
            _look(node.body, branches[0], names, comments)
            _look([*node.elif_, *node.else_], branches[1], names, comments)
            known |= branches[0] & branches[1]
        elif isinstance(node, nodes.For):
            _look([node.iter], known, names, comments)
            targets = {name.name for name in _nodes(node.target, nodes.Name)}
            _look(node.body, known | targets | {"loop"}, names, comments)
            _look(node.else_, set(known), names, comments)
        elif isinstance(node, nodes.Assign | nodes.AssignBlock):
            _look(
                [node.node] if isinstance(node, nodes.Assign) else node.body, known, names, comments
            )
            known.add(node.target.name)  # type: ignore[attr-defined]
        else:
            parts = (
                _outside_comments(node)
                if isinstance(node, nodes.Output) and not comments
                else [node]
            )
            names |= {name.name for part in parts for name in _nodes(part, nodes.Name)} - known


def _outside_comments(node: nodes.Output) -> list[nodes.Node]:
    """The values of a text that stand in no comment of HTML; one that is opened and not closed there is none."""
    outside: list[nodes.Node] = []
    inside: list[nodes.Node] | None = None
    for part in node.nodes:
        if not isinstance(part, nodes.TemplateData):
            (outside if inside is None else inside).append(part)
            continue
        for sign in re.findall("<!--|-->", part.data):
            inside = None if sign == "-->" else [] if inside is None else inside
    return outside + (inside or [])


def _env_names(tree: nodes.Node) -> Iterator[str]:
    """NAME of each ``env.NAME`` and ``env['NAME']``."""
    for node in _nodes(tree, (nodes.Getattr, nodes.Getitem)):
        if isinstance(node.node, nodes.Name) and node.node.name == "env":
            key = node.attr if isinstance(node, nodes.Getattr) else getattr(node.arg, "value", None)
            yield from [] if key is None else [str(key)]


def _nodes(tree: nodes.Node, kind: Any) -> Iterator[Any]:
    """The node itself, where it is of the kind, and all below it that are."""
    if isinstance(tree, kind):
        yield tree
    yield from tree.find_all(kind)


def mentioned_names(text: str) -> list[str]:
    """The names that a variable's value asks for, sorted, found as promptfoo finds them: by patterns that take the square of the time."""
    text = _COMMENT.sub("", text)
    asked = {first or second for first, second in _ASKED.findall(text)}
    for name, items in _LOOP.findall(text):
        asked = asked - {name} | {items}
    return sorted({match[0] for name in asked if (match := _ROOT.match(name))})
