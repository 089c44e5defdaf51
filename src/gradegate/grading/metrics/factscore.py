"""From votes to a score: what the runs say of a claim, what that makes of it, and the exact share that is true.

The definition is our reading of Aegis's factfulness (docs.aegisevals.ai, metric ``factfulness``), which publishes no
formula; docs/assertions/factfulness.md gives it with the readings that were not taken. Pure arithmetic.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gradegate.grading.metrics.verdicts import Judgement


class Standing(enum.Enum):
    """What the votes make of a claim."""

    TRUE = "true"
    FALSE = "false"
    TIE = "tie"  # as many true as false: counts in full, and not as true
    UNKNOWN = "unknown"  # every run said idk: counts with the penalty weight


@dataclass(frozen=True, slots=True)
class VotedClaim:
    """A checkable claim with its id and one vote of each run; ``second`` where every run of the first phase said idk."""

    id: int
    claim: str
    first: tuple[Judgement[str], ...]
    second: tuple[Judgement[str], ...] = ()

    @property
    def deciding(self) -> tuple[Judgement[str], ...]:
        """The votes that count: those of the second phase where there was one."""
        return self.second or self.first

    @property
    def standing(self) -> Standing:
        """What the deciding votes come to."""
        return standing([vote.verdict for vote in self.deciding])

    @property
    def reason(self) -> str:
        """The words of the first run that voted for the outcome; of a tie, those of both sides."""
        here = self.standing
        if here is Standing.TIE:
            return "; ".join(f"{word}: {self._words(word)}" for word in ("true", "false"))
        return self._words("idk" if here is Standing.UNKNOWN else here.value)

    def _words(self, word: str) -> str:
        return next((vote.reason for vote in self.deciding if vote.verdict == word), "")


def standing(words: Iterable[str]) -> Standing:
    """The outcome of votes, each "true", "false" or "idk". An idk abstains, so one decided vote is enough."""
    votes = list(words)
    true, false = votes.count("true"), votes.count("false")
    if true == false:
        return Standing.TIE if true else Standing.UNKNOWN
    return Standing.TRUE if true > false else Standing.FALSE


def undecided(votes: Iterable[Judgement[str]]) -> bool:
    """Whether every run said idk."""
    return standing(vote.verdict for vote in votes) is Standing.UNKNOWN


def score(standings: Sequence[Standing], idk_penalty_weight: Fraction) -> Fraction | None:
    """True claims over all that count, from 0 to 1; None where nothing counts.

    T / (T + F + w·I): ties count among F, I are the unknown ones, w is the penalty weight from 0 to 1.
    """
    true, unknown = standings.count(Standing.TRUE), standings.count(Standing.UNKNOWN)
    whole = len(standings) - unknown + idk_penalty_weight * unknown
    return Fraction(true) / whole if whole else None
