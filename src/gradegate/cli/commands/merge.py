"""``gradegate merge``: what shards asked, decided as one run."""

import argparse
from functools import partial

from gradegate.cli import parser as flags
from gradegate.cli.output import delivered, here, written

ABOUT = "decide from the parts of all shards of a run; makes no call"
add = partial(flags.add, command="merge")


def run(args: argparse.Namespace) -> int:
    from gradegate.reports.delivery.report import Links
    from gradegate.runner.progress import progress
    from gradegate.runner.session import deliver
    from gradegate.runner.shards.shard import answered_by_parts, name_open, of_merge

    settings = flags.settings(args, here())
    if settings.open:
        return written(name_open(settings))
    bar = partial(progress, in_ci=True, quiet=settings.quiet)
    return delivered(deliver(of_merge(settings), (), Links(), bar, ask=answered_by_parts), settings)
