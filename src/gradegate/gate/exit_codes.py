"""What the command exits with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `gradegate --version` needs the numbers alone
    from gradegate.results.run_result import Decision

PASS, BLOCKED, MISTAKE, INCONCLUSIVE, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 130, 143


def exit_code(decision: Decision) -> int:
    """0 pass (advisory findings included), 1 blocked, 2 the user's mistake, 3 inconclusive or not run, 130 and 143 interrupted."""
    if decision.run.interrupted:
        return TERMINATED if decision.run.interrupted == "terminated" else INTERRUPTED
    codes = {
        "blocked": BLOCKED,
        "inconclusive": MISTAKE if decision.setup else INCONCLUSIVE,
        "not-run": INCONCLUSIVE,
    }
    return codes.get(decision.outcome.value, PASS)
