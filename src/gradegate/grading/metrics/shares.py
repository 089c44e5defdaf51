"""What a metric measures part by part: a row for each part, and the faults among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from gradegate.grading.metrics.metric import Measured, clipped
from gradegate.grading.metrics.verdicts import Judgement

NONE = (0, "")  # the score where there are no parts, and what is said of it in place of the summary


def of_rows(
    rows: Sequence[Mapping[str, Any]],
    summary: str,
    faults: Mapping[str, str],
    name: str = "verdicts",
    *,
    key: str = "verdict",
    none: tuple[int, str] = NONE,
    score: Fraction | None = None,
) -> Measured:
    """The share of the rows whose verdict, under ``key``, is no fault, or another ``score``; the rows are evidence under ``name``.

    ``summary`` has a ``{}`` for the number of these and one for all; ``faults`` has what is said of a row by its verdict, with the
    row's own keys in braces.
    """
    wrong = [row for row in rows if row[key] in faults]
    held, total = len(rows) - len(wrong), len(rows)
    shown = [{name: clipped(value) if isinstance(value, str) else value for name, value in row.items()} for row in wrong]
    return Measured(
        score if score is not None else Fraction(held, total) if total else Fraction(none[0]),
        summary.format(held, total) if total or not none[1] else none[1],
        tuple(f"{faults[row[key]].format(**row)}: {row['reason']}" for row in shown),
        evidence={name: list(rows)},
        steps=tuple(map(str, rows)),
        turns=tuple(dict.fromkeys(row["turn"] for row in wrong if "turn" in row)),
    )


def share_of_yes(
    judgements: Iterable[tuple[int, Judgement[str]]], part: str, summary: str, fault: str, none: tuple[int, str] = NONE
) -> Measured:
    """Yes among all; each judgement comes with the number of its ``part``, such as a turn. ``fault`` is said of each no."""
    rows = [{part: number, "verdict": it.verdict, "reason": it.reason} for number, it in judgements]
    return of_rows(rows, summary, {"no": fault}, none=none)
