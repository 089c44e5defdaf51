"""The declared last line, a value that a classic prompt asks for, alone or behind a label; and replies in which every line counts."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gradegate.assertions.judge import prose
from gradegate.errors import Unreadable
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, JsonObject, NamedTexts

_BEFORE = r"(?:(?:the|my)\s+)?(?:(?:final|correct|best|right|overall)\s+)?"
_SIGN = r"[*_`\"'”’)\]]{0,6}\s{0,9}[:=?：][*_`]{0,4}"
_NUMBER = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,9})?)(?:\s?/\s?([0-9]{1,3}))?")
_NUMBER_AT_END = re.compile(r"(?<![\w.])([0-9]{1,3}(?:\.[0-9]{1,9})?)(?:\s?/\s?([0-9]{1,3}))?\Z")
_LONGEST = 4000  # characters of a line that says a value
_OPTION = re.compile(r"\((\w+)\) \S")  # a line of a prompt that offers a choice
_BETWEEN = re.compile(r"[.,;\s]+")


class LastLine(FrozenStruct):
    """What the last line may say, and the ``key`` of the grader's object that it is the value of.

    A value is one of ``words`` in any case, also bare, or a number from 0 to ``most``, behind a label or as ``n/most``.
    With ``among``, the name of a list, it is one word for each of ``count`` items, behind its label; or each word has a line.
    """

    key: str
    labels: tuple[str, ...]
    words: tuple[str, ...] = ()
    most: int = 0
    among: str = ""
    count: int = 1
    meanings: NamedTexts = {}  # of words that mean the same as others
    # Words by the lines of the user's prompt that offer them, as `find_option_lines` finds them
    options: NamedTexts = {}

    def read(self, text: str) -> tuple[JsonObject, bool]:
        """The grader's object, and whether the text is the value and nothing else. Raises Unreadable."""
        lines = text.rstrip().splitlines()
        value = (
            self._said(lines[-1])
            if lines and (len(lines) == 1 or prose.has_paired_signs(lines[-1]))
            else None
        )
        if value is None and self.among:
            words = [
                prose.unwrap(prose.split_list_mark(line)[0]).lower()
                for line in lines
                if line.strip()
            ]
            value = self._for_all_items(words)
            lines = []
        if value is None:
            raise Unreadable(
                f"its last line is not {self.described}, and it holds no object", self.words
            )
        alone = len(lines) < 2
        while lines and self._meant(self._said(lines[-1])) == self._meant(value):
            lines.pop()
        before = "\n".join(lines)
        if not prose.is_plain(before):
            raise Unreadable(
                "there is a tag, a fence, a brace or strike-through before its last line"
            )
        if before.strip():  # it ends, does not go on, and says no other value
            parts = [
                part for line in lines if self._said(line) is None for part in self._parts(line)
            ]
            ended = (
                not lines[-1].strip()
                or prose.has_end(before)
                or (self.among and self._parts(lines[-1]))
            )
            if not ended or prose.is_open_ended(prose.RULE.sub("", before)):
                raise Unreadable(
                    "the text before its last line does not end; end it with a full stop and a blank line"
                )
            whole = iter(value if self.among else ())
            if any(self._contradicts(line, value) for line in lines) or not all(
                part in whole for part in parts
            ):
                raise Unreadable("another line of it says another value")
        if not self.among:
            return {self.key: value, "reason": before.strip()}, alone
        return {self.among: [{self.key: word} for word in value]}, alone

    @property
    def described(self) -> str:
        """The values, for a message."""
        if self.most:
            return f"a number from 0 to {self.most} behind a label, or as n/{self.most}"
        words = "one of the allowed words"
        return f"`{self.labels[0]}:` with {self.count} times {words}" if self.among else words

    def echo_pattern(self) -> str:
        """A pattern for what talks like this line inside another text: a label with a value, or ``n/most``."""
        label = rf"(?<![^\W_])(?:{'|'.join(map(re.escape, self.labels))})"
        if self.most:
            share = (
                rf"(?<![^\W_])(?<![/.])[0-9]{{1,3}}(?:\.[0-9]{{1,9}})?\s?/\s?{self.most}(?![^\W_])"
            )
            return rf"{label}(?:(?=[\W_]*?[:=?：])|[\W_]*?\sis\b)[\W_]*+[0-9]|{share}"
        # After `is`, a single letter is a value only as a capital: "the answer is a city".
        words = "|".join(map(re.escape, self.words))
        after_is = "|".join(
            re.escape(word) if len(word) > 1 else f"(?-i:{re.escape(word.upper())})"
            for word in self.words
        )
        return rf"{label}(?:(?=[\W_]*?[:=?：])[\W_]*+(?:{words})|[\W_]*?\sis\b[\W_]*+(?:{after_is}))(?![^\W_])"

    def _contradicts(self, line: str, value: Any) -> bool:
        """Whether a line ends in another value, as people see it, or is a label with a single word that is no value."""
        shown = prose.visible_text(line)
        found = self._said(shown)
        if found is None and not self.among:
            found = self._value_at_end(shown)
        if found is not None:
            return bool(self._meant(found) != self._meant(value))
        if len(shown) > _LONGEST:
            return False
        shown = prose.without_end(prose.split_list_mark(shown.lstrip("#> "))[0])
        label = self._label(shown)
        return label is not None and len(prose.unwrap(shown[label.end() :]).split()) == 1

    def _value_at_end(self, shown: str) -> Any:
        """The value that is the last word or number of a line, whatever signs stand around it; None for none."""
        end = len(shown)
        while end and not shown[end - 1].isalnum():
            end -= 1
        text = shown[max(0, end - _LONGEST) : end].lower()
        if self.most:
            number = _NUMBER_AT_END.search(text)
            if number is None:
                return None
            is_share = number[2] == str(self.most)
            found = float(number[1] if is_share else number[2] or number[1])
            return found if found <= self.most else None
        for word in sorted(self.words, key=len, reverse=True):
            start = len(text) - len(prose.unwrap(word))
            if text.endswith(prose.unwrap(word).lower()) and not text[:start][-1:].isalnum():
                return word
        return None

    def _meant(self, value: Any) -> Any:
        return self.meanings.get(value, value) if isinstance(value, str) else value

    def _parts(self, line: str) -> list[str]:
        """In a grader with a value for each item: the words that a line is made of, or the one at its end."""
        if not self.among:
            return []
        shown = prose.visible_text(line).lower()
        words = [
            prose.unwrap(word)
            for word in _BETWEEN.split(prose.split_list_mark(prose.unwrap(shown))[0])
            if word
        ]
        if words and all(word in self.words for word in words):
            return words
        word = self._value_at_end(shown)
        return [] if word is None else [word]

    def _said(self, line: str) -> Any:
        """The value of a line, None for none."""
        if option := self.options.get(as_option(line)):
            return option
        line = line.strip().lstrip(prose.WRAPPING) if len(line) <= _LONGEST else ""
        label = self._label(line)
        value = prose.unwrap(line[label.end() :] if label else line)
        if self.most:
            number = _NUMBER.fullmatch(value)
            fits = (
                number is not None
                and (label or number[2])
                and number[2] in (None, str(self.most))
                and float(number[1]) <= self.most
            )
            return float(number[1]) if number and fits else None
        if self.among:
            return self._for_all_items(_BETWEEN.split(value.lower())) if label else None
        return next(
            (word for word in self.words if prose.unwrap(word).lower() == value.lower()), None
        )

    def _for_all_items(self, words: list[str]) -> list[str] | None:
        """The words, if they are values, one for each item."""
        fits = len(words) == self.count and all(word in self.words for word in words)
        return words if fits else None

    def _label(self, line: str) -> re.Match[str] | None:
        labels = "|".join(map(re.escape, self.labels))
        return re.match(
            rf"{_BEFORE}(?:{labels})(?:{_SIGN}|\s+is\b:?)",
            line.lstrip(prose.WRAPPING),
            re.IGNORECASE,
        )


