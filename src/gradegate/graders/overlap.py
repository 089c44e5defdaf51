"""bleu, gleu and rouge-n: how much of the answer is the words of a reference.

As in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/deterministic/#bleu, #gleu and #rouge-n,
``src/assertions/bleu.ts``, ``gleu.ts`` and ``rouge.ts``; the formulas are in ``grading/metrics/overlap.py``.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from gradegate.grading.grader import GRADERS, Grader, Scoring, Written, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import overlap
from gradegate.grading.numbers import listed
from gradegate.values.conversation import Transcript
from gradegate.values.result import Verdict

_References = Annotated[list[str], BeforeValidator(listed), Field(min_length=1)]


@GRADERS.register("bleu")
@options
class Bleu(Grader):
    """The answer has the words of a reference in runs of up to four (BLEU)."""

    scoring = Scoring(0.5)

    value: _References
    """The reference, or a list of references of which the best counts."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """BLEU from 0 to 1; of several references the best of each order counts."""
        score = overlap.bleu(transcript.output, self.value)
        return Verdict(score, None, f"BLEU is {score:.4f}")


@GRADERS.register("gleu")
@options
class Gleu(Grader):
    """The answer and a reference have runs of up to four words in common (GLEU)."""

    scoring = Scoring(0.5)

    value: _References
    """The reference, or a list of references of which the best counts."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """GLEU from 0 to 1; of several references the best counts."""
        score = overlap.gleu(transcript.output, self.value)
        return Verdict(score, None, f"GLEU is {score:.4f}")


@GRADERS.register("rouge-n")
@options
class RougeN(Grader):
    """The answer and a reference have tokens in common (ROUGE-1, F1)."""

    scoring = Scoring(0.75)
    written = Written(csv_threshold=0.75)

    value: str
    """The reference."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """The F1 of tokens from 0 to 1."""
        score = overlap.rouge(transcript.output, self.value)
        return Verdict(score, None, f"ROUGE-N is {score:.4f}")
