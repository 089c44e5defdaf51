"""``gradegate run``, ``eval`` to those who come from promptfoo."""

from __future__ import annotations

import argparse
from functools import partial

from gradegate.commands import flags
from gradegate.commands.telling import delivered, estimated, here, written

ABOUT = "run evals, write reports, decide"
ALIASES = ("eval",)


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    flags.add_config(parser)
    flags.add_answers(parser)
    flags.add_run(parser)
    flags.add_budget(parser)
    flags.add_cache(parser)
    flags.add_shard(parser)
    parser.add_argument("--no-progress-bar", action="store_true", help="no bar on a terminal")


def run(args: argparse.Namespace) -> int:
    """Give the exit code."""
    from gradegate.pipeline import deliver
    from gradegate.reporting.report import Links
    from gradegate.running.progress import progress

    settings = flags.settings(args, here())
    if args.estimate:
        return estimated(settings)
    bar = partial(progress, in_ci=settings.in_ci or args.no_progress_bar)
    if settings.shard:
        from gradegate.sharding.steps import ask

        return written(ask(settings, bar))
    return delivered(deliver(settings, ("console",), Links(), bar))
