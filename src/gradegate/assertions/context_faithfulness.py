"""context-faithfulness: whether the context supports the answer.

The grader lists the statements of the answer, then judges each. Score: supported statements / all statements. Modes:
``no_claims`` says what an answer without statements is. Source: faithfulness of RAGAS (https://arxiv.org/abs/2309.15217) as
in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/context-faithfulness/,
``src/matchers/rag.ts``.
"""

from collections.abc import Sequence

from gradegate.assertions.grading.evaluator import Judge, Transcript, Verdict, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.judge.form import Form, Object, list_schema, object_schema
from gradegate.assertions.judge.last_line import WordListLine
from gradegate.assertions.judge.verdict_forms import TEXT
from gradegate.assertions.metrics.context import ContextEvaluator, verdict_from_parts
from gradegate.assertions.metrics.units import NoClaims, verdict_without_units
from gradegate.errors import Unreadable
from gradegate.structs import replace

LABEL = "verdict for each statement in order"  # of the last line, as in promptfoo's prompt


@assertion("context-faithfulness")
class ContextFaithfulness(ContextEvaluator):
    """The context supports what the answer says."""

    requires = replace(ContextEvaluator.requires, questions=("statements", "verdicts"))

    no_claims: NoClaims = "error"

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        context = self.find_context(transcript)
        query = transcript.vars["query"]
        answer = transcript.output
        judge = judge.with_graded(answer, query, context.text)

        statements = judge.ask(
            "context-faithfulness-statements",
            verdict_forms.items_form("statements", least=0),
            step="statements",
            question=query,
            answer=answer,
        )
        if not statements:
            return verdict_without_units("the answer makes no statement", self.no_claims)

        supported = judge.ask(
            "context-faithfulness-verdicts",
            statements_form(statements),
            step="verdicts",
            context=context.text,
            statements=list(statements),
        )
        return verdict_from_parts(
            list(zip(statements, supported, strict=True)),
            "statement",
            "supported",
            "the context supports {} of {} statements",
        )


def statements_form(statements: Sequence[str]) -> Form[tuple[bool, ...]]:
    """The form of whether each statement is supported, in the order of the statements.

    A reply has an object, ``{"verdicts": [{"statement", "reason", "verdict"}]}``, or a last line with all verdicts.
    """
    count = len(statements)
    verdicts_form = verdict_forms.verdict_list_form(count=count)

    def read(reply: Object) -> tuple[bool, ...]:
        judgements = verdicts_form.read(reply)
        judged = [str(item["statement"]) for item in reply["verdicts"] if "statement" in item]
        if len(judged) == count and len(set(judged)) < len(set(statements)):
            raise Unreadable("it judges a statement twice")
        return tuple(judgement.verdict == "yes" for judgement in judgements)

    item_schemas = [_verdict_schema({**TEXT, "enum": [statement]}) for statement in statements]
    schema = list_schema("verdicts", _verdict_schema(TEXT), count, item_schemas)

    last_line = WordListLine(
        "verdict",
        labels=(LABEL,),
        words=("yes", "no"),
        list_key="verdicts",
        count=count,
    )
    return Form(schema, read, last_line)


def _verdict_schema(statement: Object) -> Object:
    """The JSON Schema of a verdict on a statement, which has the schema ``statement``."""
    verdict = {**TEXT, "enum": ["yes", "no"]}
    return object_schema(statement=statement, reason=TEXT, verdict=verdict)
