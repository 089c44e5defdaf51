"""The last line of a reply as a verdict: a value that a classic prompt asks for, such as ``Answer: C`` or ``8/10``.

A form declares one of three kinds: a word (``WordLine``), a score (``ScoreLine``), or a word for each of several items
(``WordListLine``). ``LastLine.read`` is the rule that they share. A kind knows what its values look like in a line.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Self

from gradegate.assertions.judge import prose
from gradegate.errors import Unreadable
from gradegate.structs import FrozenStruct, JsonObject, NamedTexts, replace

# Around the name of a label: `My final answer: C`, `**Answer:** C`, `The answer is C`.
_BEFORE_LABEL = r"(?:(?:the|my)\s+)?(?:(?:final|correct|best|right|overall)\s+)?"
_AFTER_LABEL = r"[*_`\"'”’)\]]{0,6}\s{0,9}[:=?：][*_`]{0,4}|\s+is\b:?"
# The same inside another text
_SIGN_AFTER_LABEL = r"(?=[\W_]*?[:=?：])"
_IS_AFTER_LABEL = r"[\W_]*?\sis\b"
# A number, perhaps with the scale that it is on: `8`, `8.5/10`.
_NUMBER = r"([0-9]{1,3}(?:\.[0-9]{1,9})?)(?:\s?/\s?([0-9]{1,3}))?"
_SCORE = re.compile(rf"(?!0[0-9]){_NUMBER}")  # not `08/10`
_SCORE_AT_END = re.compile(rf"(?<![\w.]){_NUMBER}\Z")
# The begin of a line in a prompt that offers a choice: `(A) It is a subset`.
_OPTION = re.compile(r"\((\w+)\) \S")
_BETWEEN_WORDS = re.compile(r"[.,;\s]+")
_WORD = re.compile(r"[^\W_]+")
# A line with a remark in brackets at its end: `N (final)`
_WITH_REMARK = re.compile(r"([^(\[]*+)[(\[][^)\]]*+[)\]]?+[\W_]*+")
_MAX_END = 4000  # characters at the end of a line that are searched for a value


class LastLine(FrozenStruct):
    """The last line that a form declares: a value, and labels that may stand before the value.

    The value is read from the last line only. The text before the value must end, and no other line may say another value.
    """

    key: str  # of the grader's object, where the value stands
    labels: tuple[str, ...]
    words: tuple[str, ...] = ()  # the allowed values, if they are words

    @property
    def description(self) -> str:
        """The allowed values, for a message."""
        raise NotImplementedError

    def echo_pattern(self) -> str:
        """A pattern that finds a label with a value inside another text. Such a text talks like this line."""
        raise NotImplementedError

    def with_options_from(self, prompts: Iterable[str]) -> Self:
        """The same last line, which may also repeat an option of the user's prompts."""
        return self

    def read(self, text: str) -> tuple[JsonObject, bool]:
        """Read a reply as the grader's object, and tell whether the value stands alone in it. Raises Unreadable."""
        lines = text.rstrip().splitlines()
        value = None
        if lines and (len(lines) == 1 or prose.has_paired_signs(lines[-1])):
            value = self._find_value(lines[-1])
        if value is None:
            raise Unreadable(
                f"its last line is not {self.description}, and it holds no object", self.words
            )
        is_alone = len(lines) == 1

        # A grader may say the same value in several lines at the end.
        while lines and self._find_value(lines[-1]) == value:
            lines.pop()
        self._check_lines_before(lines, value)
        return self._make_object(value, "\n".join(lines).strip()), is_alone

    def _check_lines_before(self, lines: Sequence[str], value: Any) -> None:
        """Check that the text before the value is prose, ends, and says no other value. Raises Unreadable."""
        text = "\n".join(lines)
        if not prose.is_plain(text):
            raise Unreadable(
                "there is a tag, a fence, a brace or strike-through before its last line"
            )
        if not text.strip():
            return
        if not self._has_end(lines) or prose.is_open_ended(prose.RULE.sub("", text)):
            raise Unreadable(
                "the text before its last line does not end; end it with a full stop and a blank line"
            )
        if self._says_other_value(lines, value):
            raise Unreadable("another line of it says another value")

    def _has_end(self, lines: Sequence[str]) -> bool:
        """Whether the text before the value ends: with a blank line or with a stop."""
        is_blank = not lines[-1].strip()
        return is_blank or prose.has_end("\n".join(lines))

    def _says_other_value(self, lines: Sequence[str], value: Any) -> bool:
        """Whether one of the lines before the value says another value."""
        return any(self._contradicts(line, value) for line in lines)

    def _contradicts(self, line: str, value: Any) -> bool:
        """Whether a line says another value, or has a label with a single word that is not a value."""
        line = prose.visible_text(line)
        line_without_mark, _ = prose.split_list_mark(line.lstrip("#> "))
        said_values = [self._find_value_in_prose(line)]
        # The mark of a list may be the begin of an option, such as `(A)`.
        said_values += map(self._find_value_before_reason, {line, line_without_mark})
        if any(said_value not in (None, value) for said_value in said_values):
            return True
        if value in said_values:
            return False
        label, text = self._split_label(prose.without_end(line_without_mark))
        return bool(label) and len(text.split()) == 1

    def _split_label(self, line: str) -> tuple[str, str]:
        """Split a line into its label, such as ``Answer:``, and the text after it. The label is empty if there is none.

        The text comes without the signs around it.
        """
        line = line.strip().lstrip(prose.WRAPPING)
        match = _label_at_start(self.labels).match(line)
        label = match[0] if match else ""
        return label, prose.unwrap(line.removeprefix(label))

    def _find_value(self, line: str) -> Any:
        """The value that is the whole line, with or without a label. None if the line is no value."""
        label, text = self._split_label(line)
        value, rest = self._split_value(text, label)
        return None if rest else value

    def _find_value_in_prose(self, line: str) -> Any:
        """The value that a line before the last one is, or ends in. None if the line says no value."""
        value = self._find_value(line)
        return self._find_value_at_end(line) if value is None else value

    def _find_value_before_reason(self, line: str) -> Any:
        """The value that a line states, perhaps with a reason after it: ``Answer: D because it differs``, ``N (final)``.

        None if the line does not begin like the declared last line.
        """
        label, text = self._split_label(line)
        if label:
            value, _ = self._split_value(text, label)
            return value
        with_remark = _WITH_REMARK.fullmatch(line.lstrip(prose.WRAPPING))
        return self._find_value(with_remark[1]) if with_remark else None

    def _split_value(self, text: str, label: str) -> tuple[Any, Any]:
        """Split the text after a label into the value that it begins with, and the rest. The value is None if there is none.

        The rest is empty if the value is the whole text. ``label`` is empty if the text is a line without a label.
        """
        raise NotImplementedError

    def _find_value_at_end(self, line: str) -> Any:
        """The value that is the last word or number of a line, whatever signs stand around it. None if there is no value."""
        raise NotImplementedError

    def _make_object(self, value: Any, reason: str) -> JsonObject:
        """The object that the reply stands for."""
        return {self.key: value, "reason": reason}

    def _label_pattern(self, no_value_after_is: str = "(?!)") -> str:
        """A pattern that finds a label inside a text, up to the place where its value begins.

        ``no_value_after_is`` is a pattern of what is not a value if the label ends in `is`.
        """
        names = "|".join(map(re.escape, self.labels))
        after_is = rf"{_IS_AFTER_LABEL}(?![\W_]*{no_value_after_is}(?![^\W_]))"
        return rf"(?<![^\W_])(?:{names})(?:{_SIGN_AFTER_LABEL}|{after_is})[\W_]*+"


