"""Finds secrets in a text: plain, in base64 or hex, escaped, broken up, in part, or cut off.

A text is searched in all its readings: as it is, and with its escapes undone. In each reading two things are searched: the *forms*
of a secret as they are, and their *bones*, which are only the letters and digits. So no signs between these hide anything. Every
hit is traced back to its place in the original text.
"""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Iterable, Iterator

from gradegate.security.escapes import Span, UnescapedText, readings_of
from gradegate.structs import FrozenStruct

LONG_SECRET = 8  # characters; a shorter secret is only hidden as a whole word
CUT_MARK = "…"  # marks the place where an excerpt was cut
_LEAST_WORD = 4  # a shorter text is a placeholder: hiding "k" would garble every report
_PLACEHOLDERS = frozenset("test none null dummy empty fake ollama local unused true false".split())
_LEAST_LINE = 12  # a line of this length, in a secret of several lines, is a secret itself
_LEAST_BONES = 12  # letters and digits; fewer could occur in other words in that order
_LEAST_CUT = 6  # characters of a secret before the mark of a cut
_LEAST_END = 8  # characters of a secret at the end of a text
# A secret of 24 letters and digits has parts of 12, one from every eighth on. A shorter one has parts of two thirds.
_PART = 12
_STEP = 8
_PARTED = 24
_MOST_PARTS = 32

# What is no letter and no digit, and two fillers of Hangul: Unicode calls them letters, but nobody sees them.
_NO_WORD = re.compile(r"[\W_\u115f\u1160]+")
_NO_BONES = bytes(sign for sign in range(128) if not chr(sign).isalnum())
_LOWER = bytes(range(256)).lower()


class SearchableText(FrozenStruct):
    """A text in all the readings in which it is searched for secrets, each with its bones."""

    readings: tuple[tuple[str, bytes], ...]

    @classmethod
    def from_text(cls, text: str) -> SearchableText:
        """The readings of a text: as it is, and with its escapes undone."""
        return cls(tuple((reading.text, _bones_of(reading.text)) for reading in readings_of(text)))


class SecretTraces(FrozenStruct):
    """What gives secrets away in a text."""

    forms: tuple[str, ...]  # the secrets as they are, and encoded; the longest first
    bones: tuple[bytes, ...]  # of the forms that have enough of them
    parts: dict[bytes, bytes]  # parts of a secret's bones, each with all bones of the secret

    @classmethod
    def from_secrets(cls, secrets: Iterable[str]) -> SecretTraces:
        """The traces of secrets and of their parts. Of short secrets only long encodings are traces."""
        forms = set[str]()
        parts: dict[bytes, bytes] = {}
        for secret in secrets:
            if len(secret) >= LONG_SECRET:
                forms.update(_forms_of(secret))
                bones = _bones_of(secret)
                parts |= dict.fromkeys(_parts_of(bones), bones)
            elif is_secret_word(secret):
                forms.update(form for form in _encodings_of(secret) if len(form) >= LONG_SECRET)
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

    def are_in(self, text: SearchableText) -> bool:
        """Whether a text gives a secret away, as it is or with its escapes undone."""
        if not self.forms and not self.bones:
            return False
        return any(self._shows(reading, bones) for reading, bones in text.readings)

    def find_spans(self, text: str) -> list[Span]:
        """The places where the text gives a secret away. They may overlap."""
        spans = list(self._find_cut(text))
        if self.are_in(SearchableText.from_text(text)):
            for reading in readings_of(text, with_origins=True):
                spans += self._find_in_reading(reading)
        return spans

    def _shows(self, text: str, bones: bytes) -> bool:
        if any(form in text for form in self.forms):
            return True
        return any(bone in bones for bone in self.bones) or any(
            part in bones for part in self.parts
        )

    def _find_in_reading(self, reading: UnescapedText) -> Iterator[Span]:
        """The places in the original text of the secrets in a reading of it."""
        text, origins = reading
        for first, last in _find(text, self.forms):
            yield origins[first][0], origins[last - 1][1]

        # The bones of each character, and for each byte of them the place that it came from
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
                end = text.find(CUT_MARK, start, start + len(form))
                least = _LEAST_CUT
                if end < 0:
                    end = text_end
                    least = _LEAST_END
                if least <= end - start < len(form) and form.startswith(text[start:end]):
                    yield start, end

            # The end of a form, from a mark on
            if CUT_MARK not in text:
                continue
            for last, end in _find(text, (form[-_LEAST_CUT:],)):
                mark = text.rfind(CUT_MARK, max(0, last - len(form)), last)
                if mark >= 0 and form.endswith(text[mark + 1 : end]):
                    yield mark + 1, end


def is_secret_word(secret: str) -> bool:
    """Whether a short secret is hidden where it is a whole word: it is no placeholder and no small number."""
    is_small_number = secret.isdigit() and len(secret) < 6
    is_placeholder = secret.lower() in _PLACEHOLDERS
    return _LEAST_WORD <= len(secret) < LONG_SECRET and not is_placeholder and not is_small_number


def _find(text: str | bytes, forms: Iterable[str | bytes]) -> Iterator[Span]:
    """The places of forms in a text."""
    for form in forms:
        start = text.find(form)  # type: ignore[arg-type]  # both are text, or both are bytes
        while start >= 0:
            yield start, start + len(form)
            start = text.find(form, start + len(form))  # type: ignore[arg-type]


# --- the traces of a secret -------------------------------------------------------------------------------------


def _forms_of(secret: str) -> Iterator[str]:
    """The forms of a long secret: the whole, each long line of it, all lines in one, and its encodings."""
    lines = [line.strip() for line in secret.splitlines()]
    yield secret
    for line in lines:
        if len(line) >= _LEAST_LINE:
            yield line
    joined = "".join(lines)  # the form in a text without breaks
    if len(joined) >= LONG_SECRET:
        yield joined
    yield from _encodings_of(secret)


def _encodings_of(secret: str) -> Iterator[str]:
    """A secret in hex and in base64."""
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
            if last - first >= LONG_SECRET:
                yield text[first:last]


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


def _long_bones(forms: Iterable[str]) -> tuple[bytes, ...]:
    """The bones of the forms that have enough letters and digits to be searched by these only."""
    return tuple({bones for bones in map(_bones_of, forms) if len(bones) >= _LEAST_BONES})


def _bones_of(text: str) -> bytes:
    """The letters and digits of a text in lower case, as UTF-8. Bold, wide and other variants of a letter are that letter.

    Marks on a letter, such as accents, are taken off: NFKD writes them as characters of their own, and these are no letters.
    """
    if not text.isascii():
        text = _NO_WORD.sub("", unicodedata.normalize("NFKD", text))
    return text.encode("utf-8", "surrogatepass").translate(_LOWER, _NO_BONES)
