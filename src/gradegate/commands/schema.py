"""``gradegate schema``: what editors and readers of results check by."""

from __future__ import annotations

import argparse
import sys

from gradegate.deciding.exit import PASS

ABOUT = "print a JSON Schema"


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("of", nargs="?", choices=("config", "results"), default="config")


def run(args: argparse.Namespace) -> int:
    """Give the exit code."""
    from gradegate.listing import schema

    sys.stdout.write(schema(args.of))
    return PASS
