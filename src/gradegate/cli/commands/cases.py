"""``gradegate cases``: writes the cases for an application to answer."""

import argparse
import sys

from gradegate.cli.output import working_folder
from gradegate.cli.parser import add_options, context_from_args
from gradegate.gate.exit_codes import PASS

ABOUT = "write the requests for answers that are made elsewhere; makes no call"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser, "cases")
    parser.add_argument(
        "-o",
        "--output",
        dest="lines",
        default="-",
        metavar="FILE",
        help="JSON lines; default - is standard output",
    )


def run(args: argparse.Namespace) -> int:
    from gradegate.runner.calibration.calibrate import list_calls

    context = context_from_args(args, working_folder())
    file = args.lines
    if file == "-":
        file = ""  # without a file, the lines are returned
    for line in list_calls(context, file):
        sys.stdout.write(line)
    return PASS