class WordLine(LastLine):
    """A last line that is one of some words, in any case, with or without a label: ``Answer: C``, ``C``.

    ``meanings`` has the words that mean the same as another word of the form, which is then the value. ``options`` has
    the lines of the user's prompt that offer a word, such as ``(A) It is a subset``, each with that word. A last line that
    repeats such a line has its word as value.
    """

    meanings: NamedTexts = {}
    options: NamedTexts = {}

    @property
    def description(self) -> str:
        return "one of the allowed words"

    def echo_pattern(self) -> str:
        words = "|".join(map(re.escape, self.words))
        # After `is`, a single letter is a value only as a capital: "the answer is a city".
        small_letters = [re.escape(word.lower()) for word in self.words if len(word) == 1]
        article = f"(?-i:{'|'.join(small_letters)})" if small_letters else "(?!)"
        return rf"{self._label_pattern(article)}(?:{words})(?![^\W_])"

    def with_options_from(self, prompts: Iterable[str]) -> Self:
        options = {}
        for prompt in prompts:
            for line in prompt.splitlines():
                option = _as_option(line)
                offer = _OPTION.match(option)
                if offer and offer[1] in self.words:
                    options[option] = offer[1]
        return replace(self, options=options)

    def _find_value(self, line: str) -> Any:
        option = self.options.get(_as_option(line))
        return super()._find_value(line) if option is None else self._meaning(option)

    def _find_value_before_reason(self, line: str) -> Any:
        # A line may repeat an option of the prompt in other signs: `D) It differs`, `**(D) It differs**`.
        if self.options:
            line_words = _only_words(line)
            for option, word in self.options.items():
                if line_words.startswith(_only_words(option)):
                    return self._meaning(word)
        return super()._find_value_before_reason(line)

    def _split_value(self, text: str, label: str) -> tuple[Any, Any]:
        lower_text = text.lower()
        for word in self._longest_first():
            bare_word = prose.unwrap(word).lower()
            rest = lower_text.removeprefix(bare_word)
            if not lower_text.startswith(bare_word) or rest[:1].isalnum():
                continue
            # A single small letter before other words is no value: "the answer is a city", "Answer: a superset".
            is_small_letter = len(word) == 1 and text[:1].islower()
            follows_is = label.lower().endswith("is")
            comes_before_word = rest[:1].isspace() and rest.lstrip()[:1].isalnum()
            is_article = is_small_letter and (comes_before_word or (follows_is and bool(rest)))
            if not is_article:
                return self._meaning(word), rest
        return None, text

    def _find_value_at_end(self, line: str) -> Any:
        text = _text_to_last_word(line)
        for word in self._longest_first():
            bare_word = prose.unwrap(word).lower()
            if text.endswith(bare_word):
                sign_before = text.removesuffix(bare_word)[-1:]
                if not sign_before.isalnum():
                    return self._meaning(word)
        return None

    def _longest_first(self) -> list[str]:
        return sorted(self.words, key=len, reverse=True)

    def _meaning(self, word: str) -> str:
        return self.meanings.get(word, word)


