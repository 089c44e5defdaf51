"""llm-rubric: a model grades the answer against a rubric in plain words.

The reply's ``pass``, ``score`` and ``reason`` are those of promptfoo:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/llm-rubric/, ``src/matchers/llmGrading.ts``.
A reply without ``pass``, which passes there, is not a verdict here (with a threshold, a score alone is one).
"""

import json
from functools import partial
from typing import Any

from gradegate.assertions.grading.evaluator import (
    Judge,
    ModelEvaluator,
    Scoring,
    Transcript,
    Unreadable,
    Verdict,
    assertion,
)
from gradegate.assertions.judge import form
from gradegate.assertions.judge.form import Form, Object, object_schema
from gradegate.security.redaction import excerpt

_BOOLEAN = {"type": "boolean"}
_NUMBER = {"type": "number"}
_ON_SCALE = {**_NUMBER, "minimum": 0, "maximum": 1}
# Scores that do not contradict their `pass`. Servers keep to an enum of numbers, not to a range.
_STEPS = [step / 20 for step in range(21)]
_ABOVE_0 = {**_NUMBER, "enum": _STEPS[1:]}
_BELOW_1 = {**_NUMBER, "enum": _STEPS[:-1]}
_POINTS = {"anyOf": [_ABOVE_0, {"type": "integer", "minimum": 1}]}


def _schema(passed: Object, score: Object) -> Object:
    return object_schema(reason={"type": "string"}, **{"pass": passed}, score=score)


def _consistent_schema(passing: Object, failing: Object) -> Object:
    """A schema of one kind of score if ``pass`` is true, and of another if it is false."""
    alternatives = [
        _schema({**_BOOLEAN, "enum": [True]}, passing),
        _schema({**_BOOLEAN, "enum": [False]}, failing),
    ]
    return {"anyOf": alternatives}


SCHEMA = _schema(_BOOLEAN, _NUMBER)
_SCHEMA_ON_SCALE = _schema(_BOOLEAN, _ON_SCALE)


@assertion("llm-rubric")
class LlmRubric(ModelEvaluator):
    """A model grades the answer against a rubric that you write in plain words."""

    scoring = Scoring(share=False)  # a rubric may count points

    value: Any = ""
    """The rubric, in plain words."""
    # Compared by the gate; here it makes a score without ``pass`` readable
    threshold: float | None = None

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """Score as the grader gives it, else 1 or 0; not clamped."""
        rubric = self.value
        if not isinstance(rubric, str):
            rubric = json.dumps(rubric, ensure_ascii=False)

        is_our_prompt = not judge.rubric.steps
        schema = _SCHEMA_ON_SCALE if self._has_scale else SCHEMA
        if is_our_prompt:
            scores = (_ABOVE_0, _BELOW_1) if self._has_scale else (_POINTS, _NUMBER)
            schema = {**schema, **_consistent_schema(*scores)}
        read = partial(self.read, is_our_prompt=is_our_prompt)
        return judge.ask(
            "llm-rubric",
            Form(schema, read),
            output=transcript.output,
            rubric=rubric,
        )

    def read(self, item: Object, is_our_prompt: bool = True) -> Verdict:
        """Read ``{"reason", "pass", "score"}``. Raises Unreadable.

        A prompt of the user may ask for points and a pass that contradict each other.
        """
        reason = form.reason_of(item)
        score = form.parse_number(item.get("score"))
        unread_score = ""
        if "score" in item and score is None:
            unread_score = excerpt(json.dumps(item["score"]), 80)

        # With a threshold the score decides, so it must be readable. Then a score without `pass` is a verdict.
        if self.threshold is not None:
            if unread_score:
                raise Unreadable(f"`score` is not a number: {unread_score}")
            if self._has_scale and score is not None and not 0 <= score <= 1:
                raise Unreadable(
                    f"`score` is {score:g}, but the threshold {self.threshold:g} declares a scale from 0 to 1"
                )
            if score is not None and "pass" not in item:
                return Verdict(score, None, reason)

        passed = form.parse_truth(form.required_value(item, "pass"))
        if passed is None:
            raise Unreadable("`pass` is not a boolean")
        if score is None:
            evidence = {"score as it was given": unread_score} if unread_score else {}
            return Verdict(float(passed), passed, reason, evidence, unread=unread_score)

        if is_our_prompt:
            if passed and score <= 0:
                raise Unreadable(
                    f"`pass` is true and `score` is {score:g}: they contradict each other"
                )
            if not passed and self._has_scale and score == 1:
                raise Unreadable("`pass` is false and `score` is 1: they contradict each other")
        return Verdict(score, passed, reason)

    @property
    def _has_scale(self) -> bool:
        """Whether the threshold declares that scores are from 0 to 1."""
        return self.threshold is not None and 0 <= self.threshold <= 1
