"""context-recall: how much of an expected answer the context holds.

Score: the share of the expected answer's sentences that can be attributed to the context. Context recall of RAGAS
(https://docs.ragas.io, https://arxiv.org/abs/2309.15217) as promptfoo has it:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/context-recall/, ``src/matchers/rag.ts``.
"""

from gradegate.assertions.grading.evaluator import Judge, Transcript, Unreadable, Verdict, assertion
from gradegate.assertions.judge import form
from gradegate.assertions.judge import verdict_forms as verdicts
from gradegate.assertions.judge.form import Form, Object
from gradegate.assertions.judge.last_line import marked_lines
from gradegate.assertions.judge.rubric import list_of, shape
from gradegate.assertions.judge.verdict_forms import TEXT
from gradegate.assertions.metrics import context
from gradegate.assertions.metrics.context import ContextGrader, Quotations, units
from gradegate.core.conversation import Variables
from gradegate.structs import replace

MARKS = {"attributed": "yes", "not attributed": "no"}
SCHEMA = list_of(
    "verdicts", shape(sentence=TEXT, reason=TEXT, verdict={**TEXT, "enum": list(MARKS)})
)


def _form(expected: str) -> Form[list[tuple[str, bool]]]:
    quotations = Quotations(expected, units(expected))

    def read(found: Object) -> list[tuple[str, bool]]:
        items = form.table(found, "verdicts")
        if not items:
            raise Unreadable("it marks no sentence of the expected answer")
        judgements = [verdicts.judgement(item, MARKS) for item in items]
        return [
            (form.words(item.get("sentence")), it.verdict == "yes")
            for item, it in zip(items, judgements, strict=True)
        ]

    def marked(text: str) -> Object:
        pairs = marked_lines(text, tuple(MARKS), quotations.holds)
        return {"verdicts": [{"sentence": sentence, "verdict": mark} for sentence, mark in pairs]}

    return Form(SCHEMA, read, lines=marked, marks=tuple(MARKS))


@assertion("context-recall")
class ContextRecall(ContextGrader):
    """The context holds what an expected answer says."""

    value: str
    """The expected answer."""

    def needs(self, variables: Variables) -> str:
        return context.lacks(variables, self.context_transform)

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        source = context.resolve(transcript, self.context_transform)
        judge = replace(judge, graded=f"{source.text}\n{self.value}")
        marked = judge.ask(
            "context-recall", _form(self.value), context=source.text, groundTruth=self.value
        )
        summary = "{} of {} sentences of the expected answer are in the context"
        return context.share_of(marked, summary, "sentences", "sentence", "attributed")
