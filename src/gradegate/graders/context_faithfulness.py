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

from gradegate.grading.grader import GRADERS, Asks, Grader, Scoring, Written, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import context, verdicts
from gradegate.grading.metrics.context import ContextTransform
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
class ContextFaithfulness(Grader):
    """The context supports what the answer says."""

    scoring = Scoring(0.5)
    asks = Asks(("text",), steps=("statements", "verdicts"))
    written = Written(csv_threshold=0.75)

    context_transform: ContextTransform | None = None
    language: str = ""

    def needs(self, variables: Mapping[str, Any]) -> str:
        """The query and the context."""
        return context.lacks_query(variables) or context.lacks(variables, self.context_transform)

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """The share of the answer's statements that the context supports."""
        source = context.resolve(transcript, self.context_transform)
        question, answer = transcript.vars["query"], transcript.output
        judge = replace(judge, graded=f"{answer}\n{question}\n{source.text}")
        statements = judge.ask(
            "context-faithfulness-statements",
            verdicts.items("statements"),
            step="statements",
            question=question,
            answer=answer,
        )
        supported = judge.ask(
            "context-faithfulness-verdicts",
            _form(len(statements)),
            step="verdicts",
            context=source.text,
            statements=list(statements),
        )
        held = sum(supported)
        rows = [{"statement": text, "supported": yes} for text, yes in zip(statements, supported, strict=True)]
        reason = f"the context supports {held} of {len(supported)} statements"
        unsupported = [text for text, yes in zip(statements, supported, strict=True) if not yes]
        return Verdict(held / len(supported), None, "; not: ".join([reason, *unsupported[:5]]), {"statements": rows})
