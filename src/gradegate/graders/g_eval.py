"""g-eval: a model works out steps for criteria in plain words, then scores the answer by them.

Score: the model's mark from 0 to 10, over 10; of several criteria the mean. The method is that of G-Eval
(https://arxiv.org/abs/2303.16634) without its weighting by token probabilities, as promptfoo has it:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/g-eval/, ``src/matchers/llmGrading.ts``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from gradegate.conversation import Transcript
from gradegate.errors import NoVerdict, Unreadable
from gradegate.grading import reading
from gradegate.grading.grader import GRADERS, Asks, Grader, Scoring, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import sentences, verdicts
from gradegate.grading.rubric import shape
from gradegate.limits import mean
from gradegate.result import Verdict

BEST = 10
Criterion = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
_SCORE = shape(reason={"type": "string"}, score={"type": "number"})
_OF_TEN = re.compile(r"(-?\d+(?:\.\d+)?)(?:\s*(?:/|out of)\s*10(?:\.0+)?)?")
_FRACTION = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?\s*(?:/|out of)\s*10\b(?![./]\d)", re.IGNORECASE)
_LABELLED = re.compile(
    r"\bscore\W{0,4}(?:[:=]|\bis\b)[\s*_`\"'(\[]*(-?[\d.]+[\d](?!\d)|-?\d)(\s*(?:/|out of)\s*[\d.]*\d|\s*%)?",
    re.IGNORECASE,
)


@GRADERS.register("g-eval")
@options
class GEval(Grader):
    """A model scores the answer by steps that it works out from your criteria."""

    scoring = Scoring(0.7, share=True)
    asks = Asks(("text",), steps=("steps", "evaluate"), skips_shared_prompt=True)

    value: Criterion | Annotated[list[Criterion], Field(min_length=1)]
    language: str = ""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """The mean over the criteria of the model's score from 0 to 10, as a share."""
        criteria = [self.value] if isinstance(self.value, str) else self.value
        ask: Callable[[int], tuple[float, str, tuple[str, ...]]] = partial(_ask, judge, transcript, criteria)
        found = judge.gather(*(partial(ask, number) for number in range(len(criteria))))
        score = float(mean(points for points, _, _ in found) / BEST)
        rows = [
            {"criterion": criterion, "score": points / BEST, "reason": reason, "steps": list(steps)}
            for criterion, (points, reason, steps) in zip(criteria, found, strict=True)
        ]
        reason = "; ".join(reason or f"{points:g} of {BEST}" for points, reason, _ in found)
        return Verdict(score, None, reason, {"criteria": rows})


def _ask(judge: Judge, transcript: Transcript, criteria: list[str], number: int) -> tuple[float, str, tuple[str, ...]]:
    criterion = criteria[number]
    try:
        steps = judge.ask(
            "g-eval-steps", _read_steps, schema=verdicts.texts_schema("steps"), step="steps", criteria=criterion
        )
        points, reason = judge.ask(
            "g-eval",
            _read_score,
            schema=_SCORE,
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
    return points, reason, steps


def _read_steps(answer: reading.Answer) -> tuple[str, ...]:
    if any("steps" in item for item in answer.objects):
        found = verdicts.texts(answer, "steps")
    else:
        listed = [line for line in sentences.lines(answer.text) if sentences.is_item(line)]
        found = tuple(reading.texts_alone(answer)) or tuple(step for step in map(sentences.bare, listed) if step)
    if not found:
        raise Unreadable('it holds no list of steps under the key "steps"')
    return found


def _read_score(answer: reading.Answer) -> tuple[float, str]:
    if not any("score" in item for item in answer.objects):
        return _score_in_text(answer.text), ""
    score = reading.verdict_object(answer, _score, f'with a "score" from 0 to {BEST}')
    return score, next(reading.words(item.get("reason")) for item in answer.objects if "score" in item)


def _score(found: dict[str, Any]) -> float | None:
    return _points(found["score"]) if "score" in found else None


def _score_in_text(text: str) -> float:
    """A reply that is a number and nothing else, or numbers after "score:" that agree."""
    alone = _OF_TEN.fullmatch(reading.untagged(text).strip(" \t\r\n\"'`*_()[].!"))
    named = [first + (second or "") for first, second in _LABELLED.findall(text)] or _FRACTION.findall(text)
    return reading.one(map(_points, [alone[0]] if alone else named), f'no JSON object with a "score" from 0 to {BEST}')


def _points(value: Any) -> float:
    match = _OF_TEN.fullmatch(value.strip()) if isinstance(value, str) else None
    score = reading.number(match[1] if match else value)
    if score is None or not 0 <= score <= BEST:
        raise Unreadable(f"its score is no number from 0 to {BEST}")
    return score
