"""context-faithfulness: whether the context supports what the answer says.

Score: the share of the answer's statements that the context supports. That is faithfulness of RAGAS
(https://arxiv.org/abs/2309.15217) as promptfoo has it:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/context-faithfulness/,
``src/matchers/rag.ts``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from gradegate.conversation import Transcript
from gradegate.errors import Unreadable
from gradegate.grading import reading
from gradegate.grading.grader import GRADERS, Asks, Grader, Scoring, Written, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import context, sentences, verdicts, yesno
from gradegate.grading.metrics.context import ContextTransform
from gradegate.grading.rubric import shape
from gradegate.result import Verdict

_ITEM = shape(
    statement={"type": "string"}, reason={"type": "string"}, verdict={"type": "string", "enum": ["yes", "no"]}
)
_VERDICTS = shape(verdicts={"type": "array", "items": _ITEM})
_NO_STATEMENTS = re.compile(
    r"(?:none|n/a|nothing)\W*|(?:there are |it makes |the answer (?:makes|contains|holds) )?no (?:\w+ )?(?:statement|claim)s?\b.*"
    r"|(?:sorry|i'm sorry|i (?:cannot|can't|can not|am unable|'m unable))\b.*",
    re.IGNORECASE | re.DOTALL,
)


@GRADERS.register("context-faithfulness")
@options
class ContextFaithfulness(Grader):
    """The context supports what the answer says."""

    scoring = Scoring(0.5, share=True)
    asks = Asks(("text",), steps=("statements", "verdicts"))
    written = Written(csv_threshold=0.75)

    context_transform: ContextTransform | None = None
    language: str = ""

    def needs(self, variables: Mapping[str, Any]) -> str:
        """The query and the context."""
        return context.lacks_query(variables) or context.lacks(variables, self.context_transform)

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """The share of the answer's statements that the context supports."""
        found = context.resolve(transcript, self.context_transform)
        question, answer = transcript.vars["query"], transcript.output
        own = replace(judge, graded=f"{answer}\n{question}\n{found.text}")
        statements = own.ask(
            "context-faithfulness-statements",
            _read_statements,
            schema=verdicts.texts_schema("statements"),
            step="statements",
            question=question,
            answer=answer,
        )
        given = own.ask(
            "context-faithfulness-verdicts",
            partial(_read_verdicts, count=len(statements)),
            schema=_VERDICTS,
            step="verdicts",
            context=found.text,
            statements=list(statements),
        )
        held = sum(given)
        rows = [{"statement": text, "supported": yes} for text, yes in zip(statements, given, strict=True)]
        reason = f"the context supports {held} of {len(given)} statements"
        unsupported = [text for text, yes in zip(statements, given, strict=True) if not yes]
        return Verdict(held / len(given), None, "; not: ".join([reason, *unsupported[:5]]), {"statements": rows})


def _read_statements(answer: reading.Answer) -> tuple[str, ...]:
    if any("statements" in item for item in answer.objects):
        found = list(verdicts.texts(answer, "statements"))
    else:
        found = reading.texts_alone(answer) or sentences.items(answer.text)
    if not found or _NO_STATEMENTS.fullmatch(found[0]):
        raise Unreadable("it holds no statements")
    return tuple(found)


def _read_verdicts(answer: reading.Answer, count: int) -> tuple[bool, ...]:
    found: list[Any] = [item for item in answer.objects if "verdict" in item]
    if any("verdicts" in item for item in answer.objects):
        found = reading.the_list(answer, "verdicts")
    if not found:
        return yesno.in_order(answer.text, count)
    if len(found) != count:
        raise Unreadable(f"it holds {len(found)} verdicts where {count} were asked for")
    items = (item if isinstance(item, Mapping) else {"verdict": item} for item in found)
    return tuple(verdicts.given(item, verdicts.YES_NO).word == "yes" for item in items)
