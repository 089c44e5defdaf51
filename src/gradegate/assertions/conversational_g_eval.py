"""conversational-g-eval: a conversation judged step by step, by criteria in plain words.

Score: the mark of the grader, from 0 to 10, divided by 10. Modes: the steps are ``evaluation_steps``, or a model derives
them from the criteria once for a run. Source: G-Eval (https://arxiv.org/abs/2303.16634) as in
https://deepeval.com/docs/metrics-conversational-g-eval and ``deepeval/metrics/conversational_g_eval/``, but without the
weighting by token probabilities.
"""

from pydantic import Field

from gradegate.assertions.grading.evaluator import Judge, Transcript, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import (
    Measurement,
    Metric,
    number_turns,
    require_questions,
    turns_as_variables,
)
from gradegate.core.conversation import Variables
from gradegate.core.numbers import exact_fraction

BEST = 10
_MARK_FORM = verdict_forms.score_form(BEST)
# The variables of a test that the grader sees beside the conversation
_CONTEXT_VARIABLES = ("scenario", "expected_outcome", "chatbot_role")


@assertion("conversational-g-eval")
class ConversationalGEval(Metric):
    """A model judges a whole conversation step by step, on criteria in plain words."""

    requires = require_questions("steps", "evaluate")

    value: str = ""
    """The criteria, in plain words."""
    evaluation_steps: list[str] = Field(default_factory=list)

    def missing_variables(self, variables: Variables) -> str:
        if self.value.strip() or self.evaluation_steps:
            return ""
        return "there are no criteria; give them as `value`, or the steps as `evaluation_steps`"

    def measure(self, transcript: Transcript, judge: Judge) -> Measurement:
        conversation = turns_as_variables("conversation", number_turns(transcript))
        steps = self.evaluation_steps
        if not steps:
            form = verdict_forms.items_form("steps")
            derived = judge.ask_once(
                "conversational-g-eval-steps", form, step="steps", criteria=self.value
            )
            steps = list(derived)

        context = []
        for name in _CONTEXT_VARIABLES:
            value = transcript.vars.get(name)
            if value:
                context.append((name, str(value)))
        judgement = judge.ask(
            "conversational-g-eval",
            _MARK_FORM,
            step="evaluate",
            criteria=self.value,
            steps=steps,
            known=context,
            **conversation,
        )
        return Measurement(
            exact_fraction(judgement.verdict) / BEST,
            judgement.reason or f"{judgement.verdict:g} of {BEST}",
            evidence={"steps_of_evaluation": steps},
        )
