"""Reads templates of Nunjucks, and fills them in. This process uses these functions, and the worker for what may take long."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import islice
from json import JSONDecodeError
from typing import Any

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
    to_number,
    to_string,
    with_json_text,
)
from gradegate.templating.template_names import find_names
from gradegate.templating.traced_text import (
    Part,
    TextFormat,
    TracedText,
    Writer,
    escape_for,
    has_template_text,
    join_parts,
    parts_of,
    template_text,
)

# Modules that the worker imports at its start, because it can import none later
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


# --- reading ----------------------------------------------------------------------------------------------------


def has_more_tokens(source: str, limit: int) -> bool:
    """Whether a template has more than ``limit`` tokens. Looks at no more than these."""
    if len(source) <= limit:
        return False
    tokens = grammar.ENVIRONMENT.lex(source)
    try:
        return any(True for _ in islice(tokens, limit, None))
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


def render_tree(
    tree: nodes.Template, variables: Variables, text_format: TextFormat = "text"
) -> str:
    """The text of a template. Raises TemplateError, also for a text that is too long."""
    texts = []
    length = 0
    escape = escape_for(text_format)
    try:
        for part in _Renderer(variables, text_format).render(tree.body):
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


class _Renderer:
    """One template with its variables.

    A loop has a scope; ``set`` changes the nearest name that is set around it. Texts are traced only if values get escaped.
    """

    def __init__(self, variables: Variables, text_format: TextFormat) -> None:
        self._variables = variables
        self._is_url = text_format == "url"
        self._traces_texts = text_format != "text"
        self._scopes: list[dict[str, Any]] = [{}]
        if self._is_url and "env" in variables:
            # The environment may contain a part of an address, which is sent as it is.
            env = variables["env"]
            self._scopes[0]["env"] = {name: template_text(env[name]) for name in env}

    def render(self, body: Iterable[nodes.Node]) -> Iterator[Part]:
        """The parts of the text that these nodes print. Raises what filters and operators raise."""
        for node in body:
            match node:
                case nodes.Output():
                    for printed in node.nodes:
                        if isinstance(printed, nodes.TemplateData):
                            yield Part(printed.data, Writer.TEMPLATE)
                        else:
                            yield from parts_of(self._evaluate(printed))
                case nodes.If():
                    yield from self.render(self._chosen_branch(node))
                case nodes.For():
                    yield from self._render_loop(node)
                case nodes.Assign():
                    self._assign(node.target, self._evaluate(node.node))
                case nodes.AssignBlock():
                    text = join_parts(self.render(node.body))
                    self._assign(node.target, text if self._traces_texts else str(text))

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

    def _render_loop(self, node: nodes.For) -> Iterator[Part]:
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
                arguments = [evaluate(node.node)]
                arguments += map(evaluate, node.args)
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
                return -to_number(evaluate(node.node))
            case nodes.Pos():
                return to_number(evaluate(node.node))
        # Every other expression has an operator between two values.
        operator = OPERATORS[grammar.BINARY[type(node)]]
        operands = [evaluate(node.left), evaluate(node.right)]
        result = operator(*operands)
        return self._concatenate(operands) if isinstance(result, str) else result

    def _constant(self, value: Any) -> Any:
        if self._traces_texts and isinstance(value, str):
            return template_text(value)
        if type(value) in (int, float):
            return js_number(value)
        return value

    def _concatenate(self, values: Iterable[Any]) -> str:
        """The text of values one behind the other."""
        if not self._traces_texts:
            return reduce(add_values, values, "")
        parts: list[Part] = []
        for value in values:
            parts += parts_of(value if isinstance(value, str | list | tuple) else to_string(value))
        return join_parts(parts)

    def _apply_filter(self, name: str, arguments: Sequence[Any]) -> Any:
        """The result of a filter. ``arguments`` begin with the value before the ``|``. Raises TypeError."""
        try:
            result = FILTERS[name](*arguments)
            return self._traced_result(result, name, arguments)
        except (TypeError, ValueError) as e:
            reason = str(e)
            # These words are Python's: the filter has no such argument, or the text is not JSON
            if "positional argument" in reason or isinstance(e, JSONDecodeError):
                reason = "it takes other values"
            raise TypeError(f"`{name}`: {reason}") from e

    def _traced_result(self, result: Any, name: str, arguments: Sequence[Any]) -> Any:
        """The result of a filter; a text knows its parts as far as the filter leaves them. Raises TypeError."""
        value = arguments[0]
        if name == "join" and len(arguments) < 3 and self._traces_texts:
            separator = tuple(parts_of(arguments[1])) if len(arguments) > 1 else ()
            return join_parts(parts_of(value, separator))
        if name == "urlencode" and self._is_url:
            return template_text(result)
        if isinstance(result, TracedText) or name == "dump" or not has_template_text(value):
            return result

        # The filter has changed a text of the template. If no argument brought a value, the result is the template's, too.
        writer = Writer.TEMPLATE
        for argument in arguments:
            if isinstance(argument, str | list | tuple):
                for part in parts_of(argument):
                    if part.writer is not Writer.TEMPLATE:
                        writer = Writer.BOTH
        if name == "load" and writer is Writer.BOTH:
            raise TypeError(
                "it reads JSON that the template puts together: write `| dump` behind each value"
            )
        return join_parts([Part(result, writer)]) if isinstance(result, str) else result


def _loop_rows(value: Any, count: int) -> Iterable[tuple[Any, ...]]:
    """The values that each round of a loop gives its ``count`` names. A loop over any other value has no round.

    One name gets the items of a list or the characters of a text. More names get the keys and values of an object, or the
    items of each list in a list.
    """
    if count == 1:
        if isinstance(value, str | list | tuple):
            for index in range(get_member(value, "length")):
                yield (get_member(value, index),)
    elif isinstance(value, Mapping):
        nothing_left = [UNDEFINED] * (count - 2)
        for key, item in value.items():
            yield (key, item, *nothing_left)
    elif isinstance(value, list | tuple):
        for item in value:
            yield tuple(get_member(item, index) for index in range(count))


# --- what the worker does ---------------------------------------------------------------------------------------

_parse_once = lru_cache(maxsize=256)(parse_template)


def fill_template(
    source: str,
    variables: Variables,
    json_names: Iterable[str],
    text_format: TextFormat = "text",
) -> str:
    """The text of a template; the variables ``json_names`` print as JSON. Raises TemplateError."""
    values = dict(variables)
    for name in json_names:
        values[name] = with_json_text(values[name])
    return render_tree(_parse_once(source), values, text_format)


def template_names(source: str) -> list[list[str]]:
    """The fields of ``TemplateNames``, in their order, as sorted lists. Raises TemplateError."""
    return [sorted(names) for names in find_names(_parse_once(source))]
