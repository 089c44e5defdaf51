"""Reads the parts of a config file: checks their keys, finds their lines, and collects mistakes and notes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gradegate.config import providers, unknown_keys
from gradegate.config.dialect import Source
from gradegate.config.key_mistakes import validation_mistakes
from gradegate.config.keys import key_names
from gradegate.config.unknown_keys import UNSUPPORTED
from gradegate.core.field_types import EMPTY_THRESHOLD
from gradegate.core.policy import Note
from gradegate.core.provider_spec import UNREAD, Graders
from gradegate.errors import Complaints, Mistake, Origin, gather_mistakes
from gradegate.files import documents as document
from gradegate.registry import near_miss
from gradegate.structs import JsonObject, Struct

M = TypeVar("M", bound=BaseModel)


class ConfigReader(Struct, Complaints):
    """Reads one config file. What cannot be read is left out, so that the user sees all mistakes at once."""

    source: Source
    mistakes: list[Mistake] = []
    notes: list[Note] = []
    file: str = ""  # the config file, as messages show it; set from `source`

    def __post_init__(self) -> None:
        # Every test needs the name, and `source.file` follows links each time.
        self.file = self.source.file

    def origin_at(self, *path: str | int) -> Origin:
        """The place of the value at a path of the config."""
        return document.origin_of(self.file, self.source.content, *path)

    def items_with_origins(self, written: Any, *path: str | int) -> Iterator[tuple[Any, Origin]]:
        """Each item of a list at a path of the config, with its place.

        Another value counts as a list with this value, and null as an empty list.
        """
        if isinstance(written, list):
            for number, item in enumerate(written):
                yield item, self.origin_at(*path, number)
        elif written is not None:
            yield written, self.origin_at(*path)

    def check_keys(self, model: type[M], value: JsonObject, content: Any, file: str) -> M | None:
        """Read the keys of a mapping. A key with a mistake is left out, so that the others are checked too.

        These count as not written: keys that mean nothing (promptfoo ignores them, too), keys without a value, and an empty
        list of something unsupported (``extensions: []``). ``content`` is the mapping as it was read, which has the lines for
        mistakes. None if a required key cannot be read.
        """
        written = unknown_keys.without_idle_keys(
            model, _without_empty_unsupported(value), file, self.source.idle
        )
        try:
            return model.model_validate(written)
        except ValidationError as e:
            # A key without a value is null. A null that the model allows stays.
            written = _without_refused_nulls(written, e)

        # Again, because the first error may have been only about nulls.
        try:
            return model.model_validate(written)
        except ValidationError as e:
            self.mistakes += validation_mistakes(e, content, file, (), model)
            return _read_right_keys(model, written, e)

    def read_graders(self, written: Any, origin: Origin) -> Graders:
        """Read the models that ``written`` names; ``UNREAD`` if there is a mistake in it."""
        with gather_mistakes(self.mistakes):
            return providers.read_graders(written, self.source, origin)
        return {"*": UNREAD}  # after a ConfigError, which `gather_mistakes` caught


def _without_empty_unsupported(value: JsonObject) -> JsonObject:
    """A mapping without the unsupported keys that are empty."""
    if UNSUPPORTED.keys().isdisjoint(value):
        return value
    return {
        key: item for key, item in value.items() if key not in UNSUPPORTED or item not in ([], {})
    }


def _without_refused_nulls(value: JsonObject, error: ValidationError) -> JsonObject:
    """A mapping without the nulls that an error is about.

    The null of a threshold stays, and so its mistake: without the number, the default would decide.
    """
    for detail in error.errors(include_url=False):
        if detail["input"] is None and detail["type"] != EMPTY_THRESHOLD:
            keys = [step for step in detail["loc"] if isinstance(step, str)]
            value = _without_null(value, keys)
    return value


def _without_null(value: JsonObject, path: Sequence[str]) -> JsonObject:
    """A copy of a mapping without the null at a path of keys.

    Where a key may have one of several types, Pydantic adds the name of a type to the path, after the key. A null of the key
    itself is removed before that name is reached.
    """
    if not path or path[0] not in value:
        return value
    key, *inner_path = path
    inner = value[key]
    if inner is None:
        return {name: item for name, item in value.items() if name != key}
    if isinstance(inner, Mapping):
        return {**value, key: _without_null(inner, inner_path)}
    return value


def _read_right_keys(model: type[M], value: JsonObject, error: ValidationError) -> M | None:
    """Read a mapping without the keys that an error is about. None if a required key is among them.

    A misspelt key is read as it was meant, if possible. Without it, another mistake would follow: that a key is missing.
    """
    names = key_names(model)
    wrong = {str(detail["loc"][0]) for detail in error.errors() if detail["loc"]}
    right = {key: item for key, item in value.items() if key not in wrong}
    corrected = dict(right)
    for key in wrong:
        if key in value and key not in names:
            meant = near_miss(key, names - right.keys())
            if meant:
                corrected[meant] = value[key]

    for attempt in (corrected, right):
        with suppress(ValidationError):
            return model.model_validate(attempt)
    return None
