"""One case of a run: found by what somebody calls it, and told from the question to the decision, as ``templates/story.txt`` shows it."""

import re
from collections.abc import Sequence
from difflib import get_close_matches

from gradegate.reports.format.escape import join_nonempty, one_line
from gradegate.reports.format.plain import PLAIN, Plain, plain
from gradegate.reports.format.rerun import command, without_rights
from gradegate.reports.view.case import view
from gradegate.reports.view.findings import Effect, doubted, finding
from gradegate.reports.view.wording import OUTCOMES, name
from gradegate.results.rows import Row, selects_grade
from gradegate.results.run_result import Decision
from gradegate.security.redaction import excerpt

_EFFECTS = {
    Effect.BLOCKS: "it blocks the run",
    Effect.ONCE: "it failed once, was not re-asked, and does not block",
    Effect.KNOWN: "it does not block",
    Effect.ADVISES: "it does not block",
}
_ID = re.compile(r"[0-9a-f]{6,64}")
_NUMBER = re.compile(r"#?(\d{1,9})")
_CLOSE = 3  # names that are offered
_SOUGHT = 5000  # names among which the nearest are looked for


def lookup(rows: Sequence[Row], wanted: str) -> list[int]:
    """The places of the rows that are meant; the first of these ways that finds any decides.

    The whole name, the number in results.json (from 1, ``7`` or ``#7``), the beginning of the id, a part of the name.
    """
    text = wanted.strip().casefold()
    names = [name(row).casefold() for row in rows]
    if not text:
        return []
    whole = [place for place, called in enumerate(names) if called == text]
    number = _NUMBER.fullmatch(text)
    if not whole and number and 1 <= int(number[1]) <= len(rows):
        return [int(number[1]) - 1]
    by_id = []
    if _ID.fullmatch(text):
        by_id = [place for place, row in enumerate(rows) if row.key.hex().startswith(text)]
    return whole or by_id or [place for place, called in enumerate(names) if text in called]


def nearest(rows: Sequence[Row], wanted: str) -> list[str]:
    """The names that are most like what was written."""
    names = dict.fromkeys(name(row) for row in rows[:_SOUGHT])
    folded = {text.casefold(): text for text in names}
    word = excerpt(wanted.strip().casefold(), 200)
    return [folded[text] for text in get_close_matches(word, folded, _CLOSE, 0.4)]


def summary(decision: Decision, at: int) -> str:
    """A line of a list: ``#7  failed  Refund after 30 days  openai:chat:gpt-5``."""
    row = decision.run.rows[at]
    provider, prompt = one_line(row.provider, 60), one_line(row.prompt_label, 60)
    return join_nonempty("  ", f"#{at + 1}", OUTCOMES[row.outcome], name(row), provider, prompt)


def story(decision: Decision, at: int) -> Plain:
    """All that is known of the row at that place, a fact below the other."""
    row = decision.run.rows[at]
    made = decision.run.made
    harmless = without_rights(made)
    found = finding(row, at in decision.blocking, doubted(decision))
    text = PLAIN.render(
        "story.txt",
        decision=decision,
        case=view(at + 1, found),
        effect=_EFFECTS.get(found.effect),
        rules=[
            result
            for result in decision.rules
            if any(selects_grade(result.rule, row, grade) for grade in row.grades)
        ],
        again=command(row, harmless),
        left_out=harmless.options != made.options,
    )
    return plain(text.removesuffix("\n"))
