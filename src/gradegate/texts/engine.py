"""The sandboxed Jinja2 that templates are parsed, compiled and filled in with; most of it runs in the worker."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache, wraps
from itertools import islice
from typing import Any

import jinja2
from jinja2 import meta, nodes
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from gradegate.bounded.bounds import MAX_CHARACTERS
from gradegate.texts import scopes
from gradegate.texts.filters import FILTERS
from gradegate.texts.functions import FUNCTIONS
from gradegate.texts.grammar import UNDEFINED as UNDEFINED_VALUE
from gradegate.texts.grammar import NunjucksParser
from gradegate.texts.listfilters import TESTS
from gradegate.texts.literals import NunjucksLexer
from gradegate.texts.members import is_data, items_of, member, pairs_of
from gradegate.texts.methods import UNDEFINED
from gradegate.texts.operators import ARITHMETIC, COMPARISONS
from gradegate.texts.values import javascript, printed, show


class TemplateError(ValueError):
    """A template cannot be parsed or filled; the message says why and, where known, in which line of it."""


class _Environment(ImmutableSandboxedEnvironment):
    @cached_property
    def lexer(self) -> NunjucksLexer:
        return NunjucksLexer(self)

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, LoopContext) and attribute not in _LOOP:
            return UNDEFINED(name=attribute)
        return member(obj, attribute) if is_data(obj) else super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if is_data(obj):
            return member(obj, argument)
        return super().getitem(obj, argument)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = NunjucksParser(self, source, name, filename).parse()
        scopes.adjust(tree)
        return tree

    def preprocess(self, source: str, name: str | None = None, filename: str | None = None) -> str:
        """Words of Nunjucks that Jinja has under another name."""
        return _BLOCKS.sub(lambda found: found[1] + _SYNONYMS[found[2]], source) if "{%" in source else source


_SYNONYMS = {"elseif": "elif", "verbatim": "raw", "endverbatim": "endraw"}
_BLOCKS = re.compile(r"(\{%-?\s*)(elseif|verbatim|endverbatim)\b")
_LOOP = frozenset("index index0 revindex revindex0 first last length".split())  # what Nunjucks tells of a loop


def _store(_: Any) -> Namespace:
    return Namespace()


def _undefined(_: Any) -> jinja2.Undefined:
    return UNDEFINED()


def _named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter or a test whose mistakes say which it is."""

    @wraps(function)
    def called(*values: Any, **named: Any) -> Any:
        try:
            return function(*values, **named)
        except (TypeError, ValueError) as e:
            raise TypeError(f"`{name}`: {e}") from e

    return called


def _environment() -> _Environment:
    environment = _Environment(undefined=UNDEFINED, keep_trailing_newline=True, finalize=show)
    environment.globals.clear()
    environment.globals.update(FUNCTIONS)
    environment.filters = {name: _named(name, filter_) for name, filter_ in FILTERS.items()}
    environment.filters.update({**COMPARISONS, **ARITHMETIC, UNDEFINED_VALUE: _undefined})
    environment.filters.update({scopes.STORE: _store, scopes.ITEMS: items_of, scopes.PAIRS: pairs_of})
    environment.tests = {name: _named(name, test) for name, test in TESTS.items()}
    return environment


ENVIRONMENT = _environment()
GLOBALS = frozenset(ENVIRONMENT.globals)
_CALLED = re.compile(r"\w\(\) (takes|got|missing)\b")  # as Python says it
_TROUBLE = (
    jinja2.TemplateError,
    ArithmeticError,
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    NameError,  # a number that Python writes as `inf`
    SyntaxError,  # of the Python that Jinja writes, for what is nested too deeply
    RecursionError,
)


def _error(trouble: Exception) -> TemplateError:
    if isinstance(trouble, TemplateError):
        return trouble
    if isinstance(trouble, jinja2.TemplateSyntaxError):
        return TemplateError(f"{trouble.message} (line {trouble.lineno} of the template)")
    if isinstance(trouble, RecursionError | SyntaxError):
        return TemplateError("it is nested too deeply, or refers to itself without end")
    if isinstance(trouble, ArithmeticError):
        return TemplateError("a number in it is too large")
    said = str(trouble)
    if _CALLED.search(said):
        return TemplateError("something is called with other values than it takes")
    ours = isinstance(trouble, TypeError | ValueError | jinja2.UndefinedError)
    return TemplateError(said if ours else f"{type(trouble).__name__}: {said}")


