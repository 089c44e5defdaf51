"""Numbers that a user writes, checked by pydantic: in configs, and in the options of graders."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticKnownError


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise PydanticKnownError("float_type")  # Python takes true for 1
    return value


Number = Annotated[float, BeforeValidator(_no_bool), Field(allow_inf_nan=False)]
Share = Annotated[Number, Field(ge=0, le=1)]
Whole = Annotated[int, BeforeValidator(_no_bool)]
