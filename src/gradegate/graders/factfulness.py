"""factfulness: the claims of an answer, voted on by independent runs of a model that knows the world.

Score: true claims over claims that count, where a claim that no run knows counts ``idk_penalty_weight``. Source:
https://docs.aegisevals.ai/docs/metrics/General/factfulness-metric, which gives no formula;
``gradegate.grading.metrics.factscore`` says how we read it. The share of atomic claims that are true is that of
FActScore (https://arxiv.org/abs/2305.14251).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from gradegate.errors import NoVerdict
from gradegate.grading.grader import GRADERS, Asks, Grader, Scoring, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import claims as steps
from gradegate.grading.metrics.claims import Claim
from gradegate.grading.metrics.factscore import VotedClaim, score, undecided
from gradegate.grading.metrics.verdicts import Judgement
from gradegate.grading.numbers import Number, Share
from gradegate.values.conversation import Transcript
from gradegate.values.limits import exact
from gradegate.values.result import Verdict

_Count = Annotated[int, Field(strict=True, ge=1)]
_Temperature = Annotated[Number, Field(strict=True, ge=0)]
_Weight = Annotated[Share, Field(strict=True)]


@GRADERS.register("factfulness")
@options
class Factfulness(Grader):
    """The claims of the answer are true, by the votes of independent runs of a grading model."""

    scoring = Scoring(0.7, scale=100)
    asks = Asks(("text",), steps=steps.STEPS)

    value: str | None = None
    """The source; without it the variable `input` or `context`."""
    threshold: Number | None = None  # compared by the gate
    n_runs: _Count = 3
    idk_penalty_weight: _Weight = 0.25
    mode: Literal["knowledge", "grounded"] = "knowledge"
    no_claims: Literal["error", "pass", "fail"] = "error"
    temperature: _Temperature = 1.0  # of the runs: at 0 they would all say the same
    language: str = ""

    def needs(self, variables: Mapping[str, Any]) -> str:
        """A source."""
        return "" if self._source(variables) else "there is no source; give `value`, or the variable `input` or `context`"

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """The share of checkable claims that are true, from 0 to 1; exact until the last step."""
        source = self._source(transcript.vars)
        if not transcript.output.strip():
            raise NoVerdict("the answer is empty, so it claims nothing")
        if not source:
            raise NoVerdict("there is no source to check the answer with")
        judge = replace(judge, graded=f"{transcript.output}\n{source}")
        claims = steps.ask_claims(judge, transcript.output, source)
        checkable = tuple(claim for claim in claims if claim.checkable)
        return self._verdict(claims, self._judged(judge, checkable, source)) if checkable else self._nothing(claims)

    def _source(self, variables: Mapping[str, Any]) -> str:
        for source in (self.value, variables.get("input"), variables.get("context")):
            text = "\n\n".join(map(str, source)) if isinstance(source, list | tuple) else source
            if isinstance(text, str) and text.strip():
                return text
        return ""

    def _judged(self, judge: Judge, claims: tuple[Claim, ...], source: str) -> list[VotedClaim]:
        shown = source if self.mode == "grounded" else None
        first = self._votes(judge, claims, shown, 0)
        left = tuple(claim for claim in claims if undecided(first[claim.id]))
        # What the source says has been seen already when it was shown to the first runs.
        second = self._votes(judge, left, source, self.n_runs) if left and shown is None else {}
        return [VotedClaim(c.id, c.text, first[c.id], second.get(c.id, ())) for c in claims]

    def _votes(self, judge: Judge, claims: tuple[Claim, ...], source: str | None, before: int) -> dict[int, tuple[Judgement[str], ...]]:
        """One vote of each run by claim; ``before`` is how many runs there were already."""
        runs: list[Callable[[], Mapping[int, Judgement[str]]]] = []
        for number in range(self.n_runs):
            # A seed and an order of its own: some models take no temperature, some servers answer alike from a cache.
            start = number * len(claims) // self.n_runs
            sampling = {"temperature": self.temperature, "seed": before + number + 1}
            runs.append(partial(steps.ask_verdicts, judge, claims[start:] + claims[:start], source, sampling))
        voted = judge.gather(*runs)
        return {claim.id: tuple(run[claim.id] for run in voted) for claim in claims}

    def _nothing(self, claims: tuple[Claim, ...]) -> Verdict:
        what = f"nothing in the answer can be checked ({len(claims)} claims)"
        if self.no_claims == "error":
            raise NoVerdict(f"{what}; `no_claims: pass` or `fail` would decide")
        passed = self.no_claims == "pass"
        return Verdict(float(passed), passed, f"{what}; `no_claims: {self.no_claims}`", steps.evidence(claims, []))

    def _verdict(self, claims: tuple[Claim, ...], judged: list[VotedClaim]) -> Verdict:
        share = score([claim.standing for claim in judged], exact(self.idk_penalty_weight))
        if share is None:
            count = len(judged)
            raise NoVerdict(f"all {count} checkable claims are unknown, and `idk_penalty_weight: 0` leaves them out")
        return Verdict(float(share), None, steps.summary(judged), steps.evidence(claims, judged))
