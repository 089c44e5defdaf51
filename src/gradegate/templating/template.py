"""Fills in templates the way Nunjucks prints values. What a model wrote is never a template.

There may be 100,000 templates. So this process fills in each one that certainly needs no more than the size of its variables.
The worker fills in any other, under its limits (``docs/gate.md``). Both give the same text.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from jinja2 import nodes

from gradegate.core.conversation import Variables
from gradegate.core.provider_spec import Verbatim
from gradegate.files.limits import (
    MAX_TEMPLATE_CHARACTERS,
    MAX_TEXT_CHARACTERS,
    MAX_TOKENS_OUTSIDE_WORKER,
)
from gradegate.sandbox.evaluate import (
    CpuCharge,
    LimitExceeded,
    RunLimitExceeded,
    TaskRefused,
    evaluate,
)
from gradegate.structs import JsonObject
from gradegate.templating import chat_prompt, nunjucks, template_names
from gradegate.templating.nunjucks import TemplateError
from gradegate.templating.printing import UNDEFINED, has_json_text, show_value, with_json_text
from gradegate.templating.template_names import TemplateNames
from gradegate.templating.traced_text import TextFormat

__all__ = ["TemplateError", "show_value", "with_json_text"]  # of other modules
_OPENING = re.compile(r"\{[{%#]")
_SHORT = 4096  # characters; of templates up to this length, more are kept in memory
_QUICK_TYPES = {str, int}  # of values that print in no time
_NO_NAMES = TemplateNames()


@dataclass(frozen=True, slots=True)
class _Template:
    """What is known of a template once it is read."""

    names: TemplateNames = _NO_NAMES
    # The function that fills it in, or raises TemplateError. None: the worker fills it in
    fill: Callable[[JsonObject, TextFormat], str] | None = None
    # The texts and names (True) of a template that has nothing else
    parts: tuple[tuple[str, bool], ...] = ()
    # Why it cannot be read. This is kept because the answer may have taken seconds
    mistake: str = ""


def is_template(text: str) -> bool:
    """Whether a text contains template syntax, such as ``{{ name }}``."""
    return "{" in text and _OPENING.search(text) is not None


def render(
    source: str,
    variables: Variables,
    trusted: bool = False,
    text_format: TextFormat = "text",
) -> str:
    """Fill in a template. Variables are data: their texts are not filled in again. Raises TemplateError.

    A ``trusted`` template is a part of gradegate: its loops end, so this process fills it in.
    """
    if not is_template(source):
        return source
    template = _template(source, trusted)
    if template.parts and text_format == "text":
        text = _join_quick_parts(template, variables)
        if text is not None:
            return text

    used = {name: variables[name] for name in template.names.used if name in variables}
    try:
        if template.fill is not None:
            with CpuCharge():
                return template.fill(used, text_format)
        json_names = [name for name, value in used.items() if has_json_text(value)]
        task = "gradegate.templating.nunjucks:fill_template"
        return str(evaluate(task, source, used, json_names, text_format))
    except (LimitExceeded, TaskRefused) as e:
        raise TemplateError(str(e)) from e
    except (RecursionError, MemoryError) as e:
        raise TemplateError("its variables are nested too deeply or too large") from e


def _join_quick_parts(template: _Template, variables: Variables) -> str | None:
    """The text of a template of texts and names; None if a value may take time to print, or if the text is too long."""
    texts = []
    length = 0
    for part, is_name in template.parts:
        value = variables.get(part, UNDEFINED) if is_name else part
        if type(value) not in _QUICK_TYPES:
            return None
        text = show_value(value)
        length += len(text)
        texts.append(text)
    return "".join(texts) if length <= MAX_TEXT_CHARACTERS else None


def _template(source: str, trusted: bool = False) -> _Template:
    """What is known of a template. Raises TemplateError if it cannot be read."""
    if len(source) > MAX_TEMPLATE_CHARACTERS:
        raise TemplateError(f"the template has more than {MAX_TEMPLATE_CHARACTERS:,} characters")
    read = _read_short if len(source) <= _SHORT else _read_long
    template = read(source, trusted)
    if template.mistake:
        raise TemplateError(template.mistake)
    return template


def _read_template(source: str, trusted: bool) -> _Template:
    """Read a template here, or in the worker if that may take long. Raises TemplateError if there is no time left to read it."""
    try:
        with CpuCharge():
            if not nunjucks.has_more_tokens(source, MAX_TOKENS_OUTSIDE_WORKER):
                tree = nunjucks.parse_template(source)
                if trusted or is_plain(tree):
                    return _Template(
                        template_names.find_names(tree),
                        partial(nunjucks.render_tree, tree),
                        nunjucks.straight_parts(tree),
                    )
        names = evaluate("gradegate.templating.nunjucks:template_names", source)
    except RunLimitExceeded as e:
        raise TemplateError(str(e)) from e
    except (TemplateError, LimitExceeded, TaskRefused) as e:
        return _Template(mistake=str(e))
    except MemoryError:
        return _Template(mistake="it is nested too deeply")
    return _Template(TemplateNames(*map(frozenset, names)))


_read_short = lru_cache(maxsize=512)(_read_template)
_read_long = lru_cache(maxsize=64)(_read_template)


def render_values(value: Any, variables: Variables) -> Any:
    """Fill in every string of a nested value. Raises TemplateError."""
    return change_texts(value, partial(render, variables=variables))


def change_texts(value: Any, change: Callable[[str], Any]) -> Any:
    """A nested value with every string changed, but not the keys of mappings."""
    match value:
        case str():
            return change(value)
        case Mapping():
            return {key: change_texts(item, change) for key, item in value.items()}
        case list() | tuple():
            return [change_texts(item, change) for item in value]
    return value


def variables_used(source: str, trusted: bool = False) -> frozenset[str]:
    """The names of the variables that a template uses. Raises TemplateError if it is no valid template."""
    return _names_in(source, trusted).used


def variables_needed(source: str, comments: bool = True) -> frozenset[str]:
    """The variables without which a template does not work. Raises TemplateError.

    Without ``comments``, those that only stand in comments of HTML do not count.
    """
    names = _names_in(source)
    return names.needed if comments else names.needed - names.only_in_comments


def env_variables(value: Any) -> tuple[frozenset[str], frozenset[str]]:
    """The variables of ``env`` in the templates of a nested value: those that are used, and those that must be set.

    Raises TemplateError.
    """
    used = frozenset[str]()
    needed = frozenset[str]()
    for text in _texts_in(value):
        if "env" in text:
            names = _names_in(text)
            used |= names.env_used
            needed |= names.env_needed
    return used, needed


def _names_in(source: str, trusted: bool = False) -> TemplateNames:
    return _template(source, trusted).names if is_template(source) else _NO_NAMES


def _texts_in(value: Any) -> Iterator[str]:
    """Every string of a nested value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        items = value.values() if isinstance(value, Mapping) else value
        for item in items:
            yield from _texts_in(item)


