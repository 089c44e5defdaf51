"""classifier: a classification model's score for a label.

Score: the confidence of the label, 0 where the model gives none; without a label the highest confidence. As in promptfoo:
https://www.promptfoo.dev/docs/configuration/expected-outputs/classifier/, ``src/matchers/classification.ts``.
"""

from gradegate.assertions.grading.evaluator import (
    Evaluator,
    Judge,
    NoVerdict,
    Requirements,
    Scoring,
    Transcript,
    Verdict,
    assertion,
)
from gradegate.errors import ProviderError

_ROUNDED = 1e-6  # by how much a sum of single precision may miss 1


@assertion("classifier")
class Classifier(Evaluator):
    """A classification model gives the answer a label with at least so much confidence."""

    scoring = Scoring(1.0)
    requires = Requirements(("classification",))

    value: str | None = None
    """The label whose confidence is the score; without a label, the highest confidence of all labels."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        labels = judge.classify(transcript.output)
        if not labels:
            raise NoVerdict("the classification model gave no labels")
        wrong = next(
            (score for score in labels.values() if not -_ROUNDED <= score <= 1 + _ROUNDED), None
        )
        if wrong is not None:
            raise ProviderError(
                f"the classification model gave a score of {wrong:.3g}, and a score is from 0 to 1"
            )
        chosen = max(labels, key=labels.__getitem__) if self.value is None else self.value
        scores = ", ".join(f"{label} {score:.3g}" for label, score in labels.items())
        what = (
            f"{chosen} {labels[chosen]:.3g}"
            if chosen in labels
            else f"there is no label {chosen!r}"
        )
        return Verdict(
            labels.get(chosen, 0.0),
            None,
            f"{what} (the model says: {scores})",
            {"labels": dict(labels)},
        )
