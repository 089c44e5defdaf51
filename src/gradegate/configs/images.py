"""Images in conversations: references of a config, read into what a model API takes."""

from __future__ import annotations

import base64
import re

from gradegate.access.hiding import excerpt
from gradegate.configs.dialect import Source
from gradegate.errors import ConfigError, Origin

# What model APIs take (https://platform.openai.com/docs/guides/images, https://docs.anthropic.com/en/docs/vision).
TYPES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".webp": "webp"}
_DATA = re.compile(r"data:image/[a-z0-9.+-]+;base64,[A-Za-z0-9+/\s]+={0,2}\s*", re.IGNORECASE)


def is_data(text: str) -> bool:
    """Whether the text is an image as data URI."""
    return text.startswith("data:") and _DATA.fullmatch(text) is not None


def load(reference: str, source: Source, origin: Origin) -> str:
    """A data URI or a URL as it is; the file of the workspace that a path leads to, as data URI. Raises ConfigError."""
    if reference.startswith(("https://", "http://")) or is_data(reference):
        return reference
    suffix = "." + reference.rpartition(".")[2].lower()
    if reference.startswith("data:") or suffix not in TYPES:
        cure = f"give a data URI with base64, a URL, or the path of a file that ends with {', '.join(TYPES)}"
        raise ConfigError.at(f"`{excerpt(reference, 60)}` is not an image", origin, cure)
    content = source.workspace.read(reference, source.folder, origin)
    return f"data:image/{TYPES[suffix]};base64,{base64.b64encode(content).decode()}"
