"""Hides secrets in a text: plain, in base64 or hex, escaped, broken up, in part, or cut off.

A text is looked at twice: as it is, and with its escapes undone. Each time the forms are looked for as they are, and by
their letters and digits alone (the *bones*), so that no signs between them hide anything. What is found is traced back to
where it stood.
"""

from __future__ import annotations

import base64
import html
import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar
from urllib.parse import unquote

from gradegate.structs import FrozenStruct

HIDDEN = "***"
_LONG = 8  # characters; a shorter secret is looked for as a word of its own
_CUT = "…"  # what every excerpt has where it was cut
_LEAST_WORD = 4  # shorter still is a placeholder: hiding "k" would garble every report
_LEAST_LINE = 12  # of a secret that has several lines, each of this length is one
_LEAST_BONES = 12  # letters and digits; of fewer, other words might have as many in that order
_LEAST_CUT, _LEAST_END = 6, 8  # characters of a secret that ends at a cut, or at the end of a text
# A secret of 24 letters and digits has parts of twelve, from every eighth on; a shorter one has parts of two thirds
_PROBE = 12
_STEP = 8
_WHOLE = 24
_PLACEHOLDERS = frozenset("test none null dummy empty fake ollama local unused true false".split())
_MOST_PARTS = 32
_INVISIBLE = (
    "\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff"
)
_BREAK = rf"[\\=]?(?:\r\n|[\n\r\u2028\u2029])[ \t>|]*|[{_INVISIBLE}]+|\x1b(?:\[[0-9;]*[A-Za-z])?"
# What is undone: a run of percent escapes, an HTML entity, a JSON escape, a tag, a break.
_ESCAPE = re.compile(
    r"(?P<percent>(?:%[0-9A-Fa-f]{2})+)|(?P<entity>&(?:#[0-9]{1,7};?|#[xX][0-9a-fA-F]{1,6};?|[a-zA-Z][a-zA-Z0-9]{1,31};))"
    r"|(?P<json>\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[^\w\s])|(?P<line>\\[nrt])"
)
_GONE = re.compile(rf"<!--.{{0,12}}?-->|</?[a-zA-Z][a-zA-Z0-9]{{0,9}}[ ]?/?>|{_BREAK}")
_SUSPECT = re.compile(rf"[%&\\<=\n\r\x1b\u2028\u2029{_INVISIBLE}]")
_UNSEEN = re.compile(rf"[{_INVISIBLE}]+")
_NO_WORD = re.compile(r"[\W_]+")
_ROUNDS = 2  # how deep escapes may lie in escapes
_OTHERS = bytes(sign for sign in range(128) if not chr(sign).isalnum())
_LOWER = bytes(range(256)).lower()
Span = tuple[int, int]
S = TypeVar("S", bound=str)


class Redact(Protocol):
    """Hides secrets in a text, which stays the kind of text that it is."""

    def __call__(self, text: S, /) -> S:
        """The text without secrets."""
        ...


def excerpt(text: str, most: int) -> str:
    """The beginning of a text; what is cut off ends with the sign by which a secret is looked for that was cut in two."""
    return text if len(text) <= most else text[:most] + _CUT


def shorten_line(text: str, limit: int) -> str:
    """The text in one line of at most ``limit`` characters, and a sign where more was cut off."""
    line = " ".join(text[: 16 * limit].split())  # a text of many megabytes costs nothing
    if len(line) <= limit and len(text) <= 16 * limit:
        return line
    return f"{whole_words(line, limit)}{_CUT}"


def whole_words(line: str, limit: int) -> str:
    """At most so many characters of a line, up to the end of a word; one that is longer than half of them is cut."""
    head = line[:limit]
    words = head.rpartition(" ")[0] if line[limit : limit + 1].strip() else head
    return (words if len(words) * 2 >= limit else head).rstrip()


def last_part(text: str, most: int) -> str:
    """The end of a text, with the same sign before it where something is cut off."""
    return text if len(text) <= most else _CUT + text[-most:]


def unchanged(text: S) -> S:
    """What hides nothing."""
    return text


def redactor(secrets: Iterable[str], short: bool = True) -> Redact:
    """A function that replaces every form of every secret in a text.

    Of fewer than eight characters only whole words are hidden, and none when ``short`` is off: in a finished document
    they might be part of its own words. Tokens that are minted later are hidden, too, where there is any secret.
    """
    values = {stripped for secret in secrets for stripped in (secret.strip(),) if stripped}
    traces = SecretTraces.of(values)
    shorts = sorted(filter(_is_word, values), key=len, reverse=True) if short else []
    words = (
        re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, shorts))})(?![^\W_])")
        if shorts
        else None
    )
    if not traces.forms and words is None and not _traces.forms:
        return unchanged

    def hide(text: S) -> S:
        hidden: str = text
        for sought in (traces, _traces):
            parts = []
            end = 0
            # Those that overlap go as one
            for first, last in sorted(sought.spans(hidden)) if sought.forms else ():
                if first >= end:
                    parts += [hidden[end:first], HIDDEN]
                end = max(end, last)
            hidden = "".join([*parts, hidden[end:]])
        return type(text)(words.sub(HIDDEN, hidden) if words else hidden)

    return hide


