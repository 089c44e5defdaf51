"""contains and its relatives: text that the answer must hold.

As in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/deterministic/#contains, ``src/assertions/contains.ts``.
"""

import csv
from typing import Any, ClassVar

from pydantic import field_validator

from gradegate.assertions.grading.evaluator import (
    NoVerdict,
    TextEvaluator,
    Verdict,
    assertion,
    options,
    pass_or_fail,
)
from gradegate.templating.template import show_value

MOST_WORK = 1_000_000_000  # characters of the answer by texts: about a second


@options
class _Folding(TextEvaluator):
    folded: ClassVar[bool] = False  # without regard to case

    def fold(self, text: str) -> str:
        return text.lower() if self.folded else text


@assertion("contains")
class Contains(_Folding):
    """The answer holds a text."""

    value: Any
    """The text that the answer must hold."""

    @field_validator("value")
    @classmethod
    def _parse_text(cls, value: Any) -> str:
        if isinstance(value, bool | list | dict):
            raise ValueError("must be a text or a number, and not empty")
        return show_value(value)

    def check(self, output: str) -> Verdict:
        is_contained = self.fold(self.value) in self.fold(output)
        verb = "contains" if is_contained else "does not contain"
        return pass_or_fail(is_contained, f'the answer {verb} "{self.value}"')


@assertion("icontains")
class IContains(Contains):
    """The answer holds a text, without regard to case."""

    folded = True


@assertion("contains-any")
class ContainsAny(_Folding):
    """The answer holds at least one of several texts."""

    every: ClassVar[bool] = False

    value: Any
    """The texts: a list, or one text with commas between them."""

    @field_validator("value")
    @classmethod
    def _parse_texts(cls, value: Any) -> tuple[str, ...]:
        if isinstance(value, str):
            value = _split_csv(value)
        is_list = isinstance(value, list) and bool(value)
        if not is_list or any(isinstance(item, list | dict) for item in value):
            raise ValueError("must be a list of texts, or texts separated by commas")
        texts = tuple(show_value(item) for item in value)
        if "" in texts:
            raise ValueError("contains an empty text, which every answer contains")
        return texts

    def check(self, output: str) -> Verdict:
        if len(output) * len(self.value) > MOST_WORK:
            raise NoVerdict(
                f"{len(self.value):,} texts are too many to look for in so long an answer"
            )
        output = self.fold(output)
        missing = [text for text in self.value if self.fold(text) not in output]
        if self.every:
            passed = not missing
            reason = "the answer contains every text"
        else:
            passed = len(missing) < len(self.value)
            reason = "the answer contains one of the texts"
        if not passed:
            reason = "the answer does not contain " + ", ".join(f'"{text}"' for text in missing)
        return pass_or_fail(passed, reason, missing=missing)


def _split_csv(text: str) -> list[str]:
    """The cells of one line of CSV, where a quotation mark may be escaped with a backslash. Raises ValueError."""
    line = text.replace('\\"', '""')
    try:
        rows = list(csv.reader([line], skipinitialspace=True, strict=True))
    except csv.Error as e:
        raise ValueError("is not a list of texts: its quotation marks do not pair") from e
    return [cell.strip() for cell in rows[0]] if rows else []


@assertion("contains-all")
class ContainsAll(ContainsAny):
    """The answer holds every one of several texts."""

    every = True


@assertion("icontains-any")
class IContainsAny(ContainsAny):
    """The answer holds at least one of several texts, without regard to case."""

    folded = True


@assertion("icontains-all")
class IContainsAll(ContainsAll):
    """The answer holds every one of several texts, without regard to case."""

    folded = True
