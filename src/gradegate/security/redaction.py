"""Hides secrets in a text: plain, in base64 or hex, escaped, broken up, in part, or cut off.

A text is searched as it is, and with its escapes undone. Each time two things are searched: the *forms* of a secret as they are,
and their *bones*, which are only the letters and digits. So no signs between these hide anything. Every hit is traced back to its
place in the original text.
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
_LONG = 8  # characters; a shorter secret is only hidden as a whole word
_CUT = "…"  # marks the place where an excerpt was cut
_LEAST_WORD = 4  # a shorter text is a placeholder: hiding "k" would garble every report
_LEAST_LINE = 12  # a line of this length, in a secret of several lines, is a secret itself
_LEAST_BONES = 12  # letters and digits; fewer could occur in other words in that order
_LEAST_CUT = 6  # characters of a secret before the mark of a cut
_LEAST_END = 8  # characters of a secret at the end of a text
# A secret of 24 letters and digits has parts of 12, one from every eighth on. A shorter one has parts of two thirds.
_PART = 12
_STEP = 8
_PARTED = 24
_PLACEHOLDERS = frozenset("test none null dummy empty fake ollama local unused true false".split())
_MOST_PARTS = 32
_INVISIBLE = (
    "\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff"
)
_BREAK = rf"[\\=]?(?:\r\n|[\n\r\u2028\u2029])[ \t>|]*|[{_INVISIBLE}]+|\x1b(?:\[[0-9;]*[A-Za-z])?"
# What is undone: percent escapes, an HTML entity, a JSON escape, a tag, a break.
_ESCAPE = re.compile(
    r"(?P<percent>(?:%[0-9A-Fa-f]{2})+)|(?P<entity>&(?:#[0-9]{1,7};?|#[xX][0-9a-fA-F]{1,6};?|[a-zA-Z][a-zA-Z0-9]{1,31};))"
    r"|(?P<json>\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[^\w\s])|(?P<line>\\[nrt])"
)
_GONE = re.compile(rf"<!--.{{0,12}}?-->|</?[a-zA-Z][a-zA-Z0-9]{{0,9}}[ ]?/?>|{_BREAK}")
_SUSPECT = re.compile(rf"[%&\\<=\n\r\x1b\u2028\u2029{_INVISIBLE}]")
_VANISHING = re.compile(rf"[{_INVISIBLE}\n\r\t]+")
_UNSEEN = re.compile(rf"[{_INVISIBLE}]+")
_NO_WORD = re.compile(r"[\W_]+")
_ROUNDS = 2  # how deep escapes may be nested
_NO_BONES = bytes(sign for sign in range(128) if not chr(sign).isalnum())
_LOWER = bytes(range(256)).lower()
Span = tuple[int, int]
S = TypeVar("S", bound=str)


class Redact(Protocol):
    """Hides secrets in a text. The type of the text stays the same."""

    def __call__(self, text: S, /) -> S:
        """The text without secrets."""
        ...


def excerpt(text: str, most: int) -> str:
    """The first ``most`` characters of a text, with a mark if more was cut off. The mark lets a redactor find half a secret."""
    return text if len(text) <= most else text[:most] + _CUT


def shorten_line(text: str, limit: int) -> str:
    """The text in one line of at most ``limit`` characters, and a mark if more was cut off."""
    line = " ".join(text[: 16 * limit].split())  # a text of many megabytes costs nothing
    if len(line) <= limit and len(text) <= 16 * limit:
        return line
    return f"{whole_words(line, limit)}{_CUT}"


def whole_words(line: str, limit: int) -> str:
    """The first whole words of a line, at most ``limit`` characters. A word longer than half of that is cut."""
    head = line[:limit]
    words = head.rpartition(" ")[0] if line[limit : limit + 1].strip() else head
    return (words if len(words) * 2 >= limit else head).rstrip()


def last_part(text: str, most: int) -> str:
    """The end of a text, with the mark of a cut before it if something is cut off."""
    return text if len(text) <= most else _CUT + text[-most:]


def unchanged(text: S) -> S:
    """Return the text as it is: the redactor for a run without secrets."""
    return text


def redactor(secrets: Iterable[str], short: bool = True) -> Redact:
    """A function that replaces every form of every secret in a text.

    Secrets of fewer than eight characters are hidden as whole words, and not at all if ``short`` is off: in a finished document
    they might be words of the document itself. Tokens that are minted later are hidden, too, if there is any secret.
    """
    values = {secret.strip() for secret in secrets} - {""}
    traces = SecretTraces.from_secrets(values)
    words = None
    if short and (shorts := sorted(filter(_is_word, values), key=len, reverse=True)):
        words = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, shorts))})(?![^\W_])")
    if not traces.forms and words is None and not _traces.forms:
        return unchanged

    def hide(text: S) -> S:
        hidden: str = text
        for sought in (traces, _traces):
            if sought.forms:
                hidden = _hide_spans(hidden, sought.find_spans(hidden))
        return type(text)(words.sub(HIDDEN, hidden) if words else hidden)

    return hide


def _hide_spans(text: str, spans: Iterable[Span]) -> str:
    """The text with each span replaced; spans that overlap are replaced as one."""
    parts = []
    end = 0
    for first, last in sorted(spans):
        if first >= end:
            parts += [text[end:first], HIDDEN]
        end = max(end, last)
    return "".join([*parts, text[end:]])


class Readings(FrozenStruct):
    """A text in all the ways in which it is searched for secrets: as it is, and with its escapes undone once and twice."""

    texts: tuple[tuple[str, bytes], ...]  # each with its bones

    @classmethod
    def from_text(cls, text: str) -> Readings:
        """The readings of a text. Two that are equal are one."""
        texts = [(text, _bones_of(text))]
        for _ in range(_ROUNDS):
            before = text
            text = _undo_escapes(text)
            if text == before:
                break
            texts.append((text, _bones_of(text)))
        return cls(tuple(texts))


class SecretTraces(FrozenStruct):
    """All that gives secrets away: forms, bones, and ``parts``: from a part of a secret's bones to all of its bones."""

    forms: tuple[str, ...]
    bones: tuple[bytes, ...]
    parts: dict[bytes, bytes]

    @classmethod
    def from_secrets(cls, secrets: Iterable[str]) -> SecretTraces:
        """The traces of secrets and of their parts. Of short secrets only long encodings are traces."""
        forms = set[str]()
        parts: dict[bytes, bytes] = {}
        for secret in secrets:
            if len(secret) >= _LONG:
                forms.update(_forms_of(secret))
                bones = _bones_of(secret)
                parts |= dict.fromkeys(_parts_of(bones), bones)
            elif _is_word(secret):
                forms.update(form for form in _encodings_of(secret) if len(form) >= _LONG)
        return cls(tuple(sorted(forms, key=len, reverse=True)), _long_bones(forms), parts)

    @classmethod
    def from_whole_secrets(cls, secrets: Iterable[str]) -> SecretTraces:
        """The traces of whole secrets only: plain and encoded, forwards and backwards."""
        forms = set[str]()
        for secret in secrets:
            for direction in (secret, secret[::-1]):
                forms |= {direction, *_encodings_of(direction)}
        forms |= {form[::-1] for form in forms}
        # Bones find all forms that have enough of them.
        boneless = tuple(form for form in forms if len(_bones_of(form)) < _LEAST_BONES)
        return cls(boneless, _long_bones(forms), {})

    def find_spans(self, text: str) -> list[Span]:
        """The places where the text gives a secret away."""
        spans = [*_find(text, self.forms), *self._find_undone(text, 0), *self._find_cut(text)]
        if not _SUSPECT.search(text):
            return spans
        undone = text
        for depth in range(1, _ROUNDS + 1):
            before = undone
            undone = _undo_escapes(undone)
            if undone == before:
                break
            if self._shows(undone, _bones_of(undone)):
                spans += self._find_undone(text, depth)
        return spans

    def are_in(self, readings: Readings) -> bool:
        """Whether a text gives a secret away, as it is or with its escapes undone."""
        if not self.forms and not self.bones:
            return False
        return any(self._shows(text, bones) for text, bones in readings.texts)

    def _shows(self, text: str, bones: bytes) -> bool:
        return any(form in text for form in self.forms) or self._shows_bones(bones)

    def _shows_bones(self, bones: bytes) -> bool:
        return any(bone in bones for bone in self.bones) or any(
            part in bones for part in self.parts
        )

    def _find_undone(self, text: str, depth: int) -> Iterator[Span]:
        """The places in the text where secrets show after its escapes are undone ``depth`` times."""
        if not depth and not self._shows_bones(_bones_of(text)):
            return

        # Undo the escapes, and remember for each character the place that it came from.
        origins = [(place, place + 1) for place in range(len(text))]
        for _ in range(depth):
            pieces = list(_pieces_of(text))
            text = "".join(piece for piece, *_ in pieces)
            places = origins
            origins = []
            for piece, start, end, is_undone in pieces:
                if is_undone:
                    origins += [(places[start][0], places[end - 1][1])] * len(piece)
                else:
                    origins += places[start:end]
        for first, last in _find(text, self.forms):
            yield origins[first][0], origins[last - 1][1]

        # The bones of each character, and for each byte the place that it came from.
        bones_of_characters = []
        origins_of_bytes = list[Span]()
        for character, origin in zip(text, origins, strict=True):
            bones = _bones_of(character)
            bones_of_characters.append(bones)
            origins_of_bytes += [origin] * len(bones)
        for first, last in self._find_bones(b"".join(bones_of_characters)):
            yield origins_of_bytes[first][0], origins_of_bytes[last - 1][1]

    def _find_bones(self, bones: bytes) -> Iterator[Span]:
        """The places of secrets in bones, whole or in part."""
        yield from _find(bones, self.bones)
        for part, whole in self.parts.items():
            for first, last in _find(bones, (part,)):
                # Go on to both sides as long as the text continues the secret.
                offset = whole.index(part) - first
                least = max(0, -offset)
                most = min(len(bones), len(whole) - offset)
                start = first
                while start > least and bones[start - 1] == whole[start - 1 + offset]:
                    start -= 1
                end = last
                while end < most and bones[end] == whole[end + offset]:
                    end += 1
                yield start, end

    def _find_cut(self, text: str) -> Iterator[Span]:
        """The places where a text breaks off in the middle of a form: at its end, or at the mark of a cut."""
        text_end = len(text.rstrip())
        for form in self.forms:
            # The beginning of a form, up to a mark or to the end of the text
            for start, _ in _find(text, (form[:_LEAST_CUT],)):
                end = text.find(_CUT, start, start + len(form))
                least = _LEAST_CUT
                if end < 0:
                    end = text_end
                    least = _LEAST_END
                if least <= end - start < len(form) and form.startswith(text[start:end]):
                    yield start, end

            # The end of a form, from a mark on
            if _CUT not in text:
                continue
            for last, end in _find(text, (form[-_LEAST_CUT:],)):
                mark = text.rfind(_CUT, max(0, last - len(form)), last)
                if mark >= 0 and form.endswith(text[mark + 1 : end]):
                    yield mark + 1, end


