"""The units that a metric counts, such as claims or wishes, and the verdict if there are no units."""

from typing import Literal

from gradegate.assertions.grading.evaluator import NoVerdict, Verdict, pass_or_fail
from gradegate.structs import JsonObject

# The option `no_claims`: the outcome of an answer without units
NoClaims = Literal["error", "pass", "fail"]


class NoUnitsError(NoVerdict):
    """A metric found nothing to count. The message says which units are missing."""


def verdict_without_units(
    message: str, no_claims: NoClaims, evidence: JsonObject | None = None
) -> Verdict:
    """The verdict that the option ``no_claims`` demands. ``message`` says which units are missing.

    Raises NoVerdict if the option is ``error``.
    """
    if no_claims == "error":
        raise NoVerdict(f"{message}; `no_claims: pass` or `fail` would decide")
    passed = no_claims == "pass"
    return pass_or_fail(passed, f"{message}; `no_claims: {no_claims}`", **(evidence or {}))
