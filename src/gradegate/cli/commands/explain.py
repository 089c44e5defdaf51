"""``gradegate explain``: what failed in a run, or one case of it from the question to the decision."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradegate.cli.output import earlier, reread, say
from gradegate.core.settings import LAST_RUN
from gradegate.errors import ConfigError, Origin
from gradegate.gate.exit_codes import MISTAKE, PASS

if TYPE_CHECKING:
    from gradegate.results.run_result import Decision

ABOUT = "list what failed in the last run, or show all about one case; makes no call"
_LISTED = 50  # cases


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "case", metavar="CASE", nargs="?", help="its number, its id, or a part of its description"
    )
    parser.add_argument(
        "results", nargs="?", default=LAST_RUN, help="a results.json; default the last run"
    )


def run(args: argparse.Namespace) -> int:
    """Give the exit code: 2 where no case matches, or several do."""
    from gradegate.core.numbers import format_count
    from gradegate.reports.format.case_story import find_rows, similar_names, tell_case
    from gradegate.reports.format.escape import one_line
    from gradegate.results.rows import positions_not_passed

    decision, _ = reread(earlier(args.results))
    rows = decision.run.rows
    if args.case is None:
        places = positions_not_passed(rows)
        _list(
            decision, places, f"{len(places):,} of {format_count(len(rows), 'case')} did not pass"
        )
        return PASS
    places = find_rows(rows, args.case)
    if not places:
        near = ", ".join(f"`{called}`" for called in similar_names(rows, args.case))
        cure = (
            f"the nearest: {near}"
            if near
            else f"name one of its {format_count(len(rows), 'case')}, #1 the first"
        )
        what = f"no case matches `{one_line(args.case, 100)}`"
        raise ConfigError.at(what, Origin(args.results), cure if rows else "it has no case")
    if len(places) == 1:
        say(tell_case(decision, places[0]))
        return PASS
    _list(decision, places, f"{len(places):,} cases match")
    return MISTAKE


def _list(decision: Decision, places: Sequence[int], what: str) -> None:
    from gradegate.reports.format.case_story import summarize_case

    cure = f"; name one by its number: gradegate explain {places[0] + 1}" if places else ""
    say(what + cure)
    for place in places[:_LISTED]:
        say(summarize_case(decision, place))
    if len(places) > _LISTED:
        say(f"and {len(places) - _LISTED:,} more")
