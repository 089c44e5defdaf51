"""conversational-g-eval: a conversation judged step by step, on criteria in plain words.

Score: the model's mark from 0 to 10, over 10; it works out the steps where only criteria are given. Source: G-Eval
(https://arxiv.org/abs/2303.16634) as https://deepeval.com/docs/metrics-conversational-g-eval and
``deepeval/metrics/conversational_g_eval/`` have it, without its weighting by token probabilities.
"""

from pydantic import Field

from gradegate.assertions.grading.evaluator import Judge, Transcript, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import Measured, Metric, asking, numbered, shown
from gradegate.core.conversation import Variables
from gradegate.core.numbers import exact_fraction

BEST = 10
_SCORE = verdict_forms.score_form(BEST)
_KNOWN = ("scenario", "expected_outcome", "chatbot_role")


@assertion("conversational-g-eval")
class ConversationalGEval(Metric):
    """A model judges a whole conversation step by step, on criteria in plain words."""

    requires = asking("steps", "evaluate")

    value: str = ""
    """The criteria, in plain words."""
    evaluation_steps: list[str] = Field(default_factory=list)

    def missing_variables(self, variables: Variables) -> str:
        criteria = self.value.strip() or self.evaluation_steps
        if criteria:
            return ""
        return "there are no criteria; give them as `value`, or the steps as `evaluation_steps`"

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        conversation = shown("conversation", numbered(transcript))
        steps = tuple(self.evaluation_steps) or judge.ask_once(
            "conversational-g-eval-steps",
            verdict_forms.items_form("steps"),
            step="steps",
            criteria=self.value,
        )
        context = [
            (name, str(transcript.vars[name])) for name in _KNOWN if transcript.vars.get(name)
        ]
        judgement = judge.ask(
            "conversational-g-eval",
            _SCORE,
            step="evaluate",
            criteria=self.value,
            steps=list(steps),
            known=context,
            **conversation,
        )
        score = exact_fraction(judgement.verdict) / BEST
        mark = f"{judgement.verdict:g} of {BEST}"
        return Measured(
            score, judgement.reason or mark, evidence={"steps_of_evaluation": list(steps)}
        )
