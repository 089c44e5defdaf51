"""Hides secrets in texts, and cuts texts in a way that lets half a secret be found.

``redactor`` makes the function that hides secrets. ``excerpt``, ``shorten_line`` and ``last_part`` mark the place of a cut, because
the redactor looks there for the half of a secret.
"""

import re
import threading
from collections.abc import Iterable
from typing import Protocol, TypeVar

from gradegate.security.escapes import Span
from gradegate.security.secret_traces import CUT_MARK, SecretTraces, is_secret_word

HIDDEN = "***"
S = TypeVar("S", bound=str)


class Redact(Protocol):
    """Hides secrets in a text. The type of the text stays the same."""

    def __call__(self, text: S, /) -> S:
        """The text without secrets."""
        ...


def redactor(secrets: Iterable[str], short: bool = True) -> Redact:
    """A function that replaces every form of every secret in a text.

    Secrets of fewer than eight characters are hidden as whole words, and not at all if ``short`` is off: in a finished document
    they might be words of the document itself. Tokens that are minted later are hidden, too, if there is any secret.
    """
    values = {secret.strip() for secret in secrets} - {""}
    traces = SecretTraces.from_secrets(values)
    words = _pattern_of_words(values) if short else None
    if not traces.forms and words is None and not MINTED_TOKENS.traces.forms:
        return unchanged

    def hide(text: S) -> S:
        hidden: str = text
        for sought in (traces, MINTED_TOKENS.traces):
            if sought.forms:
                hidden = _hide_spans(hidden, sought.find_spans(hidden))
        if words is not None:
            hidden = words.sub(HIDDEN, hidden)
        return type(text)(hidden)

    return hide


def unchanged(text: S) -> S:
    """Return the text as it is: the redactor for a run without secrets."""
    return text


def _pattern_of_words(secrets: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern that finds the short secrets as whole words. None if no secret is short."""
    words = sorted(filter(is_secret_word, secrets), key=len, reverse=True)
    if not words:
        return None
    alternatives = "|".join(map(re.escape, words))
    return re.compile(rf"(?<![^\W_])(?:{alternatives})(?![^\W_])")


def _hide_spans(text: str, spans: Iterable[Span]) -> str:
    """The text with each span replaced; spans that overlap are replaced as one."""
    parts = []
    end = 0
    for first, last in sorted(spans):
        if first >= end:
            parts += [text[end:first], HIDDEN]
        end = max(end, last)
    return "".join([*parts, text[end:]])


# --- tokens that are minted during a run --------------------------------------------------------------------------


class MintedTokens:
    """The tokens that were made during a run, and what gives them away: any part of them, or only whole tokens."""

    def __init__(self) -> None:
        self.traces = SecretTraces.from_secrets(())
        self.whole_traces = SecretTraces.from_whole_secrets(())
        self._tokens: set[str] = set()
        self._lock = threading.Lock()

    def add(self, token: str) -> None:
        """Add a token. Traces are replaced as a whole, so readers in other threads need no lock."""
        with self._lock:
            if token not in self._tokens:
                self._tokens.add(token)
                self.traces = SecretTraces.from_secrets(self._tokens)
                self.whole_traces = SecretTraces.from_whole_secrets(self._tokens)


# Module state, because redactors are made before the first token is, and hide each token as soon as it exists
MINTED_TOKENS = MintedTokens()


def redact_from_now_on(token: str) -> None:
    """Hide a token in every text from now on."""
    MINTED_TOKENS.add(token)


def minted_token_traces() -> SecretTraces:
    """The traces of whole tokens that were minted."""
    return MINTED_TOKENS.whole_traces


# --- cuts ---------------------------------------------------------------------------------------------------------


def excerpt(text: str, most: int) -> str:
    """The first ``most`` characters of a text, with a mark if more was cut off. The mark lets a redactor find half a secret."""
    return text if len(text) <= most else text[:most] + CUT_MARK


def shorten_line(text: str, limit: int) -> str:
    """The text in one line of at most ``limit`` characters, and a mark if more was cut off."""
    line = " ".join(text[: 16 * limit].split())  # a text of many megabytes costs nothing
    if len(line) <= limit and len(text) <= 16 * limit:
        return line
    return f"{whole_words(line, limit)}{CUT_MARK}"


def whole_words(line: str, limit: int) -> str:
    """The first whole words of a line, at most ``limit`` characters. A word longer than half of that is cut."""
    head = line[:limit]
    is_cut_in_word = line[limit : limit + 1].strip() != ""
    words = head.rpartition(" ")[0] if is_cut_in_word else head
    if len(words) * 2 < limit:
        words = head
    return words.rstrip()


def last_part(text: str, most: int) -> str:
    """The end of a text, with the mark of a cut before it if something is cut off."""
    return text if len(text) <= most else CUT_MARK + text[-most:]
