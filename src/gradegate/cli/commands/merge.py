"""``gradegate merge``: what shards asked, decided as one run."""

import argparse
from functools import partial

from gradegate.cli import parser as flags
from gradegate.cli.output import delivered, here

ABOUT = "decide from the parts of all shards of a run; re-asks what rules still need"
add = partial(flags.add, command="merge")


def run(args: argparse.Namespace) -> int:
    from gradegate.runner.progress import progress
    from gradegate.runner.session import RunHooks, run_gate

    context = flags.context_of(args, here())
    settings = context.settings
    hooks = RunHooks(partial(progress, in_ci=True, quiet=settings.quiet))
    return delivered(run_gate(context, hooks), settings)
