"""The documents of the workspace, YAML or JSON by their names, as plain data that remembers its lines."""

from __future__ import annotations

import contextlib
import json
from functools import cache
from importlib import resources
from typing import Any

from gradegate.errors import ConfigError, Origin
from gradegate.files import jsonreader, yamlreader
from gradegate.files.amounts import TooMuch
from gradegate.files.bounds import MAX_FILE
from gradegate.files.lines import Map, Seq, at_line, line_of

FEWER = "keep fewer tests in one run"
__all__ = ["Map", "Seq", "at_line", "line_of", "read", "table", "to_json"]


def read(content: bytes, file: str) -> Any:
    """YAML or, where the name ends in .json, JSON. Raises ConfigError with file, line and column."""
    if len(content) > MAX_FILE:
        raise ConfigError.at(f"the file has more than {MAX_FILE >> 20} MiB", Origin(file), "split it into several files")
    try:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as e:
            line = content[: e.start].count(b"\n") + 1
            raise ConfigError.at("the file is not UTF-8 text", Origin(file, line), "save it as UTF-8") from e
        if file.endswith(".json"):
            return jsonreader.read(text, file)
        try:
            return yamlreader.read(text, file)
        except ConfigError:
            if text.lstrip()[:1] in ("{", "["):  # JSON may write signs as pairs of escapes, which YAML does not know
                with contextlib.suppress(ConfigError):
                    return jsonreader.read(text, file)
            raise
    except TooMuch as e:
        raise ConfigError.at(str(e), Origin(file), FEWER) from e


def to_json(value: Any) -> str:
    """Compact JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


@cache
def table(package: str, name: str) -> Any:
    """The content of ``name`` in a folder of ours, such as ``table("asking", "prices.yaml")``; read once."""
    return read(resources.files(f"gradegate.{package}").joinpath(name).read_bytes(), name)
