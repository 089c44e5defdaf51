"""What calls used: tokens, dollars and seconds, and what the cache and the budget report."""

import math
import operator
from typing import Annotated

from msgspec import Meta
from msgspec.structs import astuple, force_setattr

from gradegate.core.policy import NO_LIMITS, Limits
from gradegate.structs import FrozenStruct


class Readings(FrozenStruct):
    """How many replies of graders were read in each form, were asked for once more, and could not be read."""

    constrained: int = 0
    alone: int = 0
    apart: int = 0
    last_line: int = 0
    lines: int = 0
    asked_again: int = 0
    unreadable: int = 0

    def __add__(self, other: "Readings") -> "Readings":
        if self is NO_READINGS:
            return other
        if other is NO_READINGS:
            return self
        return Readings(*map(operator.add, astuple(self), astuple(other)))


NO_READINGS = Readings()


class Took(FrozenStruct):
    """What an answer took for which the target was asked in its run; ``usd`` is None where the price is unknown."""

    usd: float | None
    seconds: float


class Increase(FrozenStruct):
    """Means of an answer on the base and here, over the answers that both sides asked for, in US dollars or in seconds.

    The difference lies between ``low`` and ``high`` in 99 % of runs.
    """

    compared: int
    base: float
    here: float
    low: float
    high: float


class Usage(FrozenStruct):
    """What calls cost: tokens, US dollars, seconds."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    unpriced: Annotated[int, Meta(description="Calls whose price is unknown.")] = 0
    seconds: float = 0.0
    reasks: Annotated[
        int, Meta(description="Graders re-asked because their reply contained no verdict.")
    ] = 0
    cached: Annotated[
        int, Meta(description="Replies that came from the cache; they are not among the calls.")
    ] = 0
    saved: float = 0.0  # what those would have cost
    untimed: int = 0  # calls of which nobody says how long they took, as of a recorded answer
    readings: Readings = NO_READINGS

    def __post_init__(self) -> None:
        # An amount that is not finite would spoil every sum, and no file can contain it.
        for name in ("cost", "seconds", "saved"):
            if not math.isfinite(getattr(self, name)):
                force_setattr(self, name, 0.0)

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def known_cost(self) -> float | None:
        """US dollars, or None when the price of any call is unknown."""
        return None if self.unpriced else self.cost

    def __add__(self, other: "Usage") -> "Usage":
        if self is NO_USAGE:  # as the first of every sum is
            return other
        if other is NO_USAGE:
            return self
        return Usage(*map(operator.add, astuple(self), astuple(other)))


NO_USAGE = Usage()


class BudgetReport(FrozenStruct):
    """What a run could take, and what it took: requests that were sent, and the dollars that are known of."""

    limits: Limits = NO_LIMITS
    calls: int = 0
    usd: float = 0.0
    used_up: str = ""  # the limit that was reached, as people read it: "2000 calls"


class CacheReport(FrozenStruct):
    """What came from the cache of replies: ``hits`` of ``looked_up`` questions, the oldest reply so many seconds old."""

    looked_up: int = 0
    hits: int = 0
    oldest: float = 0.0
    saved_usd: float = 0.0

    def __add__(self, other: "CacheReport") -> "CacheReport":
        """Both reports as one."""
        return CacheReport(
            self.looked_up + other.looked_up,
            self.hits + other.hits,
            max(self.oldest, other.oldest),
            self.saved_usd + other.saved_usd,
        )