class WordListLine(WordLine, kw_only=True):
    """A last line with a label and then one word for each of ``count`` items. Or a reply with one such word in each line."""

    list_key: str  # of the grader's object, where the list of values stands
    count: int

    @property
    def description(self) -> str:
        return f"`{self.labels[0]}:` with {self.count} times {super().description}"

    def read(self, text: str) -> tuple[JsonObject, bool]:
        words = []
        for line in text.splitlines():
            if line.strip():
                bare_line, _ = prose.split_list_mark(line)
                words.append(prose.unwrap(bare_line).lower())
        if self._has_value_for_each_item(words):
            return self._make_object(words, ""), True
        return super().read(text)

    def _find_value(self, line: str) -> Any:
        # The last line of a list never repeats an option of the prompt.
        return super(WordLine, self)._find_value(line)

    def _find_value_in_prose(self, line: str) -> Any:
        # An option of the prompt is one word, so a line that repeats an option is another value.
        return self.options.get(_as_option(line)) or self._find_value(line)

    def _split_value(self, text: str, label: str) -> tuple[Any, Any]:
        words = _BETWEEN_WORDS.split(text.lower())
        value = words[: self.count]
        if not label or not self._has_value_for_each_item(value):
            return None, text
        return value, words[self.count :]

    def _has_end(self, lines: Sequence[str]) -> bool:
        return bool(super()._has_end(lines) or self._words_of_line(lines[-1]))

    def _says_other_value(self, lines: Sequence[str], value: Any) -> bool:
        if super()._says_other_value(lines, value):
            return True

        # Lines about single items may say their words, in the order of the items.
        remaining_words = list(value)
        for line in lines:
            if self._find_value(line) is not None:
                continue
            for word in self._words_of_line(line):
                if word not in remaining_words:
                    return True
                del remaining_words[: remaining_words.index(word) + 1]
        return False

    def _words_of_line(self, line: str) -> list[str]:
        """The values that a line consists of. For any other line, the value that is the last word of the line."""
        visible_line = prose.visible_text(line).lower()
        bare_line, _ = prose.split_list_mark(prose.unwrap(visible_line))
        words = [prose.unwrap(word) for word in _BETWEEN_WORDS.split(bare_line) if word]
        if words and all(word in self.words for word in words):
            return words
        last_word = self._find_value_at_end(visible_line)
        return [] if last_word is None else [last_word]

    def _has_value_for_each_item(self, words: Sequence[str]) -> bool:
        return len(words) == self.count and all(word in self.words for word in words)

    def _make_object(self, value: Any, reason: str) -> JsonObject:
        return {self.list_key: [{self.key: word} for word in value]}


