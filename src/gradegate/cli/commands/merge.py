"""``gradegate merge``: decides one run from the parts of its shards."""

import argparse
from functools import partial

from gradegate.cli.output import print_delivery, working_folder
from gradegate.cli.parser import add_options, context_from_args

ABOUT = "decide from the parts of all shards of a run; re-asks what rules still need"
add_arguments = partial(add_options, command="merge")


def run(args: argparse.Namespace) -> int:
    from gradegate.runner.progress import progress
    from gradegate.runner.session import RunHooks, run_gate

    context = context_from_args(args, working_folder())
    hooks = RunHooks(partial(progress, in_ci=True, quiet=context.settings.quiet))
    return print_delivery(run_gate(context, hooks), context.settings)
