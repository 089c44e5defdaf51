"""latency and cost: what one answer of the target may take.

As in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/deterministic/#latency and #cost,
``src/assertions/latency.ts`` and ``cost.ts``.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from gradegate.errors import NoVerdict
from gradegate.grading.grader import GRADERS, Grader, Scoring, Written, options
from gradegate.grading.judge import Judge
from gradegate.values.conversation import Transcript
from gradegate.values.limits import reached
from gradegate.values.result import Verdict

Limit = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@GRADERS.register("latency")
@options
class Latency(Grader):
    """The target answered within this many milliseconds."""

    scoring = Scoring(decides=True, most=True, share=False)
    written = Written(csv_threshold=0.75)

    threshold: Limit

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """Score 1 or 0."""
        if not transcript.usage.calls or transcript.usage.untimed:
            raise NoVerdict("the answer was recorded, so its latency is not known")
        taken = transcript.usage.seconds * 1000
        passed = reached(self.threshold, taken)
        reason = f"the answer took {taken:.0f} ms of {self.threshold:g} ms"
        return Verdict(float(passed), passed, reason, {"milliseconds": round(taken, 1)})


@GRADERS.register("cost")
@options
class Cost(Grader):
    """The answer cost at most this many US dollars."""

    scoring = Scoring(decides=True, most=True, share=False)
    written = Written(csv_threshold=0.75)

    threshold: Limit

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """Score 1 or 0; no verdict when the price of the model is not known."""
        cost = transcript.usage.known_cost
        if cost is None or not transcript.usage.calls:
            raise NoVerdict("the price of this answer is not known; set `cost` or `inputCost` and `outputCost`")
        passed = reached(self.threshold, cost)
        return Verdict(float(passed), passed, f"the answer cost ${cost:.6f} of ${self.threshold:g}", {"usd": cost})
