"""What a metric counts, such as claims or wishes; where it finds none, it has measured nothing."""

from collections.abc import Mapping
from typing import Any, Literal

from gradegate.assertions.grading.evaluator import NoVerdict, Verdict, pass_or_fail

NoClaims = Literal["error", "pass", "fail"]


class NoUnitsError(NoVerdict):
    """A metric found nothing to count; the message says what there was none of."""


def verdict_without_units(
    what: str, no_claims: NoClaims, evidence: Mapping[str, Any] | None = None
) -> Verdict:
    """The verdict of a metric that found nothing to count: what its option ``no_claims`` says. Raises NoVerdict for ``error``."""
    if no_claims == "error":
        raise NoVerdict(f"{what}; `no_claims: pass` or `fail` would decide")
    return pass_or_fail(
        no_claims == "pass", f"{what}; `no_claims: {no_claims}`", **(evidence or {})
    )
