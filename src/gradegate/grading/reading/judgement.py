"""A verdict as it was read, with the grader's reason; two with the same verdict are equal, whatever the reasons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Judgement(Generic[T]):
    """``verdict`` is a word, a letter, a truth, a score or an index; ``reason`` is empty where the grader gave none."""

    verdict: T
    reason: str = field(default="", compare=False)
