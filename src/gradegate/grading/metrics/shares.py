"""The share of yes among judgements, each on one part of what is measured."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from gradegate.grading.metrics.metric import Measured, clipped
from gradegate.grading.metrics.verdicts import Judgement


def share_of_yes(judgements: Iterable[tuple[int, Judgement[str]]], part: str, summary: str, fault: str) -> Measured:
    """Yes among all, 0 for no judgement; each comes with the number of its ``part``, such as a turn.

    ``summary`` has a ``{}`` for the number of yes and one for all; ``fault``, said of each no, has one for the part's number.
    """
    pairs = list(judgements)
    held, total = sum(judgement.verdict == "yes" for _, judgement in pairs), len(pairs)
    rows = [{part: number, "verdict": judgement.verdict, "reason": judgement.reason} for number, judgement in pairs]
    return Measured(
        Fraction(held, total) if total else Fraction(0),
        summary.format(held, total),
        tuple(f"{fault.format(n)}: {clipped(item.reason)}" for n, item in pairs if item.verdict == "no"),
        evidence={"verdicts": rows},
        steps=tuple(map(str, rows)),
        turns=tuple(number for number, item in pairs if item.verdict == "no") if part == "turn" else (),
    )
