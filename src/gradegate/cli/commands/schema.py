"""``gradegate schema``: what editors and readers of results check by."""

import argparse
import inspect
import json
import sys
from typing import Any

from gradegate.gate.exit_codes import PASS

ABOUT = "print a JSON Schema"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("of", nargs="?", choices=("config", "results"), default="config")


def run(args: argparse.Namespace) -> int:
    sys.stdout.write(schema(args.of))
    return PASS


def schema(of: str) -> str:
    """JSON Schema of a config or of results.json, as text."""
    from msgspec.json import schema as struct_schema

    from gradegate.config.schema import config_schema
    from gradegate.results.shape import Results

    if of == "config":
        return json.dumps(config_schema(), indent=1) + "\n"
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps(draft | _without_indents(struct_schema(Results)), indent=2) + "\n"


def _without_indents(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with its descriptions as ``inspect.getdoc`` returns them: not every release of msgspec removes a docstring's indent."""
    schema = dict(schema)
    for key, value in schema.items():
        if isinstance(value, dict):
            schema[key] = _without_indents(value)
    if isinstance(schema.get("description"), str):
        schema["description"] = inspect.cleandoc(schema["description"])
    return schema
