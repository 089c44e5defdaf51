"""context-faithfulness: whether the context supports what the answer says.

Score: the share of the answer's statements that the context supports. That is faithfulness of RAGAS
(https://arxiv.org/abs/2309.15217) as promptfoo has it:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/context-faithfulness/,
``src/matchers/rag.ts``.
"""

from collections.abc import Sequence

from gradegate.assertions.grading.evaluator import Judge, Transcript, Verdict, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.judge.form import Form, Object
from gradegate.assertions.judge.last_line import WordListLine
from gradegate.assertions.judge.rubric import list_schema, object_schema
from gradegate.assertions.metrics.context import ContextEvaluator, share_of
from gradegate.assertions.metrics.units import NoClaims, verdict_without_units
from gradegate.errors import Unreadable
from gradegate.structs import replace

LABEL = "verdict for each statement in order"


def statements_form(statements: Sequence[str]) -> Form[tuple[bool, ...]]:
    """A verdict on each statement."""
    count = len(statements)

    def read(found: Object) -> tuple[bool, ...]:
        judgements = counted.read(found)
        named = [item["statement"] for item in found["verdicts"] if "statement" in item]
        if len(named) == count and len(set(map(str, named))) < len(set(statements)):
            raise Unreadable("it judges a statement twice")
        return tuple(judgement.verdict == "yes" for judgement in judgements)

    counted = verdict_forms.verdict_list_form(count=count)

    def item(statement: Object) -> Object:
        return object_schema(
            statement=statement,
            reason=verdict_forms.TEXT,
            verdict={**verdict_forms.TEXT, "enum": ["yes", "no"]},
        )

    each = [item({**verdict_forms.TEXT, "enum": [statement]}) for statement in statements]
    schema = list_schema("verdicts", item(verdict_forms.TEXT), count, each)
    return Form(
        schema,
        read,
        WordListLine("verdict", (LABEL,), ("yes", "no"), list_key="verdicts", count=count),
    )


@assertion("context-faithfulness")
class ContextFaithfulness(ContextEvaluator):
    """The context supports what the answer says."""

    requires = replace(ContextEvaluator.requires, questions=("statements", "verdicts"))

    no_claims: NoClaims = "error"

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        source = self.context_of(transcript)
        question = transcript.vars["query"]
        answer = transcript.output
        judge = judge.with_graded(answer, question, source.text)
        form = verdict_forms.items_form("statements", least=0)
        statements = [
            *judge.ask(
                "context-faithfulness-statements",
                form,
                step="statements",
                question=question,
                answer=answer,
            )
        ]
        if not statements:
            return verdict_without_units("the answer makes no statement", self.no_claims)
        supported = judge.ask(
            "context-faithfulness-verdicts",
            statements_form(statements),
            step="verdicts",
            context=source.text,
            statements=statements,
        )
        return share_of(
            [*zip(statements, supported, strict=True)],
            "the context supports {} of {} statements",
            "statements",
            "statement",
            "supported",
        )
