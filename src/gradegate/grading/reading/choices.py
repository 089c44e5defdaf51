"""One of several choices as the last line of a reply, alone or behind a label."""

from __future__ import annotations

from collections.abc import Iterable

from gradegate.errors import Unreadable
from gradegate.grading.reading import labels, objects
from gradegate.grading.reading.answer import Answer
from gradegate.grading.reading.judgement import Judgement

_NOUNS = labels.NOUNS | frozenset({"score", "rating", "choice", "stars", "star", "label", "category", "output"})


def choice(answer: Answer, choices: Iterable[str]) -> Judgement[str]:
    """The choice, in the case in which it was given, and the lines before it. Raises Unreadable.

    A choice inside a sentence is none: "not good" names ``good``. Neither is one that another line contradicts.
    """
    known = {_bare(written): written for written in choices}
    rows = labels.lines(answer.text)
    said = _said(rows[-1], known) if rows else None
    if said is None:
        raise Unreadable(f"its last line is not one of {', '.join(known.values())}")
    others = {_said(row, known) for row in rows[:-1]} - {None, said}
    if others:
        raise Unreadable(f"it says {', '.join(sorted(filter(None, others)))} too")
    if answer.strict and len(rows) > 1:
        raise Unreadable(objects.STRICT)
    return Judgement(said, " ".join(rows[:-1]))


def _said(row: str, known: dict[str, str]) -> str | None:
    line = labels.unwrapped(row)
    if _bare(line) in known:
        return known[_bare(line)]
    label, sign, value = labels.plain(line).rpartition(":")
    return known.get(_bare(labels.unwrapped(value))) if sign and labels.is_label(label, _NOUNS) else None


def _bare(text: str) -> str:
    return text.strip().strip("*_\"'`").rstrip(".").strip().lower()
