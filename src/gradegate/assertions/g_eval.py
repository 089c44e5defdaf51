"""g-eval: a model works out steps for criteria in plain words, then scores the answer by them.

Score: the model's mark from 0 to 10, over 10; of several criteria the mean. The method is that of G-Eval
(https://arxiv.org/abs/2303.16634) without its weighting by token probabilities, as promptfoo has it:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/g-eval/, ``src/matchers/llmGrading.ts``.
"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from gradegate.assertions.grading.evaluator import (
    Judge,
    ModelEvaluator,
    NoVerdict,
    Requirements,
    Scoring,
    Transcript,
    Verdict,
    assertion,
)
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.judge.last_line import ScoreLine
from gradegate.core.conversation import Variables
from gradegate.core.numbers import exact_mean

BEST = 10
Criterion = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
SCORE = verdict_forms.score_form(
    BEST, ScoreLine("score", ("score", "grade", "rating"), highest=BEST)
)


@assertion("g-eval")
class GEval(ModelEvaluator):
    """A model scores the answer by steps that it works out from your criteria."""

    scoring = Scoring(0.7)
    requires = Requirements(("text",), ("steps", "evaluate"))

    value: Criterion | Annotated[list[Criterion], Field(min_length=1)] | None = None
    """The criteria in plain words; of a list, the mean counts."""
    evaluation_steps: list[Criterion] = Field(default_factory=list)
    """The steps by which the answer is scored; without them, a model works them out from the criteria, once in a run."""

    @classmethod
    def skips_prompt(cls, written: Any) -> bool:
        """One prompt for all is not meant for its two questions."""
        return not isinstance(written, Mapping)

    def missing_variables(self, variables: Variables) -> str:
        """Criteria or steps; steps belong to one criterion."""
        if not self._criteria and not self.evaluation_steps:
            return "there are no criteria; give them as `value`, or the steps as `evaluation_steps`"
        if len(self._criteria) > 1 and self.evaluation_steps:
            return "there are several criteria, and `evaluation_steps` can be for one only"
        return ""

    def count_questions(self, exchanges: int) -> int:
        """One score for each criterion; the steps are asked for once in a run."""
        return max(1, len(self._criteria))

    @property
    def _criteria(self) -> list[str]:
        return [self.value] if isinstance(self.value, str) else self.value or []

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        criteria = self._criteria or [""]

        def ask(number: int) -> tuple[float, str, tuple[str, ...]]:
            criterion = criteria[number]
            place = f"criterion {number + 1} of {len(criteria)}: " if len(criteria) > 1 else ""
            try:
                steps = tuple(self.evaluation_steps) or judge.ask_once(
                    "g-eval-steps",
                    verdict_forms.items_form("steps"),
                    step="steps",
                    criteria=criterion,
                )
                listed = "\n- ".join(("", *steps)).lstrip("\n")
                judgement = judge.ask(
                    "g-eval",
                    SCORE,
                    step="evaluate",
                    steps=listed,
                    criteria=criterion,
                    maxScore=str(BEST),
                    input=transcript.prompt,
                    output=transcript.output,
                )
            except NoVerdict as e:
                raise NoVerdict(f"{place}{e}", e.replies) from e
            return judgement.verdict, judgement.reason, steps

        judged = judge.gather(*(partial(ask, number) for number in range(len(criteria))))
        score = float(exact_mean(points for points, _, _ in judged) / BEST)
        rows = [
            {"criterion": criterion, "score": points / BEST, "reason": reason, "steps": list(steps)}
            for criterion, (points, reason, steps) in zip(criteria, judged, strict=True)
        ]
        reason = "; ".join(reason or f"{points:g} of {BEST}" for points, reason, _ in judged)
        return Verdict(score, None, reason, {"criteria": rows})
