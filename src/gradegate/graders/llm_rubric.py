"""llm-rubric: a model grades the answer against a rubric in plain words.

The reply's ``pass``, ``score`` and ``reason`` are those of promptfoo:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/llm-rubric/, ``src/matchers/llmGrading.ts``.
A reply without ``pass``, which passes there, is not a verdict here (with a threshold, a score alone is one).
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from gradegate.conversation import Transcript
from gradegate.errors import Unreadable
from gradegate.grading import reading
from gradegate.grading.grader import GRADERS, Asks, Grader, Written, options
from gradegate.grading.judge import Judge
from gradegate.grading.rubric import shape
from gradegate.result import Verdict

SCHEMA = shape(reason={"type": "string"}, **{"pass": {"type": "boolean"}}, score={"type": "number"})
SHAPE = 'with "pass": true or false'


@dataclasses.dataclass(frozen=True, slots=True)
class _Given:
    """A verdict object; two that agree in ``passed`` and ``score`` are the same verdict."""

    passed: bool | None
    score: float
    reason: str = dataclasses.field(compare=False)


@GRADERS.register("llm-rubric")
@options
class LlmRubric(Grader):
    """A model grades the answer against a rubric that you write in plain words."""

    asks = Asks(("text",))
    written = Written(value_or_prompt=True, keeps_blanks=True)

    value: Any = ""
    threshold: float | None = None  # compared by the gate; here it makes a score without ``pass`` readable
    language: str = ""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """Score as the grader gives it, else 1 or 0; not clamped, because a rubric may count points."""
        rubric = self.value if isinstance(self.value, str) else json.dumps(self.value, ensure_ascii=False)
        given = judge.ask("llm-rubric", self._read, schema=SCHEMA, output=transcript.output, rubric=rubric)
        return Verdict(given.score, given.passed, given.reason)

    def _read(self, answer: reading.Answer) -> _Given:
        return reading.verdict_object(answer, self._verdict, SHAPE)

    def _verdict(self, found: dict[str, Any]) -> _Given | None:
        score = reading.number(found.get("score"))
        reason = reading.words(found.get("reason"))
        if "pass" not in found:
            return None if self.threshold is None or score is None else _Given(None, score, reason)
        passed = reading.truth(found["pass"])
        if passed is None:
            raise Unreadable('"pass" is neither true nor false')
        return _Given(passed, float(passed) if score is None else score, reason)
