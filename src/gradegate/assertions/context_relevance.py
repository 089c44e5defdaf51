"""context-relevance: how much of the context bears on the query.

Score: the sentences of the context that are needed to answer, over all of its sentences. That is context relevance of
RAGAS (https://arxiv.org/abs/2309.15217) as promptfoo has it:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/context-relevance/, ``src/matchers/rag.ts``.
"""

from collections.abc import Sequence

from gradegate.assertions.grading.evaluator import Judge, Transcript, Unreadable, Verdict, assertion
from gradegate.assertions.judge import form
from gradegate.assertions.judge.form import Form, Object
from gradegate.assertions.judge.lines import parse_quotations
from gradegate.assertions.judge.rubric import object_schema
from gradegate.assertions.judge.verdict_forms import TEXT
from gradegate.assertions.metrics.context import ContextEvaluator, Quotations

NOTHING = "Insufficient Information"


def _some_of(texts: Sequence[str]) -> Object:
    return {"type": "array", "items": {**TEXT, "enum": [*texts]}, "minItems": 1}


@assertion("context-relevance")
class ContextRelevance(ContextEvaluator):
    """The context is about the query, and about little else."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        source = self.context_of(transcript)
        query = transcript.vars["query"]
        units = source.units
        quotations = Quotations(source.text, units)

        def read(item: Object) -> tuple[str, ...]:
            sentences = form.required_texts(item, "sentences")
            if not sentences:
                raise Unreadable(f"it quotes nothing, and does not say {NOTHING}")
            if [form.parse_word(text) for text in sentences] == [NOTHING.lower()]:
                return ()
            return quotations.covered(sentences)

        sentences = {
            "type": "array",
            "items": TEXT,
            "anyOf": [_some_of(units), {**_some_of([NOTHING]), "maxItems": 1}],
        }
        schema = object_schema(reason=TEXT, sentences=sentences)
        quoting = Form(schema, read, read_lines=lambda text: {"sentences": parse_quotations(text)})
        judge = judge.with_graded(source.text, query)
        quoted = judge.ask("context-relevance", quoting, context=source.text, query=query)
        count = min(len(quoted), len(units))
        reason = f"{count} of {len(units)} sentences of the context bear on the query"
        return Verdict(
            count / len(units), None, reason, {"quoted": list(quoted), "units": len(units)}
        )
