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
from gradegate.assertions.judge.form import Form, Object
from gradegate.assertions.judge.rubric import list_schema, object_schema
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
    """What the votes make of a claim."""

    TRUE = "true"
    FALSE = "false"
    TIE = "tie"  # as many true as false: counts in full, and not as true
    UNKNOWN = "unknown"  # every run said idk: counts with the penalty weight


_NOT_TRUE = {Standing.FALSE: "false", Standing.TIE: "tied", Standing.UNKNOWN: "unknown"}


def standing(words: Iterable[str]) -> Standing:
    """The outcome of votes, each "true", "false" or "idk". An idk abstains, so one decided vote is enough."""
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
    """A checkable claim with its id and its votes, one of each run; ``second`` where every run of the first phase said idk: then they count."""

    id: int
    claim: str
    first: Judgements
    second: Judgements = ()

    @property
    def standing(self) -> Standing:
        """What the deciding votes come to."""
        return standing(vote.verdict for vote in self.second or self.first)

    @property
    def reason(self) -> str:
        """The words of the first run that voted for the outcome; of a tie, those of both sides."""
        outcome = self.standing
        reasons = {vote.verdict: vote.reason for vote in reversed(self.second or self.first)}
        if outcome is Standing.TIE:
            return f"true: {reasons['true']}; false: {reasons['false']}"
        return reasons["idk" if outcome is Standing.UNKNOWN else outcome.value]


def score(standings: Sequence[Standing], idk_penalty_weight: Fraction) -> Fraction | None:
    """True claims over all that count, from 0 to 1; None where nothing counts.

    T / (T + F + w·I): ties count among F, I are the unknown ones, w is the penalty weight from 0 to 1.
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
            Form(_CLAIMS, read_claims),
            step="claims",
            output=output,
            source=source,
        )
        checkable = [claim for claim in claims if claim.checkable]
        if not checkable:
            what = f"nothing in the answer can be checked ({len(claims)} claims)"
            return verdict_without_units(what, self.no_claims, _evidence(claims, []))
        visible_source = source if self.mode == "grounded" else None
        first = self._votes(judge, checkable, visible_source, 0)
        unknown_claims = [
            claim
            for claim in checkable
            if standing(vote.verdict for vote in first[claim.id]) is Standing.UNKNOWN
        ]
        # What the source says has been seen already when it was shown to the first runs.
        second = {}
        if unknown_claims and visible_source is None:
            second = self._votes(judge, unknown_claims, source, self.n_runs)
        judged = [
            VotedClaim(claim.id, claim.text, first[claim.id], second.get(claim.id, ()))
            for claim in checkable
        ]
        share = score([claim.standing for claim in judged], exact_fraction(self.idk_penalty_weight))
        if share is None:
            raise NoVerdict(
                f"all {len(judged)} checkable claims are unknown, and `idk_penalty_weight: 0` leaves them out"
            )
        return Verdict(float(share), None, _summary(judged), _evidence(claims, judged))

    def _source(self, variables: Variables) -> str:
        for source in (self.value, variables.get("input"), variables.get("context")):
            text = "\n\n".join(map(str, source)) if isinstance(source, list | tuple) else source
            if isinstance(text, str) and text.strip():
                return text
        return ""

    def _votes(
        self, judge: Judge, claims: list[Claim], source: str | None, before: int
    ) -> dict[int, Judgements]:
        """The votes by claim, from knowledge alone or with a source; ``before`` is how many runs there were already."""
        ids = [claim.id for claim in claims]
        schema = verdict_forms.verdicts_schema(ids, WORDS)
        read = Form(schema, partial(verdict_forms.verdicts_by_id, ids=ids, words=WORDS))
        step = "verdicts" if source is None else "grounded"
        shown: dict[str, Any] = {} if source is None else {"source": source}

        def ask(number: int) -> Mapping[int, Judgement[str]]:
            # A seed and an order of its own: some models take no temperature, some servers answer alike from a cache.
            start = number * len(claims) // self.n_runs
            numbered = [
                {"id": claim.id, "claim": claim.text} for claim in claims[start:] + claims[:start]
            ]
            sampling = {"temperature": self.temperature, "seed": before + number + 1}
            return judge.ask(
                f"factfulness-{step}", read, step=step, options=sampling, claims=numbered, **shown
            )

        voted = judge.gather(*(partial(ask, number) for number in range(self.n_runs)))
        return {claim.id: tuple(run[claim.id] for run in voted) for claim in claims}


# --- reading --------------------------------------------------------------------------------------------------


def read_claims(found: Object) -> tuple[Claim, ...]:
    """``{"claims": [{"claim", "checkable"}]}``, in the order of the answer; may be nothing. Raises Unreadable."""
    claims = []
    for number, item in enumerate(form.required_list(found, "claims"), 1):
        text = item.get("claim") if isinstance(item, Mapping) else None
        if not isinstance(text, str) or not prose.has_words(text):
            raise Unreadable(
                f'claim {number} is not a JSON object with a text under the key "claim"'
            )
        checkable = form.parse_truth(item.get("checkable"))
        if checkable is None:
            raise Unreadable(f'"checkable" of claim {number} is not a boolean')
        # On one line, so that it cannot pass for several
        claims.append(Claim(number, " ".join(text.split()), checkable))
    return tuple(claims)


# --- telling --------------------------------------------------------------------------------------------------


def _summary(judged: Sequence[VotedClaim]) -> str:
    """How many claims are true, and the first of those that are not."""
    true_count = sum(voted.standing is Standing.TRUE for voted in judged)
    counts = f"{true_count} of {len(judged)} checkable claims are true"
    not_true: list[VotedClaim] = []
    for outcome, word in _NOT_TRUE.items():
        claims = [voted for voted in judged if voted.standing is outcome]
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


def _evidence(claims: Sequence[Claim], judged: Sequence[VotedClaim]) -> Object:
    """Every claim with the votes of each run; ``false_details`` and ``unknown_details`` as Aegis has them."""

    def details(*standings: Standing) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for voted in judged:
            if voted.standing in standings:
                rows.append({"claim": voted.claim, "reason": voted.reason})
                if voted.standing is Standing.TIE:
                    rows[-1]["tie"] = True
        return rows

    return {
        "false_details": details(Standing.FALSE),
        "unknown_details": details(Standing.UNKNOWN, Standing.TIE),
        "non_checkable": [claim.text for claim in claims if not claim.checkable],
        "unknown_ratio": sum(voted.standing is Standing.UNKNOWN for voted in judged) / len(judged)
        if judged
        else None,
        "factual_density": len(judged) / len(claims) if claims else None,
        "votes": [
            {
                "id": voted.id,
                "claim": voted.claim,
                "outcome": voted.standing.value,
                "first": [vote.verdict for vote in voted.first],
                **({"second": [vote.verdict for vote in voted.second]} if voted.second else {}),
            }
            for voted in judged
        ],
    }
