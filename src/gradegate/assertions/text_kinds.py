"""is_boolean, is_numeric, is_string, is_date, is_valid_xml, alpha_perc, alphanum_perc: what kind of text the answer is.

Arguments and defaults are those of Aegis's structural metrics (https://docs.aegisevals.ai/docs/metrics/structural/).
"""

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, time
from typing import ClassVar
from xml.etree import ElementTree as ET

from gradegate.assertions.grading.evaluator import (
    Grader,
    Judge,
    Scoring,
    Transcript,
    Verdict,
    assertion,
    options,
)
from gradegate.core.field_types import Flag
from gradegate.files.documents import fault

_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_TIME_OF_DAY = re.compile(r"%[HIXcTR]")


@options
class _Kind(Grader):
    scoring = Scoring(1.0)

    def fault(self, text: str) -> str:
        """Why a text is not of the kind; empty when it is."""
        raise NotImplementedError

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        fault = self.fault(transcript.output)
        return Verdict(float(not fault), None, fault or "the answer has the expected form")


@assertion("is_boolean")
class IsBoolean(_Kind):
    """The answer is true or false, in any case."""

    def fault(self, text: str) -> str:
        return (
            ""
            if text.strip().lower() in ("true", "false")
            else "the answer is neither true nor false"
        )


@assertion("is_numeric")
class IsNumeric(_Kind):
    """The answer is a number."""

    def fault(self, text: str) -> str:
        """Digits with sign, point and exponent; neither NaN nor infinity nor digits in groups."""
        return "" if _NUMBER.fullmatch(text.strip()) else "the answer is not a number"


@assertion("is_string")
class IsString(_Kind):
    """The answer is text that is not empty."""

    allow_empty: Flag = False
    allow_whitespace_only: Flag = False

    def fault(self, text: str) -> str:
        if not text:
            return "" if self.allow_empty else "the answer is empty"
        return (
            ""
            if text.strip() or self.allow_whitespace_only
            else "the answer is nothing but white space"
        )


@assertion("is_date")
class IsDate(_Kind):
    """The answer is a date or a date with time."""

    require_datetime: Flag = False
    require_timezone: Flag = False
    allowed_formats: list[str] | None = None  # as strftime writes them; without any, ISO 8601
    strict_type: Flag = True

    def fault(self, text: str) -> str:
        """With ``strict_type``, as Aegis has it by default, no text is a date."""
        if self.strict_type:
            return "`strict_type` does not accept a text as a date; set it to false"
        moment, timed = self._moment(text.strip())
        if moment is None:
            return "the answer is not a date"
        if self.require_datetime and not timed:
            return "the answer is a date without a time"
        return (
            "the answer names no time zone"
            if self.require_timezone and moment.tzinfo is None
            else ""
        )

    def _moment(self, text: str) -> tuple[datetime | None, bool]:
        """What a text says, and whether with a time of day."""
        for form in self.allowed_formats or ():
            with suppress(ValueError, re.error):
                return datetime.strptime(text, form), bool(_TIME_OF_DAY.search(form))  # noqa: DTZ007 - that is asked
        if self.allowed_formats is None:
            with suppress(ValueError):
                return datetime.combine(date.fromisoformat(text), time.min), False
            with suppress(ValueError):
                return datetime.fromisoformat(text), True
        return None, False


@assertion("is_valid_xml")
class IsValidXml(_Kind):
    """The answer is well-formed XML."""

    def fault(self, text: str) -> str:
        try:
            ET.canonicalize(text)
        except (ET.ParseError, ValueError, RecursionError) as e:
            return f"the answer is not XML: {fault(e, text)}"
        return ""


@options
class _Percentage(Grader):
    scoring = Scoring(1.0, scale=100)
    counts: ClassVar[Callable[[str], bool]]  # whether a character is a hit

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """The share from 0 to 1 among the characters that are not white space; 0 for an empty answer."""
        characters = [character for character in transcript.output if not character.isspace()]
        hits = sum(map(type(self).counts, characters))
        score = hits / len(characters) if characters else 0.0
        return Verdict(score, None, f"{hits} of {len(characters)} characters")


@assertion("alpha_perc")
class AlphaPercentage(_Percentage):
    """So much of the answer is letters."""

    counts = str.isalpha  # of any script


@assertion("alphanum_perc")
class AlphanumericPercentage(_Percentage):
    """So much of the answer is letters and digits."""

    counts = str.isalnum  # of any script
