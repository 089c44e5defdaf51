"""select-best: a model picks the best of all outputs of one test.

As in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/select-best/,
``src/matchers/comparison.ts``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gradegate.conversation import Transcript
from gradegate.grading.grader import GRADERS, Asks, Grader, options
from gradegate.grading.judge import Judge
from gradegate.grading.reading import numbers
from gradegate.grading.rubric import shape
from gradegate.result import Grade, Verdict

SCHEMA = shape(reason={"type": "string"}, index={"type": "integer"})


@GRADERS.register("select-best")
@options
class SelectBest(Grader):
    """A model picks the best of all outputs of a test; that one passes, the others fail."""

    asks = Asks(("text",))
    compares = "outputs"

    value: str
    """The criteria by which the best is picked, in plain words."""
    language: str = ""

    def compare(
        self, transcripts: Sequence[Transcript], grades: Sequence[Sequence[Grade]], judge: Judge
    ) -> Sequence[Verdict]:
        """Score 1 for the chosen output, 0 for the others."""
        outputs = [transcript.output for transcript in transcripts]
        read = partial(numbers.index, count=len(outputs))
        chosen = judge.ask("select-best", read, schema=SCHEMA, criteria=self.value, outputs=outputs)
        best, said = chosen.verdict, f": {chosen.reason}" if chosen.reason else ""
        return [
            Verdict(
                float(number == best),
                number == best,
                f"output {best} of {len(outputs)}, counted from 0, was chosen{said}",
                {"chosen": best, "this output": number},
            )
            for number in range(len(outputs))
        ]
