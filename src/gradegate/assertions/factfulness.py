"""factfulness: the claims of an answer, voted on by independent runs of a model that knows the world.

Score: true claims over claims that count, where a claim that no run knows counts ``idk_penalty_weight``. This is our reading of
https://docs.aegisevals.ai/docs/metrics/General/factfulness-metric, which gives no formula; docs/assertions/factfulness.md has the
readings that were not taken. The share of atomic claims that are true is that of FActScore (https://arxiv.org/abs/2305.14251).
"""

import enum
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from gradegate.assertions.grading.evaluator import (
    Judge,
    ModelEvaluator,
    NoVerdict,
    Requirements,
    Scoring,
    Transcript,
    Unreadable,
    Verdict,
    assertion,
)
from gradegate.assertions.judge import form, prose, verdict_forms
from gradegate.assertions.judge.form import Form, Object, list_schema, object_schema
from gradegate.assertions.judge.verdict_forms import TEXT, Judgement, Judgements
from gradegate.assertions.metrics.conversation import shorten
from gradegate.assertions.metrics.units import NoClaims, verdict_without_units
from gradegate.core.conversation import Variables
from gradegate.core.field_types import Number, Share
from gradegate.core.numbers import exact_fraction
from gradegate.structs import NamedTexts

WORDS: NamedTexts = {"true": "true", "false": "false", "idk": "idk"}
NAMED = 5  # claims that a summary quotes; the evidence has all
_CLAIMS = list_schema("claims", object_schema(claim=TEXT, checkable={"type": "boolean"}))


class Standing(enum.Enum):
    """Whether a claim is true, by its votes."""

    TRUE = "true"
    FALSE = "false"
    TIE = "tie"  # as many true as false: counts in full, and not as true
    UNKNOWN = "unknown"  # every run said idk: counts with the penalty weight


_NOT_TRUE = {Standing.FALSE: "false", Standing.TIE: "tied", Standing.UNKNOWN: "unknown"}


def count_votes(words: Iterable[str]) -> Standing:
    """Count votes, each "true", "false" or "idk". An idk abstains, so one decided vote is enough."""
    votes = list(words)
    true = votes.count("true")
    false = votes.count("false")
    if true == false:
        return Standing.TIE if true else Standing.UNKNOWN
    return Standing.TRUE if true > false else Standing.FALSE


class Claim(NamedTuple):
    """One claim under the id that it keeps, from 1."""

    id: int
    text: str
    checkable: bool  # evidence could show it to be right or wrong; only such claims count


class VotedClaim(NamedTuple):
    """A checkable claim with its id and its votes, one of each run.

    ``second`` has votes if every run of the first phase said idk. Then these votes decide.
    """

    id: int
    claim: str
    first: Judgements
    second: Judgements = ()

    @property
    def deciding_votes(self) -> Judgements:
        """The votes of the last phase that voted on the claim."""
        return self.second or self.first

    @property
    def standing(self) -> Standing:
        """Whether the claim is true, by the deciding votes."""
        return count_votes(vote.verdict for vote in self.deciding_votes)

    @property
    def reason(self) -> str:
        """The reason of the first run that voted for the outcome. For a tie, one reason of each side."""
        reasons: dict[str, str] = {}  # by vote, of the first run
        for vote in self.deciding_votes:
            reasons.setdefault(vote.verdict, vote.reason)

        standing = self.standing
        if standing is Standing.TIE:
            return f"true: {reasons['true']}; false: {reasons['false']}"
        if standing is Standing.UNKNOWN:
            return reasons["idk"]
        return reasons[standing.value]


def score(standings: Sequence[Standing], idk_penalty_weight: Fraction) -> Fraction | None:
    """The share of true claims among all that count, from 0 to 1. None if nothing counts.

    T / (T + F + w·I): T are the true claims, F the false and tied ones, I the unknown ones, w is the penalty weight from 0 to 1.
    """
    true = standings.count(Standing.TRUE)
    unknown = standings.count(Standing.UNKNOWN)
    whole = len(standings) - unknown + idk_penalty_weight * unknown
    return Fraction(true) / whole if whole else None


