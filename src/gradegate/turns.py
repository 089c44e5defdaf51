"""Recorded conversations: ``turns`` of a test, inline or in a file."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from gradegate import document
from gradegate.config import mistakes
from gradegate.dialect import Source
from gradegate.errors import ConfigError, Origin
from gradegate.model import Turn


class TurnKeys(BaseModel):
    """One turn as written."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["user", "assistant"]
    content: str
    retrieval_context: list[str] = Field(default_factory=list)
    images: list[str] = Field(default_factory=list)


_TURNS = TypeAdapter(list[TurnKeys])


def read_turns(written: Any, source: Source, origin: Origin) -> tuple[Turn, ...]:
    """The turns of a list, or of a ``file://`` with YAML, JSON or JSON lines. Raises ConfigError."""
    file = origin.file
    if isinstance(written, str):
        content = source.workspace.read(written, source.folder, origin)
        file = source.workspace.name(source.workspace.locate(written, source.folder, origin))
        written = _json_lines(content, file) if file.endswith(".jsonl") else document.read(content, file)
    if not written:
        raise ConfigError.at("`turns` is empty", origin, "give at least one turn of the user")
    try:
        return tuple(
            Turn(keys.role, keys.content, tuple(keys.retrieval_context), tuple(keys.images))
            for keys in _TURNS.validate_python(written)
        )
    except ValidationError as e:
        raise ConfigError(*mistakes(e, written, file, (), TurnKeys)) from e


def _json_lines(content: bytes, file: str) -> document.Seq:
    turns = document.Seq(1)
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        if line.strip():
            try:
                turns.append(document.at_line(json.loads(line), number))
            except (ValueError, RecursionError) as e:
                raise ConfigError.at(f"not valid JSON: {e}", Origin(file, number), "write one turn a line") from e
    return turns
