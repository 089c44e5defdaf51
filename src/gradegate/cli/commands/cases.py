"""``gradegate cases``: the cases for an application to answer."""

import argparse
import sys

from gradegate.cli import parser as flags
from gradegate.cli.output import here
from gradegate.gate.exit_codes import PASS

ABOUT = "write the requests for answers that are made elsewhere; makes no call"


def add(parser: argparse.ArgumentParser) -> None:
    flags.add(parser, "cases")
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

    lines = list_calls(flags.context_of(args, here()), "" if args.lines == "-" else args.lines)
    sys.stdout.writelines(lines)
    return PASS
