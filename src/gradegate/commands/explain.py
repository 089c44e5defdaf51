"""``gradegate explain``: one case of a run, from the question to the decision."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from gradegate.commands.telling import say
from gradegate.deciding.exit import MISTAKE, PASS

if TYPE_CHECKING:
    from gradegate.errors import ConfigError
    from gradegate.values.result import Decision

ABOUT = "show everything about one case of a results.json; makes no call"
_LISTED = 50  # cases, of several that match


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("case", metavar="CASE", help="its number, its id, or a part of its description")
    parser.add_argument("results", nargs="?", default="results.json", help="of a run; default results.json")


def run(args: argparse.Namespace) -> int:
    """Give the exit code: 2 where no case matches, or several do."""
    from gradegate.reporting.story import lookup, story, summary
    from gradegate.results.file import reread_file

    decision, _ = reread_file(Path(args.results))
    places = lookup(decision.run.rows, args.case)
    if not places:
        raise _unknown(decision, args.case, args.results)
    if len(places) == 1:
        say(story(decision, places[0]))
        return PASS
    say(f"{len(places):,} cases match; name one by its number: gradegate explain {places[0] + 1}")
    for place in places[:_LISTED]:
        say(summary(decision, place))
    if len(places) > _LISTED:
        say(f"and {len(places) - _LISTED:,} more")
    return MISTAKE


def _unknown(decision: Decision, wanted: str, file: str) -> ConfigError:
    from gradegate.errors import ConfigError, Origin
    from gradegate.reporting.story import nearest
    from gradegate.reporting.visible import one_line
    from gradegate.values.figures import many

    rows = decision.run.rows
    near = [f"`{called}`" for called in nearest(rows, wanted)]
    cure = f"the nearest: {', '.join(near)}" if near else f"name one of its {many(len(rows), 'case')}, #1 the first"
    return ConfigError.at(f"no case matches `{one_line(wanted, 100)}`", Origin(file), cure if rows else "it has no case")
