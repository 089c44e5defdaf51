"""select-best: a model picks the best of all outputs of one test.

As in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/select-best/, ``src/matchers/comparison.ts``.
"""

from collections.abc import Sequence

from gradegate.assertions.grading.evaluator import (
    Grade,
    Judge,
    ModelEvaluator,
    NoVerdict,
    Transcript,
    Unreadable,
    Verdict,
    assertion,
    verdicts_for_best,
)
from gradegate.assertions.judge import form
from gradegate.assertions.judge.form import Form, Object, object_schema
from gradegate.assertions.judge.last_line import WordLine
from gradegate.assertions.judge.verdict_forms import TEXT, Judgement
from gradegate.core.numbers import format_count
from gradegate.structs import replace

LABELS = ("answer", "output", "index", "choice")  # of the last line


@assertion("select-best")
class SelectBest(ModelEvaluator):
    """A model picks the best of all outputs of a test; that one passes, the others fail."""

    compares = "outputs"

    value: str
    """The criteria by which the best is picked, in plain words."""

    def compare(
        self,
        transcripts: Sequence[Transcript],
        grades: Sequence[Sequence[Grade]],
        judge: Judge,
    ) -> Sequence[Verdict]:
        """Ask in several orders, because judges favor positions. Raises NoVerdict unless one output wins in all of them."""
        outputs = [transcript.output for transcript in transcripts]
        count = len(outputs)
        orders = _orders(count)
        for attempt in range(judge.grader_retries + 1):
            choices = self._ask_in_orders(outputs, orders, replace(judge, ask_number=attempt))
            winners = [order[choice.verdict] for order, choice in zip(orders, choices, strict=True)]
            if len(set(winners)) > 1:
                continue

            best = winners[0]
            times = format_count(len(orders), "order")
            reason = f"output {best} of {count}, counted from 0, was chosen in {times}"
            if choices[0].reason:
                reason += f": {choices[0].reason}"
            return verdicts_for_best(count, best, reason, {"chosen": best})

        numbers = ", ".join(str(winner) for winner in winners)
        raise NoVerdict(
            f"another order of the outputs has another winner: {numbers}, counted from 0"
        )

    def _ask_in_orders(
        self,
        outputs: Sequence[str],
        orders: Sequence[Sequence[int]],
        judge: Judge,
    ) -> Sequence[Judgement[int]]:
        """One choice for each order: an index in that order."""
        variables = []
        for order in orders:
            ordered_outputs = [outputs[number] for number in order]
            variables.append({"criteria": self.value, "outputs": ordered_outputs})
        return judge.ask_all("select-best", index_form(len(outputs)), variables)


def _orders(count: int) -> Sequence[Sequence[int]]:
    """The orders in which outputs are shown, as their numbers from 0. Each output is once in each place."""
    return [[*range(start, count), *range(start)] for start in range(count)]


def index_form(count: int) -> Form[Judgement[int]]:
    """The form of the index of one of ``count`` outputs, from 0: ``{"reason", "index"}``, or a last line."""
    indexes = range(count)

    def read(item: Object) -> Judgement[int]:
        value = form.required_value(item, "index")
        index = form.parse_number(value)
        has_other_signs = isinstance(value, str) and not value.strip().isdigit()
        if index is None or index not in indexes or has_other_signs:
            raise Unreadable(f"`index` is not a whole number from 0 to {count - 1}")
        return Judgement(int(index), form.reason_of(item))

    index_schema = {"type": "integer", "enum": [*indexes]}
    last_line = WordLine("index", LABELS, tuple(map(str, indexes)))
    return Form(object_schema(reason=TEXT, index=index_schema), read, last_line)
