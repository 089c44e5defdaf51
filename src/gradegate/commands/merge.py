"""``gradegate merge``: what shards asked, decided as one run."""

from __future__ import annotations

import argparse
from functools import partial

from gradegate.commands import flags
from gradegate.commands.telling import delivered, estimated, here, written

ABOUT = "decide by the parts of all shards of a run; asks no model"


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("merge", metavar="DIR", help="the folder with the parts")
    flags.add_config(parser)
    flags.add_answers(parser)
    flags.add_run(parser)
    flags.add_budget(parser)
    flags.add_cache(parser)
    parser.add_argument(
        "--open", default="", metavar="FILE", help="write the failures to ask again, and decide nothing"
    )


def run(args: argparse.Namespace) -> int:
    """Give the exit code."""
    from gradegate.reporting.report import Links
    from gradegate.running.progress import progress
    from gradegate.sharding.steps import merge, name_open

    settings = flags.settings(args, here())
    if args.estimate:
        return estimated(settings)
    if settings.open:
        return written(name_open(settings))
    return delivered(merge(settings, ("console",), Links(), partial(progress, in_ci=True)))
