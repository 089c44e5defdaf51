"""Hides secrets in a text: as they are, encoded, broken up, and cut off."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

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
    if not traces.forms and words is None and not token_traces().forms:
        return unchanged

    def hide(text: str) -> str:
        for found in (traces, token_traces()):
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


# --- tokens that came to be while the process runs ---------------------------------------------------------------

# Whoever hides secrets hides them, too, from then on: they are kept in module state, as the accounts of limits are, since
# what hides secrets is made before the first token is.
_lock = threading.Lock()
_tokens: set[str] = set()
_traces = _whole = Traces.of(())


def remember(token: str) -> None:
    """Have a token hidden in every text from now on."""
    global _traces, _whole  # values for whoever reads, each exchanged as a whole
    with _lock:
        if token not in _tokens:
            _tokens.add(token)
            _traces, _whole = Traces.of(_tokens), Traces.whole(_tokens)


def token_traces() -> Traces:
    """What would show one of them."""
    return _traces


def whole_tokens() -> Traces:
    """What would show the whole of one of them."""
    return _whole
