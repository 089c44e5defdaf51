"""context-relevance: how much of the context is about the query.

Score: sentences of the context that are needed to answer / all sentences of the context. No modes. Source: context relevance
of RAGAS (https://arxiv.org/abs/2309.15217) as in promptfoo:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/context-relevance/, ``src/matchers/rag.ts``.
"""

from collections.abc import Sequence

from gradegate.assertions.grading.evaluator import Judge, Transcript, Unreadable, Verdict, assertion
from gradegate.assertions.judge import form
from gradegate.assertions.judge.form import Form, Object, object_schema
from gradegate.assertions.judge.lines import parse_quotations
from gradegate.assertions.judge.verdict_forms import TEXT
from gradegate.assertions.metrics.context import Context, ContextEvaluator
from gradegate.assertions.metrics.quotations import QuotationFinder

NOTHING = "Insufficient Information"  # the reply of a grader if no sentence is needed


@assertion("context-relevance")
class ContextRelevance(ContextEvaluator):
    """The context is about the query, and about little else."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        context = self.find_context(transcript)
        query = transcript.vars["query"]
        judge = judge.with_graded(context.text, query)
        quoted_units = judge.ask(
            "context-relevance", _quotations_form(context), context=context.text, query=query
        )

        total = len(context.units)
        count = min(len(quoted_units), total)
        reason = f"{count} of {total} sentences of the context bear on the query"
        evidence = {"quoted": list(quoted_units), "units": total}
        return Verdict(count / total, None, reason, evidence)


def _quotations_form(context: Context) -> Form[tuple[str, ...]]:
    """The form of the units that the grader quotes: ``{"reason", "sentences"}``, or one quotation in each line."""
    units = context.units
    finder = QuotationFinder(context.text, units)

    def read(reply: Object) -> tuple[str, ...]:
        sentences = form.required_texts(reply, "sentences")
        if not sentences:
            raise Unreadable(f"it quotes nothing, and does not say {NOTHING}")
        if [form.parse_word(sentence) for sentence in sentences] == [NOTHING.lower()]:
            return ()
        return finder.quoted_units(sentences)

    sentences_schema = {
        "type": "array",
        "items": TEXT,
        "anyOf": [_schema_of_some(units), {**_schema_of_some([NOTHING]), "maxItems": 1}],
    }
    schema = object_schema(reason=TEXT, sentences=sentences_schema)
    return Form(schema, read, read_lines=lambda text: {"sentences": parse_quotations(text)})


def _schema_of_some(texts: Sequence[str]) -> Object:
    """The JSON Schema of a list of at least one of these texts."""
    return {"type": "array", "items": {**TEXT, "enum": [*texts]}, "minItems": 1}
