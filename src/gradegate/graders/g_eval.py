"""g-eval: a model works out steps for criteria in plain words, then scores the answer by them.

Score: the model's mark from 0 to 10, over 10; of several criteria the mean. The method is that of G-Eval
(https://arxiv.org/abs/2303.16634) without its weighting by token probabilities, as promptfoo has it:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/g-eval/, ``src/matchers/llmGrading.ts``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

from pydantic import Field, StringConstraints

from gradegate.errors import NoVerdict
from gradegate.grading.grader import GRADERS, Asks, Grader, Scoring, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import verdicts
from gradegate.grading.reading.line import LastLine
from gradegate.values.conversation import Transcript
from gradegate.values.limits import mean
from gradegate.values.result import Verdict

BEST = 10
Criterion = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
SCORE = verdicts.score(BEST, LastLine("score", ("score", "grade", "rating"), most=BEST))


@GRADERS.register("g-eval")
@options
class GEval(Grader):
    """A model scores the answer by steps that it works out from your criteria."""

    scoring = Scoring(0.7)
    asks = Asks(("text",), steps=("steps", "evaluate"), skips_shared_prompt=True)

    value: Criterion | Annotated[list[Criterion], Field(min_length=1)]
    """The criteria in plain words; of a list, the mean counts."""
    language: str = ""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """The mean over the criteria of the model's score from 0 to 10, as a share."""
        criteria = [self.value] if isinstance(self.value, str) else self.value
        ask: Callable[[int], tuple[float, str, tuple[str, ...]]] = partial(_ask, judge, transcript, criteria)
        judged = judge.gather(*(partial(ask, number) for number in range(len(criteria))))
        score = float(mean(points for points, _, _ in judged) / BEST)
        rows = [
            {"criterion": criterion, "score": points / BEST, "reason": reason, "steps": list(steps)}
            for criterion, (points, reason, steps) in zip(criteria, judged, strict=True)
        ]
        reason = "; ".join(reason or f"{points:g} of {BEST}" for points, reason, _ in judged)
        return Verdict(score, None, reason, {"criteria": rows})


def _ask(judge: Judge, transcript: Transcript, criteria: list[str], number: int) -> tuple[float, str, tuple[str, ...]]:
    criterion = criteria[number]
    try:
        steps = judge.ask("g-eval-steps", verdicts.items("steps"), step="steps", criteria=criterion)
        judgement = judge.ask(
            "g-eval",
            SCORE,
            step="evaluate",
            criteria=criterion,
            steps="\n- ".join(("", *steps)).lstrip("\n"),
            maxScore=str(BEST),
            input=transcript.prompt,
            output=transcript.output,
        )
    except NoVerdict as e:
        place = f"criterion {number + 1} of {len(criteria)}: " if len(criteria) > 1 else ""
        raise NoVerdict(f"{place}{e}", e.replies) from e
    return judgement.verdict, judgement.reason, steps
