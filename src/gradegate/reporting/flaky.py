"""Cases that fail now and then, or always, on the default branch: named in every report, passing here or not."""

from __future__ import annotations

from collections.abc import Iterable

from gradegate.reporting.wording import called, name
from gradegate.values.figures import many
from gradegate.values.result import Row

LEAST = 10  # votes from which anything is said of a case
_ALWAYS = 0.95  # a share of failing asks above which a case is broken there


def flaky(rows: Iterable[Row]) -> list[str]:
    """A line for each, the worst first: ``refunds: llm-rubric: flaky: 14 of 60 asks fail on the default branch``."""
    found = []
    for row in rows:
        for grade in row.grades:
            past = grade.history
            votes = past.fails + past.passes if past else 0
            share = past.fails / votes if past and votes >= LEAST else 0.0
            if past and (past.flaky or share > _ALWAYS):
                word = "flaky" if past.flaky else "broken"
                said = f"{word}: {past.fails} of {many(votes, 'ask')} fail on the default branch"
                found.append((-share, f"{name(row)}: {called(grade.assertion)}: {said}"))
    return [line for _, line in sorted(found, key=lambda item: item[0])]
