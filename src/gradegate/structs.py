"""Structs, which frozen values are made of: they are defined and made ten times as fast as dataclasses."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, TypeVar, dataclass_transform

import msgspec
from msgspec import Meta, Struct, structs

__all__ = [
    "Count",
    "FrozenStruct",
    "JsonObject",
    "Likened",
    "NamedTexts",
    "Sha256",
    "Struct",
    "inherited",
    "names",
    "replace",
]

JsonObject = Mapping[str, Any]  # data by text: of JSON, of a config, of what a vendor sends
NamedTexts = Mapping[str, str]  # texts by name: an environment, outputs, digests of files
Count = Annotated[int, Meta(ge=0)]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
T = TypeVar("T")
S = TypeVar("S", bound=Struct)


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class FrozenStruct(Struct, frozen=True):
    """A struct that nobody changes, as are those that are derived from it."""


class Likened(FrozenStruct, eq=False):
    """A struct that is equal to another one whatever their fields ``beside`` hold."""

    beside: ClassVar[Sequence[str]] = ()

    def _seen(self) -> tuple[Any, ...]:
        return tuple(
            getattr(self, name) for name in self.__struct_fields__ if name not in self.beside
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Likened)
            and type(self) is type(other)
            and self._seen() == other._seen()
        )

    def __ne__(self, other: object) -> bool:  # which structs have of their own
        return not self == other

    def __hash__(self) -> int:
        return hash(self._seen())


def replace(value: T, /, **changes: Any) -> T:
    """A struct or a dataclass with other fields."""
    return (structs.replace if isinstance(value, Struct) else dataclasses.replace)(value, **changes)  # type: ignore[type-var]


def inherited(own: S, base: S, joined: Sequence[str] = ()) -> S:
    """A struct over another one, whose is what it leaves at its default; the mappings ``joined`` hold the keys of both."""
    if own is base:
        return own
    changes = dict[str, Any]()
    values = map(structs.astuple, (own, base, type(own)()))
    for name, mine, other, default in zip(own.__struct_fields__, *values, strict=True):
        if other is not default and other != default and (name in joined or mine == default):
            changes[name] = {**other, **mine} if name in joined else other
    return structs.replace(own, **changes) if changes else own


def names(value: Any) -> tuple[str, ...]:
    """The fields of a struct or a dataclass, or of a class of them, in order; none of anything else."""
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
    return tuple(getattr(value, "__struct_fields__", ())) or tuple(field.name for field in fields)
