"""context-recall: how much of an expected answer the context holds.

Score: the share of the expected answer's sentences that can be attributed to the context. Context recall of RAGAS
(https://docs.ragas.io, https://arxiv.org/abs/2309.15217) as promptfoo has it:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/context-recall/, ``src/matchers/rag.ts``.
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
from gradegate.grading.metrics import context, verdicts
from gradegate.grading.metrics.context import ContextGrader
from gradegate.grading.metrics.quotations import Quotations, units
from gradegate.grading.reading import line_forms
from gradegate.grading.reading.form import Form
from gradegate.grading.rubric import shape
from gradegate.values.conversation import Transcript
from gradegate.values.result import Verdict

_ITEM = shape(sentence={"type": "string"}, reason={"type": "string"}, verdict={"type": "string", "enum": ["attributed", "not attributed"]})
SCHEMA = shape(verdicts={"type": "array", "items": _ITEM})
MARKS = {"attributed": "yes", "not attributed": "no"}


def _read(found: Mapping[str, Any]) -> list[tuple[str, bool]]:
    items = scalars.table(found, "verdicts")
    if not items:
        raise Unreadable("it marks no sentence of the expected answer")
    judgements = [verdicts.judgement(item, MARKS) for item in items]
    sentences = [scalars.words(item.get("sentence")) for item in items]
    return [(text, it.verdict == "yes") for text, it in zip(sentences, judgements, strict=True)]


def _marked(expected: Quotations, text: str) -> Mapping[str, Any]:
    pairs = line_forms.marked(text, tuple(MARKS), expected.holds)
    return {"verdicts": [{"sentence": sentence, "verdict": mark} for sentence, mark in pairs]}


def _form(expected: str) -> Form[list[tuple[str, bool]]]:
    return Form(SCHEMA, _read, lines=partial(_marked, Quotations(expected, units(expected))), marks=tuple(MARKS))


@GRADERS.register("context-recall")
@options
class ContextRecall(ContextGrader):
    """The context holds what an expected answer says."""

    value: str
    """The expected answer."""

    def needs(self, variables: Mapping[str, Any]) -> str:
        """The context."""
        return context.lacks(variables, self.context_transform)

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """The share of the expected answer's sentences that the context supports."""
        source = context.resolve(transcript, self.context_transform)
        judge = replace(judge, graded=f"{source.text}\n{self.value}")
        marked = judge.ask("context-recall", _form(self.value), context=source.text, groundTruth=self.value)
        summary = "{} of {} sentences of the expected answer are in the context"
        return context.share_of(marked, summary, "sentences", "sentence", "attributed")