def as_option(line: str) -> str:
    """A line as ``find_option_lines`` compares it: without a full stop, and whatever blanks are in it."""
    return " ".join(line.split()).rstrip(".")


def find_option_lines(prompts: Iterable[str], words: Sequence[str]) -> dict[str, str]:
    """The lines of prompts that offer one of these words, such as `(A) It is a subset`, each with its word."""
    options = {}
    for line in (line for prompt in prompts for line in prompt.splitlines()):
        offer = _OPTION.match(as_option(line))
        if offer and offer[1] in words:
            options[as_option(line)] = offer[1]
    return options


# --- every line: marked sentences, quotations, and lists of texts ----------------------------------------------


def _filled(text: str) -> list[str]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise Unreadable("it is empty")
    return lines


def marked_lines(
    text: str, marks: Sequence[str], is_quoted: Callable[[str], bool]
) -> list[tuple[str, str]]:
    """The text of every line with its one mark. A list item or quotation that does not end ``is_quoted``. Raises Unreadable."""
    words = "|".join(map(re.escape, marks))
    last = re.compile(rf"[*_]{{0,3}}\[({words})\][*_]{{0,3}}\.?", re.IGNORECASE)
    another = re.compile(rf"\[[^\[\]]*(?:{words})", re.IGNORECASE)
    pairs = []
    for line in _filled(text):
        start = line.rfind("[")
        start = len(line[:start].rstrip("*_")) if start > 0 else 0
        mark = last.fullmatch(line, start)
        sentence, is_item = prose.split_list_mark(line[:start])
        if mark is None or another.search(sentence) or not prose.is_plain(sentence):
            raise Unreadable(
                f"the line {excerpt(line, 80)!r} does not end in one mark, [{'] or ['.join(marks)}]"
            )
        known = prose.has_end(sentence) or (
            (is_item or sentence[-1:] in prose.WRAPPING) and is_quoted(prose.unwrap(sentence))
        )
        if not prose.has_words(sentence) or prose.is_open_ended(sentence) or not known:
            raise Unreadable(f"the text before the mark does not end: {excerpt(line, 80)!r}")
        pairs.append((prose.unwrap(sentence), mark[1].lower()))
    return pairs


def quoted_lines(text: str) -> list[str]:
    """Every line without marks of quotations and lists; whoever asks holds them against the context. Raises Unreadable."""
    lines = [prose.split_list_mark(line.lstrip("> "))[0] for line in _filled(text)]
    if any("QUESTION" in unicodedata.name(prose.last_sign(line) or " ", "") for line in lines):
        raise Unreadable("a line of it is a question")
    return lines


def item_lines(text: str) -> list[str]:
    """Every line as a text: each is a list item, or it ends. Raises Unreadable."""
    lines = [(line, *prose.split_list_mark(line)) for line in _filled(text)]
    if not prose.is_plain(text) or not all(
        bare and (is_item or prose.has_end(line)) for line, bare, is_item in lines
    ):
        raise Unreadable("it is neither an object nor a list with one text to a line")
    return [bare.strip(prose.WRAPPING) for _, bare, _ in lines]


def single_line(text: str) -> str:
    """The one line of a text. Raises Unreadable."""
    lines = _filled(text)
    line = prose.split_list_mark(lines[0])[0].strip(prose.WRAPPING)
    if len(lines) > 1 or not prose.is_plain(text) or not prose.has_words(line):
        raise Unreadable("it is neither an object nor one line")
    return line
