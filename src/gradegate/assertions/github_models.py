"""The evaluators of a ``.prompt.yml`` file, as ``gh models eval`` runs them (github/gh-models, ``cmd/eval/eval.go``).

There, a reply that names no choice fails the answer, and one that mentions several has the first of the list; here either
is no verdict. The built-in evaluators are asked for in words of our own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import field_validator

from gradegate.assertions.grading.evaluator import (
    Asks,
    Grader,
    Judge,
    Scoring,
    Transcript,
    Verdict,
    Written,
    assertion,
)
from gradegate.assertions.judge import verdict_forms as verdicts

BUILT_IN: Mapping[str, str] = {
    "similarity": "how much the answer says the same as the expected answer: 1 nothing of it, 3 some of it, 5 all of it",
    "relevance": "how far the answer deals with what the query asks: 1 not at all, 3 in part, 5 fully and with what matters",
    "groundedness": "how far the expected text holds up what the answer claims: 1 contradicts or ignores it, 3 in part, 5 all of it",
    "coherence": "how well the thoughts of the answer follow one another: 1 no order, 3 with gaps, 5 clear from start to end",
    "fluency": "how well the answer is written: 1 hardly a sentence, 3 understandable with mistakes, 5 like a good writer",
}
STARS = {str(stars): (stars - 1) / 4 for stars in range(1, 6)}


@assertion("github-models:string")
class GitHubString(Grader):
    """The answer without blanks around it equals a text, or without regard to case contains, begins or ends with it."""

    value: str
    """The text to compare with."""
    match: Literal["equals", "contains", "starts_with", "ends_with"]

    @field_validator("value")
    @classmethod
    def _filled(cls, value: str) -> str:
        if not value:
            raise ValueError("is empty: every answer contains it")
        return value

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        answer, text = transcript.output.strip(), self.value
        low, part = answer.lower(), text.lower()
        folded = {
            "contains": part in low,
            "starts_with": low.startswith(part),
            "ends_with": low.endswith(part),
        }
        fits = folded.get(self.match, answer == text)
        said = f"{'fits' if fits else 'does not fit'}: {self.match.replace('_', ' ')}"
        return Verdict(float(fits), fits, f'the answer {said} "{text}"')


@dataclass(frozen=True)
class Choice:
    """What a grader may reply, with its score."""

    choice: str
    score: float


@assertion("github-models:choice")
class GitHubChoice(Grader):
    """A model is asked with a prompt of your own and replies with one of several choices, each of which has a score."""

    scoring = Scoring(above_zero=True, share=False)
    asks = Asks(("text",))
    written = Written(value_or_prompt=True)

    choices: list[Choice]
    value: Any = ""
    """What the prompt of your own shows as `{{criteria}}`."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        scores = {choice.choice: choice.score for choice in self.choices}
        given = {
            "criteria": self.value,
            "choices": list(scores),
            "query": transcript.prompt,
            "expected": "",
        }
        told = {
            name: judge.vars.get(name, value) for name, value in given.items()
        }  # the prompt is the test's own
        judgement = judge.ask(
            "github-models",
            verdicts.chosen("choice", tuple(scores)),
            completion=transcript.output,
            **told,
        )
        return Verdict(
            scores[judgement.verdict],
            None,
            judgement.reason or f"the grader chose {judgement.verdict!r}",
        )


@assertion("github-models:built-in")
class GitHubBuiltIn(Grader):
    """A model gives the answer one to five stars for one of the built-in evaluators of GitHub Models."""

    scoring = Scoring(above_zero=True)
    asks = Asks(("text",))

    value: str
    """The evaluator: similarity, relevance, groundedness, coherence or fluency."""

    @field_validator("value")
    @classmethod
    def _known(cls, value: str) -> str:
        if value.removeprefix("github/") not in BUILT_IN or not value.startswith("github/"):
            raise ValueError(
                f"`{value}` is not one of " + ", ".join(f"github/{name}" for name in BUILT_IN)
            )
        return value

    def needs(self, variables: Mapping[str, Any]) -> str:
        compares = self.value.removeprefix("github/") in ("similarity", "groundedness")
        return (
            f"`uses: {self.value}` needs `expected` in the test data"
            if compares and not variables.get("expected")
            else ""
        )

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """0 for one star, 1 for five; passes from two stars, as in ``gh models eval``."""
        judgement = judge.ask(
            "github-models",
            verdicts.chosen("choice", tuple(STARS)),
            criteria=BUILT_IN[self.value.removeprefix("github/")],
            choices=list(STARS),
            query=str(judge.vars.get("input") or transcript.prompt),
            expected=str(judge.vars.get("expected") or ""),
            completion=transcript.output,
        )
        return Verdict(
            STARS[judgement.verdict], None, judgement.reason or f"{judgement.verdict} of 5 stars"
        )
