"""``gradegate merge``: what shards asked, decided as one run."""

import argparse
from functools import partial

from gradegate.cli import parser as flags
from gradegate.cli.output import delivered, here

ABOUT = "decide from the parts of all shards of a run; re-asks what rules still need"
add = partial(flags.add, command="merge")


def run(args: argparse.Namespace) -> int:
    from gradegate.reports.delivery.report import Links
    from gradegate.runner.progress import progress
    from gradegate.runner.session import deliver
    from gradegate.runner.shards.merge import merged

    settings = flags.settings(args, here())
    bar = partial(progress, in_ci=True, quiet=settings.quiet)
    return delivered(deliver(settings, (), Links(), bar, ask=merged), settings)