class SecretTraces(FrozenStruct):
    """All that gives secrets away: their forms as texts, and as bones; ``parts`` map a part of a secret's bones to these."""

    forms: tuple[str, ...]
    bones: tuple[bytes, ...]
    parts: dict[bytes, bytes]

    @classmethod
    def of(cls, secrets: Iterable[str]) -> SecretTraces:
        """What to look for; of secrets with fewer than ``_LONG`` characters what is longer than they, encoded."""
        given = list(secrets)
        values = [secret for secret in given if len(secret) >= _LONG]
        forms = {form for value in values for form in _forms(value)}
        forms |= {
            form
            for word in given
            if _is_word(word)
            for form in _encoded(word)
            if len(form) >= _LONG
        }
        bones = {bone for bone in map(_bones, forms) if len(bone) >= _LEAST_BONES}
        parts = {part: bone for bone in map(_bones, values) for part in _parts(bone)}
        return cls(tuple(sorted(forms, key=len, reverse=True)), tuple(bones), parts)

    @classmethod
    def whole(cls, secrets: Iterable[str]) -> SecretTraces:
        """What to look for of whole secrets alone: each as it is and encoded, and all of that forwards and backwards."""
        forms = {
            form
            for secret in secrets
            for way in (secret, secret[::-1])
            for form in (way, *_encoded(way))
        }
        forms |= {form[::-1] for form in forms}
        bones = {bone for bone in map(_bones, forms) if len(bone) >= _LEAST_BONES}
        return cls(
            tuple(form for form in forms if len(_bones(form)) < _LEAST_BONES), tuple(bones), {}
        )

    def spans(self, text: str) -> list[Span]:
        """Where the text gives a secret away."""
        hits = [*_spans(text, self.forms), *self._traced(text, 0), *self._cuts(text)]
        plain = text
        for depth in range(1, _ROUNDS + 1 if _SUSPECT.search(text) else 0):
            before = plain
            plain = _plain(plain)
            if plain == before:
                break
            if self._shows(plain):
                hits += self._traced(text, depth)
        return hits

    def shows(self, text: str) -> bool:
        """Whether the text gives a secret away, as it is or with its escapes undone."""
        for _ in range(_ROUNDS + 1 if self.forms or self.bones else 0):
            if self._shows(text):
                return True
            before = text
            text = _plain(text)
            if text == before:
                break
        return False

    def _shows(self, text: str) -> bool:
        return any(form in text for form in self.forms) or self._in(_bones(text))

    def _in(self, bones: bytes) -> bool:
        return any(bone in bones for bone in self.bones) or any(
            part in bones for part in self.parts
        )

    def _traced(self, text: str, depth: int) -> Iterator[Span]:
        """Where secrets stand in a text whose escapes are undone so many times; by their bones alone when it is as it is."""
        if not depth and not self._in(_bones(text)):
            return
        # Where each character came from
        places = [(place, place + 1) for place in range(len(text))]
        for _ in range(depth):
            pieces = list(_pieces(text))
            text = "".join(piece for piece, *_ in pieces)
            origins = [
                [(places[a][0], places[z - 1][1])] * len(piece) if undone else places[a:z]
                for piece, a, z, undone in pieces
            ]
            places = [place for part in origins for place in part]
        yield from (
            (places[first][0], places[last - 1][1]) for first, last in _spans(text, self.forms)
        )
        # The bones of each character, and for each byte where it came from
        parts = []
        places_of_bytes = list[Span]()
        for character, place in zip(text, places, strict=True):
            parts.append(_bones(character))
            places_of_bytes += [place] * len(parts[-1])
        bones = b"".join(parts)
        hits = list(_spans(bones, self.bones))
        for part, whole in self.parts.items():  # as far as a part of a secret goes on to both sides
            for first, last in _spans(bones, (part,)):
                # Where the bones of the text would stand in those of the secret
                at = whole.index(part) - first
                start = max(0, -at)
                end = min(len(bones), len(whole) - at)
                begin = next(
                    (it + 1 for it in reversed(range(start, first)) if bones[it] != whole[it + at]),
                    start,
                )
                hits.append(
                    (
                        begin,
                        next((it for it in range(last, end) if bones[it] != whole[it + at]), end),
                    )
                )
        yield from (
            (places_of_bytes[first][0], places_of_bytes[last - 1][1]) for first, last in hits
        )

    def _cuts(self, text: str) -> Iterator[Span]:
        """Where a text breaks off in the middle of a form: at its end, or at the sign of an excerpt."""
        whole = len(text.rstrip())
        for form in self.forms:
            for start, _ in _spans(text, (form[:_LEAST_CUT],)):
                mark = text.find(_CUT, start, start + len(form))
                end, least = (mark, _LEAST_CUT) if mark >= 0 else (whole, _LEAST_END)
                if least <= end - start < len(form) and form.startswith(text[start:end]):
                    yield start, end
            for last, end in _spans(text, (form[-_LEAST_CUT:],)) if _CUT in text else ():
                mark = text.rfind(_CUT, max(0, last - len(form)), last)
                if mark >= 0 and form.endswith(text[mark + 1 : end]):
                    yield mark + 1, end


