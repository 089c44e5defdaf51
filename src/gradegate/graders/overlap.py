"""bleu, gleu and rouge-n: how much of the answer is the words of a reference.

As in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/deterministic/#bleu, #gleu and #rouge-n,
``src/assertions/bleu.ts``, ``gleu.ts`` and ``rouge.ts``; the formulas are in ``grading/metrics/overlap.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from gradegate.grading.grader import GRADERS, Grader, Scoring, Written, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import overlap
from gradegate.grading.numbers import listed
from gradegate.values.conversation import Transcript
from gradegate.values.result import Verdict

_References = Annotated[list[str], BeforeValidator(listed), Field(min_length=1)]


@options
class _Overlap(Grader):
    scoring = Scoring(0.5)
    measure: ClassVar[Callable[[str, Sequence[str]], float]]

    value: _References
    """The reference, or a list of references of which the best counts."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """From 0 to 1, as the measure says."""
        score = type(self).measure(transcript.output, self.value)
        return Verdict(score, None, f"{type(self).measure.__name__.upper()} is {score:.4f}")


@GRADERS.register("bleu")
@options
class Bleu(_Overlap):
    """The answer has the words of a reference in runs of up to four (BLEU)."""

    measure = overlap.bleu  # of several references, the best of each order counts


@GRADERS.register("gleu")
@options
class Gleu(_Overlap):
    """The answer and a reference have runs of up to four words in common (GLEU)."""

    measure = overlap.gleu  # of several references, the best counts


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
