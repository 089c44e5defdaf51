"""``gradegate run``, ``eval`` to those who come from promptfoo."""

import argparse
from functools import partial

from gradegate.commands import flags
from gradegate.commands.telling import delivered, estimated, here, written

ABOUT = "run evals, write reports, decide"
ALIASES = ("eval",)
add = partial(flags.add, command="run")


def run(args: argparse.Namespace) -> int:
    from gradegate.reporting.report import Links
    from gradegate.running.progress import progress
    from gradegate.steps.session import deliver

    settings = flags.settings(args, here())
    if settings.estimate:
        return estimated(settings)
    bar = partial(progress, in_ci=settings.in_ci or settings.no_progress_bar, quiet=settings.quiet)
    if settings.shard:
        from gradegate.steps.shards import ask

        return written(ask(settings, bar))
    return delivered(deliver(settings, (), Links(), bar), settings)
