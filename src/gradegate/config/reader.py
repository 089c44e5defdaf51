"""What every part of a config file is read at: the source, and the mistakes and notes that come up."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gradegate.config import providers as specs
from gradegate.config import unknown_keys
from gradegate.config.dialect import Source
from gradegate.config.key_mistakes import validation_mistakes
from gradegate.config.keys import key_names
from gradegate.config.unknown_keys import UNSUPPORTED
from gradegate.core.policy import Note
from gradegate.core.provider_spec import UNREAD, Graders
from gradegate.errors import Complaints, Mistake, Origin, gather_mistakes
from gradegate.files import documents as document
from gradegate.registry import near_miss
from gradegate.structs import JsonObject, Struct

M = TypeVar("M", bound=BaseModel)


class ConfigReader(Struct, Complaints):
    """Gathers mistakes, so that the user sees them all at once: what cannot be read is left out.

    ``file`` is the config file, as messages show it.
    """

    source: Source
    mistakes: list[Mistake] = []
    notes: list[Note] = []
    file: str = ""

    def __post_init__(self) -> None:
        self.file = self.source.file  # asked for with every test, and each time it follows links

    def origin_at(self, *path: str | int) -> Origin:
        """The place of the value at a path of the config."""
        return document.origin_of(self.file, self.source.content, *path)

    def items_with_origins(self, written: Any, *path: str | int) -> Iterator[tuple[Any, Origin]]:
        """Each item of a list at a path of the config with its place; what is no list is the only item, and null is none."""
        if isinstance(written, list):
            for number, item in enumerate(written):
                yield item, self.origin_at(*path, number)
        elif written is not None:
            yield written, self.origin_at(*path)

    def check_keys(self, model: type[M], value: JsonObject, content: Any, file: str) -> M | None:
        """The value without the keys that hold a mistake, so that the rest is looked at too.

        Keys that mean nothing are passed over where promptfoo's own tables are, not in those of the gate. A key with
        nothing behind it, or comments alone, is none; so is an empty list of what is not done (``extensions: []``).
        """
        if not UNSUPPORTED.keys().isdisjoint(value):
            value = {
                key: item
                for key, item in value.items()
                if key not in UNSUPPORTED or item not in ([], {})
            }
        value = unknown_keys.without_idle_keys(model, value, file, self.source.idle)
        try:
            return model.model_validate(value)
        except ValidationError as e:
            for detail in e.errors(
                include_url=False
            ):  # of which null is no value, but a threshold that is meant
                if detail["input"] is None and detail["type"] != "empty":
                    value = _without(
                        value, [step for step in detail["loc"] if isinstance(step, str)]
                    )
        try:
            return model.model_validate(value)
        except ValidationError as e:
            self.mistakes += validation_mistakes(e, content, file, (), model)
            wrong = {str(detail["loc"][0]) for detail in e.errors() if detail["loc"]}
        right = {key: value[key] for key in value if key not in wrong}
        # A misspelt key is read as it is meant: without it, something else would be missing.
        meant = {}
        for key in wrong & value.keys() - key_names(model):
            if close := near_miss(key, key_names(model) - right.keys()):
                meant[close] = value[key]
        for attempt in ({**right, **meant}, right):
            with suppress(ValidationError):
                return model.model_validate(attempt)
        return None  # what is missing was said

    def read_graders(self, written: Any, origin: Origin) -> Graders:
        """The models that ``written`` names; ``UNREAD`` when it holds a mistake."""
        with gather_mistakes(self.mistakes):
            return specs.read_graders(written, self.source, origin)
        return {"*": UNREAD}


def _without(value: JsonObject, path: Sequence[str]) -> JsonObject:
    """A copy without the null at a path, which may end in words of the check itself."""
    key = path[0] if path else ""
    if key not in value:
        return value
    if value[key] is None:
        return {name: item for name, item in value.items() if name != key}
    inner = value[key]
    return {**value, key: _without(inner, path[1:])} if isinstance(inner, Mapping) else value
