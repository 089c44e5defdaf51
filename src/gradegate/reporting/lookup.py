"""Finds the cases of a run that somebody means: by number, by id, or by a part of what they are called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from gradegate.access.hiding import excerpt
from gradegate.reporting.wording import name
from gradegate.values.result import Row

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
    by_id = [place for place, row in enumerate(rows) if _ID.fullmatch(text) and row.key.hex().startswith(text)]
    return whole or by_id or [place for place, called in enumerate(names) if text in called]


def nearest(rows: Sequence[Row], wanted: str) -> list[str]:
    """The names that are most like what was written."""
    names = [*dict.fromkeys(name(row) for row in rows[:_SOUGHT])]
    folded = {called.casefold(): called for called in names}
    close = get_close_matches(excerpt(wanted.strip().casefold(), 200), folded, _CLOSE, 0.4)
    return [folded[called] for called in close]
