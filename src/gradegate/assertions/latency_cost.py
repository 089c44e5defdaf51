"""latency and cost: what one answer of the target may take.

As in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/deterministic/#latency and #cost,
``src/assertions/latency.ts`` and ``cost.ts``.
"""

from typing import Annotated

from pydantic import Field

from gradegate.assertions.grading.evaluator import (
    Evaluator,
    Judge,
    NoVerdict,
    Scoring,
    Transcript,
    Verdict,
    assertion,
    options,
    pass_or_fail,
)
from gradegate.core.numbers import meets


@options
class _Limited(Evaluator):
    scoring = Scoring(decides=True, at_most=True, share=False)

    threshold: Annotated[float, Field(ge=0, allow_inf_nan=False)]


@assertion("latency")
class Latency(_Limited):
    """The target answered within this many milliseconds."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        if not transcript.usage.calls or transcript.usage.untimed:
            raise NoVerdict("the answer was recorded, so its latency is not known")
        taken = transcript.usage.seconds * 1000
        passed = meets(self.threshold, taken)
        reason = f"the answer took {taken:.0f} ms of {self.threshold:g} ms"
        return pass_or_fail(passed, reason, milliseconds=round(taken, 1))


@assertion("cost")
class Cost(_Limited):
    """The answer cost at most this many US dollars."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        cost = transcript.usage.known_cost
        if cost is None or not transcript.usage.calls:
            raise NoVerdict(
                "the price of this answer is not known; set `cost` or `inputCost` and `outputCost`"
            )
        reason = f"the answer cost ${cost:.6f} of ${self.threshold:g}"
        return pass_or_fail(meets(self.threshold, cost), reason, usd=cost)
