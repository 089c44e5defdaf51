"""Fills templates the way Nunjucks prints values; what a model wrote is never a template.

A template of which it is certain that it takes no more than its variables have is filled in here, because there may be
100,000 of them; any other in the worker, under its limits (``docs/limits.md``). Both give the same text.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from jinja2 import nodes

from gradegate.core.conversation import Variables
from gradegate.core.provider_spec import Verbatim
from gradegate.files.limits import MAX_CHARACTERS, MAX_SOURCE, MAX_TOKENS
from gradegate.sandbox.evaluate import (
    CpuCharge,
    LimitExceeded,
    RunLimitExceeded,
    TaskRefused,
    evaluate,
)
from gradegate.structs import JsonObject
from gradegate.templating import chat_prompt, nunjucks
from gradegate.templating.nunjucks import TemplateError
from gradegate.templating.printing import UNDEFINED, has_json_text, show_value, with_json_text

__all__ = ["TemplateError", "show_value", "with_json_text"]  # handed on
_MARK = re.compile(r"\{[{%#]")
_SHORT = 4096  # characters of a template of which many are kept
_SHORTLY_SHOWN = {str, int}  # of which a template that is ``straight`` takes no time to speak of
_Fill = Callable[[JsonObject, str], str]  # raises TemplateError


@dataclass(frozen=True, slots=True)
class _Read:
    """A template: what it asks for and does not work without, the same of ``env``, and what fills it in if that may be here."""

    uses: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    env: frozenset[str] = frozenset()
    env_needs: frozenset[str] = frozenset()
    comments: frozenset[str] = frozenset()  # what stands in comments of HTML alone
    fill: _Fill | None = field(default=None, kw_only=True)
    # Of texts and names (True) alone, where it is made of these
    straight: tuple[tuple[str, bool], ...] = field(default=(), kw_only=True)
    # Why it cannot be read; kept, because to find out may have taken seconds
    wrong: str = field(default="", kw_only=True)


def is_template(text: str) -> bool:
    """Whether the text holds anything to fill in."""
    return "{" in text and _MARK.search(text) is not None


def render(source: str, variables: Variables, ours: bool = False, into: str = "") -> str:
    """Fill a template. Variables are data: what they hold is not filled in again; ``ours`` end. Raises TemplateError.

    ``into`` "json" or "url": no value breaks out of its place there.
    """
    if not is_template(source):
        return source
    # One that is part of gradegate is filled in here, as its loops are known to end
    read = _read(source, ours)
    if read.straight and not into:
        parts = [
            variables.get(text, UNDEFINED) if is_name else text for text, is_name in read.straight
        ]
        if {*map(type, parts)} <= _SHORTLY_SHOWN and sum(
            map(len, texts := [*map(show_value, parts)])
        ) <= MAX_CHARACTERS:
            return "".join(texts)
    given = {name: variables[name] for name in read.uses if name in variables}
    try:
        if read.fill is None:
            as_json = [name for name, value in given.items() if has_json_text(value)]
            return str(
                evaluate(
                    "gradegate.templating.nunjucks:fill_template", source, given, as_json, into
                )
            )
        with CpuCharge():
            return read.fill(given, into)
    except (LimitExceeded, TaskRefused) as e:
        raise TemplateError(str(e)) from e
    except (RecursionError, MemoryError) as e:
        raise TemplateError("its variables are nested too deeply or too large") from e


def _read(source: str, ours: bool = False) -> _Read:
    """Raises TemplateError."""
    if len(source) > MAX_SOURCE:
        raise TemplateError(f"the template has more than {MAX_SOURCE:,} characters")
    read = (_read_short if len(source) <= _SHORT else _read_long)(source, ours)
    if read.wrong:
        raise TemplateError(read.wrong)
    return read


def _looked_at(source: str, ours: bool) -> _Read:
    fill = None
    straight = tuple[tuple[str, bool], ...]()
    asked = list[Iterable[str]]()
    try:
        with CpuCharge():
            tree = (
                None
                if nunjucks.has_more_tokens(source, MAX_TOKENS)
                else nunjucks.parse_template(source)
            )
            if tree is not None and (ours or is_plain(tree)):
                asked = [*nunjucks.find_names(tree)]
                fill = partial(nunjucks.render_tree, tree)
                straight = nunjucks.straight_parts(tree)
        asked = asked or evaluate("gradegate.templating.nunjucks:template_names", source)
    except RunLimitExceeded as e:
        raise TemplateError(str(e)) from e
    except (TemplateError, LimitExceeded, TaskRefused) as e:
        return _Read(wrong=str(e))
    except MemoryError:
        return _Read(wrong="it is nested too deeply")
    return _Read(*map(frozenset, asked), fill=fill, straight=straight)


_read_short = lru_cache(maxsize=512)(_looked_at)
_read_long = lru_cache(maxsize=64)(_looked_at)


def render_values(value: Any, variables: Variables) -> Any:
    """Fill every string in a nested value. Raises TemplateError."""
    return change_texts(value, partial(render, variables=variables))


def change_texts(value: Any, change: Callable[[str], Any]) -> Any:
    """A nested value with every string in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: change_texts(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [change_texts(item, change) for item in value]
    return value


def variables_used(source: str, ours: bool = False) -> frozenset[str]:
    """The variables that a template asks for. Raises TemplateError."""
    return _read(source, ours).uses if is_template(source) else frozenset()


def variables_needed(source: str, comments: bool = True) -> frozenset[str]:
    """The variables without which a template, or what is outside ``comments`` of HTML, does not work. Raises TemplateError."""
    read = _read(source) if is_template(source) else _Read()
    return read.needs if comments else read.needs - read.comments


def env_variables(value: Any) -> tuple[frozenset[str], frozenset[str]]:
    """The variables of ``env`` that templates in a nested value show, and those that nothing tests or defaults. Raises TemplateError."""
    if isinstance(value, str):
        read = _read(value) if "env" in value and is_template(value) else _Read()
        return read.env, read.env_needs
    items = (
        value.values()
        if isinstance(value, Mapping)
        else value
        if isinstance(value, list | tuple)
        else ()
    )
    found = [env_variables(item) for item in items]
    return frozenset().union(*(shown for shown, _ in found)), frozenset().union(
        *(needed for _, needed in found)
    )


def render_env(value: Any, env: Mapping[str, str]) -> Any:
    """Fill every string that needs the environment alone; what asks for more is filled when it is known."""
    return change_texts(
        value, lambda text: render(text, {"env": env}) if variables_used(text) <= {"env"} else text
    )


# --- templates that take no more time and memory than their variables have, whatever these are ----------------------
# They print variables and members of variables, choose between texts, compare a few, and use filters whose result does not
# grow however often they are used: in other case, a text has at most three times the signs. Nothing repeats or calculates.
# What is not on these lists goes to the worker: a list of what is dangerous would never be complete.

_KINDS = tuple(
    getattr(nodes, name)
    for name in "Template Output TemplateData If CondExpr And Or Not Test Name Const Getattr Compare Operand".split()
)
_DEEPEST = 24  # levels
_COMPARED = 4  # comparisons: each may look at the whole of a long list
_FILTERS = frozenset(["first", "last", "length", "lower", "string", "safe", "trim", "upper"])


def is_plain(tree: nodes.Template) -> bool:
    """Whether filling in a template is bounded by the size of the template and of its variables."""
    left: list[tuple[nodes.Node, int]] = [(tree, 0)]
    compared = 0
    while left:
        node, depth = left.pop()
        compared += isinstance(node, nodes.Compare)
        match node:
            case nodes.Getitem():
                bounded = isinstance(node.arg, nodes.Const)
            case nodes.Filter(
                name="dump"
            ):  # of a text it doubles the backslashes, so never of what was dumped
                path = node.node
                while isinstance(path, nodes.Getattr | nodes.Getitem):
                    path = path.node
                bounded = not node.args and isinstance(path, nodes.Name)
            case nodes.Filter():
                bounded = node.name in ("default", "d") or (node.name in _FILTERS and not node.args)
            case _:
                bounded = isinstance(node, _KINDS)
        if depth > _DEEPEST or compared > _COMPARED or not bounded:
            return False
        left.extend((child, depth + 1) for child in node.iter_child_nodes())
    return True


_OPENS = re.compile(r"\{[{%]")
_FEW = 500  # characters of which the square is nothing
_RAW = re.compile(r"\{%-?\s*(?:end)?raw\s*-?%\}")


def has_open_braces(text: str) -> bool:
    """Whether a text with braces is sent as it is, since a line of it leaves braces open."""
    return (
        is_template(text) and any(map(_is_open, text.split("\n"))) and len(_RAW.findall(text)) < 2
    )


def _is_open(line: str) -> bool:
    """As promptfoo's ``{{[^}]*$``, ``{%[^%]*$`` and ``{#[^#]*$`` find braces that stay open, without the square of the time."""
    return "{" in line and (
        "{{" in line.rpartition("}")[2]
        or any(line.rpartition(sign)[0].endswith("{") for sign in "%#")
    )


def fill_prompt(source: str, variables: Variables) -> str:
    """The prompt with its variables, chats as JSON, value by value: none can end a string or a message. Raises TemplateError."""
    if not is_template(source):
        return source
    parsed = _structure(source)
    if parsed is not None:
        return json.dumps(render_values(parsed, variables), ensure_ascii=False, indent=2)
    if is_unchanged(source):
        return source
    # Variables that are templates of their own are filled in too, unless they ask for what nobody defines.
    return render(source, {name: _filled_in(value, variables) for name, value in variables.items()})


# Of prompts, which are the same few for all cases.
_structure = lru_cache(maxsize=64)(chat_prompt.parse_structure)
is_unchanged = lru_cache(maxsize=64)(has_open_braces)


def undefined_names(value: Any, variables: Variables) -> frozenset[str]:
    """The names that a variable's value asks for and nobody defines, as promptfoo's pattern finds them. Raises TemplateError."""
    if not isinstance(value, str) or isinstance(value, Verbatim) or not is_template(value):
        return frozenset()
    try:
        return frozenset(
            name for name in mentioned_names(value) if name != "env" and name not in variables
        )
    except LimitExceeded as e:
        raise TemplateError(f"in a variable: {e}") from e


def _filled_in(value: Any, variables: Variables) -> Any:
    if (
        not isinstance(value, str)
        or not is_template(value)
        or isinstance(value, Verbatim)
        or has_open_braces(value)
        or undefined_names(value, variables)
    ):
        return value
    try:
        return render(value, variables)
    except TemplateError as e:
        raise TemplateError(f"in a variable: {e}") from e


def mentions_name(text: str, name: str) -> bool:
    """Whether a name stands behind braces that open, before any brace that closes."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    starts = ((part, _OPENS.search(part)) for part in text.split("}")) if name in text else ()
    return any(start and word.search(part, start.end()) for part, start in starts)


def mentioned_names(text: str) -> list[str]:
    """The names that a text asks for as promptfoo finds them; a long one is looked at in the worker. Raises Exceeded."""
    if len(text) > _FEW:
        return list(evaluate("gradegate.templating.nunjucks:mentioned_names", text))
    with CpuCharge():
        return nunjucks.mentioned_names(text)
