"""``gradegate schema``: what editors and readers of results check by."""

import argparse
import json
import sys

from gradegate.gate.exit_codes import PASS

ABOUT = "print a JSON Schema"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("of", nargs="?", choices=("config", "results"), default="config")


def run(args: argparse.Namespace) -> int:
    sys.stdout.write(schema(args.of))
    return PASS


def schema(of: str) -> str:
    """JSON Schema of a config or of results.json, as text."""
    from gradegate.config.schema import config_schema
    from gradegate.results.mapping import model_of
    from gradegate.results.shape import Results

    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    written = (
        draft | model_of(Results).model_json_schema(mode="serialization")
        if of == "results"
        else config_schema()
    )
    return json.dumps(written, indent=2 if of == "results" else 1) + "\n"
