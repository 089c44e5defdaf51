"""Between values and the keys of results.json, both ways, by one declaration: the fields of the values themselves.

A shape has a key for each of them, by ``keys_of``; what is otherwise in the file is a key of its own, and ``At`` says where it is.
"""

import enum
import math
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache, partial
from operator import attrgetter
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, json, structs
from pydantic import BaseModel, ConfigDict, Field, create_model

from gradegate.core.provider_spec import NOWHERE
from gradegate.errors import Origin
from gradegate.files.documents import encodable
from gradegate.results.grades import Outcome
from gradegate.structs import FrozenStruct, names

Convert = Callable[[Any], Any]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
T = TypeVar("T")
P = TypeVar("P", bound="Part")
Reader = tuple[
    str, Convert, Convert
]  # the name of an attribute, how its key is got, what is made of that
SELF = ""
# Of a key, by that of its field; ``keys_of`` adds the shapes.
_TYPES: dict[Any, Any] = {
    Outcome: Literal["pass", "fail", "error"],
    bytes: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")],
}
_WRITE: dict[type, Convert] = {}  # what makes an object of a value, by shape
_UNIONS = (Union, types.UnionType)
_LARGE = (
    10**300
)  # longer integers are not numbers to most readers, and Python refuses to print very long ones


def plain(value: Any, depth: int = 40) -> Any:
    """Any value as data that every JSON reader accepts; NaN, infinities and anything unknown become text."""
    if isinstance(value, str):
        return encodable(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if -_LARGE < value < _LARGE else hex(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if depth == 0:
        return "…"
    if isinstance(value, dict | Mapping):  # of which the first costs nothing
        return {encodable(str(key)): plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [plain(item, depth - 1) for item in value]
    if fields := names(value):
        return {name: plain(getattr(value, name), depth - 1) for name in fields}
    return encodable(str(value))


def finite(number: float | None) -> float | None:
    """The number, or None for what JSON cannot write."""
    return number if number is not None and math.isfinite(number) else None


class At(FrozenStruct):
    """Where the value has what a key holds: attributes with dots between them, ``SELF`` for the value itself."""

    path: str | None  # None: it is handed in
    write: Convert | None = None  # makes the key's content of it
    read: Convert | None = None  # turns that back
    into: str | None = SELF  # another attribute that is read; None: it is not read


class Part:
    """An object of results.json: its annotations are its keys. pydantic makes a model of it where it is read or published."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, handler: Any) -> Any:
        return handler.generate_schema(model_of(cls))  # type: ignore[arg-type]  # a class can be hashed


@cache
def model_of(shape: type[Part]) -> Any:
    """The model of pydantic's that reads such an object."""
    given = {
        key: vars(kind).get(key, ...)
        for kind in reversed(shape.__mro__)
        for key in vars(kind).get("__annotations__", ())
    }
    keys: dict[str, Any] = {key: (hint, given[key]) for key, hint in _hints(shape).items()}
    config = ConfigDict(frozen=True, allow_inf_nan=False)
    return create_model(
        shape.__name__,
        __config__=config,
        __doc__=shape.__doc__,
        __module__=shape.__module__,
        **keys,
    )


def _hints(shape: type) -> dict[str, Any]:
    """The keys of a shape with what they hold."""
    hints = get_type_hints(shape, include_extras=True)
    return {key: hints[key] for key in getattr(shape, "model_fields", hints)}


def keys_of(
    kind: type, inside: str = "", later: str = "", without: str = "", *, alike: bool = False
) -> Callable[[type[P]], type[P]]:
    """Give a shape the keys of a value's fields, and of those of its attribute ``inside``, beside its own keys.

    A field has no key of its name where a key of the shape holds it already, or where it is among those ``without`` one.
    Keys that joined ``later`` may be missing from a file, and are then as the field is by default. Of values that are mostly
    ``alike``, equal ones are written once.
    """

    def complete(shape: type[P]) -> type[P]:
        own = _hints(shape)
        passed = {*without.split(), *own, inside, *(_at(*item).path for item in own.items())}
        parts = [(kind, "")]
        if inside:
            parts.append((get_type_hints(kind)[inside], f"{inside}."))
        for part, before in parts:
            hints = get_type_hints(part, include_extras=True)
            for field in structs.fields(part):
                if passed.isdisjoint((field.name, before + field.name)):
                    hint = hints[field.name]
                    about = get_args(hint)[1] if get_origin(hint) is Annotated else None
                    default: Any = ...
                    if field.name in later.split():
                        default = {} if field.default is NODEFAULT else field.default
                    made = _key_type(hint)
                    write = bytes.hex if hint is bytes or bytes in get_args(hint) else None
                    if before or write:  # few: it is slow
                        made = Annotated[made, At(before + field.name, write)]
                    shape.__annotations__[field.name] = made
                    setattr(shape, field.name, Field(default, description=about))
        _TYPES[kind] = shape
        write_line = partial(line, shape)
        _WRITE[shape] = lru_cache(maxsize=256)(write_line) if alike else write_line
        return shape

    return complete


def _key_type(hint: Any) -> Any:
    """The type that a key has in the file, of that of its field."""
    if get_origin(hint) is Annotated:
        return _key_type(get_args(hint)[0])
    if get_origin(hint) in _UNIONS:
        return Union[tuple(_key_type(kind) for kind in get_args(hint))]  # noqa: UP007  # of a list
    if get_origin(hint) is tuple:
        return list[_key_type(get_args(hint)[0])]  # type: ignore[misc]
    return dict[get_args(hint)] if get_origin(hint) is Mapping else _TYPES.get(hint, hint)  # type: ignore[misc]


def _at(key: str, hint: Any) -> At:
    if get_origin(hint) is Annotated:
        for extra in get_args(hint)[1:]:
            if isinstance(extra, At):
                return extra
    return At(key)


def line(shape: type, value: Any, **given: Any) -> dict[str, Any]:
    """The object that ``shape`` describes, of a value. ``given`` are the keys that the value does not have."""
    keys, get, writes = _writers(shape)
    content = dict(zip(keys, get(value), strict=False))
    for key, write, whole in writes:
        content[key] = write(value if whole else content[key])
    content.update(given)
    return content


@cache
def _writers(
    shape: type,
) -> tuple[Iterable[str], Convert, list[tuple[str, Convert, bool]]]:
    """The keys of a shape, what gets all that they hold at once, and what is made of some: of that, or of the whole value."""
    hints = _hints(shape)
    places = {key: at for key, hint in hints.items() if (at := _at(key, hint)).path is not None}
    writes = [(key, at.write or _dump(hints[key]), not at.path) for key, at in places.items()]
    get = attrgetter(
        *(at.path or "__class__" for at in places.values()), "__class__"
    )  # of several names it gives a tuple
    return (
        places,
        get,
        [(key, write or _getter(SELF), whole) for key, write, whole in writes if write or whole],
    )


def _getter(path: str) -> Convert:
    return attrgetter(path) if path else lambda value: value


def _dump(hint: Any) -> Convert | None:
    """How a value is written where that type is expected, None for what JSON takes as it is."""
    if get_origin(hint) is Annotated:
        return _dump(get_args(hint)[0])
    kinds = get_args(hint) if get_origin(hint) in _UNIONS else [hint]
    kind = next(kind for kind in kinds if kind is not types.NoneType)
    if isinstance(kind, type) and issubclass(kind, Part | BaseModel):
        write = _WRITE.get(kind) or partial(line, kind)
        return lambda value: None if value is None else write(value)
    if get_origin(kind) is list and (item := _dump(get_args(kind)[0])):
        return lambda values: [item(value) for value in values]
    if get_origin(kind) is dict:
        return plain
    if hint is float:
        return lambda number: (number if math.isfinite(number) else 0.0) or 0.0
    return None


_TO_JSON = json.Encoder(enc_hook=str)  # a text of another kind, such as one that is no template


def written(content: Any) -> str:
    """An object as one line of JSON, without bytes: an enumeration as its value, what is no number as null."""
    try:
        return _TO_JSON.encode(content).decode()
    except UnicodeEncodeError:  # lone surrogates
        return _TO_JSON.encode(_encodable(content)).decode()


def _encodable(content: Any) -> Any:
    """The same, each text valid UTF-8."""
    if isinstance(content, str):
        return encodable(content)
    if fields := names(content):
        return _encodable({name: getattr(content, name) for name in fields})
    if isinstance(content, Mapping):
        return {encodable(key): _encodable(item) for key, item in content.items()}
    return [_encodable(item) for item in content] if isinstance(content, list | tuple) else content


def value(kind: type[T], said: BaseModel | Part) -> T:
    """The value that an object was written from. What the shape does not keep is as the value has it by default."""
    return _made(kind, _readers(kind, type(said)), said)  # type: ignore[arg-type,no-any-return]  # a class can be hashed


@cache
def _readers(kind: type, shape: type) -> tuple[Reader, ...]:
    return tuple(_fields_read(kind, dict(_leaves(shape, "")), ""))


def _leaves(shape: type, above: str) -> Iterator[tuple[str, tuple[Convert, At]]]:
    """The keys of a shape by the attributes that they are read into; objects that stand for the value itself are opened."""
    for key, hint in _hints(shape).items():
        at = _at(key, hint)
        if at.path is None or at.into is None:
            continue
        if target := at.into or at.path:
            yield target, (attrgetter(above + key), at)
        else:
            yield from _leaves(get_args(hint)[0], f"{above}{key}.")


def _fields_read(
    kind: type, leaves: Mapping[str, tuple[Convert, At]], above: str
) -> Iterator[Reader]:
    hints = get_type_hints(kind)
    for name in names(kind):
        if at := leaves.get(above + name):
            yield name, at[0], at[1].read or _load(hints[name])
        elif any(path.startswith(f"{above}{name}.") for path in leaves):
            yield (
                name,
                _getter(SELF),
                partial(
                    _made, hints[name], tuple(_fields_read(hints[name], leaves, f"{above}{name}."))
                ),
            )


def _made(kind: Any, readers: Iterable[Reader], said: BaseModel | Part) -> Any:
    return kind(**{name: load(get(said)) for name, get, load in readers})


def _load(hint: Any) -> Convert:
    """How what is read becomes a value of that type."""
    if get_origin(hint) in _UNIONS:
        load = next(_load(kind) for kind in get_args(hint) if kind is not types.NoneType)
        return lambda said: None if said is None else load(said)
    if get_origin(hint) is tuple:
        item = _load(get_args(hint)[0])
        return lambda said: tuple(map(item, said))
    if hint is Origin:
        return lambda said: value(Origin, said) if said else NOWHERE
    if hint is bytes:
        return lambda said: bytes.fromhex(said or "")
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint
    if isinstance(hint, type) and names(hint):
        return lambda said: value(hint, said) if isinstance(said, BaseModel) else said
    return lambda said: said
