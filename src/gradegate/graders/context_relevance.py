"""context-relevance: how much of the context bears on the query.

Score: the sentences of the context that are needed to answer, over all of its sentences. That is context relevance of
RAGAS (https://arxiv.org/abs/2309.15217) as promptfoo has it:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/context-relevance/, ``src/matchers/rag.ts``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from gradegate.conversation import Transcript
from gradegate.errors import Unreadable
from gradegate.grading import reading
from gradegate.grading.grader import GRADERS, Asks, Grader, Scoring, Written, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import context
from gradegate.grading.metrics.context import ContextTransform
from gradegate.grading.metrics.sentences import bare, folded, is_quotable, lines, quoted, sentences, stands_in
from gradegate.grading.rubric import shape
from gradegate.result import Verdict

SCHEMA = shape(reason={"type": "string"}, sentences={"type": "array", "items": {"type": "string"}})
_NONE = re.compile(r"\binsufficient\s+information\b", re.IGNORECASE)
# The phrase as part of what was asked, and not as the answer.
_IF = re.compile(
    r"\b(?:if|unless|when|whether|should|would|could|must|instead|reply|return|respond|not|isn't)\b", re.IGNORECASE
)
_ASIDE = re.compile(r"(?<!\s)\s+[-–—(\[|→]+|[|:]\s+")  # what follows is a remark on what was quoted
_NOT = re.compile(r"\b(?:not\s+(?:\w+\s+)?relevant|irrelevant|unrelated)\b", re.IGNORECASE)


@GRADERS.register("context-relevance")
@options
class ContextRelevance(Grader):
    """The context is about the query, and about little else."""

    scoring = Scoring(0.5, share=True)
    asks = Asks(("text",))
    written = Written(csv_threshold=0.75)

    context_transform: ContextTransform | None = None
    language: str = ""

    def needs(self, variables: Mapping[str, Any]) -> str:
        """The query and the context."""
        return context.lacks_query(variables) or context.lacks(variables, self.context_transform)

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """Quoted sentences over units of the context, at most 1."""
        found = context.resolve(transcript, self.context_transform)
        query = transcript.vars["query"]
        units = found.units
        own = replace(judge, graded=f"{found.text}\n{query}")
        read = partial(_read, units=units, whole=folded(found.text))
        given = own.ask("context-relevance", read, schema=SCHEMA, context=found.text, query=query)
        count = min(len(given), len(units))
        reason = f"{count} of {len(units)} sentences of the context bear on the query"
        return Verdict(count / len(units), None, reason, {"quoted": list(given), "units": len(units)})


def _read(answer: reading.Answer, units: Sequence[str], whole: str) -> tuple[str, ...]:
    text = answer.text
    if any("sentences" in item for item in answer.objects):
        listed = reading.the_list(answer, "sentences")
        text = "\n".join(item for item in listed if isinstance(item, str))
    found = _quotations(text, [folded(unit) for unit in units], whole)
    none = any(_says_none(sentence) for line in lines(text) for sentence in sentences(line) or [line])
    if found and none:
        raise Unreadable("it quotes sentences and says that there are none")
    if not found and not none:
        raise Unreadable("it quotes nothing that stands in the context")
    return found


def _says_none(sentence: str) -> bool:
    match = _NONE.search(sentence)
    return match is not None and not _IF.search(sentence[: match.start()])


def _quotations(text: str, units: Sequence[str], whole: str) -> tuple[str, ...]:
    """Units that are quoted, and pieces quoted of others; each once."""
    found: dict[str, None] = {}
    for line in lines(reading.untagged(text)):
        if line.rstrip("*_ ").endswith(":") and _NOT.search(line):
            break  # what follows is listed as irrelevant
        if bare(line) and not _NOT.search(_beside(line, units)):
            found |= dict.fromkeys(item for piece in _pieces(line, whole) for item in _covered(piece, units))
    return tuple(item for item in found if not any(item != other and stands_in(item, other) for other in found))


def _beside(line: str, units: Sequence[str]) -> str:
    """What a line says beside the units that it quotes."""
    said = folded(line)
    for unit in units:
        said = said.replace(unit, " ") if unit else said
    return said


def _pieces(line: str, whole: str) -> list[str]:
    """The parts of a line that stand in the context: all of it, sentences of it, or what it has in quotation marks."""
    if stands_in(folded(bare(line)), whole):
        return [folded(bare(line))]
    said = line.partition(": ")[2]
    parts = [
        folded(bare(part)) for part in (*sentences(line), *sentences(said), *quoted(line), *_ASIDE.split(bare(line)))
    ]
    return [part for part in parts if stands_in(part, whole)]


def _covered(piece: str, units: Sequence[str]) -> list[str]:
    inside = [unit for unit in units if stands_in(unit, piece)]
    return inside or ([piece] if is_quotable(piece) else [])
