"""exact_match, numeric_match, json_equal, xml_equal: the answer is the same as a golden one, under stated rules.

Arguments and defaults are those of Aegis's structural metrics (https://docs.aegisevals.ai/docs/metrics/structural/).
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable
from decimal import Decimal, DecimalException
from fractions import Fraction
from typing import Annotated, Any, ClassVar
from xml.etree import ElementTree as ET

from pydantic import Field, field_validator

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
from gradegate.core.field_types import Flag, Number
from gradegate.files.documents import WrongError, fault
from gradegate.templating import lenient_json as jsonobjects

_Tolerance = Annotated[Number, Field(strict=True, ge=0)]
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?", re.ASCII)
MOST = 1000  # items of lists that are compared one by one
DEEPEST = 1_000  # elements of XML in one another


@options
class _Same(Grader):
    scoring = Scoring(1.0)

    read: ClassVar[Callable[[str], Any]] = (
        str  # what a text is; raises ValueError with what it is not
    )

    value: str
    """The golden answer."""

    @field_validator("value")
    @classmethod
    def _readable(cls, value: str) -> str:
        cls.read(value)
        return value

    def same(self, text: str) -> bool:
        """Whether a text is the same as the golden answer. Raises ValueError with what the text is not."""
        return bool(type(self).read(text) == type(self).read(self.value))

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        try:
            same = self.same(transcript.output)
        except ValueError as e:
            return Verdict(0.0, None, f"the answer {e}")
        return Verdict(
            float(same),
            None,
            f"the answer {'equals' if same else 'differs from'} the golden answer",
        )


@assertion("exact_match")
class ExactMatch(_Same):
    """The answer is the golden answer, character by character."""

    case_sensitive: Flag = True
    strip_whitespace: Flag = False

    def same(self, text: str) -> bool:
        answer, golden = (
            one.strip() if self.strip_whitespace else one for one in (text, self.value)
        )
        return answer == golden if self.case_sensitive else answer.casefold() == golden.casefold()


def _number(text: str) -> Fraction:
    if not _NUMBER.fullmatch(text.strip()):
        raise ValueError("is not a number")
    try:
        return Fraction(Decimal(text.strip()))
    except DecimalException as e:
        raise ValueError("is not a number") from e


@assertion("numeric_match")
class NumericMatch(_Same):
    """The answer is the golden number, within a tolerance."""

    tolerance: _Tolerance = 0.0
    relative_tolerance: _Tolerance = 0.0  # of the golden number
    read = _number

    def same(self, text: str) -> bool:
        """The larger of both tolerances counts; exact arithmetic."""
        golden = _number(self.value)
        allowed = max(
            Fraction(str(self.tolerance)), Fraction(str(self.relative_tolerance)) * abs(golden)
        )
        return abs(_number(text) - golden) <= allowed


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=jsonobjects.no_number)
    except (ValueError, RecursionError) as e:
        raise ValueError(f"is not JSON: {fault(e, text)}") from e


@assertion("json_equal")
class JsonEqual(_Same):
    """The answer is JSON equal to the golden one."""

    ignore_order: Flag = False
    ignore_extra_keys: Flag = False
    read = _json

    def same(self, text: str) -> bool:
        """``1`` equals ``1.0`` and not ``true``; with ``ignore_extra_keys`` the answer may have more keys."""
        return self._equal(_json(text), _json(self.value))

    def _equal(self, value: Any, golden: Any) -> bool:
        if isinstance(golden, dict) and isinstance(value, dict):
            keys = (
                golden.keys() <= value.keys()
                if self.ignore_extra_keys
                else golden.keys() == value.keys()
            )
            return keys and all(self._equal(value[key], item) for key, item in golden.items())
        if isinstance(golden, list) and isinstance(value, list):
            return len(value) == len(golden) and self._items(value, golden)
        return isinstance(value, bool) == isinstance(golden, bool) and bool(value == golden)

    def _items(self, values: list[Any], golden: list[Any]) -> bool:
        if not self.ignore_order:
            return all(map(self._equal, values, golden))
        if not self.ignore_extra_keys:
            return Counter(map(_unordered, values)) == Counter(map(_unordered, golden))
        left = list(values)
        if len(left) > MOST:
            raise NoVerdict(
                f"lists of more than {MOST:,} items cannot be compared with `ignore_order` and `ignore_extra_keys`"
            )
        for item in golden:
            match = next(
                (n for n, candidate in enumerate(left) if self._equal(candidate, item)), None
            )
            if match is None:
                return False
            left.pop(match)
        return True


def _unordered(value: Any) -> Hashable:
    """JSON data as a value that equals that of equal data in which lists are in another order; ``1`` is not ``true``."""
    if isinstance(value, dict):
        return frozenset((key, _unordered(item)) for key, item in value.items())
    if isinstance(value, list):
        return "list", frozenset(Counter(map(_unordered, value)).items())
    return ("is", value) if isinstance(value, bool) else value


def _xml(text: str) -> str:
    """The canonical form (W3C C14N 2.0). To compare elements within one another takes the square of their depth."""
    depth = 0
    parser: Any = ET.XMLPullParser(("start", "end"))
    try:
        parser.feed(text)
        for event in parser.read_events():
            depth += 1 if event[0] == "start" else -1
            if depth > DEEPEST:
                raise WrongError(f"nested deeper than {DEEPEST:,} elements")
        return ET.canonicalize(text, strip_text=True)
    except (ET.ParseError, ValueError, RecursionError) as e:
        raise ValueError(f"is not XML: {fault(e, text)}") from e


@assertion("xml_equal")
class XmlEqual(_Same):
    """The answer is XML equal to the golden one, white space between elements aside."""

    read = _xml
