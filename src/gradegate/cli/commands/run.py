"""``gradegate run``, ``eval`` to those who come from promptfoo."""

import argparse
from functools import partial

from gradegate.cli import parser as flags
from gradegate.cli.output import delivered, estimated, here, report_shard

ABOUT = "run evals, write reports, decide"
ALIASES = ("eval",)
add = partial(flags.add, command="run")


def run(args: argparse.Namespace) -> int:
    from gradegate.reports.delivery.report import Links
    from gradegate.runner.progress import progress
    from gradegate.runner.session import deliver

    settings = flags.settings(args, here())
    if settings.estimate:
        return estimated(settings)
    bar = partial(progress, in_ci=settings.in_ci or settings.no_progress_bar, quiet=settings.quiet)
    if settings.shard:
        from gradegate.runner.shards.shard import run_shard

        return report_shard(run_shard(settings, bar))
    return delivered(deliver(settings, (), Links(), bar), settings)
