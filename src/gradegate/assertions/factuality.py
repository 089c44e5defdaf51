"""factuality: a model compares the facts of the answer with those of a reference.

The model chooses one of the categories A to E. Score: the score of the category, 0 for D and 1 for all others. Modes: the
option ``factuality`` sets other scores. Sources: the categories come from ``fact.yaml`` in OpenAI's evals
(https://github.com/openai/evals, evals/registry/modelgraded/), the scores from promptfoo (``src/matchers/llmGrading.ts``):
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

# For each category the key of its score, and the reason if the model gives no reason
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
        category = judgement.verdict
        score_key, meaning = CATEGORIES[category]
        score = getattr(self.factuality, score_key)
        reason = f"({category}) {judgement.reason or meaning}"
        return Verdict(score, None, reason, {"category": category})
