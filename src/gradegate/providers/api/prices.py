"""What a model costs: the price that a config states, else the one in ``prices.yaml``."""

import sys
from functools import cache
from typing import Any

from gradegate.files.documents import table
from gradegate.structs import JsonObject

PRICES = ("cost", "inputCost", "outputCost")


def is_number(part: Any) -> bool:
    """Whether a value is a finite number that a float can hold."""
    return (
        isinstance(part, int | float)
        and not isinstance(part, bool)
        and abs(part) <= sys.float_info.max
    )


@cache
def table_price(model: str) -> tuple[float, float] | None:
    """US dollars per input and output token; None for an unknown model. A dated snapshot has the price of its model."""
    known = table("providers.api", "prices.yaml")
    name = (
        model
        if model in known
        else max((name for name in known if model.startswith(f"{name}-20")), key=len, default="")
    )
    read, wrote = map(float, known[name].split()) if name else (0.0, 0.0)
    return (read / 1e6, wrote / 1e6) if name else None


def token_rates(config: JsonObject, model: str) -> tuple[float, float] | None:
    """US dollars per token read and written: ``inputCost`` and ``outputCost``, ``cost`` for both, else the table's."""
    both = config.get("cost")
    read = config.get("inputCost", both)
    wrote = config.get("outputCost", both)
    return table_price(model) if read is None or wrote is None else (float(read), float(wrote))
