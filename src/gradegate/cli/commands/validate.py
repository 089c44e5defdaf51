"""``gradegate validate``: finds everything that is wrong in configs, and estimates a run."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradegate.cli.output import print_estimate, working_folder
from gradegate.cli.parser import add_options, context_from_args
from gradegate.gate.exit_codes import PASS
from gradegate.structs import replace

if TYPE_CHECKING:
    from gradegate.runner.prepare import Preparation

ABOUT = "find every mistake in configs, and estimate the calls of a run; makes no call"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "validate")
    parser.add_argument(
        "--without-keys",
        action="store_true",
        help="keys of models need not be here, as in a hook of a commit",
    )


def run(args: argparse.Namespace) -> int:
    """Return the exit code. What needs a look is printed first, the summary last."""
    from gradegate.core.numbers import format_count
    from gradegate.reports.format.escape import harmless
    from gradegate.runner.prepare import prepare

    context = context_from_args(args, working_folder())
    preparation = prepare(replace(context, keyless=args.without_keys))
    for line in _describe_plan(preparation):
        print(harmless(line))
    print_estimate(preparation)
    plan = preparation.plan
    planned = (
        f"{format_count(plan.answers, 'answer')} and {format_count(plan.assertions, 'assertion')}"
    )
    print(f"valid: {planned} planned")
    return PASS


def _describe_plan(preparation: Preparation) -> Iterator[str]:
    """Warnings, what the pull request does to its gate, chosen models, and the keys that a run needs."""
    from gradegate.reports.view.wording import key_inventory

    plan = preparation.shown_plan
    for note in plan.notes:
        place = f"{note.origin}: " if note.origin else ""
        yield f"{place}warning: {note.text}"
    for change in preparation.changes.found:
        place = f"{change.origin}: " if change.origin else ""
        yield f"{place}gate {change.kind.value}: {change.text}"
    for model in plan.models:
        if model.chosen:
            yield model.chosen
    if plan.missing_keys:
        yield f"a run needs {', '.join(sorted(plan.missing_keys))}"
    else:
        yield from key_inventory(plan.keys, preparation.secrets.names)
