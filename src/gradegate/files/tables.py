"""Tables that stand beside our modules as YAML: names of other tools, and what to say of them."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from gradegate.files import document


@cache
def table(package: str, name: str) -> Any:
    """The content of ``name`` in a folder of ours, such as ``table("asking", "prices.yaml")``; read once."""
    return document.read(resources.files(f"gradegate.{package}").joinpath(name).read_bytes(), name)
