"""``gradegate validate``: everything that is wrong in configs, and what a run of them would be."""

from __future__ import annotations

import argparse

from gradegate.commands import flags
from gradegate.commands.telling import here, planned, say_estimate
from gradegate.deciding.exit import PASS

ABOUT = "find every mistake in configs, and say what a run would take; makes no call"


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    flags.add(parser, "validate")


def run(args: argparse.Namespace) -> int:
    """Give the exit code. What to look at comes first, and the summary last."""
    from gradegate.reporting.commands import harmless
    from gradegate.reporting.wording import inventory
    from gradegate.steps.preparation import prepare

    prepared = prepare(flags.settings(args, here()))
    plan = prepared.shown_plan
    for note in plan.notes:
        print(harmless(f"{note.origin}: warning: {note.text}" if note.origin else f"warning: {note.text}"))
    for change in prepared.changes.found:
        where = f"{change.origin}: " if change.origin else ""
        print(harmless(f"{where}gate {change.kind.value}: {change.text}"))
    for preset in (policy.preset for policy in plan.policies if policy.preset):
        print(harmless(f"{preset.origin}: {preset.text}"))
    for line in (model.chosen for model in plan.models if model.chosen):
        print(harmless(line))
    for line in inventory(plan.keys, prepared.secrets.names):
        print(harmless(line))
    say_estimate(prepared)
    print(f"valid: {planned(prepared)} planned")
    return PASS