@assertion("factfulness")
class Factfulness(ModelEvaluator):
    """The claims of the answer are true, by the votes of independent runs of a grading model."""

    scoring = Scoring(0.7, scale=100)
    requires = Requirements(("text",), ("claims", "verdicts", "grounded"))

    value: str | None = None
    """The source; without it the variable `input` or `context`."""
    threshold: Number | None = None  # compared by the gate
    n_runs: Annotated[int, Field(strict=True, ge=1)] = 3
    idk_penalty_weight: Annotated[Share, Field(strict=True)] = 0.25
    mode: Literal["knowledge", "grounded"] = "knowledge"
    no_claims: NoClaims = "error"
    # Of the runs: at 0 they would all say the same
    temperature: Annotated[Number, Field(strict=True, ge=0)] = 1.0

    def missing_variables(self, variables: Variables) -> str:
        if self._source(variables):
            return ""
        return "there is no source; give `value`, or the variable `input` or `context`"

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """The share of checkable claims that are true, from 0 to 1; exact until the last step."""
        source = self._source(transcript.vars)
        output = transcript.output
        if not output.strip():
            raise NoVerdict("the answer is empty, so it claims nothing")
        if not source:
            raise NoVerdict("there is no source to check the answer with")

        judge = judge.with_graded(output, source)
        claims = judge.ask(
            "factfulness-claims",
            Form(_CLAIMS, parse_claims),
            step="claims",
            output=output,
            source=source,
        )
        checkable = [claim for claim in claims if claim.checkable]
        if not checkable:
            what = f"nothing in the answer can be checked ({len(claims)} claims)"
            return verdict_without_units(what, self.no_claims, _evidence(claims, []))

        voted_claims = self._vote(judge, checkable, source)
        standings = [voted.standing for voted in voted_claims]
        share = score(standings, exact_fraction(self.idk_penalty_weight))
        if share is None:
            raise NoVerdict(
                f"all {len(voted_claims)} checkable claims are unknown, and `idk_penalty_weight: 0` leaves them out"
            )
        return Verdict(float(share), None, _summary(voted_claims), _evidence(claims, voted_claims))

    def _source(self, variables: Variables) -> str:
        """The source that claims are checked with. Empty if there is no source."""
        for source in (self.value, variables.get("input"), variables.get("context")):
            text = source
            if isinstance(source, list | tuple):
                text = "\n\n".join(map(str, source))
            if isinstance(text, str) and text.strip():
                return text
        return ""

    def _vote(
        self,
        judge: Judge,
        claims: list[Claim],
        source: str,
    ) -> list[VotedClaim]:
        """Let the runs vote on every claim. With ``mode: knowledge``, vote on unknown claims again, with the source."""
        is_grounded = self.mode == "grounded"
        first_source = source if is_grounded else None
        votes = self._ask_runs(judge, claims, first_source, first_seed=1)

        unknown_claims = []
        for claim in claims:
            words = [vote.verdict for vote in votes[claim.id]]
            if not is_grounded and count_votes(words) is Standing.UNKNOWN:
                unknown_claims.append(claim)
        second_votes = {}
        if unknown_claims:
            second_votes = self._ask_runs(judge, unknown_claims, source, first_seed=self.n_runs + 1)

        voted_claims = []
        for claim in claims:
            first = votes[claim.id]
            second = second_votes.get(claim.id, ())
            voted_claims.append(VotedClaim(claim.id, claim.text, first, second))
        return voted_claims

    def _ask_runs(
        self,
        judge: Judge,
        claims: list[Claim],
        source: str | None,
        first_seed: int,
    ) -> dict[int, Judgements]:
        """The votes of all runs by the id of the claim. Without a source, the model votes by its knowledge."""
        ids = [claim.id for claim in claims]
        schema = verdict_forms.verdicts_schema(ids, WORDS)
        verdicts_form = Form(schema, partial(verdict_forms.verdicts_by_id, ids=ids, words=WORDS))
        step = "verdicts"
        variables: dict[str, Any] = {}
        if source is not None:
            step = "grounded"
            variables["source"] = source

        def ask_run(number: int) -> Mapping[int, Judgement[str]]:
            # Each run has another seed and another order: some models take no temperature, and some servers
            # repeat a reply from a cache.
            start = number * len(claims) // self.n_runs
            ordered_claims = claims[start:] + claims[:start]
            return judge.ask(
                f"factfulness-{step}",
                verdicts_form,
                step=step,
                options={"temperature": self.temperature, "seed": first_seed + number},
                claims=[{"id": claim.id, "claim": claim.text} for claim in ordered_claims],
                **variables,
            )

        runs = judge.gather(*(partial(ask_run, number) for number in range(self.n_runs)))
        votes = {}
        for claim in claims:
            votes[claim.id] = tuple(run[claim.id] for run in runs)
        return votes


