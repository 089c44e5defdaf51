"""model-graded-closedqa: a model checks whether the answer meets one criterion.

Score: 1 if the model says yes, 0 if it says no. No modes. Source: ``closedqa.yaml`` in OpenAI's evals
(https://github.com/openai/evals, evals/registry/modelgraded/) as in promptfoo (``src/matchers/llmGrading.ts``):
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
        is_met = judgement.verdict == "yes"
        usual_reason = "the criterion is met" if is_met else "the criterion is not met"
        return pass_or_fail(is_met, judgement.reason or usual_reason)
