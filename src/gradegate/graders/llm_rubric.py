"""llm-rubric: a model grades the answer against a rubric in plain words.

The reply's ``pass``, ``score`` and ``reason`` are those of promptfoo:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/llm-rubric/, ``src/matchers/llmGrading.ts``.
A reply without ``pass``, which passes there, is not a verdict here (with a threshold, a score alone is one).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from gradegate.access.hiding import excerpt
from gradegate.errors import Unreadable
from gradegate.grading import scalars
from gradegate.grading.grader import GRADERS, Asks, Grader, Scoring, Written, options
from gradegate.grading.judge import Judge
from gradegate.grading.reading.form import Form
from gradegate.grading.rubric import shape
from gradegate.values.conversation import Transcript
from gradegate.values.result import Verdict

SCHEMA = shape(reason={"type": "string"}, **{"pass": {"type": "boolean"}}, score={"type": "number"})


@dataclasses.dataclass(frozen=True, slots=True)
class _RubricVerdict:
    passed: bool | None
    score: float
    reason: str
    unread: str = ""  # a score that is there and is not a number


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
        form = Form(SCHEMA, self._read, object_only=True)
        rubric_verdict = judge.ask("llm-rubric", form, output=transcript.output, rubric=rubric)
        unread = rubric_verdict.unread
        evidence = {"score as it was given": unread} if unread else {}
        return Verdict(rubric_verdict.score, rubric_verdict.passed, rubric_verdict.reason, evidence, unread=unread)

    def _read(self, item: Mapping[str, Any]) -> _RubricVerdict:
        score = scalars.number(item.get("score"))
        reason = scalars.words(item.get("reason"))
        unread = excerpt(json.dumps(item["score"]), 80) if "score" in item and score is None else ""
        if unread and self.threshold is not None:
            raise Unreadable(f"`score` is not a number: {unread}")
        if "pass" not in item and self.threshold is not None and score is not None:
            return _RubricVerdict(None, score, reason)
        passed = scalars.truth(scalars.entry(item, "pass"))
        if passed is None:
            raise Unreadable("`pass` is neither true nor false")
        return _RubricVerdict(passed, float(passed) if score is None else score, reason, unread)
