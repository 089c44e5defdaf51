"""``gradegate validate``: everything that is wrong in configs, and what a run of them would be."""

from __future__ import annotations

import argparse

from gradegate.commands import flags
from gradegate.commands.telling import here
from gradegate.deciding.exit import PASS

ABOUT = "find every mistake in configs; makes no call"


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    flags.add_config(parser)
    flags.add_answers(parser)


def run(args: argparse.Namespace) -> int:
    """Give the exit code."""
    from gradegate.figures import many
    from gradegate.pipeline import prepare
    from gradegate.reporting.commands import harmless
    from gradegate.reporting.wording import inventory

    prepared = prepare(flags.settings(args, here()))
    plan = prepared.shown_plan
    for change in prepared.changes.found:
        where = f"{change.origin}: " if change.origin else ""
        print(harmless(f"{where}gate {change.kind.value}: {change.text}"))
    for note in plan.notes:
        print(harmless(f"{note.origin}: warning: {note.text}" if note.origin else f"warning: {note.text}"))
    for line in inventory(plan.keys, prepared.secrets.names):
        print(harmless(line))
    print(f"valid: {many(plan.answers, 'answer')} and {many(plan.assertions, 'assertion')} planned")
    return PASS
