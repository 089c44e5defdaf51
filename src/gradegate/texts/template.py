"""Fills templates the way Nunjucks prints values; what a model wrote is never a template.

A template of which it is certain that it takes no more than its variables have is filled in here, because there may be
100,000 of them; any other in the worker, under its limits (``docs/limits.md``). Both give the same text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from gradegate.files.bounds import MAX_SOURCE, MAX_TOKENS
from gradegate.processes.evaluate import Exceeded, Refused, Spent, charged, evaluate
from gradegate.texts import engine
from gradegate.texts.engine import TemplateError
from gradegate.texts.plain import is_plain
from gradegate.texts.values import printed, prints_json, show

__all__ = ["TemplateError", "environment", "is_template", "needs", "printed", "render", "render_env", "render_values", "show", "uses"]
_MARK = re.compile(r"\{[{%#]")
_SHORT = 4096  # characters of a template of which many are kept
_Fill = Callable[[Mapping[str, Any]], str]  # raises TemplateError


@dataclass(frozen=True, slots=True)
class _Read:
    """A template: what it asks for and does not work without, the same of ``env``, and what fills it in if that may be here."""

    uses: frozenset[str]
    needs: frozenset[str]
    env: frozenset[str] = frozenset()
    env_needs: frozenset[str] = frozenset()
    comments: frozenset[str] = frozenset()  # what stands in comments of HTML alone
    fill: _Fill | None = None
    wrong: str = ""  # why it cannot be read; kept, because to find out may have taken seconds


_PLAIN = _Read(frozenset(), frozenset())  # a text without anything to fill in


def is_template(text: str) -> bool:
    """Whether the text holds anything to fill in."""
    return "{" in text and _MARK.search(text) is not None


def render(source: str, variables: Mapping[str, Any], ours: bool = False) -> str:
    """Fill a template. Variables are data: what they hold is not filled in again. Raises TemplateError.

    ``ours``: the template is part of gradegate and its loops are known to end, so it is filled in here.
    """
    if not is_template(source):
        return source
    read = _read(source, ours)
    given = {name: variables[name] for name in read.uses if name in variables}
    try:
        if read.fill is None:
            as_json = [name for name, value in given.items() if prints_json(value)]
            return str(evaluate("gradegate.texts.engine:fill", source, given, as_json))
        with charged():
            return read.fill(given)
    except (Exceeded, Refused) as e:
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
    try:
        with charged():
            tree = None if engine.has_more_tokens(source, MAX_TOKENS) else engine.parse(source)
            if tree is not None and (ours or is_plain(tree)):
                return _found(engine.asked_by(tree), partial(engine.generate, tree))
        asked = evaluate("gradegate.texts.engine:asked", source)
    except Spent as e:
        raise TemplateError(str(e)) from e
    except (TemplateError, Exceeded, Refused) as e:
        return _Read(frozenset(), frozenset(), wrong=str(e))
    except MemoryError:
        return _Read(frozenset(), frozenset(), wrong="it is nested too deeply")
    return _found(asked)


def _found(asked: Iterable[Iterable[str]], fill: _Fill | None = None) -> _Read:
    uses, needs, env, env_needs, comments = map(frozenset, asked)
    return _Read(uses, needs, env, env_needs, comments, fill)


_read_short = lru_cache(maxsize=512)(_looked_at)
_read_long = lru_cache(maxsize=64)(_looked_at)


def render_values(value: Any, variables: Mapping[str, Any]) -> Any:
    """Fill every string in a nested value. Raises TemplateError."""
    return _filled(value, partial(render, variables=variables))


def _filled(value: Any, fill: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return fill(value)
    if isinstance(value, Mapping):
        return {key: _filled(item, fill) for key, item in value.items()}
    return [_filled(item, fill) for item in value] if isinstance(value, list | tuple) else value


def uses(source: str, ours: bool = False) -> frozenset[str]:
    """The variables that a template asks for. Raises TemplateError."""
    return _read(source, ours).uses if is_template(source) else frozenset()


def needs(source: str, comments: bool = True) -> frozenset[str]:
    """The variables that a template does not work without: those that it asks for and nowhere tests or defaults.

    Where a model reads the text, ``comments`` of HTML work without any. Raises TemplateError.
    """
    read = _read(source) if is_template(source) else _PLAIN
    return read.needs if comments else read.needs - read.comments


def environment(value: Any) -> tuple[frozenset[str], frozenset[str]]:
    """The variables of the environment that the templates in a nested value show, and those without which it does not work.

    The latter are guarded by no ``default`` and no condition. Raises TemplateError.
    """
    if isinstance(value, str):
        read = _read(value) if "env" in value and is_template(value) else _PLAIN
        return read.env, read.env_needs
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    found = [environment(item) for item in items]
    return frozenset().union(*(shown for shown, _ in found)), frozenset().union(*(needed for _, needed in found))


def render_env(value: Any, env: Mapping[str, str]) -> Any:
    """Fill every string that needs the environment alone; what asks for more is filled when it is known."""
    return _filled(value, lambda text: render(text, {"env": env}) if uses(text) <= {"env"} else text)