# --- what is looked for ---------------------------------------------------------------------------------------


def _is_word(secret: str) -> bool:
    """Whether a short secret is one that is looked for: not a word that stands for none, nor a small number."""
    small = secret.isdigit() and len(secret) < 6
    return _LEAST_WORD <= len(secret) < _LONG and secret.lower() not in _PLACEHOLDERS and not small


def _forms(secret: str) -> Iterator[str]:
    lines = [line.strip() for line in secret.splitlines()]
    squeezed = "".join(lines)  # as it stands where breaks are undone
    yield from (
        secret,
        *(line for line in lines if len(line) >= _LEAST_LINE),
        *([squeezed] if len(squeezed) >= _LONG else []),
    )
    yield from _encoded(secret)


def _encoded(secret: str) -> Iterator[str]:
    encoded = secret.encode("utf-8", "surrogatepass")
    yield encoded.hex()
    yield encoded.hex().upper()
    # What base64 makes of the secret wherever it starts in a longer text, such as ``user:SECRET``: three forms.
    # The characters at both ends that depend on what stands beside it are left out.
    for before in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            text = encode(b"\0" * before + encoded).decode().rstrip("=")
            first = -(-before * 8 // 6)
            last = (before + len(encoded)) * 8 // 6
            if last - first >= _LONG:
                yield text[first:last]


def _parts(bones: bytes) -> Iterator[bytes]:
    """Parts of a secret, one of which is in every part of it that is long; words without a digit give nothing away.

    What is long is so for its secret: a token has a thousand letters, of which fifty are of no use, and each part costs a
    search in every text.
    """
    size, step = (
        (_PROBE, max(_STEP, len(bones) // _MOST_PARTS))
        if len(bones) >= _WHOLE
        else (max(9, len(bones) * 2 // 3), 1)
    )
    parts = (bones[start : start + size] for start in range(0, len(bones) - size + 1, step))
    yield from (part for part in parts if not part.isalpha() and not part.isdigit())


# --- texts, undone ----------------------------------------------------------------------------------------------


def _spans(text: str | bytes, forms: Iterable[str | bytes]) -> Iterator[Span]:
    """Where forms stand in a text."""
    for form in forms:
        start = text.find(form)  # type: ignore[arg-type]  # both are text, or both are bytes
        while start >= 0:
            yield start, start + len(form)
            start = text.find(form, start + len(form))  # type: ignore[arg-type]


def _bones(text: str) -> bytes:
    """The letters and digits of a text in lower case, as UTF-8."""
    if not text.isascii():
        text = _NO_WORD.sub("", unicodedata.normalize("NFKC", _UNSEEN.sub("", text)))
    return text.encode("utf-8", "surrogatepass").translate(_LOWER, _OTHERS)


def _plain(text: str) -> str:
    return "".join(piece for piece, *_ in _pieces(text))


def _pieces(text: str) -> Iterator[tuple[str, int, int, bool]]:
    """The pieces of a text with its escapes undone: where each came from, and whether it was an escape.

    Escapes are looked for where one can start: a search for all of them is twenty times as slow.
    """
    end = 0
    for suspect in _SUSPECT.finditer(text):
        at = suspect.start()
        if at >= end and (match := _ESCAPE.match(text, at) or _GONE.match(text, at)):
            yield text[end:at], end, at, False
            end = match.end()
            yield _undone(match), at, end, True
    yield text[end:], end, len(text), False


def _undone(match: re.Match[str]) -> str:
    written = match[0]
    if match.lastgroup == "percent":
        return unquote(written, errors="replace")
    made = ""
    if match.lastgroup == "entity":
        made = html.unescape(written)
    elif match.lastgroup == "json":
        made = chr(int(f"0x{written[2:]}", 0)) if written[1] in "ux" else written[1:]
    return "" if re.fullmatch(rf"[{_INVISIBLE}\n\r\t]+", made) else made


# --- tokens that came to be while the process runs ---------------------------------------------------------------

# Whoever hides secrets hides them, too, from then on: they are kept in module state, as the accounts of limits are, since
# what hides secrets is made before the first token is.
_lock = threading.Lock()
_tokens: set[str] = set()
_traces = _whole = SecretTraces.of(())


def redact_from_now_on(token: str) -> None:
    """Have a token hidden in every text from now on."""
    global _traces, _whole  # values for whoever reads, each exchanged as a whole
    with _lock:
        if token not in _tokens:
            _tokens.add(token)
            _traces, _whole = SecretTraces.of(_tokens), SecretTraces.whole(_tokens)


def minted_token_traces() -> SecretTraces:
    """What would show the whole of one of them."""
    return _whole