class ScoreLine(LastLine, kw_only=True):
    """A last line that is a number from 0 to ``highest``, behind a label or as a share: ``Score: 8``, ``8/10``."""

    highest: int

    @property
    def description(self) -> str:
        return f"a number from 0 to {self.highest} behind a label, or as n/{self.highest}"

    def echo_pattern(self) -> str:
        number = r"(?<![^\W_])(?<![/.])[0-9]{1,3}(?:\.[0-9]{1,9})?"
        return rf"{self._label_pattern()}[0-9]|{number}\s?/\s?{self.highest}(?![^\W_])"

    def _split_value(self, text: str, label: str) -> tuple[Any, Any]:
        score = _SCORE.match(text)
        if score is None:
            return None, text
        number, scale = score.groups()
        rest = text[score.end() :]
        # A number without a label or a scale could be any number.
        is_score = scale == str(self.highest) or (label and scale is None)
        if not is_score or rest[:1].isalnum() or float(number) > self.highest:
            return None, text
        return float(number), rest

    def _find_value_at_end(self, line: str) -> Any:
        score = _SCORE_AT_END.search(_text_to_last_word(line))
        if score is None:
            return None

        # Of a share of another scale, only the last number counts.
        number, scale = score.groups()
        if scale and scale != str(self.highest):
            number = scale
        return float(number) if float(number) <= self.highest else None


@cache
def _label_at_start(names: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern for a label with one of these names, up to the place where its value begins."""
    any_name = "|".join(map(re.escape, names))
    pattern = f"{_BEFORE_LABEL}(?:{any_name})(?:{_AFTER_LABEL})"
    return re.compile(pattern, re.IGNORECASE)


def _text_to_last_word(line: str) -> str:
    """A line in lower case up to the end of the last word or number: without the signs after it."""
    end = len(line)
    while end and not line[end - 1].isalnum():
        end -= 1
    return line[max(0, end - _MAX_END) : end].lower()


def _only_words(line: str) -> str:
    """The words of a line in lower case, each with a blank after it."""
    words = _WORD.findall(prose.visible_text(line).lower())
    return "".join(f"{word} " for word in words)


def _as_option(line: str) -> str:
    """A line in the form in which options are compared: blanks do not matter, nor does a full stop at the end."""
    return " ".join(line.split()).rstrip(".")
