"""context-recall: how much of an expected answer the context contains.

Score: sentences of the expected answer that the context supports / all sentences of it. No modes. Source: context recall of
RAGAS (https://docs.ragas.io, https://arxiv.org/abs/2309.15217) as in promptfoo:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/context-recall/, ``src/matchers/rag.ts``.
"""

from collections.abc import Sequence

from gradegate.assertions.grading.evaluator import Judge, Transcript, Unreadable, Verdict, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.judge.form import Form, Object
from gradegate.assertions.judge.lines import parse_marked_lines
from gradegate.assertions.metrics.context import (
    ContextEvaluator,
    QuotationFinder,
    missing_context,
    split_units,
    verdict_from_parts,
)
from gradegate.core.conversation import Variables
from gradegate.core.numbers import format_count
from gradegate.structs import replace

MARKS = {"attributed": "yes", "not attributed": "no"}


def sentences_form(
    sentences: Sequence[str], *, is_our_prompt: bool
) -> Form[verdict_forms.Judgements]:
    """A verdict on each sentence by its number. A prompt of the user may also get a line with a mark for each sentence."""
    numbered_form = verdict_forms.numbered_verdicts_form(MARKS, len(sentences))
    if is_our_prompt:
        return numbered_form
    finder = QuotationFinder("\n".join(sentences), sentences)

    def read_lines(text: str) -> Object:
        pairs = parse_marked_lines(text, tuple(MARKS), finder.contains)
        if len(pairs) != len(sentences):
            raise Unreadable(
                f"it marks {format_count(len(pairs), 'line')}, and there are {format_count(len(sentences), 'sentence')}"
            )
        if len({sentence for sentence, _ in pairs}) < len(set(sentences)):
            raise Unreadable("it marks a sentence twice")
        verdicts = [{"id": number, "verdict": mark} for number, (_, mark) in enumerate(pairs, 1)]
        return {"verdicts": verdicts}

    return replace(numbered_form, read_lines=read_lines, marks=tuple(MARKS))


@assertion("context-recall")
class ContextRecall(ContextEvaluator):
    """The context holds what an expected answer says."""

    value: str
    """The expected answer."""

    def missing_variables(self, variables: Variables) -> str:
        """Say that the context is missing. No query is needed."""
        return missing_context(variables, self.context_transform)

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        context = self.find_context(transcript)
        judge = judge.with_graded(context.text, self.value)
        sentences = split_units(self.value)
        judgements = judge.ask(
            "context-recall",
            sentences_form(sentences, is_our_prompt=not judge.rubric.steps),
            context=context.text,
            groundTruth=self.value,
            sentences=sentences,
        )
        attributed = [judgement.verdict == "yes" for judgement in judgements]
        return verdict_from_parts(
            list(zip(sentences, attributed, strict=True)),
            "{} of {} sentences of the expected answer are in the context",
            "sentences",
            "sentence",
            "attributed",
        )
