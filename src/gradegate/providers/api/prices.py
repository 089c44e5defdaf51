"""What a model costs: the price that a config states, else the one in ``prices.yaml``."""

import sys
from functools import cache
from typing import Any

from gradegate.files.documents import table
from gradegate.structs import JsonObject

PRICES = ("cost", "inputCost", "outputCost")


def is_number(value: Any) -> bool:
    """Whether a value is a finite number that a float can hold."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= sys.float_info.max
    )


@cache
def table_price(model: str) -> tuple[float, float] | None:
    """US dollars per input and output token; None for an unknown model. A dated snapshot has the price of its model."""
    prices = table("providers.api", "prices.yaml")
    name = model
    if model not in prices:
        models = [name for name in prices if model.startswith(f"{name}-20")]
        if not models:
            return None
        name = max(models, key=len)
    input_price, output_price = map(float, prices[name].split())
    return input_price / 1e6, output_price / 1e6


def token_rates(config: JsonObject, model: str) -> tuple[float, float] | None:
    """US dollars per token read and written: ``inputCost`` and ``outputCost``, ``cost`` for both, else the table's."""
    both = config.get("cost")
    input_price = config.get("inputCost", both)
    output_price = config.get("outputCost", both)
    if input_price is None or output_price is None:
        return table_price(model)
    return float(input_price), float(output_price)
