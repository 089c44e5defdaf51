"""Between values and the keys of results.json, both ways, by one declaration: the fields of the values themselves.

A shape has a key for each field of its value, by ``keys_of``; what is otherwise in the file is a key of its own, where ``At``
says which attribute it holds. The words of the schema stand beside the fields.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache, partial
from operator import attrgetter
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field, create_model
from pydantic_core import PydanticSerializationError, to_json

from gradegate.errors import Origin
from gradegate.results.jsonable import encodable, finite, plain
from gradegate.values.result import Outcome
from gradegate.values.suite import NOWHERE

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
SELF = ""
Word = Literal["pass", "fail", "error"]
Digest = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]
_TYPES: dict[Any, Any] = {Outcome: Word, bytes: Digest}  # of a key, by that of its field; ``keys_of`` adds the shapes


@dataclass(frozen=True, slots=True)
class At:
    """Where the value has what a key holds: attributes with dots between them, ``SELF`` for the value itself.

    ``write`` makes the key's content of it, and ``read`` turns that back, ``into`` another attribute where one is named.
    A key with a ``path`` of None is handed in, and one ``into`` None is not read.
    """

    path: str | None
    write: Callable[[Any], Any] | None = None
    read: Callable[[Any], Any] | None = None
    into: str | None = SELF


def keys_of(kind: type, inside: str = "", later: str = "", without: str = "") -> Callable[[type[M]], type[M]]:
    """Give a shape the keys of a value's fields, and of those of its attribute ``inside``, beside its own keys.

    A field has no key of its name where a key of the shape holds it already, or where it is among those ``without`` one. Keys that joined
    ``later`` may be missing from a file, and are then as the field is by default.
    """

    def complete(shape: type[M]) -> type[M]:
        own = get_type_hints(shape, include_extras=True)
        passed = {*without.split(), *own, inside}.union(filter(None, (_at(key, hint).path for key, hint in own.items())))
        keys: dict[str, Any] = {}
        for part, before in ((kind, ""), *([(get_type_hints(kind)[inside], f"{inside}.")] if inside else ())):
            hints = get_type_hints(part, include_extras=True)
            for field in fields(part):
                if passed.isdisjoint((field.name, before + field.name)):
                    hint = hints[field.name]
                    about = get_args(hint)[1] if get_origin(hint) is Annotated else None
                    default = {} if field.default is MISSING else field.default
                    default = default if field.name in later.split() else ...
                    keys[field.name] = Annotated[_key_type(hint), At(before + field.name)], Field(default, description=about)
        made = create_model(shape.__name__, __base__=shape, __module__=shape.__module__, __doc__=shape.__doc__, **keys)
        _TYPES[kind] = made
        return made

    return complete


def _key_type(hint: Any) -> Any:
    """The type that a key has in the file, of that of its field."""
    if get_origin(hint) is Annotated:
        return _key_type(get_args(hint)[0])
    if _is_union(hint):
        return Union[tuple(_key_type(kind) for kind in get_args(hint))]  # noqa: UP007  # of a list
    if get_origin(hint) is tuple:
        return list[_key_type(get_args(hint)[0])]  # type: ignore[misc]
    if get_origin(hint) is Mapping:
        return dict[get_args(hint)]  # type: ignore[misc]
    return _TYPES.get(hint, hint)


def line(shape: type[BaseModel], value: Any, **given: Any) -> dict[str, Any]:
    """The object that ``shape`` describes, of a value. ``given`` are the keys that the value does not have."""
    return {key: write(get(value)) if write else get(value) for key, get, write in _writers(shape)} | given


def written(content: Any) -> str:
    """An object as one line of JSON: an enumeration as its value, bytes as hexadecimal digits."""
    try:
        return to_json(content, inf_nan_mode="null", bytes_mode="hex").decode()
    except PydanticSerializationError:  # lone surrogates
        return to_json(_encodable(content), inf_nan_mode="null", bytes_mode="hex").decode()


def _encodable(content: Any) -> Any:
    """The same, each text valid UTF-8."""
    if isinstance(content, str):
        return encodable(content)
    if is_dataclass(content):
        return _encodable({field.name: getattr(content, field.name) for field in fields(content)})
    if isinstance(content, Mapping):
        return {encodable(key): _encodable(item) for key, item in content.items()}
    return [_encodable(item) for item in content] if isinstance(content, list | tuple) else content


def value(kind: type[T], said: BaseModel) -> T:
    """The value that an object was written from. What the shape does not keep is as the value has it by default."""
    made: T = _made(kind, _readers(kind, type(said)), said)  # type: ignore[arg-type]  # a class can be hashed
    return made


# --- writing --------------------------------------------------------------------------------------------------


@cache
def _writers(shape: type[BaseModel]) -> tuple[tuple[str, Callable[[Any], Any], Callable[[Any], Any] | None], ...]:
    hints = get_type_hints(shape, include_extras=True)
    places = {key: _at(key, hints[key]) for key in shape.model_fields}
    return tuple(
        (key, attrgetter(at.path) if at.path else _itself, at.write or _dump(hints[key]))
        for key, at in places.items()
        if at.path is not None
    )


def _itself(value: Any) -> Any:
    return value


def _dump(hint: Any) -> Callable[[Any], Any] | None:
    """How a value is written where that type is expected, None for what JSON takes as it is."""
    if get_origin(hint) is Annotated:
        return _dump(get_args(hint)[0])
    kinds = [kind for kind in get_args(hint) if kind is not types.NoneType] if _is_union(hint) else [hint]
    kind = kinds[0]
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return lambda value: None if value is None else line(kind, value)
    if get_origin(kind) is list and (item := _dump(get_args(kind)[0])):
        return lambda values: [item(value) for value in values]
    if get_origin(kind) is dict:
        return plain
    return (lambda number: finite(number) or 0.0) if hint is float else None


# --- reading --------------------------------------------------------------------------------------------------


Reader = tuple[str, Callable[[Any], Any], Callable[[Any], Any]]  # the name of an attribute, how its key is got, what is made of that


@cache
def _readers(kind: type, shape: type[BaseModel]) -> tuple[Reader, ...]:
    return tuple(_fields_read(kind, dict(_leaves(shape, "")), ""))


def _leaves(shape: type[BaseModel], above: str) -> Iterator[tuple[str, tuple[Callable[[Any], Any], At]]]:
    """The keys of a shape by the attributes that they are read into; objects that stand for the value itself are opened."""
    hints = get_type_hints(shape, include_extras=True)
    for key in shape.model_fields:
        at = _at(key, hints[key])
        if at.path is None or at.into is None:
            continue
        if target := at.into or at.path:
            yield target, (attrgetter(above + key), at)
        else:
            yield from _leaves(get_args(hints[key])[0], f"{above}{key}.")


def _fields_read(kind: type, leaves: Mapping[str, tuple[Callable[[Any], Any], At]], above: str) -> Iterator[Reader]:
    hints = get_type_hints(kind)
    for name in (field.name for field in fields(kind)):
        if at := leaves.get(above + name):
            yield name, at[0], at[1].read or _load(hints[name])
        elif any(path.startswith(f"{above}{name}.") for path in leaves):
            yield name, _itself, partial(_made, hints[name], tuple(_fields_read(hints[name], leaves, f"{above}{name}.")))


def _made(kind: Any, readers: Iterable[Reader], said: BaseModel) -> Any:
    return kind(**{name: load(get(said)) for name, get, load in readers})


def _load(hint: Any) -> Callable[[Any], Any]:
    """How what is read becomes a value of that type."""
    if _is_union(hint):
        loads = [_load(kind) for kind in get_args(hint) if kind is not types.NoneType]
        return lambda said: None if said is None else loads[0](said)
    if get_origin(hint) is tuple:
        item = _load(get_args(hint)[0])
        return lambda said: tuple(map(item, said))
    if hint is Origin:
        return lambda said: value(Origin, said) if said else NOWHERE
    if hint is bytes:
        return lambda said: bytes.fromhex(said or "")
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint
    if is_dataclass(hint) and isinstance(hint, type):
        return lambda said: value(hint, said) if isinstance(said, BaseModel) else said
    return lambda said: said


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType)


def _at(key: str, hint: Any) -> At:
    found = [extra for extra in get_args(hint)[1:] if isinstance(extra, At)] if get_origin(hint) is Annotated else []
    return found[0] if found else At(key)