def has_more_tokens(source: str, limit: int) -> bool:
    """Whether a template has more than ``limit`` words and signs; no more than those are looked at."""
    if len(source) <= limit:
        return False
    try:
        return next(islice(ENVIRONMENT.lex(source), limit, None), None) is not None
    except _TROUBLE:
        return False  # parsing it will say what is wrong


def parse(source: str) -> nodes.Template:
    """What a template is made of; nothing of it is evaluated. Raises TemplateError."""
    try:
        return ENVIRONMENT.parse(source)
    except _TROUBLE as e:
        raise _error(e) from e


_parsed_last = lru_cache(maxsize=1)(parse)  # of the worker: what it was asked about, it is to fill in next


def compiled(tree: nodes.Template) -> jinja2.Template:
    """A template to fill in; expressions of constants alone are evaluated already. Raises TemplateError."""
    try:
        return ENVIRONMENT.from_string(tree)
    except _TROUBLE as e:
        raise _error(e) from e


def generate(template: jinja2.Template, variables: Mapping[str, Any]) -> str:
    """The text of a template. Raises TemplateError, also when there is too much of it."""
    return joined(template.generate(variables))


def joined(texts: Iterable[str]) -> str:
    """The parts of a filled-in template in one. Raises TemplateError when there is too much of it, and for what making them raises."""
    parts, length = [], 0
    try:
        for part in texts:
            length += len(part)
            if length > MAX_CHARACTERS:
                raise TemplateError(f"the filled-in text has more than {MAX_CHARACTERS:,} characters")
            parts.append(part)
    except _TROUBLE as e:
        raise _error(e) from e
    return "".join(parts)


def asked(source: str) -> tuple[list[str], list[str], list[str], list[str]]:
    """What a template asks for: variables, and those of them that it nowhere tests or defaults; the same for members of ``env``.

    Raises TemplateError.
    """
    tree = _parsed_last(source)
    try:
        names = meta.find_undeclared_variables(tree) - GLOBALS
    except _TROUBLE as e:
        raise _error(e) from e
    return _asked(tree, names)


def asked_by_plain(tree: nodes.Template) -> tuple[list[str], list[str], list[str], list[str]]:
    """The same of a template that sets no names: every name in it is a variable."""
    return _asked(tree, {node.name for node in tree.find_all(nodes.Name)} - GLOBALS)


def _asked(tree: nodes.Template, names: set[str]) -> tuple[list[str], list[str], list[str], list[str]]:
    guards = list(_guards(tree))
    tested = {node.name for guard in guards for node in _nodes(guard, nodes.Name)}
    shown, spared = set(_env_names(tree)), {name for guard in guards for name in _env_names(guard)}
    return sorted(names), sorted(names - tested), sorted(shown), sorted(shown - spared)


def _guards(tree: nodes.Template) -> Iterator[nodes.Node]:
    """What a template tests or gives a default for."""
    for node in tree.find_all((nodes.Or, nodes.And, nodes.Test, nodes.If, nodes.CondExpr, nodes.Filter)):
        if isinstance(node, nodes.If | nodes.CondExpr):
            yield node.test
        elif not isinstance(node, nodes.Filter) or node.name in ("default", "d"):
            yield node


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


_kept: dict[str, jinja2.Template] = {}  # of the worker: what it filled in last
KEPT = 256


def fill(source: str, variables: Mapping[str, Any], as_json: Iterable[str]) -> str:
    """What the worker does: the text of a template; the variables ``as_json`` print as ``printed`` has it.

    Raises TemplateError.
    """
    template = _kept.get(source)
    if template is None:
        template = compiled(_parsed_last(source))
        if len(_kept) >= KEPT:
            _kept.clear()
        if len(source) <= MAX_CHARACTERS // KEPT:
            _kept[source] = template
    special = frozenset(as_json)
    return generate(
        template, {name: (printed if name in special else javascript)(value) for name, value in variables.items()}
    )
