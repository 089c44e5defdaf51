"""select-best: a model picks the best of all outputs of one test.

As in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/select-best/,
``src/matchers/comparison.ts``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradegate.errors import Unreadable
from gradegate.grading import scalars
from gradegate.grading.grader import GRADERS, Asks, Grader, options, verdicts_on
from gradegate.grading.judge import Judge
from gradegate.grading.metrics.verdicts import Judgement
from gradegate.grading.reading.form import Form
from gradegate.grading.reading.line import LastLine
from gradegate.grading.rubric import shape
from gradegate.values.conversation import Transcript
from gradegate.values.result import Grade, Verdict

SCHEMA = shape(reason={"type": "string"}, index={"type": "integer"})
LABELS = ("answer", "output", "index", "choice")


@GRADERS.register("select-best")
@options
class SelectBest(Grader):
    """A model picks the best of all outputs of a test; that one passes, the others fail."""

    asks = Asks(("text",))
    compares = "outputs"

    value: str
    """The criteria by which the best is picked, in plain words."""
    language: str = ""

    def compare(self, transcripts: Sequence[Transcript], grades: Sequence[Sequence[Grade]], judge: Judge) -> Sequence[Verdict]:
        """Score 1 for the chosen output, 0 for the others."""
        outputs = [transcript.output for transcript in transcripts]
        chosen = judge.ask("select-best", form(len(outputs)), criteria=self.value, outputs=outputs)
        best, said = chosen.verdict, f": {chosen.reason}" if chosen.reason else ""
        reason = f"output {best} of {len(outputs)}, counted from 0, was chosen{said}"
        return verdicts_on(len(outputs), best, reason, {"chosen": best})


def form(count: int) -> Form[Judgement[int]]:
    """The index of one of so many outputs."""

    def read(item: Mapping[str, Any]) -> Judgement[int]:
        written = scalars.entry(item, "index")
        index = scalars.number(written)
        if index is None or index not in range(count) or (isinstance(written, str) and not written.strip().isdigit()):
            raise Unreadable(f"`index` is not a whole number from 0 to {count - 1}")
        return Judgement(int(index), scalars.words(item.get("reason")))

    return Form(SCHEMA, read, LastLine("index", LABELS, tuple(map(str, range(count)))))
