"""Finds a case by what somebody calls it, and tells it from the question to the decision (``templates/story.txt``)."""

import re
from collections.abc import Sequence
from difflib import get_close_matches

from gradegate.reports.format.escape import join_nonempty, one_line
from gradegate.reports.format.plain import PLAIN, Plain, plain
from gradegate.reports.format.rerun import rerun_command, without_rights
from gradegate.reports.view.case import view_case
from gradegate.reports.view.findings import Effect, classify_row, doubtful_rules, selects_row
from gradegate.reports.view.wording import OUTCOME_WORDS, visible_name
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision
from gradegate.security.redaction import excerpt

_EFFECTS = {
    Effect.BLOCKS: "it blocks the run",
    Effect.ONCE: "it failed once, was not re-asked, and does not block",
    Effect.KNOWN: "it does not block",
    Effect.ADVISES: "it does not block",
}
_ID = re.compile(r"[0-9a-f]{6,64}")  # the beginning of an id: "9f86d0"
_NUMBER = re.compile(r"#?(\d{1,9})")  # "7" or "#7"
_MOST_OFFERED = 3  # similar names
_MOST_SEARCHED = 5000  # names among which similar ones are looked for


def find_rows(rows: Sequence[Row], wanted: str) -> list[int]:
    """Find rows by what somebody calls them, and give their places.

    Four ways are tried, and the first that finds a row decides: the whole name, the number in results.json (``7`` or ``#7``, from 1),
    the beginning of the id, and a part of the name.
    """
    text = wanted.strip().casefold()
    if not text:
        return []

    names = [visible_name(row).casefold() for row in rows]
    by_name = [place for place, name in enumerate(names) if name == text]
    if by_name:
        return by_name

    number = _NUMBER.fullmatch(text)
    if number and 1 <= int(number[1]) <= len(rows):
        return [int(number[1]) - 1]

    if _ID.fullmatch(text):
        by_id = [place for place, row in enumerate(rows) if row.key.hex().startswith(text)]
        if by_id:
            return by_id

    return [place for place, name in enumerate(names) if text in name]


def similar_names(rows: Sequence[Row], wanted: str) -> list[str]:
    """The names that are most like what was written."""
    names = {}
    for row in rows[:_MOST_SEARCHED]:
        name = visible_name(row)
        names[name.casefold()] = name
    text = excerpt(wanted.strip().casefold(), 200)
    return [names[close] for close in get_close_matches(text, names, _MOST_OFFERED, 0.4)]


def summarize_case(decision: Decision, place: int) -> str:
    """A line of a list: ``#7  failed  Refund after 30 days  openai:chat:gpt-5``."""
    row = decision.run.rows[place]
    return join_nonempty(
        "  ",
        f"#{place + 1}",
        OUTCOME_WORDS[row.outcome],
        visible_name(row),
        one_line(row.provider, 60),
        one_line(row.prompt_label, 60),
    )


def tell_case(decision: Decision, place: int) -> Plain:
    """All that is known of the row at that place, one fact below the other."""
    row = decision.run.rows[place]
    made = decision.run.made
    rerun = without_rights(made)
    finding = classify_row(row, place in decision.blocking, doubtful_rules(decision), place)
    text = PLAIN.render(
        "story.txt",
        decision=decision,
        case=view_case(finding),
        effect=_EFFECTS.get(finding.effect),
        rules=[result for result in decision.rules if selects_row(result.rule, row)],
        rerun=rerun_command(row, rerun),
        has_fewer_options=rerun.options != made.options,
    )
    return plain(text.removesuffix("\n"))
