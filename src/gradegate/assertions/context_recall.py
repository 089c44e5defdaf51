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
    missing_context,
    verdict_from_parts,
)
from gradegate.assertions.metrics.quotations import QuotationFinder, split_units
from gradegate.core.conversation import Variables
from gradegate.core.numbers import format_count
from gradegate.structs import replace

MARKS = {"attributed": "yes", "not attributed": "no"}  # of a sentence, with what each means


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
            "sentence",
            "attributed",
            "{} of {} sentences of the expected answer are in the context",
        )


def sentences_form(
    sentences: Sequence[str], *, is_our_prompt: bool
) -> Form[verdict_forms.Judgements]:
    """The form of a verdict on each sentence by its number, from 1.

    The reply to a prompt of the user may also repeat the sentences, one to a line, each with a mark.
    """
    numbered_form = verdict_forms.numbered_verdicts_form(MARKS, len(sentences))
    if is_our_prompt:
        return numbered_form
    finder = QuotationFinder("\n".join(sentences), sentences)

    def read_lines(text: str) -> Object:
        marked_lines = parse_marked_lines(text, tuple(MARKS), finder.contains)
        _check_lines(marked_lines, sentences)

        verdicts = []
        for number, (_, mark) in enumerate(marked_lines, 1):
            verdicts.append({"id": number, "verdict": mark})
        return {"verdicts": verdicts}

    return replace(numbered_form, read_lines=read_lines, marks=tuple(MARKS))


def _check_lines(
    marked_lines: Sequence[tuple[str, str]],
    sentences: Sequence[str],
) -> None:
    """Raise Unreadable unless there is one line for each sentence. A line is a pair of its text and its mark."""
    if len(marked_lines) != len(sentences):
        line_count = format_count(len(marked_lines), "line")
        sentence_count = format_count(len(sentences), "sentence")
        raise Unreadable(f"it marks {line_count}, and there are {sentence_count}")
    if len({text for text, _ in marked_lines}) < len(set(sentences)):
        raise Unreadable("it marks a sentence twice")
