"""Base classes and helpers for the frozen values of the whole program: msgspec's structs.

They are defined and made ten times as fast as dataclasses.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, TypeVar, dataclass_transform

import msgspec
from msgspec import Meta, Struct, structs

__all__ = [
    "Count",
    "FrozenStruct",
    "JsonObject",
    "NamedTexts",
    "PartlyEqual",
    "Sha256",
    "Struct",
    "field_names",
    "inherit_fields",
    "replace",
]

JsonObject = Mapping[str, Any]  # a JSON object, also one of a config or of a vendor
NamedTexts = Mapping[str, str]  # texts by name: an environment, outputs, digests of files
Count = Annotated[int, Meta(ge=0)]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
T = TypeVar("T")
S = TypeVar("S", bound=Struct)


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class FrozenStruct(Struct, frozen=True):
    """A struct that nobody can change, and a base for such structs."""


class PartlyEqual(FrozenStruct, eq=False):
    """A struct that is compared without its fields in ``not_compared``."""

    not_compared: ClassVar[Sequence[str]] = ()

    def _compared_values(self) -> tuple[Any, ...]:
        return tuple(
            getattr(self, name) for name in self.__struct_fields__ if name not in self.not_compared
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartlyEqual) or type(self) is not type(other):
            return False
        return self._compared_values() == other._compared_values()

    def __ne__(self, other: object) -> bool:  # structs define it themselves
        return not self == other

    def __hash__(self) -> int:
        return hash(self._compared_values())


def replace(value: T, /, **changes: Any) -> T:
    """Copy a struct or a dataclass and change the fields that ``changes`` names. Raises TypeError for an unknown field."""
    if isinstance(value, Struct):
        return structs.replace(value, **changes)
    return dataclasses.replace(value, **changes)  # type: ignore[type-var]


def inherit_fields(value: S, base: S, joined: Sequence[str] = ()) -> S:
    """Fill the fields of a struct that have their default from ``base``. Mappings in ``joined`` get the keys of both."""
    if value is base:
        return value
    defaults = type(value)()
    changes = dict[str, Any]()
    for name in value.__struct_fields__:
        field, inherited, default = (getattr(struct, name) for struct in (value, base, defaults))
        if inherited is default or inherited == default:
            continue
        if name in joined:
            changes[name] = {**inherited, **field}
        elif field == default:
            changes[name] = inherited
    return structs.replace(value, **changes) if changes else value


def field_names(value: Any) -> tuple[str, ...]:
    """The names of the fields of a struct or dataclass, or of such a class, in order. An empty tuple for anything else."""
    if dataclasses.is_dataclass(value):
        return tuple(field.name for field in dataclasses.fields(value))
    return getattr(value, "__struct_fields__", ())
