"""Numbers and days that a user writes, checked by pydantic: in configs, and in the options of graders."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError, PydanticKnownError


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise PydanticKnownError("float_type")  # Python takes true for 1
    return value


Number = Annotated[float, BeforeValidator(_no_bool), Field(allow_inf_nan=False)]
Share = Annotated[Number, Field(ge=0, le=1)]
Whole = Annotated[int, BeforeValidator(_no_bool)]


def _told(without: str) -> Callable[[Any], Any]:
    """Of a threshold that is written and empty, a mistake that says what ``without`` one is written; any case of the word."""

    def check(value: Any) -> Any:
        if value is None:
            raise PydanticCustomError("empty", "is empty", {"cure": f"write a number, {without}"})
        return value.lower() if isinstance(value, str) and value.lower() == "none" else value

    return check


# A threshold as configs write it; None where they write none.
OfAssertion = Annotated[
    Number | Literal["none"] | None,
    BeforeValidator(_told("or `none`: the score is reported and decides nothing")),
]
OfTest = Annotated[
    Number | Literal["none"] | None,
    BeforeValidator(_told("or `none`: every assertion has to pass, whatever defaultTest says")),
]


def _day(value: Any) -> Any:
    """A date as YAML and JSON write it."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        with suppress(ValueError):
            return date.fromisoformat(value)
    raise PydanticCustomError("day", "is not a date", {"cure": "write YEAR-MONTH-DAY, such as 2026-12-31"})


Day = Annotated[date, BeforeValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]
