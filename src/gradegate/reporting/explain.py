"""A case that did not pass as plain text, for logs and for readers of JUnit."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from gradegate.reporting.failing import exchange, question
from gradegate.reporting.plain import outline
from gradegate.reporting.visible import clip, fact, visible
from gradegate.reporting.wording import called, expected, place, remarks, said, scored, spot
from gradegate.values.result import Grade, Row

_LINE, _WHOLE = 200, 1000  # characters: of a question where texts are short, and of texts that are not


def explain(row: Row, grades: Iterable[Grade], limit: int) -> str:
    """Each assertion with what was expected and why it did not pass; the answer once, before them."""
    grades = list(grades)
    told = exchange(row, grades[0] if grades else None)
    turn = f" (turn {told.turn})" if told.turn else ""
    asked = [fact(f"asked{turn}", question(row, told.asked, _LINE) if limit < _WHOLE else told.asked, limit)]
    answer = [*asked, fact(f"got{turn}", told.answered or "(an empty answer)", limit)] if row.output is not None else []
    error = [*asked, fact("no answer", row.error, limit)] if row.error else []
    # Without an answer every assertion says the same as the row does.
    about = [visible(clip(remark, limit)) for remark in remarks(row)]
    grounds = [explain_grade(row, grade, limit) for grade in grades] or ([] if about else ["no assertion gives a reason"])
    return "\n".join(error or [*answer, *about, *grounds])


def explain_grade(row: Row, grade: Grade, limit: int) -> str:
    """One assertion in a few lines."""
    place_of = place(spot(row, grade))
    about = ", ".join(filter(None, (f"{called(grade.assertion, grade.metric)} {said(grade)}", scored(grade), place_of)))
    texts = (("expected", expected(grade.assertion)), ("why", grade.reason or "no reason was given"))
    facts = [fact(label, text, limit) for label, text in texts if text]
    told = re.findall(r"\w+", grade.reason)
    if any(not isinstance(it, str) or it not in told for it in grade.evidence.values()):  # else it only repeats
        facts.append(visible(clip(outline({"evidence": grade.evidence}), limit)))
    return "\n".join([about, *(textwrap.indent(text, "  ") for text in facts)])
