"""context-recall: how much of an expected answer the context holds.

Score: the share of the expected answer's sentences that can be attributed to the context. Context recall of RAGAS
(https://docs.ragas.io, https://arxiv.org/abs/2309.15217) as promptfoo has it:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/context-recall/, ``src/matchers/rag.ts``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gradegate.conversation import Transcript
from gradegate.errors import Unreadable
from gradegate.grading import reading
from gradegate.grading.grader import GRADERS, Asks, Grader, Scoring, Written, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import context, sentences, verdicts
from gradegate.grading.metrics.context import ContextTransform
from gradegate.grading.rubric import shape
from gradegate.result import Verdict

WORDS = {"attributed": "yes", "not attributed": "no", "not-attributed": "no", "unattributed": "no", **verdicts.YES_NO}
_ITEM = shape(
    sentence={"type": "string"},
    reason={"type": "string"},
    verdict={"type": "string", "enum": ["attributed", "not attributed"]},
)
SCHEMA = shape(verdicts={"type": "array", "items": _ITEM})
_NAME = r"(not[\s_-]*|un)?attributed"
# In brackets or asterisks, after an arrow or a colon at the end of the line; plain words are prose.
_MARKER = re.compile(
    rf"(?:\[[\s*_`]*{_NAME}[\s*_`.]*\]|\([\s*_`]*{_NAME}[\s*_`]*\)|(?:\*\*?|__?|`)\s*{_NAME}\W?\s*(?:\*\*?|_|`)"
    rf"|(?:[:|–—=]|->|=>|→|\s-)\s*{_NAME}[.!|\s]*$)",
    re.IGNORECASE,
)
_AROUND = " \t*`_:|→=>-"
_HEADING = re.compile(rf"\W*{_NAME}\W*:\W*", re.IGNORECASE)
_TOTAL = re.compile(
    r"attributed\W{0,4}[:=]\W*\d+\W*$", re.IGNORECASE
)  # "[Attributed]: 3" counts, and marks no sentence


@GRADERS.register("context-recall")
@options
class ContextRecall(Grader):
    """The context holds what an expected answer says."""

    scoring = Scoring(0.5, share=True)
    asks = Asks(("text",))
    written = Written(csv_threshold=0.75)

    value: str
    context_transform: ContextTransform | None = None
    language: str = ""

    def needs(self, variables: Mapping[str, Any]) -> str:
        """The context."""
        return context.lacks(variables, self.context_transform)

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """The share of the expected answer's sentences that the context supports."""
        found = context.resolve(transcript, self.context_transform)
        own = replace(judge, graded=f"{found.text}\n{self.value}")
        given = own.ask("context-recall", _read, schema=SCHEMA, context=found.text, groundTruth=self.value)
        held = sum(attributed for _, attributed in given)
        rows = [{"sentence": sentence, "attributed": attributed} for sentence, attributed in given]
        reason = f"{held} of {len(given)} sentences of the expected answer are in the context"
        missing = [sentence for sentence, attributed in given if not attributed]
        return Verdict(held / len(given), None, "; not: ".join([reason, *missing[:5]]), {"sentences": rows})


def _read(answer: reading.Answer) -> tuple[tuple[str, bool], ...]:
    objects = [item for item in answer.objects if "verdict" in item]
    if any("verdicts" in item for item in answer.objects):
        objects = reading.the_list(answer, "verdicts")
    if objects:
        return tuple((_sentence(item), verdicts.given(item, WORDS).word == "yes") for item in objects)
    found = [item for line in answer.text.splitlines() if (item := _line(line))]
    if not found:
        raise Unreadable("it marks no sentence as [Attributed] or [Not Attributed]")
    return tuple(found)


def _sentence(item: Any) -> str:
    return reading.words(item.get("sentence")) if isinstance(item, Mapping) else ""


def _line(line: str) -> tuple[str, bool] | None:
    marks = [any(match.groups()) for match in _MARKER.finditer(line)]
    if marks and _HEADING.fullmatch(line):
        raise Unreadable("it groups sentences under a mark; mark each of them")
    if len(set(marks)) > 1:
        raise Unreadable("it marks one line as attributed and as not attributed")
    rest = sentences.bare(_MARKER.sub("", line)).strip(_AROUND)
    return (rest, not marks[0]) if marks and not _TOTAL.search(line) else None
