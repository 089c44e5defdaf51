"""g-eval: a model works out steps for criteria in plain words, then scores the answer by them.

Score: the model's mark from 0 to 10, over 10; of several criteria the mean. The method is that of G-Eval
(https://arxiv.org/abs/2303.16634) without its weighting by token probabilities, as promptfoo has it:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/g-eval/, ``src/matchers/llmGrading.ts``.
"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, NamedTuple

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


class _CriterionScore(NamedTuple):
    """The score of the answer by one criterion, and the steps that led to it."""

    criterion: str
    points: float  # from 0 to BEST
    reason: str
    steps: tuple[str, ...]


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
        if isinstance(self.value, str):
            return [self.value]
        return self.value or []

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        criteria = self._criteria or [""]

        def score_criterion(number: int) -> _CriterionScore:
            try:
                return self._score(criteria[number], transcript, judge)
            except NoVerdict as e:
                if len(criteria) == 1:
                    raise
                place = f"criterion {number + 1} of {len(criteria)}"
                raise NoVerdict(f"{place}: {e}", e.replies) from e

        numbers = range(len(criteria))
        scores = judge.gather(*(partial(score_criterion, number) for number in numbers))

        rows = []
        reasons = []
        for criterion, points, reason, steps in scores:
            row = {
                "criterion": criterion,
                "score": points / BEST,
                "reason": reason,
                "steps": list(steps),
            }
            rows.append(row)
            reasons.append(reason or f"{points:g} of {BEST}")
        mean = exact_mean(score.points for score in scores) / BEST
        return Verdict(float(mean), None, "; ".join(reasons), {"criteria": rows})

    def _score(self, criterion: str, transcript: Transcript, judge: Judge) -> _CriterionScore:
        """Score the answer by one criterion, with the steps of the config or those of the model."""
        steps = tuple(self.evaluation_steps)
        if not steps:
            steps = judge.ask_once(
                "g-eval-steps",
                verdict_forms.items_form("steps"),
                step="steps",
                criteria=criterion,
            )
        judgement = judge.ask(
            "g-eval",
            SCORE,
            step="evaluate",
            steps="\n".join(f"- {step}" for step in steps),
            criteria=criterion,
            maxScore=str(BEST),
            input=transcript.prompt,
            output=transcript.output,
        )
        return _CriterionScore(criterion, judgement.verdict, judgement.reason, steps)
