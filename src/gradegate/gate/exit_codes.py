"""The exit codes of the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `gradegate --version` needs only the numbers
    from gradegate.results.run_result import Decision

PASS = 0
BLOCKED = 1
MISTAKE = 2  # the user has to correct something
INCONCLUSIVE = 3
INTERRUPTED = 130  # 128 + SIGINT
TERMINATED = 143  # 128 + SIGTERM


def exit_code(decision: Decision) -> int:
    """The exit code for a decision. Advisory findings pass, and a run that did not take place is inconclusive."""
    if decision.run.interrupted:
        return TERMINATED if decision.run.interrupted == "terminated" else INTERRUPTED
    codes = {
        "blocked": BLOCKED,
        "inconclusive": MISTAKE if decision.setup else INCONCLUSIVE,
        "not-run": INCONCLUSIVE,
    }
    return codes.get(decision.outcome.value, PASS)
