"""Prices of models, from the dated table beside this module; an unknown model has no price, which is not zero.

``make generated`` writes the table from the data of the ``genai-prices`` package.
"""

from __future__ import annotations

from functools import cache

from gradegate.files.tables import table


@cache
def _table() -> dict[str, tuple[float, float]]:
    return {name: (rates[0] / 1e6, rates[1] / 1e6) for name, rates in table("asking", "prices.yaml").items()}


@cache
def price(model: str) -> tuple[float, float] | None:
    """US dollars per input token and per output token, or None. A dated snapshot has the price of its model."""
    table = _table()
    if model in table:
        return table[model]
    snapshots = [name for name in table if model.startswith(f"{name}-20")]
    return table[max(snapshots, key=len)] if snapshots else None
