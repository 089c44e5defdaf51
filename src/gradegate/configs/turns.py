"""Conversations as configs write them: ``turns`` of a test, inline or in a file, checked before anything is asked."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from gradegate.access.hiding import excerpt
from gradegate.asking.toolcalls import CALLS, uniform
from gradegate.configs.dialect import Source
from gradegate.configs.keys import mistakes
from gradegate.errors import ConfigError, Origin
from gradegate.files import document
from gradegate.values.conversation import Image, Turn, exchanges


class ImageKeys(BaseModel):
    """An image among documents."""

    model_config = ConfigDict(extra="forbid")

    image: str


def _listed(value: Any) -> Any:
    return [] if value is None else [value] if isinstance(value, str) else value


class TurnKeys(BaseModel):
    """One turn as written."""

    model_config = ConfigDict(extra="forbid")
    place: ClassVar = "turn"  # as wrongkeys.py calls it

    role: Literal["user", "assistant"]
    content: str
    retrieval_context: Annotated[list[str | ImageKeys], BeforeValidator(_listed)] = Field(default_factory=list)
    images: Annotated[list[str], BeforeValidator(_listed)] = Field(default_factory=list)
    tool_calls: list[dict[str, Any]] | None = None


_TURNS = TypeAdapter(list[TurnKeys])


def read_turns(written: Any, source: Source, origin: Origin) -> tuple[Turn, ...]:
    """The turns of a list, or of a ``file://`` with YAML, JSON or JSON lines. Raises ConfigError.

    A conversation with answers of the assistant is recorded, and must hold one complete exchange.
    """
    file = origin.file
    if isinstance(written, str):
        content = source.workspace.read(written, source.folder, origin)
        file = source.workspace.name(source.workspace.locate(written, source.folder, origin))
        written = document.read_lines(content, file) if file.endswith(".jsonl") else document.read(content, file)
        if isinstance(written, dict) and isinstance(written.get("turns"), list):
            written = written["turns"]
    if not written:
        raise ConfigError.at("`turns` is empty", origin, "give at least one turn of the user")
    try:
        keys = _TURNS.validate_python(written)
    except ValidationError as e:
        raise ConfigError(*mistakes(e, written, file, (), TurnKeys)) from e
    turns = tuple(_turn(turn, source, Origin(file, getattr(raw, "line", 0))) for turn, raw in zip(keys, written, strict=True))
    check_turns(turns, origin)
    return turns


def check_turns(turns: Iterable[Turn], origin: Origin) -> None:
    """Raises ConfigError for a recorded conversation in which no message of the user gets an answer."""
    turns = tuple(turns)
    if any(turn.role == "assistant" for turn in turns) and not exchanges(turns):
        what = "the conversation has no complete exchange: no answer of the assistant follows a message of the user"
        cure = "record the answers too, or leave the assistant's turns out and let a provider give them"
        raise ConfigError.at(what, origin, cure)


def _turn(keys: TurnKeys, source: Source, origin: Origin) -> Turn:
    written = (item for item in keys.retrieval_context if not isinstance(item, str) or item.strip())
    documents = tuple(
        Image(load_image(item.image, source, origin)) if isinstance(item, ImageKeys) else Image(item) if is_data(item) else item
        for item in written
    )
    pictures = tuple(load_image(reference, source, origin) for reference in keys.images)
    if keys.role == "user" and keys.tool_calls:
        raise ConfigError.at("a turn of the user has `tool_calls`", origin, "give them with the turn of the assistant that called")
    if keys.tool_calls is None:
        return Turn(keys.role, keys.content, documents, pictures)
    calls = [uniform(call) for call in keys.tool_calls]
    said = keys.content or (document.to_json(calls) if calls else "")  # as of a model that calls without a word
    return Turn(keys.role, said, documents, pictures, {CALLS: calls})


# --- images -------------------------------------------------------------------------------------------------------------


# What model APIs take (https://platform.openai.com/docs/guides/images, https://docs.anthropic.com/en/docs/vision).
TYPES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".webp": "webp"}
_DATA = re.compile(r"data:image/[a-z0-9.+-]+;base64,[A-Za-z0-9+/\s]+={0,2}\s*", re.IGNORECASE)


def is_data(text: str) -> bool:
    """Whether the text is an image as data URI."""
    return text.startswith("data:") and _DATA.fullmatch(text) is not None


def load_image(reference: str, source: Source, origin: Origin) -> str:
    """A data URI or a URL as it is; the file of the workspace that a path leads to, as data URI. Raises ConfigError."""
    if reference.startswith(("https://", "http://")) or is_data(reference):
        return reference
    suffix = "." + reference.rpartition(".")[2].lower()
    if reference.startswith("data:") or suffix not in TYPES:
        cure = f"give a data URI with base64, a URL, or the path of a file that ends with {', '.join(TYPES)}"
        raise ConfigError.at(f"`{excerpt(reference, 60)}` is not an image", origin, cure)
    content = source.workspace.read(reference, source.folder, origin)
    return f"data:image/{TYPES[suffix]};base64,{base64.b64encode(content).decode()}"
