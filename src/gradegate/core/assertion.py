"""One assertion as a config says it."""

from collections.abc import Iterator
from typing import Any

from gradegate.core.provider_spec import NOWHERE, Code, Graders, ProviderSpec
from gradegate.errors import Origin
from gradegate.structs import FrozenStruct, JsonObject

ASSERT_SET = "assert-set"  # the type of an assertion that has members instead of a value


class Held:
    """What the type, weight and blocking of an assertion come to, written, planned, graded or kept of a base."""

    __slots__ = ()
    type: str
    weight: float
    blocking: bool
    metric: str

    @property
    def negated(self) -> bool:
        """Whether the type starts with ``not-``."""
        return self.type.startswith("not-")

    @property
    def counts(self) -> bool:
        """Whether its grades take part in deciding: it blocks, and it has weight."""
        return self.blocking and self.weight != 0


class Assertion(Held, FrozenStruct):
    """One assertion as written. ``type`` keeps its ``not-``; ``members`` belong to an assert-set."""

    type: str
    value: Any = None
    threshold: float | None = None
    weight: float = 1.0
    metric: str = ""
    blocking: bool = True
    graders: Graders = {}
    rubric_prompt: Any = None
    config: JsonObject = {}
    transform: Code = ""  # of the answer, for this assertion alone
    context_transform: Code = ""
    # The grader's model by its bare name: --grader says which provider serves it
    model_slug: str = ""
    members: "tuple[Assertion, ...]" = ()
    reask: str = ""  # how its failures are asked again; empty where the gate says it
    origin: Origin = NOWHERE

    def specs(self) -> Iterator[ProviderSpec]:
        """Every model that the assertion names, those of its members too."""
        yield from self.graders.values()
        for member in self.members:
            yield from member.specs()
