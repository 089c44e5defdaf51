"""conversational-g-eval: a conversation judged step by step, on criteria in plain words.

Score: the model's mark from 0 to 10, over 10. Source: G-Eval (https://arxiv.org/abs/2303.16634) as
https://deepeval.com/docs/metrics-conversational-g-eval and ``deepeval/metrics/conversational_g_eval/`` have it,
without its weighting by token probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import Field

from gradegate.grading.grader import GRADERS, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import verdicts
from gradegate.grading.metrics.metric import Measured, Metric, numbered, shown
from gradegate.values.conversation import Transcript
from gradegate.values.limits import exact

BEST = 10
_SCORE = verdicts.score(BEST)
_KNOWN = ("scenario", "expected_outcome", "chatbot_role")


@GRADERS.register("conversational-g-eval")
@options
class ConversationalGEval(Metric):
    """A model judges a whole conversation step by step, on criteria in plain words."""

    asks = replace(Metric.asks, steps=("steps", "evaluate", "reason"))

    value: str = ""
    """The criteria, in plain words."""
    evaluation_steps: list[str] = Field(default_factory=list)

    def needs(self, variables: Mapping[str, Any]) -> str:
        """Criteria, or steps."""
        criteria = self.value.strip() or self.evaluation_steps
        return "" if criteria else "there are no criteria; give them as `value`, or the steps as `evaluation_steps`"

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        """The model's score from 0 to 10, as a share; the steps are asked for when only criteria are given."""
        turns = numbered(transcript)
        steps = tuple(self.evaluation_steps)
        steps = steps or judge.ask("conversational-g-eval-steps", verdicts.items("steps"), step="steps", criteria=self.value)
        context = [(name, str(transcript.vars[name])) for name in _KNOWN if transcript.vars.get(name)]
        told = {"criteria": self.value, "steps": list(steps), "known": context, **shown("conversation", turns)}
        judgement = judge.ask("conversational-g-eval", _SCORE, step="evaluate", **told)
        score, reason = exact(judgement.verdict), judgement.reason
        return Measured(
            score / BEST,
            reason or f"{float(score):g} of {BEST}",
            evidence={"steps_of_evaluation": list(steps)},
            steps=(*steps, f"score {float(score):g} of {BEST}: {reason}"),
        )
