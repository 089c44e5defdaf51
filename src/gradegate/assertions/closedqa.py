"""model-graded-closedqa: a model checks whether the answer meets one criterion.

The question with the answers Y and N comes from ``closedqa.yaml`` of OpenAI's evals (https://github.com/openai/evals,
evals/registry/modelgraded/), by way of promptfoo (``src/matchers/llmGrading.ts``):
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/model-graded-closedqa/. The prompt is our own.
"""

from gradegate.assertions.grading.evaluator import (
    Judge,
    ModelEvaluator,
    Transcript,
    Verdict,
    assertion,
    pass_or_fail,
)
from gradegate.assertions.judge import verdict_forms

FORM = verdict_forms.verdict_form(last_line=verdict_forms.YES_NO_LINE)


@assertion("model-graded-closedqa")
class ClosedQa(ModelEvaluator):
    """A model checks whether the answer meets one criterion, yes or no."""

    value: str
    """The criterion, in plain words."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        judgement = judge.ask(
            "model-graded-closedqa",
            FORM,
            input=transcript.prompt,
            criteria=self.value,
            completion=transcript.output,
        )
        met = judgement.verdict == "yes"
        return pass_or_fail(
            met, judgement.reason or f"the criterion is {'met' if met else 'not met'}"
        )
