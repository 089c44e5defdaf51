"""Pages for a browser: one file each, without scripts and without anything from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from gradegate.figures import many, spent
from gradegate.reporting.plain import outline, spread
from gradegate.reporting.visible import clip, visible

_TEXT = 20_000  # characters of one text
_CHUNK = 100  # pieces of the template that are handed on together


def filled(template: str, **values: Any) -> Iterator[str]:
    """A template of our own in parts, with our style; every value is escaped."""
    folder = files("gradegate.reporting") / "templates"
    style = (folder / "report.css").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"shown": _shown, "many": many, "spent": spent, "spread": spread, "outline": outline}
    stream = environment.from_string((folder / template).read_text(encoding="utf-8")).stream(
        style=Markup(style),  # noqa: S704 - our own file
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        **values,
    )
    stream.enable_buffering(_CHUNK)
    return stream


def _shown(value: Any) -> str:
    return visible(clip("" if value is None else str(value), _TEXT))
