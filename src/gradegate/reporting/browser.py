"""Pages for a browser: one file each, with nothing from elsewhere, and no script but one of ours, allowed by its hash."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from gradegate.reporting.plain import outline, spread
from gradegate.reporting.visible import clip, one_line, visible
from gradegate.values.figures import figure, many, spent

_TEXT = 20_000  # characters of one text
_LINE = 120  # of what stands in a line
_CHUNK = 100  # pieces of the template that are handed on together


def filled(template: str, **values: Any) -> Iterator[str]:
    """A template of our own in parts, with our style and script; every value is escaped."""
    style, script = _file("report.css"), _file("report.js")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, loader=FunctionLoader(_file)
    )
    environment.filters |= {
        "shown": lambda it: visible(clip("" if it is None else str(it), _TEXT)),
        "many": many,
        "spent": spent,
        "figure": figure,
    }
    environment.filters |= {"line": lambda it, *limit: one_line(str(it), *(limit or (_LINE,))), "spread": spread, "outline": outline}
    stream = environment.get_template(template).stream(
        style=Markup(style),  # noqa: S704 - our own file
        style_hash=_hash(style),
        script=Markup(script),  # noqa: S704 - our own file
        script_hash=_hash(script),
        **values,
    )
    stream.enable_buffering(_CHUNK)
    return stream


@cache
def _file(name: str) -> str:
    return (files("gradegate.reporting") / "templates" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """As a policy names what it allows: of the text between the tags, to the letter."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
