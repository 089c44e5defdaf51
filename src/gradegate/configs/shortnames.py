"""Aegis's metrics by their shortnames: the assertion of ours that means the same, or why there is none.

Names, inputs, arguments and default thresholds: https://docs.aegisevals.ai/docs/metrics
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from gradegate.files.tables import table


@dataclass(frozen=True, slots=True)
class Shortname:
    """How a shortname is judged here. ``threshold`` is Aegis's default, None where none is documented."""

    assertion: str
    needs: tuple[str, ...]  # fields that every row must have
    threshold: int | None = None
    args: Mapping[str, str] = field(default_factory=dict)  # its argument -> our option
    lacks: tuple[str, ...] = ()  # its arguments that have no counterpart here
    required: tuple[str, ...] = ()  # arguments without which it judges nothing
    value: str = ""  # the field of a row that becomes the assertion's value
    variables: Mapping[str, str] = field(default_factory=dict)  # variable that our grader reads -> field of a row
    always: Mapping[str, Any] = field(default_factory=dict)  # options that are set whatever the payload says
    bounds: bool = False  # without min_count or max_count it can never fail


_TABLE = table("configs", "aegis.yaml")
SHORTNAMES = TypeAdapter(dict[str, Shortname]).validate_python(_TABLE["shortnames"])
UNSUPPORTED: Mapping[str, str] = _TABLE["unsupported"]
