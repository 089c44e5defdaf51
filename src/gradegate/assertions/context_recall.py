"""context-recall: how much of an expected answer the context holds.

Score: the share of the expected answer's sentences that can be attributed to the context. Context recall of RAGAS
(https://docs.ragas.io, https://arxiv.org/abs/2309.15217) as promptfoo has it:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/context-recall/, ``src/matchers/rag.ts``.
"""

from collections.abc import Sequence

from gradegate.assertions.grading.evaluator import Judge, Transcript, Unreadable, Verdict, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.judge.form import Form, Object
from gradegate.assertions.judge.lines import parse_marked_lines
from gradegate.assertions.metrics.context import (
    ContextEvaluator,
    Quotations,
    lacks,
    share_of,
    units,
)
from gradegate.core.conversation import Variables
from gradegate.core.numbers import format_count
from gradegate.structs import replace

MARKS = {"attributed": "yes", "not attributed": "no"}


def sentences_form(
    sentences: Sequence[str], *, is_our_prompt: bool
) -> Form[verdict_forms.Judgements]:
    """A verdict on each sentence by its number; for a prompt of the user's also a line with its mark for each."""
    numbered = verdict_forms.numbered_verdicts_form(MARKS, len(sentences))
    if is_our_prompt:
        return numbered
    quotations = Quotations("\n".join(sentences), sentences)

    def marked(text: str) -> Object:
        pairs = parse_marked_lines(text, tuple(MARKS), quotations.holds)
        if len(pairs) != len(sentences):
            raise Unreadable(
                f"it marks {format_count(len(pairs), 'line')}, and there are {format_count(len(sentences), 'sentence')}"
            )
        if len({sentence for sentence, _ in pairs}) < len(set(sentences)):
            raise Unreadable("it marks a sentence twice")
        return {
            "verdicts": [{"id": id_, "verdict": mark} for id_, (_, mark) in enumerate(pairs, 1)]
        }

    return replace(numbered, read_lines=marked, marks=tuple(MARKS))


@assertion("context-recall")
class ContextRecall(ContextEvaluator):
    """The context holds what an expected answer says."""

    value: str
    """The expected answer."""

    def missing_variables(self, variables: Variables) -> str:
        return lacks(variables, self.context_transform)

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        source = self.context_of(transcript)
        judge = judge.with_graded(source.text, self.value)
        sentences = units(self.value)
        judgements = judge.ask(
            "context-recall",
            sentences_form(sentences, is_our_prompt=not judge.rubric.steps),
            context=source.text,
            groundTruth=self.value,
            sentences=sentences,
        )
        marked = [
            (sentence, judgement.verdict == "yes")
            for sentence, judgement in zip(sentences, judgements, strict=True)
        ]
        summary = "{} of {} sentences of the expected answer are in the context"
        return share_of(marked, summary, "sentences", "sentence", "attributed")
