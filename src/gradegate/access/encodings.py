"""The forms in which a secret turns up in a text: plain, in base64 or hex, escaped, broken up, or cut off.

Plain, base64 and hex are looked for as they are. Percent, JSON and HTML escapes, line breaks and signs that take no room
are undone first, and what is found is traced back to where it stood.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import unquote

LONG = 8  # characters; a shorter secret is looked for as a word of its own
_LEAST_WORD = 4  # shorter still is a placeholder: hiding "k" would garble every report
_LEAST_LINE = 12  # of a secret that has several lines, each of this length is one
_LEAST_CUT = 6  # characters of a secret that ends at a cut
_PLACEHOLDERS = frozenset("test none null dummy empty fake ollama local unused true false".split())
CUT = "…"  # what every excerpt has where it was cut
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
)
_BREAK = rf"\\?(?:\r\n|[\n\r\u2028\u2029])[ \t>|]*|[{_INVISIBLE}]+|\x1b\[[0-9;]*m"
# What is undone: a run of percent escapes, an HTML entity, a JSON escape, a break.
_ESCAPE = re.compile(
    rf"(?P<percent>(?:%[0-9A-Fa-f]{{2}})+)|(?P<entity>&(?:#[0-9]{{1,7}}|#[xX][0-9a-fA-F]{{1,6}}|[a-zA-Z][a-zA-Z0-9]{{1,31}});)"
    rf"|(?P<json>\\u[0-9a-fA-F]{{4}}|\\x[0-9a-fA-F]{{2}}|\\[^\w\s])|(?P<line>\\[nrt])|(?P<gone>{_BREAK})"
)
_SUSPECT = re.compile(rf"[%&\\\n\r\x1b\u2028\u2029{_INVISIBLE}]")
_ROUNDS = 2  # how deep escapes may lie in escapes
Span = tuple[int, int]


def long_forms(secrets: Iterable[str]) -> tuple[str, ...]:
    """Every text that gives a secret away, longest first."""
    forms = {form for secret in secrets for form in _forms(secret)}
    return tuple(sorted(forms, key=len, reverse=True))


def _forms(secret: str) -> Iterator[str]:
    yield secret
    lines = [line.strip() for line in secret.splitlines()]
    yield from (line for line in lines if len(line) >= _LEAST_LINE)
    squeezed = "".join(lines)  # as it stands where breaks are undone
    if len(squeezed) >= LONG:
        yield squeezed
    encoded = secret.encode("utf-8", "surrogatepass")
    yield encoded.hex()
    yield encoded.hex().upper()
    yield from _base64(encoded)


def _base64(secret: bytes) -> Iterator[str]:
    """What base64 makes of the secret wherever it starts in a longer text, such as ``user:SECRET``: three forms.

    The characters at both ends that depend on what stands beside it are left out.
    """
    for before in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            text = encode(b"\0" * before + secret).decode().rstrip("=")
            first = -(-before * 8 // 6)
            last = (before + len(secret)) * 8 // 6
            if last - first >= LONG:
                yield text[first:last]


def short_pattern(secrets: Iterable[str]) -> re.Pattern[str] | None:
    """Short secrets as words of their own."""
    words = [word for word in secrets if len(word) >= _LEAST_WORD and word.lower() not in _PLACEHOLDERS]
    if not words:
        return None
    either = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    return re.compile(rf"(?<![^\W_])(?:{either})(?![^\W_])")


def spans(text: str, forms: Iterable[str]) -> Iterator[Span]:
    """Where forms stand in a text."""
    for form in forms:
        start = text.find(form)
        while start >= 0:
            yield start, start + len(form)
            start = text.find(form, start + len(form))


def decoded(text: str, forms: tuple[str, ...]) -> Iterator[Span]:
    """Where forms stand in a text once its escapes and breaks are undone."""
    if not _SUSPECT.search(text):
        return
    plain = text
    for _ in range(_ROUNDS):
        before, plain = plain, _plain(plain)
        if plain == before:
            break
        if any(form in plain for form in forms):
            yield from _traced(text, forms)
            return


def _traced(text: str, forms: tuple[str, ...]) -> Iterator[Span]:
    places: list[Span] = [(place, place + 1) for place in range(len(text))]
    for _ in range(_ROUNDS):
        text, places = _undo(text, places)
        yield from ((places[first][0], places[last - 1][1]) for first, last in spans(text, forms))


def _undo(text: str, places: list[Span]) -> tuple[str, list[Span]]:
    """The text with its escapes undone, and for each character where it came from."""
    parts, origins, end = [], [], 0
    for match in _escapes(text):
        made = _undone(match)
        parts += [text[end : match.start()], made]
        origins += places[end : match.start()]
        origins += [(places[match.start()][0], places[match.end() - 1][1])] * len(made)
        end = match.end()
    return "".join([*parts, text[end:]]), [*origins, *places[end:]]


def _plain(text: str) -> str:
    parts, end = [], 0
    for match in _escapes(text):
        parts += [text[end : match.start()], _undone(match)]
        end = match.end()
    return "".join([*parts, text[end:]])


def _escapes(text: str) -> Iterator[re.Match[str]]:
    """The escapes of a text, looked for where one can start: a search for all of them is twenty times as slow."""
    end = 0
    for suspect in _SUSPECT.finditer(text):
        if suspect.start() >= end and (match := _ESCAPE.match(text, suspect.start())):
            end = match.end()
            yield match


def _undone(match: re.Match[str]) -> str:
    written = match[0]
    if match["percent"]:
        return unquote(written, errors="replace")
    if match["entity"]:
        return _visible(html.unescape(written))
    if match["json"]:
        return _visible(chr(int(f"0x{written[2:]}", 0)) if written[1] in "ux" else written[1:])
    return ""


def _visible(text: str) -> str:
    return "" if re.fullmatch(rf"[{_INVISIBLE}\n\r\t]+", text) else text


def cut_forms(forms: tuple[str, ...]) -> Callable[[str], Iterator[Span]]:
    """A function that says where a text breaks off in the middle of a form: at its end, or at the sign of an excerpt."""
    heads = {form[:_LEAST_CUT] for form in forms}
    tails = {form[-_LEAST_CUT:] for form in forms}
    longest = max(map(len, forms), default=0)

    def cuts(text: str) -> Iterator[Span]:
        marks = [match.start() for match in re.finditer(CUT, text)]
        for end in (*marks, len(text.rstrip())):
            window = text[max(0, end - longest) : end]
            if any(head in window for head in heads):
                yield from _heads(window, end, forms)
        for start in (0, *(mark + 1 for mark in marks)):
            window = text[start : start + longest]
            if any(tail in window for tail in tails):
                yield from _tails(window, start, forms)

    return cuts


def _heads(window: str, end: int, forms: tuple[str, ...]) -> Iterator[Span]:
    """The beginnings of forms that a window ends with."""
    for form in forms:
        size = min(len(form) - 1, len(window))
        kept = next((n for n in range(size, _LEAST_CUT - 1, -1) if window.endswith(form[:n])), 0)
        if kept:
            yield end - kept, end


def _tails(window: str, start: int, forms: tuple[str, ...]) -> Iterator[Span]:
    """The ends of forms that a window begins with."""
    for form in forms:
        size = min(len(form) - 1, len(window))
        kept = next((n for n in range(size, _LEAST_CUT - 1, -1) if window.startswith(form[-n:])), 0)
        if kept:
            yield start, start + kept
