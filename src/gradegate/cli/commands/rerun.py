"""``gradegate rerun --failed``: what did not pass in an earlier run, asked again."""

import argparse
from functools import partial
from pathlib import Path

from gradegate.cli import parser as flags
from gradegate.cli.output import delivered, estimated, here
from gradegate.errors import ConfigError, Origin
from gradegate.structs import replace

ABOUT = "ask again what did not pass in a results.json, a part of the gate"


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments: those of a run, which it takes from no file, since anybody may have written that."""
    flags.add(parser, "rerun")
    parser.add_argument(
        "results", nargs="?", default="results.json", help="of a run; default results.json"
    )
    parser.add_argument(
        "--failed",
        action="store_true",
        help="asks the cases that failed or have errors, and no others",
    )


def run(args: argparse.Namespace) -> int:
    from gradegate.core.settings import Again
    from gradegate.files.workspace import Workspace
    from gradegate.planning.command import options
    from gradegate.planning.filters import leaving_out
    from gradegate.reports.delivery.report import Links
    from gradegate.results.grades import Outcome
    from gradegate.results.results_file import reread_file
    from gradegate.runner.progress import progress
    from gradegate.runner.session import deliver

    if not args.failed:
        raise ConfigError.at(
            "`rerun` does not say which cases", None, "write gradegate rerun --failed"
        )
    file = Path(args.results)
    earlier = reread_file(file)[0].run
    failed = [
        row
        for row in earlier.rows
        if {row.outcome, *(grade.outcome for grade in row.grades)} != {Outcome.PASS}
    ]
    if not failed:
        raise ConfigError.at(
            "every case passed, so there is nothing to ask again",
            Origin(args.results),
            "run all of it: gradegate run",
        )
    settings = flags.settings(argparse.Namespace(**{**vars(args), "config": []}), here())
    if narrowed := leaving_out(replace(settings, providers=())):
        what = f"{' and '.join(narrowed)} would ask only a part of what failed"
        raise ConfigError.at(
            what, None, "leave it out: rerun asks every case that did not pass, and no other"
        )
    if (
        tuple(options(settings)) != earlier.made.options
    ):  # which are not told: whoever wrote the file chose them
        raise ConfigError.at(
            "the earlier run had other options",
            Origin(args.results),
            "give the options of that run",
        )
    root = Workspace.around(here() / "x", here(), settings.environment).root
    configs = [root / suite for suite in dict.fromkeys(row.suite for row in failed)]
    if strange := [path for path in configs if not path.resolve().is_relative_to(root)]:
        raise ConfigError.at(
            f"the config `{strange[0]}` is outside of the workspace",
            Origin(args.results),
            "run it: gradegate run CONFIG",
        )
    again = Again(file.resolve(), frozenset(row.key for row in failed), len(earlier.rows))
    settings = replace(settings, configs=tuple(map(str, configs)), again=again)
    if settings.estimate:
        return estimated(settings)
    bar = partial(progress, in_ci=settings.in_ci or settings.no_progress_bar, quiet=settings.quiet)
    return delivered(deliver(settings, (), Links(), bar), settings)
