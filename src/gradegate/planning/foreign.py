"""Names of assertions and metrics of other tools: what they are here, or what comes nearest and the way to it.

`metrics.yaml` has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradegate.files.tables import table
from gradegate.registry import plain


class Foreign(NamedTuple):
    """A name of another tool; ``cure`` starts with the type to write in its place, or says to remove it."""

    tool: str
    name: str
    cure: str

    @property
    def here(self) -> str:
        """The type that comes nearest; empty where none does."""
        return "" if self.cure.startswith("remove it") else self.cure.split()[0].rstrip(",:")

    @property
    def way(self) -> str:
        """What to do, as a sentence without its full stop."""
        return f"use {self.cure}" if self.here else self.cure


def known() -> Iterator[Foreign]:
    """Every name of every tool, a tool's own spelling."""
    tools = table("planning", "metrics.yaml")
    return (Foreign(tool, name, cure) for tool, names in tools.items() for name, cure in names.items())


def folded(name: str) -> str:
    """A name as it is compared: `PlanQualityMetric`, `Plan Quality`, `plan_quality` and `plan-quality` are one."""
    word = plain("".join(name.split()))
    return word.removesuffix("metric") or word


def spelled(name: str) -> str:
    """A tool's own spelling as types are written here: ``PlanQualityMetric`` is ``plan-quality``."""
    whole = name if name.endswith(("GEval", "JevEval")) else name.removesuffix("Metric")
    parts: list[str] = []
    for at, letter in enumerate(whole):
        begins = letter.isupper() and at and not (whole[at - 1].isupper() and not whole[at + 1 : at + 2].islower())
        parts.append(f"-{letter}" if begins and whole[at - 1] not in "-: " else letter)
    return "".join(parts).lower()


_BY_NAME = {folded(it.name): it for it in reversed([*known()])}  # of two tools, the first one's


def find(name: str) -> Foreign | None:
    """The name in any of its spellings, or None."""
    return _BY_NAME.get(folded(name))
