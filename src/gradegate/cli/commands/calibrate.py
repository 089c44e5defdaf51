"""``gradegate calibrate``: compares a grader with human labels."""

import argparse
import sys
from functools import partial

from gradegate.cli.output import print_error, working_folder
from gradegate.cli.parser import add_options, context_from_args
from gradegate.gate.exit_codes import INCONCLUSIVE, PASS

ABOUT = "compare a grader with human labels, and suggest `noise`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", nargs=1, help="the config with the cases that the labels name")
    add_options(parser, "calibrate")
    parser.add_argument(
        "labels", metavar="LABELS.jsonl", help="one labelled output per line; see docs/calibrate.md"
    )


def run(args: argparse.Namespace) -> int:
    from gradegate.runner.calibration import calibrate as calibration
    from gradegate.runner.progress import progress

    context = context_from_args(args, working_folder())
    show_progress = partial(progress, in_ci=context.settings.in_ci)
    report = calibration.calibrate_graders(
        context, args.labels, context.settings.asks, show_progress
    )
    sys.stdout.writelines(report.text)
    for failure in report.failures.values():
        print_error(failure)
    return calibration.calibration_exit_code(report.calibration) or (
        INCONCLUSIVE if report.failures else PASS
    )
