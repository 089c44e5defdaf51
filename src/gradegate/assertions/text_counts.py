"""word_ct_match, char_ct_match, sent_ct_match, par_ct_match: the answer has as many as it should.

Arguments and defaults are those of Aegis's structural metrics (https://docs.aegisevals.ai/docs/metrics/structural/).
"""

import re
from typing import Self

from pydantic import field_validator, model_validator

from gradegate.assertions.grading.evaluator import (
    Grader,
    Judge,
    NoVerdict,
    Scoring,
    Transcript,
    Verdict,
    assertion,
    options,
)
from gradegate.core.field_types import Count, Flag, beyond
from gradegate.templating import regex as patterns

_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_SENTENCE_END = re.compile(r"(?<![.!?…。！？])[.!?…。！？]+[\"'”’)\]]*(?:\s+|$)|[。！？]")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


@options
class _Counted(Grader):
    scoring = Scoring(1.0)

    min_count: Count | None = None
    max_count: Count | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if (
            self.min_count is not None
            and self.max_count is not None
            and self.min_count > self.max_count
        ):
            raise ValueError("`min_count` is above `max_count`")
        return self

    def count(self, text: str) -> int:
        """How many there are in a text. Raises ValueError where a limit is exceeded."""
        raise NotImplementedError

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        try:
            count = self.count(transcript.output)
        except ValueError as e:
            raise NoVerdict(
                f"the regular expression cannot be used on the answer: {e}; simplify it"
            ) from e
        limit = beyond(count, self.min_count, self.max_count)
        return Verdict(float(not limit), None, f"the count is {count}{limit}", {"count": count})


def _compiles(pattern: str | None) -> str | None:
    if pattern:
        patterns.check(pattern)
    return pattern


@assertion("word_ct_match")
class WordCount(_Counted):
    """The answer has so many words."""

    exclude_punctuation: Flag = True
    min_word_length: Count = 1
    case_sensitive: Flag = False  # changes no count
    custom_delimiters: str | None = None
    _pattern = field_validator("custom_delimiters")(_compiles)

    def count(self, text: str) -> int:
        """Runs of letters, digits and inner apostrophes or hyphens; with punctuation, what white space parts."""
        if self.custom_delimiters:
            words = [word or "" for word in patterns.split(self.custom_delimiters, text)]
        else:
            words = _WORD.findall(text) if self.exclude_punctuation else text.split()
        return sum(bool(word) and len(word) >= self.min_word_length for word in words)


@assertion("char_ct_match")
class CharacterCount(_Counted):
    """The answer has so many characters."""

    include_whitespace: Flag = True
    include_punctuation: Flag = True
    include_digits: Flag = True
    custom_exclude_pattern: str | None = None
    only_uppercase: Flag = False
    _pattern = field_validator("custom_exclude_pattern")(_compiles)

    def count(self, text: str) -> int:
        """Characters as Unicode code points; punctuation is what is neither letter, digit nor white space."""
        if self.custom_exclude_pattern:
            text = patterns.without(self.custom_exclude_pattern, text)
        return sum(map(self._counts, text))

    def _counts(self, character: str) -> bool:
        if self.only_uppercase:
            return character.isupper()
        if character.isspace():
            return self.include_whitespace
        if character.isdigit():
            return self.include_digits
        return self.include_punctuation or character.isalpha()


@assertion("sent_ct_match")
class SentenceCount(_Counted):
    """The answer has so many sentences."""

    min_words_in_sentence: Count = 1

    def count(self, text: str) -> int:
        """What ``.``, ``!`` or ``?`` before white space or the end parts."""
        return _sentences(text, self.min_words_in_sentence)


@assertion("par_ct_match")
class ParagraphCount(_Counted):
    """The answer has so many paragraphs."""

    min_sentences_in_paragraph: Count = 1
    min_words_in_paragraph: Count = 1

    def count(self, text: str) -> int:
        sentences, words = self.min_sentences_in_paragraph, self.min_words_in_paragraph
        blocks = [block for block in _BLANK_LINE.split(text) if block.strip()]
        return sum(
            _sentences(block, 1) >= sentences and len(_WORD.findall(block)) >= words
            for block in blocks
        )


def _sentences(text: str, words: int) -> int:
    return sum(len(_WORD.findall(part)) >= max(words, 1) for part in _SENTENCE_END.split(text))