def render_env(value: Any, env: Mapping[str, str]) -> Any:
    """Fill in every string that uses only the environment. Any other is filled in when its variables are known."""

    def render_text(text: str) -> str:
        return render(text, {"env": env}) if variables_used(text) <= {"env"} else text

    return change_texts(value, render_text)


# --- templates that take no more time and memory than their variables have, whatever these are ----------------------
# They print variables and members of variables, choose between texts, make a few comparisons, and use filters with a result
# that does not grow, however often they are used: in other case, a text has at most three times the characters. Nothing repeats
# or calculates. What is not on these lists goes to the worker: a list of what is dangerous would never be complete.

_PLAIN_NODES = tuple(
    getattr(nodes, name)
    for name in "Template Output TemplateData If CondExpr And Or Not Test Name Const Getattr Compare Operand".split()
)
_MAX_DEPTH = 24  # levels
_MAX_COMPARISONS = 4  # each may look at the whole of a long list
_PLAIN_FILTERS = frozenset(["first", "last", "length", "lower", "string", "safe", "trim", "upper"])


def is_plain(tree: nodes.Template) -> bool:
    """Whether the sizes of a template and of its variables bound the work of filling it in."""
    waiting: list[tuple[nodes.Node, int]] = [(tree, 0)]
    comparisons = 0
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, nodes.Compare):
            comparisons += 1
        if depth > _MAX_DEPTH or comparisons > _MAX_COMPARISONS or not _is_plain_node(node):
            return False
        waiting.extend((child, depth + 1) for child in node.iter_child_nodes())
    return True


