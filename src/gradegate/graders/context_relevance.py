"""context-relevance: how much of the context bears on the query.

Score: the sentences of the context that are needed to answer, over all of its sentences. That is context relevance of
RAGAS (https://arxiv.org/abs/2309.15217) as promptfoo has it:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/context-relevance/, ``src/matchers/rag.ts``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from gradegate.errors import Unreadable
from gradegate.grading import scalars
from gradegate.grading.grader import GRADERS, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import context
from gradegate.grading.metrics.context import ContextGrader
from gradegate.grading.metrics.quotations import Quotations
from gradegate.grading.reading import line_forms
from gradegate.grading.reading.form import Form
from gradegate.grading.rubric import shape
from gradegate.values.conversation import Transcript
from gradegate.values.result import Verdict

SCHEMA = shape(reason={"type": "string"}, sentences={"type": "array", "items": {"type": "string"}})
NOTHING = "Insufficient Information"


@GRADERS.register("context-relevance")
@options
class ContextRelevance(ContextGrader):
    """The context is about the query, and about little else."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """Quoted sentences over units of the context, at most 1."""
        source = context.resolve(transcript, self.context_transform)
        query = transcript.vars["query"]
        units = source.units
        judge = replace(judge, graded=f"{source.text}\n{query}")
        form = Form(SCHEMA, partial(_read, Quotations(source.text, units)), lines=lambda text: {"sentences": line_forms.quoted(text)})
        quoted = judge.ask("context-relevance", form, context=source.text, query=query)
        count = min(len(quoted), len(units))
        reason = f"{count} of {len(units)} sentences of the context bear on the query"
        return Verdict(count / len(units), None, reason, {"quoted": list(quoted), "units": len(units)})


def _read(quotations: Quotations, item: Mapping[str, Any]) -> tuple[str, ...]:
    sentences = scalars.texts(item, "sentences")
    if not sentences:
        raise Unreadable(f"it quotes nothing, and does not say {NOTHING}")
    return () if [scalars.word(text) for text in sentences] == [NOTHING.lower()] else quotations.covered(sentences)
