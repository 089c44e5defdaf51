"""What the calls of a run used: tokens, dollars and seconds, and what came from the cache."""

import math
import operator
from typing import Annotated

from msgspec import Meta
from msgspec.structs import astuple, force_setattr

from gradegate.core.policy import NO_LIMITS, Limits
from gradegate.structs import FrozenStruct


class Readings(FrozenStruct):
    """How many replies of graders had their verdict in which form, and how many had none."""

    constrained: int = 0  # an object of a schema that the provider enforces
    alone: int = 0  # an object and nothing else
    apart: int = 0  # an object after other text
    last_line: int = 0
    lines: int = 0  # every line
    asked_again: int = 0  # replies that were asked for once more
    unreadable: int = 0

    def __add__(self, other: "Readings") -> "Readings":
        if self is NO_READINGS:
            return other
        if other is NO_READINGS:
            return self
        return Readings(*map(operator.add, astuple(self), astuple(other)))


NO_READINGS = Readings()


class Took(FrozenStruct):
    """The cost and the time of an answer for which its run asked the target."""

    usd: float | None  # None: the price is unknown
    seconds: float


class Increase(FrozenStruct):
    """How much more an answer takes than on the base: in US dollars, or in seconds."""

    compared: int  # answers that both sides asked for
    base: float  # the mean of these answers
    here: float
    # The 99 % interval of the difference between the means
    low: float
    high: float


class Usage(FrozenStruct):
    """What calls used. ``+`` adds every field."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0  # US dollars
    unpriced: Annotated[int, Meta(description="Calls whose price is unknown.")] = 0
    seconds: float = 0.0
    reasks: Annotated[
        int, Meta(description="Graders re-asked because their reply contained no verdict.")
    ] = 0
    cached: Annotated[
        int, Meta(description="Replies that came from the cache; they are not among the calls.")
    ] = 0
    saved: float = 0.0  # US dollars that the cached replies would have cost
    untimed: int = 0  # calls that took an unknown time, such as those of recorded answers
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
        """US dollars. None if the price of any call is unknown."""
        return None if self.unpriced else self.cost

    def __add__(self, other: "Usage") -> "Usage":
        if self is NO_USAGE:  # as the first of every sum is
            return other
        if other is NO_USAGE:
            return self
        return Usage(*map(operator.add, astuple(self), astuple(other)))


NO_USAGE = Usage()


class BudgetReport(FrozenStruct):
    """The limits of a run, and what it used of them."""

    limits: Limits = NO_LIMITS
    calls: int = 0  # requests that were sent
    usd: float = 0.0  # as far as prices are known
    used_up: str = ""  # the limit that was reached: "2000 calls"; empty if none was


class CacheReport(FrozenStruct):
    """What came from the cache of replies."""

    looked_up: int = 0  # requests whose reply was looked for
    hits: int = 0  # replies that were found
    oldest: float = 0.0  # the age of the oldest of them in seconds
    saved_usd: float = 0.0

    def __add__(self, other: "CacheReport") -> "CacheReport":
        """Both reports together."""
        return CacheReport(
            self.looked_up + other.looked_up,
            self.hits + other.hits,
            max(self.oldest, other.oldest),
            self.saved_usd + other.saved_usd,
        )
