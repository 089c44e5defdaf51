"""factuality: a model compares the facts of the answer with those of a reference.

The categories A to E are those of ``fact.yaml`` in OpenAI's evals (https://github.com/openai/evals, evals/registry/modelgraded/);
their scores are those of promptfoo (``src/matchers/llmGrading.ts``):
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/factuality/. The prompt is our own.
"""

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from gradegate.assertions.grading.evaluator import (
    Judge,
    ModelEvaluator,
    Scoring,
    Transcript,
    Verdict,
    assertion,
)
from gradegate.assertions.judge import verdict_forms

CATEGORIES = {
    "A": ("subset", "the answer is a subset of the reference and consistent with it"),
    "B": ("superset", "the answer is a superset of the reference and consistent with it"),
    "C": ("agree", "answer and reference say the same"),
    "D": ("disagree", "answer and reference contradict each other"),
    "E": ("differButFactual", "answer and reference differ in nothing that matters"),
}
FORM = verdict_forms.choice_form("category", tuple(CATEGORIES))


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Scores:
    """The score of each category; promptfoo's names."""

    subset: float = 1
    superset: float = 1
    agree: float = 1
    disagree: float = 0
    differButFactual: float = 1  # noqa: N815  # the key in the config


@assertion("factuality", "model-graded-factuality")
class Factuality(ModelEvaluator):
    """A model compares the facts of the answer with a reference answer (categories A to E)."""

    scoring = Scoring(share=False)

    value: str
    """The reference answer."""
    factuality: Scores = Scores()

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        judgement = judge.ask(
            "factuality",
            FORM,
            input=transcript.prompt,
            ideal=self.value,
            completion=transcript.output,
        )
        name, meaning = CATEGORIES[judgement.verdict]
        reason = f"({judgement.verdict}) {judgement.reason or meaning}"
        return Verdict(
            getattr(self.factuality, name), None, reason, {"category": judgement.verdict}
        )
