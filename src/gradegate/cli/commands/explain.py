"""``gradegate explain``: one case of a run, from the question to the decision."""

import argparse
from pathlib import Path

from gradegate.cli.output import say
from gradegate.errors import ConfigError, Origin
from gradegate.gate.exit_codes import MISTAKE, PASS

ABOUT = "show everything about one case of a results.json; makes no call"
_LISTED = 50  # cases, of several that match


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "case", metavar="CASE", help="its number, its id, or a part of its description"
    )
    parser.add_argument(
        "results", nargs="?", default="results.json", help="of a run; default results.json"
    )


def run(args: argparse.Namespace) -> int:
    """Give the exit code: 2 where no case matches, or several do."""
    from gradegate.core.numbers import many
    from gradegate.reports.format.case_story import lookup, nearest, story, summary
    from gradegate.reports.format.escape import one_line
    from gradegate.results.results_file import reread_file

    decision, _ = reread_file(Path(args.results))
    rows = decision.run.rows
    places = lookup(rows, args.case)
    if not places:
        near = ", ".join(f"`{called}`" for called in nearest(rows, args.case))
        cure = (
            f"the nearest: {near}"
            if near
            else f"name one of its {many(len(rows), 'case')}, #1 the first"
        )
        what = f"no case matches `{one_line(args.case, 100)}`"
        raise ConfigError.at(what, Origin(args.results), cure if rows else "it has no case")
    if len(places) == 1:
        say(story(decision, places[0]))
        return PASS
    say(f"{len(places):,} cases match; name one by its number: gradegate explain {places[0] + 1}")
    for place in places[:_LISTED]:
        say(summary(decision, place))
    if len(places) > _LISTED:
        say(f"and {len(places) - _LISTED:,} more")
    return MISTAKE
