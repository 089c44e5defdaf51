"""``gradegate calibrate``: a grader compared with human labels."""

import argparse
import sys
from functools import partial

from gradegate.cli import parser as flags
from gradegate.cli.output import complain, here
from gradegate.gate.exit_codes import INCONCLUSIVE, PASS

ABOUT = "compare a grader with human labels, and suggest `noise`"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", nargs=1, help="the config with the cases that the labels name")
    flags.add(parser, "calibrate")
    parser.add_argument(
        "labels", metavar="LABELS.jsonl", help="one labelled output per line; see docs/calibrate.md"
    )


def run(args: argparse.Namespace) -> int:
    from gradegate.runner.calibration import calibrate as calibration
    from gradegate.runner.progress import progress

    context = flags.context_of(args, here())
    settings = context.settings
    done = calibration.calibrate_graders(
        context, args.labels, settings.asks, partial(progress, in_ci=settings.in_ci)
    )
    sys.stdout.writelines(done.text)
    for failure in done.failures.values():
        complain(failure)
    return calibration.calibration_exit_code(done.calibration) or (
        INCONCLUSIVE if done.failures else PASS
    )
