"""Types for the fields of configs and of graders' options: numbers, bounds, lists and days. Pydantic checks values by them."""

import re
from contextlib import suppress
from datetime import date
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError, PydanticKnownError

from gradegate.core.options import MOST_RUNS, parse_part


def _no_bool(value: Any) -> Any:
    """Refuse true and false, which Python takes for 1 and 0."""
    if isinstance(value, bool):
        raise PydanticKnownError("float_type")
    return value


Number = Annotated[float, BeforeValidator(_no_bool), Field(allow_inf_nan=False)]
Share = Annotated[Number, Field(ge=0, le=1)]
Whole = Annotated[int, BeforeValidator(_no_bool)]
FilledText = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(strict=True, ge=0)]


EMPTY_THRESHOLD = "empty"  # Pydantic's type of this mistake


def _filled(value: Any) -> Any:
    """Refuse a threshold that is written and empty."""
    if value is None:
        raise PydanticCustomError(
            EMPTY_THRESHOLD, "is empty", {"cure": "write a number, or remove it"}
        )
    return value


# A threshold of a config. None: the config has none.
Threshold = Annotated[Number | None, BeforeValidator(_filled)]


def _day(value: Any) -> Any:
    """A date as YAML and JSON write it."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        with suppress(ValueError):
            return date.fromisoformat(value)
    raise PydanticCustomError(
        "day", "is not a date", {"cure": "write YEAR-MONTH-DAY, such as 2026-12-31"}
    )


Day = Annotated[date, BeforeValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]


def _pass_of(value: Any) -> Any:
    """Read ``2/3``: how many runs of a case must pass, and how many there are."""
    runs = parse_part(value, MOST_RUNS) if isinstance(value, str) else None
    if runs is None:
        raise PydanticCustomError(
            "runs",
            "must say how many runs pass and how many there are",
            {"cure": f"write PASS/OF, such as 2/3, at most {MOST_RUNS}/{MOST_RUNS}"},
        )
    return runs


PassOf = Annotated[
    tuple[int, int],
    BeforeValidator(_pass_of),
    WithJsonSchema({"type": "string", "pattern": "^[0-9]{1,3}/[0-9]{1,3}$"}),
]


class Bounds(BaseModel):
    """``{min: N, max: N}``, either or both; both are inclusive."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, defer_build=True)

    min: Annotated[int, Field(ge=0)] | None = None
    max: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("has neither `min` nor `max`")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("`min` is above `max`")
        return self


def missed_bound(count: int, least: int | None, most: int | None) -> str:
    """The bound that a count misses, for the end of a sentence. Empty if it is within both."""
    if least is not None and count < least:
        return f", at least {least}"
    if most is not None and count > most:
        return f", at most {most}"
    return ""


def to_list(value: Any) -> Any:
    """A list as it is, a text as a list of one."""
    return [value] if isinstance(value, str) else value


def split_list(value: Any) -> Any:
    """A list as it is, a text as the list of its parts between commas."""
    return [item.strip() for item in value.split(",")] if isinstance(value, str) else value


def strip_texts(value: Any) -> Any:
    """A list with its texts stripped."""
    if isinstance(value, list):
        return [item.strip() if isinstance(item, str) else item for item in value]
    return value
