"""Hides secrets in a text: as they are, encoded, broken up, and cut off."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gradegate.access import tokens
from gradegate.access.encodings import CUT, Traces, short_pattern

HIDDEN = "***"
Hide = Callable[[str], str]


def excerpt(text: str, most: int) -> str:
    """The beginning of a text; what is cut off ends with the sign by which a secret is looked for that was cut in two."""
    return text if len(text) <= most else text[:most] + CUT


def ending(text: str, most: int) -> str:
    """The end of a text, with the same sign before it where something is cut off."""
    return text if len(text) <= most else CUT + text[-most:]


def redactor(secrets: Iterable[str], short: bool = True) -> Hide:
    """A function that replaces every form of every secret in a text.

    Of fewer than eight characters only whole words are hidden, and none when ``short`` is off: in a finished document
    they might be part of its own words. Tokens that are minted later are hidden, too, where there is any secret.
    """
    values = {stripped for secret in secrets for stripped in (secret.strip(),) if stripped}
    traces = Traces.of(values)
    words = short_pattern(values) if short else None
    if not traces.forms and words is None and not tokens.traces().forms:
        return unchanged

    def hide(text: str) -> str:
        for found in (traces, tokens.traces()):
            if found.forms:
                text = _covered(text, found.spans(text))
        return words.sub(HIDDEN, text) if words else text

    return hide


def _covered(text: str, hits: list[tuple[int, int]]) -> str:
    """The text with every hit, those that overlap together, replaced."""
    if not hits:
        return text
    parts, end = [], 0
    for first, last in sorted(hits):
        if first >= end:
            parts += [text[end:first], HIDDEN]
        end = max(end, last)
    return "".join([*parts, text[end:]])


def unchanged(text: str) -> str:
    """What hides nothing."""
    return text