def parse_claims(reply: Object) -> tuple[Claim, ...]:
    """Parse ``{"claims": [{"claim", "checkable"}]}``, in the order of the answer. There may be no claims. Raises Unreadable."""
    claims = []
    for number, item in enumerate(form.required_list(reply, "claims"), 1):
        text = item.get("claim") if isinstance(item, Mapping) else None
        if not isinstance(text, str) or not prose.has_words(text):
            raise Unreadable(
                f'claim {number} is not a JSON object with a text under the key "claim"'
            )
        checkable = form.parse_truth(item.get("checkable"))
        if checkable is None:
            raise Unreadable(f'"checkable" of claim {number} is not a boolean')
        # In one line, because a claim of several lines would look like several claims.
        claims.append(Claim(number, " ".join(text.split()), checkable))
    return tuple(claims)


def _summary(voted_claims: Sequence[VotedClaim]) -> str:
    """Say how many claims are true, and quote the first claims that are not."""
    true_count = sum(voted.standing is Standing.TRUE for voted in voted_claims)
    counts = f"{true_count} of {len(voted_claims)} checkable claims are true"
    not_true: list[VotedClaim] = []
    for standing, word in _NOT_TRUE.items():
        claims = [voted for voted in voted_claims if voted.standing is standing]
        if claims:
            counts += f", {len(claims)} {word}"
        not_true += claims

    parts = [counts]
    for voted in not_true[:NAMED]:
        reason = f" ({shorten(voted.reason)})" if voted.reason else ""
        parts.append(f'{voted.standing.value}: "{shorten(voted.claim)}"{reason}')
    if len(not_true) > NAMED:
        parts.append(f"and {len(not_true) - NAMED} more")
    return "; ".join(parts)


def _evidence(claims: Sequence[Claim], voted_claims: Sequence[VotedClaim]) -> Object:
    """Every claim with the votes of each run. ``false_details`` and ``unknown_details`` are as in Aegis."""
    false_details = []
    unknown_details = []
    unknown_count = 0
    votes = []
    for voted in voted_claims:
        detail: dict[str, Any] = {"claim": voted.claim, "reason": voted.reason}
        match voted.standing:
            case Standing.FALSE:
                false_details.append(detail)
            case Standing.TIE:
                unknown_details.append({**detail, "tie": True})
            case Standing.UNKNOWN:
                unknown_details.append(detail)
                unknown_count += 1

        row: dict[str, Any] = {
            "id": voted.id,
            "claim": voted.claim,
            "outcome": voted.standing.value,
            "first": [vote.verdict for vote in voted.first],
        }
        if voted.second:
            row["second"] = [vote.verdict for vote in voted.second]
        votes.append(row)

    return {
        "false_details": false_details,
        "unknown_details": unknown_details,
        "non_checkable": [claim.text for claim in claims if not claim.checkable],
        "unknown_ratio": unknown_count / len(voted_claims) if voted_claims else None,
        "factual_density": len(voted_claims) / len(claims) if claims else None,
        "votes": votes,
    }
