"""One assertion as a config has it, and the part of it that rules and reports see.

A field is declared here once. Keys of a config are read into the field with their name. ``results.json`` contains the fields
of ``PublishedAssertion``. Every field without a ``Compared`` mark is compared with the base by its value.
"""

import enum
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

from msgspec.structs import fields

from gradegate.core.provider_spec import NOWHERE, Code, Graders, ProviderSpec
from gradegate.errors import Origin
from gradegate.structs import FrozenStruct, JsonObject

ASSERT_SET = "assert-set"  # the type of an assertion that has members instead of a value


class Compared(enum.Enum):
    """How a field of an assertion is compared with the base. Another value of a field without a mark is a change."""

    APART = "planning/snapshot has a term for it, and gate/changes says what a difference means"
    NEVER = "it does not change what is asserted"


class AssertionTraits:
    """What the type, weight and blocking of an assertion mean, in a config, a plan, a grade or a snapshot."""

    __slots__ = ()
    type: str
    weight: float
    blocking: bool
    metric: str

    @property
    def is_negated(self) -> bool:
        """Whether the type starts with ``not-``."""
        return self.type.startswith("not-")

    @property
    def counts(self) -> bool:
        """Whether its grades decide: it blocks, and it has weight."""
        return self.blocking and self.weight != 0


class PublishedAssertion(AssertionTraits, FrozenStruct):
    """The part of an assertion that rules and reports see: no model and no key."""

    type: Annotated[str, Compared.APART]  # with its `not-`
    value: Annotated[Any, Compared.APART] = None
    weight: Annotated[float, Compared.APART] = 1.0
    metric: Annotated[str, Compared.APART] = ""
    blocking: Annotated[bool, Compared.APART] = True
    config: Annotated[JsonObject, Compared.APART] = {}
    # The grader's model by its bare name: --grader says which provider serves it
    model_slug: Annotated[str, Compared.APART] = ""
    origin: Annotated[Origin, Compared.NEVER] = NOWHERE


class Assertion(PublishedAssertion):
    """One assertion of a config."""

    threshold: Annotated[float | None, Compared.APART] = None
    graders: Annotated[Graders, Compared.APART] = {}
    rubric_prompt: Annotated[Any, Compared.APART] = None
    transform: Code = ""  # of the answer, for this assertion only
    context_transform: Code = ""
    members: "Annotated[tuple[Assertion, ...], Compared.APART]" = ()  # of an assert-set
    # How its failures are re-asked; empty: as the gate says
    reask: Annotated[str, Compared.APART] = ""

    def provider_specs(self) -> Iterator[ProviderSpec]:
        """Every model that the assertion names, those of its members too."""
        yield from self.graders.values()
        for member in self.members:
            yield from member.provider_specs()

    @property
    def other_fields(self) -> dict[str, Any]:
        """The fields that are compared only by their values, if they are set."""
        written = {name: getattr(self, name) for name in _OTHERS}
        return {name: value for name, value in written.items() if value != _OTHERS[name]}


# With their defaults: the fields that no word marks
_OTHERS = {
    field.name: field.default
    for field in fields(Assertion)
    if get_origin(field.type) is not Annotated
    or not any(isinstance(mark, Compared) for mark in get_args(field.type))
}
