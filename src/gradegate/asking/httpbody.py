"""Fills the URL and the body of a templated HTTP request, so that no value can break out of its place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from gradegate.texts.template import render

JSON, FORM, TEXT = "application/json", "application/x-www-form-urlencoded", "text/plain; charset=utf-8"
_EXPRESSION = re.compile(r"(\{\{.*?\}\})", re.DOTALL)
# One value through filters, the last of which encodes it.
_ENCODES = re.compile(r"\{\{-?\s*[\w.\[\]'\"]+\s*(\|\s*\w+\s*(\([^()|]*\)\s*)?)*\|\s*urlencode\s*(\(\s*\)\s*)?-?\}\}")
_ONE = re.compile(r"\s*\{\{(?:(?!\}\}).)*\}\}\s*", re.DOTALL)


def strings(value: Any) -> Iterator[str]:
    """Every text in a nested value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item)


def address(url: str, query: Mapping[str, str], variables: Mapping[str, Any]) -> str:
    """The URL filled in; a value is percent-encoded in it, only the environment as it is. Raises TemplateError.

    A value that the template encodes itself, as ``{{ q | urlencode }}``, is not encoded twice.
    """
    encoded = _each(variables, lambda text: quote(text, safe=""))
    parts = _EXPRESSION.split(url) if "urlencode" in url and "{%" not in url else [url]
    filled = "".join(render(part, variables if _ENCODES.fullmatch(part) else encoded) for part in parts)
    if not query:
        return filled
    return filled + ("&" if "?" in filled else "?") + urlencode({name: render(t, variables) for name, t in query.items()})


def body(
    template: Any, headers: Mapping[str, str], variables: Mapping[str, Any], whole: Mapping[str, Any] | None = None
) -> tuple[bytes | None, str]:
    """The body and its Content-Type, unless ``headers`` set one. Raises TemplateError and ValueError.

    ``whole``: what a transform made, which wins over the members that the template has, and is not filled in.
    """
    declared = next((text for name, text in headers.items() if name.lower() == "content-type"), "").lower()
    if whole is not None:
        written = template if isinstance(template, Mapping) else {}
        return _encoded({**written, **whole}), "" if declared else JSON
    if template is None:
        return None, ""
    if not isinstance(template, str):
        return _encoded(_filled(template, variables)), "" if declared else JSON
    if FORM in declared:
        escaped = variables if "urlencode" in template else _each(variables, lambda text: quote(text, safe=""))
        return render(template, escaped).encode(), ""
    if "json" in declared or (not declared and template.lstrip()[:1] in ("{", "[")):
        return _json(template, variables), "" if declared else JSON
    return render(template, variables).encode(), "" if declared else TEXT


def _json(template: str, variables: Mapping[str, Any]) -> bytes:
    try:
        parsed = json.loads(template)
    except ValueError:
        parsed = None
    if isinstance(parsed, dict | list):
        return _encoded(_filled(parsed, variables))
    # A template that is not JSON by itself, such as {"n": {{n}}}: what it makes must be.
    for values in (variables, _each(variables, lambda text: json.dumps(text, ensure_ascii=False)[1:-1])):
        text = render(template, values)
        try:
            json.loads(text)
        except ValueError:
            continue
        return text.encode()
    raise ValueError("the body is not JSON once it is filled in")


def _filled(value: Any, variables: Mapping[str, Any]) -> Any:
    if isinstance(value, Mapping):
        return {key: _filled(item, variables) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(item, variables) for item in value]
    if not isinstance(value, str):
        return value
    text = render(value, variables)
    return _structure(text) if _ONE.fullmatch(value) else text


def _structure(text: str) -> Any:
    """A value that is one variable alone, such as ``{{ messages | dump }}``, becomes the list or object that it holds."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _each(variables: Mapping[str, Any], change: Any) -> dict[str, Any]:
    """The variables with every text in them changed; the environment stays as it is."""
    return {name: value if name == "env" else _changed(value, change) for name, value in variables.items()}


def _changed(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _changed(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_changed(item, change) for item in value]
    return value
