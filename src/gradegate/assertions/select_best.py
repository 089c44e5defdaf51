"""select-best: a model picks the best of all outputs of one test.

As in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/select-best/, ``src/matchers/comparison.ts``.
"""

from collections.abc import Sequence

from gradegate.assertions.grading.evaluator import (
    Asks,
    Grade,
    Grader,
    Judge,
    Transcript,
    Unreadable,
    Verdict,
    assertion,
    verdicts_on,
)
from gradegate.assertions.judge import form
from gradegate.assertions.judge.form import Form, Object
from gradegate.assertions.judge.last_line import LastLine
from gradegate.assertions.judge.rubric import shape
from gradegate.assertions.judge.verdict_forms import TEXT, Judgement

LABELS = ("answer", "output", "index", "choice")


@assertion("select-best")
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
        outputs = [transcript.output for transcript in transcripts]
        chosen = judge.ask(
            "select-best", index_form(len(outputs)), criteria=self.value, outputs=outputs
        )
        best, said = chosen.verdict, f": {chosen.reason}" if chosen.reason else ""
        reason = f"output {best} of {len(outputs)}, counted from 0, was chosen{said}"
        return verdicts_on(len(outputs), best, reason, {"chosen": best})


def index_form(count: int) -> Form[Judgement[int]]:
    """The index of one of so many outputs."""

    def read(item: Object) -> Judgement[int]:
        written = form.entry(item, "index")
        index = form.number(written)
        if (
            index is None
            or index not in range(count)
            or (isinstance(written, str) and not written.strip().isdigit())
        ):
            raise Unreadable(f"`index` is not a whole number from 0 to {count - 1}")
        return Judgement(int(index), form.words(item.get("reason")))

    return Form(
        shape(reason=TEXT, index={"type": "integer"}),
        read,
        LastLine("index", LABELS, tuple(map(str, range(count)))),
    )
