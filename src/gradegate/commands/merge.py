"""``gradegate merge``: what shards asked, decided as one run."""

import argparse
from functools import partial

from gradegate.commands import flags
from gradegate.commands.telling import delivered, estimated, here, written

ABOUT = "decide from the parts of all shards of a run; makes no call"
add = partial(flags.add, command="merge")


def run(args: argparse.Namespace) -> int:
    from gradegate.reporting.report import Links
    from gradegate.running.progress import progress
    from gradegate.steps.session import deliver
    from gradegate.steps.shards import answered_by_parts, name_open, of_merge

    settings = flags.settings(args, here())
    if settings.estimate:
        return estimated(settings)
    if settings.open:
        return written(name_open(settings))
    bar = partial(progress, in_ci=True, quiet=settings.quiet)
    return delivered(deliver(of_merge(settings), (), Links(), bar, ask=answered_by_parts), settings)
