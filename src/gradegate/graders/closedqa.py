"""model-graded-closedqa: a model checks whether the answer meets one criterion.

The question with the answers Y and N comes from ``closedqa.yaml`` of OpenAI's evals (https://github.com/openai/evals,
evals/registry/modelgraded/), by way of promptfoo:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/model-graded-closedqa/,
``src/matchers/llmGrading.ts``. The prompt is our own.
"""

from __future__ import annotations

from gradegate.grading.grader import GRADERS, Asks, Grader, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import verdicts
from gradegate.values.conversation import Transcript
from gradegate.values.result import Verdict

FORM = verdicts.single(line=verdicts.YES_NO_LINE)


@GRADERS.register("model-graded-closedqa")
@options
class ClosedQa(Grader):
    """A model checks whether the answer meets one criterion, yes or no."""

    asks = Asks(("text",))

    value: str
    """The criterion, in plain words."""
    language: str = ""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """Score 1 or 0."""
        judgement = judge.ask("model-graded-closedqa", FORM, input=transcript.prompt, criteria=self.value, completion=transcript.output)
        met = judgement.verdict == "yes"
        default = "the criterion is met" if met else "the criterion is not met"
        return Verdict(float(met), met, judgement.reason or default)
