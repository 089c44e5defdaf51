"""Asks for the claims of an answer and for a verdict on each of them by id, and tells what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from gradegate.errors import Unreadable
from gradegate.grading import scalars
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import verdicts
from gradegate.grading.metrics.factscore import Standing, VotedClaim
from gradegate.grading.metrics.metric import clipped
from gradegate.grading.metrics.verdicts import TEXT, Judgement
from gradegate.grading.reading.form import Form
from gradegate.grading.rubric import list_of, shape

STEPS = ("claims", "verdicts", "grounded")
WORDS: Mapping[str, str] = {"true": "true", "false": "false", "idk": "idk"}
NAMED = 5  # claims that a summary quotes; the evidence has all
_CLAIMS = list_of("claims", shape(claim=TEXT, checkable={"type": "boolean"}))
_VERDICTS = list_of("verdicts", shape(id={"type": "integer"}, reason=TEXT, verdict={**TEXT, "enum": list(WORDS)}))


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim under the id that it keeps, from 1."""

    id: int
    text: str
    checkable: bool  # evidence could show it to be right or wrong; only such claims count


def ask_claims(judge: Judge, output: str, source: str) -> tuple[Claim, ...]:
    """What an answer claims, in its order; may be nothing. Raises NoVerdict and ProviderError."""
    return judge.ask("factfulness-claims", Form(_CLAIMS, read_claims), step="claims", output=output, source=source)


def ask_verdicts(judge: Judge, claims: Sequence[Claim], source: str | None, sampling: Mapping[str, Any]) -> Mapping[int, Judgement[str]]:
    """One run: a verdict on each claim by id, from knowledge alone or with a source. Raises NoVerdict, ProviderError."""
    form = Form(_VERDICTS, partial(read_verdicts, ids=frozenset(claim.id for claim in claims)))
    numbered = [{"id": claim.id, "claim": claim.text} for claim in claims]
    if source is None:
        return judge.ask("factfulness-verdicts", form, step="verdicts", options=sampling, claims=numbered)
    return judge.ask("factfulness-grounded", form, step="grounded", options=sampling, claims=numbered, source=source)


# --- reading --------------------------------------------------------------------------------------------------


def read_claims(found: Mapping[str, Any]) -> tuple[Claim, ...]:
    """``{"claims": [{"claim", "checkable"}]}``. Raises Unreadable."""
    return tuple(_claim(number, item) for number, item in enumerate(scalars.table(found, "claims"), 1))


def _claim(number: int, item: Any) -> Claim:
    text = item.get("claim") if isinstance(item, Mapping) else None
    if not isinstance(text, str) or not text.strip():
        raise Unreadable(f'claim {number} is not a JSON object with a text under the key "claim"')
    checkable = scalars.truth(item.get("checkable"))
    if checkable is None:
        raise Unreadable(f'"checkable" of claim {number} is neither true nor false')
    return Claim(number, " ".join(text.split()), checkable)  # on one line, so that it cannot pass for several


def read_verdicts(found: Mapping[str, Any], ids: frozenset[int]) -> Mapping[int, Judgement[str]]:
    """``{"verdicts": [{"id", "verdict", "reason"}]}``, each id exactly once. Raises Unreadable."""
    by_id: dict[int, Judgement[str]] = {}
    for item in scalars.table(found, "verdicts"):
        number = scalars.number(item.get("id")) if isinstance(item, Mapping) else None
        if number is None or number not in ids:
            raise Unreadable(f"a verdict has no id, or one that is not one of {_numbers(ids)}")
        if int(number) in by_id:
            raise Unreadable(f"there are two verdicts with the id {int(number)}")
        by_id[int(number)] = verdicts.judgement(item, WORDS)
    if len(by_id) < len(ids):
        raise Unreadable(f"there is no verdict with the id {_numbers(ids - set(by_id))}")
    return by_id


def _numbers(ids: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(ids)))


# --- telling --------------------------------------------------------------------------------------------------


def summary(judged: Sequence[VotedClaim]) -> str:
    """How many claims are true, and the first of those that are not."""
    counts = {which: sum(voted.standing is which for voted in judged) for which in Standing}
    parts = [f"{counts[Standing.TRUE]} of {len(judged)} checkable claims are true"]
    words = ((Standing.FALSE, "false"), (Standing.TIE, "tied"), (Standing.UNKNOWN, "unknown"))
    parts[0] += "".join(f", {counts[which]} {word}" for which, word in words if counts[which])
    bad = [voted for which, _ in words for voted in judged if voted.standing is which]
    shown = ((f'{it.standing.value}: "{clipped(it.claim)}"', f" ({clipped(it.reason)})" if it.reason else "") for it in bad[:NAMED])
    parts += map("".join, shown)
    return "; ".join([*parts, *([f"and {len(bad) - NAMED} more"] if len(bad) > NAMED else [])])


def evidence(claims: Sequence[Claim], judged: Sequence[VotedClaim]) -> dict[str, Any]:
    """Every claim with the votes of each run; ``false_details`` and ``unknown_details`` as Aegis has them."""
    unknown = sum(voted.standing is Standing.UNKNOWN for voted in judged)
    return {
        "false_details": [_detail(voted) for voted in judged if voted.standing is Standing.FALSE],
        "unknown_details": [_detail(voted) for voted in judged if voted.standing in (Standing.UNKNOWN, Standing.TIE)],
        "non_checkable": [claim.text for claim in claims if not claim.checkable],
        "unknown_ratio": unknown / len(judged) if judged else None,
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


def _detail(voted: VotedClaim) -> dict[str, Any]:
    tie = {"tie": True} if voted.standing is Standing.TIE else {}
    return {"claim": voted.claim, "reason": voted.reason, **tie}
