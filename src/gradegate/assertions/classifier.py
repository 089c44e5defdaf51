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

_TOLERANCE = 1e-6  # a score in single precision may miss its range by so much


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
        for score in labels.values():
            if not -_TOLERANCE <= score <= 1 + _TOLERANCE:
                raise ProviderError(
                    f"the classification model gave a score of {score:.3g}, and a score is from 0 to 1"
                )

        label = self.value
        if label is None:
            label = max(labels, key=labels.__getitem__)
        if label in labels:
            reason = f"{label} {labels[label]:.3g}"
        else:
            reason = f"there is no label {label!r}"
        scores = ", ".join(f"{name} {score:.3g}" for name, score in labels.items())
        return Verdict(
            labels.get(label, 0.0),
            None,
            f"{reason} (the model says: {scores})",
            {"labels": dict(labels)},
        )
