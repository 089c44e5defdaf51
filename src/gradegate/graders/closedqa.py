"""model-graded-closedqa: a model checks whether the answer meets one criterion.

The question with the answers Y and N comes from ``closedqa.yaml`` of OpenAI's evals (https://github.com/openai/evals,
evals/registry/modelgraded/), by way of promptfoo:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/model-graded-closedqa/,
``src/matchers/llmGrading.ts``. The prompt is our own.
"""

from __future__ import annotations

from gradegate.conversation import Transcript
from gradegate.errors import Unreadable
from gradegate.grading import reading
from gradegate.grading.grader import GRADERS, Asks, Grader, options
from gradegate.grading.judge import Judge
from gradegate.grading.rubric import shape
from gradegate.result import Verdict

SCHEMA = shape(reason={"type": "string"}, verdict={"type": "string", "enum": ["yes", "no"]})


@GRADERS.register("model-graded-closedqa")
@options
class ClosedQa(Grader):
    """A model checks whether the answer meets one criterion, yes or no."""

    asks = Asks(("text",))

    value: str
    language: str = ""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """Score 1 or 0."""
        passed, reason = judge.ask(
            "model-graded-closedqa",
            _read,
            schema=SCHEMA,
            input=transcript.prompt,
            criteria=self.value,
            completion=transcript.output,
        )
        default = "the criterion is met" if passed else "the criterion is not met"
        return Verdict(float(passed), passed, reason or default)


def _read(answer: reading.Answer) -> tuple[bool, str]:
    given = [found for found in answer.objects if "verdict" in found]
    if not given:
        lines = answer.plain.splitlines()
        return reading.last_yes_no(answer.plain), " ".join(line.strip() for line in lines[:-1] if line.strip())
    return reading.one((_verdict(found) for found in given), "no verdict"), reading.words(given[0].get("reason"))


def _verdict(found: dict[str, object]) -> bool:
    passed = reading.truth(found["verdict"])
    if passed is None:
        raise Unreadable('"verdict" is neither yes nor no')
    return passed
