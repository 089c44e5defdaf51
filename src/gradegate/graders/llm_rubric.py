"""llm-rubric: a model grades the answer against a rubric in plain words.

The reply's ``pass``, ``score`` and ``reason`` are those of promptfoo:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/llm-rubric/, ``src/matchers/llmGrading.ts``.
A reply without ``pass``, which passes there, is not a verdict here (with a threshold, a score alone is one).
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from gradegate.access.hiding import excerpt
from gradegate.conversation import Transcript
from gradegate.errors import Unreadable
from gradegate.grading.grader import GRADERS, Asks, Grader, Scoring, Written, options
from gradegate.grading.judge import Judge
from gradegate.grading.reading import affirmations, objects, values
from gradegate.grading.reading.answer import Answer
from gradegate.grading.rubric import shape
from gradegate.result import Verdict

SCHEMA = shape(reason={"type": "string"}, **{"pass": {"type": "boolean"}}, score={"type": "number"})
SYNONYMS = ("passed", "verdict", "result", "outcome", "decision", "conclusion")  # must not say the opposite
OPPOSITES = ("fail", "failed", "fails", "rejected")  # must not say the same
SHAPE = 'with "pass": true or false'


@dataclasses.dataclass(frozen=True, slots=True)
class _RubricVerdict:
    """A verdict object; two that agree in ``passed`` and ``score`` are the same verdict."""

    passed: bool | None
    score: float
    reason: str = dataclasses.field(compare=False)
    unread: str = dataclasses.field(default="", compare=False)  # a score that is there and is not a number

    @property
    def decides(self) -> bool | float:
        """What makes it the same verdict as one in the answer: whether it passes, whatever the score."""
        return self.score if self.passed is None else self.passed


@GRADERS.register("llm-rubric")
@options
class LlmRubric(Grader):
    """A model grades the answer against a rubric that you write in plain words."""

    scoring = Scoring(share=False)  # a rubric may count points
    asks = Asks(("text",))
    written = Written(value_or_prompt=True, keeps_blanks=True)

    value: Any = ""
    """The rubric, in plain words."""
    threshold: float | None = None  # compared by the gate; here it makes a score without ``pass`` readable
    language: str = ""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """Score as the grader gives it, else 1 or 0; not clamped."""
        rubric = self.value if isinstance(self.value, str) else json.dumps(self.value, ensure_ascii=False)
        rubric_verdict = judge.ask("llm-rubric", self._read, schema=SCHEMA, output=transcript.output, rubric=rubric)
        unread = rubric_verdict.unread
        evidence = {"score as it was given": unread} if unread else {}
        return Verdict(rubric_verdict.score, rubric_verdict.passed, rubric_verdict.reason, evidence, unread=unread)

    def _read(self, answer: Answer) -> _RubricVerdict:
        rubric_verdict = objects.verdict(answer, self._verdict, SHAPE)
        if rubric_verdict.passed is not None:
            affirmations.hold_labels(objects.before(answer), rubric_verdict.passed)
        return rubric_verdict

    def _verdict(self, item: dict[str, Any]) -> _RubricVerdict | None:
        score = values.number(item.get("score"))
        reason = values.words(item.get("reason"))
        if "pass" not in item:
            return None if self.threshold is None or score is None else _RubricVerdict(None, score, reason)
        passed = values.truth(item["pass"])
        if passed is None:
            raise Unreadable('"pass" is neither true nor false')
        opposed = [key for key in SYNONYMS if values.truth(item.get(key)) is (not passed)]
        if opposed or any(values.truth(item.get(key)) is passed for key in OPPOSITES):
            raise Unreadable('"pass" and another key of it say opposite things')
        unread = excerpt(repr(item["score"]), 80) if score is None and item.get("score") is not None else ""
        if unread and self.threshold is not None:
            raise Unreadable(f'"score" is not a number: {unread}')
        return _RubricVerdict(passed, float(passed) if score is None else score, reason, unread)
