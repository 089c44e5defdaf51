"""context-faithfulness: whether the context supports what the answer says.

Score: the share of the answer's statements that the context supports. That is faithfulness of RAGAS
(https://arxiv.org/abs/2309.15217) as promptfoo has it:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/context-faithfulness/,
``src/matchers/rag.ts``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gradegate.grading.grader import GRADERS, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import context, verdicts
from gradegate.grading.metrics.context import ContextGrader
from gradegate.grading.reading.form import Form
from gradegate.grading.reading.line import LastLine
from gradegate.grading.rubric import shape
from gradegate.values.conversation import Transcript
from gradegate.values.result import Verdict

_ITEM = shape(statement={"type": "string"}, reason={"type": "string"}, verdict={"type": "string", "enum": ["yes", "no"]})
_VERDICTS = shape(verdicts={"type": "array", "items": _ITEM})
LABEL = "verdict for each statement in order"


def _form(count: int) -> Form[tuple[bool, ...]]:
    """Exactly ``count`` verdicts."""

    def read(found: Mapping[str, Any]) -> tuple[bool, ...]:
        return tuple(judgement.verdict == "yes" for judgement in counted.read(found))

    counted = verdicts.listed(count=count)
    return Form(_VERDICTS, read, LastLine("verdict", (LABEL,), ("yes", "no"), among="verdicts", count=count))


@GRADERS.register("context-faithfulness")
@options
class ContextFaithfulness(ContextGrader):
    """The context supports what the answer says."""

    asks = replace(ContextGrader.asks, steps=("statements", "verdicts"))

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """The share of the answer's statements that the context supports."""
        source = context.resolve(transcript, self.context_transform)
        question, answer = transcript.vars["query"], transcript.output
        judge = replace(judge, graded=f"{answer}\n{question}\n{source.text}")
        form = verdicts.items("statements")
        statements = judge.ask("context-faithfulness-statements", form, step="statements", question=question, answer=answer)
        listed, form_of_all = list(statements), _form(len(statements))
        supported = judge.ask("context-faithfulness-verdicts", form_of_all, step="verdicts", context=source.text, statements=listed)
        parts = [*zip(statements, supported, strict=True)]
        return context.share_of(parts, "the context supports {} of {} statements", "statements", "statement", "supported")