def _is_plain_node(node: nodes.Node) -> bool:
    match node:
        case nodes.Getitem():
            return isinstance(node.arg, nodes.Const)
        case nodes.Filter(name="dump"):
            # It doubles the backslashes of a text, so its input must be a variable and not the output of another dump
            path = node.node
            while isinstance(path, nodes.Getattr | nodes.Getitem):
                path = path.node
            return not node.args and isinstance(path, nodes.Name)
        case nodes.Filter():
            if node.name in ("default", "d"):
                return True
            return node.name in _PLAIN_FILTERS and not node.args
    return isinstance(node, _PLAIN_NODES)


# --- prompts, which promptfoo fills in by rules of their own --------------------------------------------------------

_OPENS = re.compile(r"\{[{%]")
_RAW = re.compile(r"\{%-?\s*(?:end)?raw\s*-?%\}")
_FEW = 500  # characters of a text; patterns with quadratic time are harmless up to here


@lru_cache(maxsize=64)
def has_open_braces(text: str) -> bool:
    """Whether a template is sent unchanged, because braces stay open in one of its lines."""
    if not is_template(text) or not any(map(_is_open, text.split("\n"))):
        return False
    return len(_RAW.findall(text)) < 2


def _is_open(line: str) -> bool:
    """Find what promptfoo's ``{{[^}]*$``, ``{%[^%]*$`` and ``{#[^#]*$`` find, without their quadratic time."""
    if "{" not in line:
        return False
    if "{{" in line.rpartition("}")[2]:
        return True
    return any(line.rpartition(sign)[0].endswith("{") for sign in "%#")


def fill_prompt(source: str, variables: Variables) -> str:
    """The prompt with its variables. A chat in JSON is filled in value by value, so no value ends a string or a message.

    Raises TemplateError.
    """
    if not is_template(source):
        return source
    structure = _parse_structure(source)
    if structure is not None:
        return json.dumps(render_values(structure, variables), ensure_ascii=False, indent=2)
    if has_open_braces(source):
        return source
    # A variable may be a template, too. It is filled in unless it uses a name that nobody defines.
    values = {name: _fill_variable(value, variables) for name, value in variables.items()}
    return render(source, values)


# Prompts are the same few for all cases.
_parse_structure = lru_cache(maxsize=64)(chat_prompt.parse_structure)


def undefined_names(value: Any, variables: Variables) -> frozenset[str]:
    """The names that a variable's value uses and nobody defines, as promptfoo's pattern finds them. Raises TemplateError."""
    if not _is_template_value(value):
        return frozenset()
    try:
        names = mentioned_names(value)
    except LimitExceeded as e:
        raise TemplateError(f"in a variable: {e}") from e
    return frozenset(names).difference(variables, {"env"})


def _is_template_value(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, Verbatim) and is_template(value)


def _fill_variable(value: Any, variables: Variables) -> Any:
    """The value of a variable for a prompt. Raises TemplateError."""
    if not _is_template_value(value) or has_open_braces(value) or undefined_names(value, variables):
        return value
    try:
        return render(value, variables)
    except TemplateError as e:
        raise TemplateError(f"in a variable: {e}") from e


def mentions_name(text: str, name: str) -> bool:
    """Whether a name stands behind opening braces, before any closing brace."""
    if name not in text:
        return False
    word = re.compile(rf"\b{re.escape(name)}\b")
    for part in text.split("}"):
        start = _OPENS.search(part)
        if start and word.search(part, start.end()):
            return True
    return False


def mentioned_names(text: str) -> list[str]:
    """The names that a text uses as promptfoo finds them. The worker looks at a long text. Raises LimitExceeded."""
    if len(text) > _FEW:
        return list(evaluate("gradegate.templating.template_names:mentioned_names", text))
    with CpuCharge():
        return template_names.mentioned_names(text)
