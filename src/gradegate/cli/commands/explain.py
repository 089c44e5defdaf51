"""``gradegate explain``: what failed in a run, or one case of it from the question to the decision."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradegate.cli.output import load_checked_decision, path_of_results, print_line
from gradegate.core.settings import LAST_RUN
from gradegate.errors import ConfigError, Origin
from gradegate.gate.exit_codes import MISTAKE, PASS

if TYPE_CHECKING:
    from gradegate.results.run_result import Decision

ABOUT = "list what failed in the last run, or show all about one case; makes no call"
_MOST_LISTED = 50  # cases


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "case", metavar="CASE", nargs="?", help="its number, its id, or a part of its description"
    )
    parser.add_argument(
        "results", nargs="?", default=LAST_RUN, help="a results.json; default the last run"
    )


def run(args: argparse.Namespace) -> int:
    """Return the exit code: 2 if no case matches, or several do."""
    from gradegate.core.numbers import format_count
    from gradegate.reports.format.case_story import find_rows, similar_names, tell_case
    from gradegate.reports.format.escape import one_line
    from gradegate.results.rows import positions_not_passed

    decision, _ = load_checked_decision(path_of_results(args.results))
    rows = decision.run.rows
    if args.case is None:
        failures = positions_not_passed(rows)
        title = f"{len(failures):,} of {format_count(len(rows), 'case')} did not pass"
        _print_cases(decision, failures, title)
        return PASS

    matches = find_rows(rows, args.case)
    if not matches:
        cure = "it has no case"
        if rows:
            cure = f"name one of its {format_count(len(rows), 'case')}, #1 the first"
            if names := similar_names(rows, args.case):
                cure = f"the nearest: {', '.join(f'`{name}`' for name in names)}"
        what = f"no case matches `{one_line(args.case, 100)}`"
        raise ConfigError.at(what, Origin(args.results), cure)
    if len(matches) == 1:
        print_line(tell_case(decision, matches[0]))
        return PASS
    _print_cases(decision, matches, f"{len(matches):,} cases match")
    return MISTAKE


def _print_cases(decision: Decision, places: Sequence[int], title: str) -> None:
    """Print a line for each case, below a title. ``places`` are those of the rows in the run."""
    from gradegate.reports.format.case_story import summarize_case

    if places:
        title += f"; name one by its number: gradegate explain {places[0] + 1}"
    print_line(title)
    for place in places[:_MOST_LISTED]:
        print_line(summarize_case(decision, place))
    if len(places) > _MOST_LISTED:
        print_line(f"and {len(places) - _MOST_LISTED:,} more")
