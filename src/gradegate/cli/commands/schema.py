"""``gradegate schema``: prints the JSON Schema of a config or of results.json."""

import argparse
import inspect
import json
import sys
from typing import Any

from gradegate.gate.exit_codes import PASS

ABOUT = "print a JSON Schema"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("of", nargs="?", choices=("config", "results"), default="config")


def run(args: argparse.Namespace) -> int:
    sys.stdout.write(schema(args.of))
    return PASS


def schema(of: str) -> str:
    """The JSON Schema of ``config`` or ``results``, as text."""
    from msgspec.json import schema as struct_schema

    from gradegate.config.schema import config_schema
    from gradegate.results.shape import Results

    if of == "config":
        return json.dumps(config_schema(), indent=1) + "\n"
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(draft | _dedent_descriptions(struct_schema(Results)), indent=2) + "\n"


def _dedent_descriptions(schema: dict[str, Any]) -> dict[str, Any]:
    """Copy a schema, and remove the indents that its descriptions have as docstrings of Python.

    Only some releases of msgspec remove them.
    """
    dedented = dict(schema)
    for key, value in schema.items():
        if isinstance(value, dict):
            dedented[key] = _dedent_descriptions(value)
        elif key == "description":
            dedented[key] = inspect.cleandoc(value)
    return dedented
