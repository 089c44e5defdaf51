"""``gradegate validate``: everything that is wrong in configs, and what a run of them would be."""

import argparse

from gradegate.cli import parser as flags
from gradegate.cli.output import here, planned, say_estimate
from gradegate.gate.exit_codes import PASS

ABOUT = "find every mistake in configs, and estimate the calls of a run; makes no call"


def add(parser: argparse.ArgumentParser) -> None:
    flags.add(parser, "validate")
    parser.add_argument(
        "--without-keys",
        action="store_true",
        help="keys of models need not be here, as in a hook of a commit",
    )


def run(args: argparse.Namespace) -> int:
    """Give the exit code. What to look at comes first, and the summary last."""
    from gradegate.reports.format.escape import harmless
    from gradegate.reports.view.wording import key_inventory
    from gradegate.runner.prepare import prepare
    from gradegate.structs import replace

    prepared = prepare(replace(flags.context_of(args, here()), keyless=args.without_keys))
    plan = prepared.shown_plan
    lines = [
        f"{note.origin}: warning: {note.text}" if note.origin else f"warning: {note.text}"
        for note in plan.notes
    ]
    lines += [
        f"{f'{it.origin}: ' if it.origin else ''}gate {it.kind.value}: {it.text}"
        for it in prepared.changes.found
    ]
    lines += [model.chosen for model in plan.models if model.chosen]
    lines += (
        [f"a run needs {', '.join(sorted(plan.missing_keys))}"]
        if plan.missing_keys
        else key_inventory(plan.keys, prepared.secrets.names)
    )
    for line in lines:
        print(harmless(line))
    say_estimate(prepared)
    print(f"valid: {planned(prepared)} planned")
    return PASS
