"""Texts and numbers of a template as Nunjucks reads them: an escape is the sign itself, 007 is 7, and 0x1f is no number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from jinja2.exceptions import TemplateSyntaxError
from jinja2.lexer import Lexer

_LONGEST = 400  # digits: beyond them no number of JavaScript is finite
_SHORT = 20  # characters of a number that a message writes as Nunjucks does
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SIGNS = {"n": "\n", "t": "\t", "r": "\r"}
_Item = tuple[int, str, str]  # line, kind, and as it is written


class NunjucksLexer(Lexer):
    """Jinja's lexer of templates with Nunjucks' literals. Raises TemplateSyntaxError for numbers that Nunjucks has not."""

    def wrap(self, stream: Iterable[_Item], name: str | None = None, filename: str | None = None) -> Iterator[Any]:
        """The tokens, with their values."""
        return super().wrap(_rewritten(stream), name, filename)


def _rewritten(stream: Iterable[_Item]) -> Iterator[_Item]:
    """Each literal so that Jinja reads it as Nunjucks does; of `007` Jinja makes two."""
    digits: _Item | None = None
    for line, kind, text in stream:
        if digits is not None and kind == "integer":
            digits = (digits[0], kind, digits[2] + text)
            continue
        if digits is not None:
            yield _integer(*digits)
        digits = (line, kind, text) if kind == "integer" else None
        if kind == "float":
            _check(line, text)
        if kind != "integer":
            yield (line, kind, _text(text) if kind == "string" else text)
    if digits is not None:
        yield _integer(*digits)


def _integer(line: int, kind: str, text: str) -> _Item:
    _check(line, text)
    return line, kind, text.lstrip("0") or "0"


def _check(line: int, text: str) -> None:
    if re.fullmatch(r"\d+(\.\d+)?", text) and len(text) <= _LONGEST:
        return
    plain = text.replace("_", "").lower()
    number = int(plain, 0) if plain[:2] in ("0x", "0o", "0b") else float(plain)
    cure = f": write {number:.15g}" if len(text) <= _SHORT else ""
    shown = text if len(text) <= _SHORT else text[:_SHORT] + "…"
    raise TemplateSyntaxError(f"`{shown}` is no number in Nunjucks{cure}", line)


def _text(written: str) -> str:
    """A text between its quotes, with the escapes that Jinja reads as what Nunjucks makes of them."""
    text = _ESCAPED.sub(lambda found: _SIGNS.get(found[1], found[1]), written[1:-1])
    return written[0] + text.replace("\\", "\\\\").replace("\r", "\\r") + written[0]