# --- the traces of a secret -------------------------------------------------------------------------------------


def _is_word(secret: str) -> bool:
    """Whether a short secret is hidden: it is no placeholder and no small number."""
    is_small_number = secret.isdigit() and len(secret) < 6
    is_placeholder = secret.lower() in _PLACEHOLDERS
    return _LEAST_WORD <= len(secret) < _LONG and not is_placeholder and not is_small_number


def _forms_of(secret: str) -> Iterator[str]:
    lines = [line.strip() for line in secret.splitlines()]
    yield secret
    yield from (line for line in lines if len(line) >= _LEAST_LINE)
    joined = "".join(lines)  # the form in a text without breaks
    if len(joined) >= _LONG:
        yield joined
    yield from _encodings_of(secret)


def _encodings_of(secret: str) -> Iterator[str]:
    encoded = secret.encode("utf-8", "surrogatepass")
    yield encoded.hex()
    yield encoded.hex().upper()
    # In a longer text, such as ``user:SECRET``, base64 gives a secret three forms, depending on where it starts.
    # Characters at both ends that depend on their neighbors are left out.
    for before in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            text = encode(b"\0" * before + encoded).decode().rstrip("=")
            first = -(-before * 8 // 6)
            last = (before + len(encoded)) * 8 // 6
            if last - first >= _LONG:
                yield text[first:last]


def _long_bones(forms: Iterable[str]) -> tuple[bytes, ...]:
    return tuple({bones for bones in map(_bones_of, forms) if len(bones) >= _LEAST_BONES})


def _parts_of(bones: bytes) -> Iterator[bytes]:
    """Parts of a secret: every long excerpt of it contains one. Words without a digit give nothing away.

    The number of parts is limited. A token has a thousand letters, fifty of them are of no use, and each part costs a search
    in every text.
    """
    if len(bones) >= _PARTED:
        size = _PART
        step = max(_STEP, len(bones) // _MOST_PARTS)
    else:
        size = max(9, len(bones) * 2 // 3)
        step = 1
    for start in range(0, len(bones) - size + 1, step):
        part = bones[start : start + size]
        if not part.isalpha() and not part.isdigit():
            yield part


# --- undoing escapes --------------------------------------------------------------------------------------------


def _find(text: str | bytes, forms: Iterable[str | bytes]) -> Iterator[Span]:
    """The places of forms in a text."""
    for form in forms:
        start = text.find(form)  # type: ignore[arg-type]  # both are text, or both are bytes
        while start >= 0:
            yield start, start + len(form)
            start = text.find(form, start + len(form))  # type: ignore[arg-type]


def _bones_of(text: str) -> bytes:
    """The letters and digits of a text in lower case, as UTF-8."""
    if not text.isascii():
        text = _NO_WORD.sub("", unicodedata.normalize("NFKC", _UNSEEN.sub("", text)))
    return text.encode("utf-8", "surrogatepass").translate(_LOWER, _NO_BONES)


def _undo_escapes(text: str) -> str:
    parts = []
    end = 0
    for escape in _escapes_in(text):
        parts += [text[end : escape.start()], _undo_escape(escape)]
        end = escape.end()
    return "".join([*parts, text[end:]])


def _pieces_of(text: str) -> Iterator[tuple[str, int, int, bool]]:
    """The pieces of a text with its escapes undone: text, start and end in the text before, and whether it was an escape."""
    end = 0
    for escape in _escapes_in(text):
        yield text[end : escape.start()], end, escape.start(), False
        end = escape.end()
        yield _undo_escape(escape), escape.start(), end, True
    yield text[end:], end, len(text), False


def _escapes_in(text: str) -> Iterator[re.Match[str]]:
    """The escapes in a text, searched where one can start: searching for all of them is twenty times as slow."""
    end = 0
    for suspect in _SUSPECT.finditer(text):
        start = suspect.start()
        if start >= end and (escape := _ESCAPE.match(text, start) or _GONE.match(text, start)):
            end = escape.end()
            yield escape


def _undo_escape(match: re.Match[str]) -> str:
    escape = match[0]
    if match.lastgroup == "percent":
        return unquote(escape, errors="replace")
    if match.lastgroup == "entity":
        text = html.unescape(escape)
    elif match.lastgroup == "json":
        text = chr(int(f"0x{escape[2:]}", 0)) if escape[1] in "ux" else escape[1:]
    else:
        return ""
    return "" if _VANISHING.fullmatch(text) else text


# --- tokens that are minted during a run --------------------------------------------------------------------------

# Every redactor hides these tokens as soon as they exist. They are module state, because redactors are made before the first
# token is.
_lock = threading.Lock()
_tokens: set[str] = set()
_traces = _whole = SecretTraces.from_secrets(())


def redact_from_now_on(token: str) -> None:
    """Hide a token in every text from now on."""
    global _traces, _whole  # each is replaced as a whole, so readers need no lock
    with _lock:
        if token not in _tokens:
            _tokens.add(token)
            _traces, _whole = (
                SecretTraces.from_secrets(_tokens),
                SecretTraces.from_whole_secrets(_tokens),
            )


def forget_minted_tokens() -> None:
    """Forget the tokens of earlier runs in this process. Only tests have several runs in one process."""
    global _traces, _whole
    with _lock:
        _tokens.clear()
        _traces, _whole = (SecretTraces.from_secrets(()), SecretTraces.from_whole_secrets(()))


def minted_token_traces() -> SecretTraces:
    """The traces of whole tokens that were minted."""
    return _whole
