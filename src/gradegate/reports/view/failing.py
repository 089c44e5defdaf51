"""What a person wants to know of a case that did not pass: what was asked, what came, at which turn, and why; also as plain text."""

import json
import re
import textwrap
from collections.abc import Iterable, Sequence

from gradegate.core.numbers import many
from gradegate.reports.format.escape import clip, fact, one_line, outline, shown, visible
from gradegate.reports.view.findings import Effect, Finding
from gradegate.reports.view.wording import (
    called,
    expected,
    name,
    place,
    remarks,
    said,
    scored,
    spot,
)
from gradegate.results.accounts import LEAST
from gradegate.results.earlier_run import FIXED, NEW_FAILURE, PRE_EXISTING, UNSTEADY, standing
from gradegate.results.grades import Grade, Outcome, Row
from gradegate.structs import Struct

_CHAT = 200_000  # characters; a longer prompt is not read as a chat
_LINE, _WHOLE = (
    200,
    1000,
)  # characters: of a question where texts are short, and of texts that are not
_BESIDE = {NEW_FAILURE: "new", PRE_EXISTING: "known", UNSTEADY: "known, unsteady on the base"}


class Exchange(Struct, frozen=True):
    """What was asked and answered. ``turn`` is the number of the answer in its conversation, 0 where there is no other."""

    asked: str
    answered: str
    turn: int = 0


def exchange(row: Row, grade: Grade | None = None) -> Exchange:
    """The exchange that a failure is about: of a conversation that of the first turn named, else the last one."""
    if not row.turns:
        return Exchange(_last_message(row.prompt), row.output or "")
    last = next(
        (number for number, turn in [*enumerate(row.turns, 1)][::-1] if turn.role == "assistant"),
        len(row.turns),
    )
    number = next(iter(blamed_turns(row, grade) if grade else ()), last)
    before = (turn.content for turn in reversed(row.turns[:number]) if turn.role == "user")
    turn = row.turns[number - 1]
    answer = turn.content if turn.role == "assistant" else row.output or ""
    return Exchange(
        next(before, _last_message(row.prompt)), answer, number if len(row.turns) > 2 else 0
    )


def blamed_turns(row: Row, grade: Grade) -> tuple[int, ...]:
    """The numbers of the turns that a failure is about, from 1; those that the conversation does not have are left out."""
    return tuple(turn for turn in grade.turns if 0 < turn <= len(row.turns))


def _last_message(prompt: str) -> str:
    """What the last message of the user says, of a prompt that is a chat; else the prompt."""
    if not prompt.lstrip().startswith("[") or len(prompt) > _CHAT:
        return prompt
    try:
        messages = json.loads(prompt)
    except (ValueError, RecursionError):
        return prompt
    texts = [
        item.get("content")
        for item in messages
        if isinstance(item, dict) and item.get("role") == "user"
    ]
    return next((text for text in reversed(texts) if isinstance(text, str)), prompt)


def question(row: Row, asked: str, limit: int) -> str:
    """What was asked in one line: the message, or what is special about the case where the message is long."""
    line = one_line(asked, limit)
    # A long prompt begins like that of every other case, unless with what is filled in: that tells cases apart.
    values = [one_line(shown(value), limit)[:limit] for value in row.vars.values()]
    if not line.endswith("…") or any(value and line.startswith(value) for value in values):
        return line
    pairs = ", ".join(
        f"{key}={one_line(shown(value), 60)}" for key, value in list(row.vars.items())[:4]
    )
    return one_line(pairs, limit) if pairs and row.description.strip() else line


def why(finding: Finding, limit: int) -> tuple[str, str]:
    """Which assertion did not pass, and its reason in one line."""
    row, grades = finding.row, finding.grades
    if row.error:
        return "", one_line(f"no answer: {row.error}", limit)
    if not grades:
        return "", one_line("; ".join(remarks(row)) or "no assertion gives a reason", limit)
    grade = grades[0]
    reason = one_line(grade.reason, limit) or ", ".join(filter(None, (said(grade), scored(grade))))
    more = len([other for other in grades[1:] if not other.inner])
    return called(grade.assertion, grade.metric), reason + (
        f" (and {many(more, 'more assertion')})" if more else ""
    )


def beside(row: Row) -> str:
    """``new`` or ``known``, of a failure that was compared with the base; else an empty string."""
    compared = any(grade.status for grade in row.grades)
    failing = [grade for grade in row.grades if grade.outcome is Outcome.FAIL and not grade.inner]
    # Those that count; where none does, those that only advise.
    return (
        _BESIDE.get(standing(row, [grade for grade in failing if grade.counts] or failing), "")
        if compared
        else ""
    )


def effect(finding: Finding) -> str:
    """What a finding is beside the base; of what only advises, why it does: ``known, within the rules``."""
    row, against = finding.row, beside(finding.row)
    if finding.effect is not Effect.ADVISES:
        return against
    advice = not any(grade.outcome is Outcome.FAIL and grade.counts for grade in row.grades)
    quarantine = next(
        (f"in quarantine until {grade.quarantine}" for grade in row.grades if grade.quarantine), ""
    )
    tolerated = (
        any(grade.outcome is Outcome.FAIL for grade in row.grades) or row.outcome is Outcome.FAIL
    )
    return ", ".join(
        filter(
            None,
            [
                against,
                quarantine or "advisory" if advice else "within the rules" if tolerated else "",
            ],
        )
    )


def is_fixed(row: Row) -> bool:
    """Whether a case failed on the base and does not any more."""
    return row.outcome is Outcome.PASS and standing(row) == FIXED


def flaky(rows: Iterable[Row]) -> list[str]:
    """A line for each, the worst first: ``refunds: llm-rubric: flaky: 14 of 60 asks failed on the default branch``."""
    found = []
    for row in rows:
        for grade in row.grades:
            past = grade.history
            votes = past.fails + past.passes if past else 0
            if past and (
                past.flaky or (past.fails > past.passes and votes >= LEAST)
            ):  # of so many, more than 95 % fail
                said = f"{'flaky' if past.flaky else 'broken'}: {past.fails} of {many(votes, 'ask')} failed on the default branch"
                found.append(
                    (-past.fails / votes, f"{name(row)}: {called(grade.assertion)}: {said}")
                )
    return [line for _, line in sorted(found, key=lambda item: item[0])]


def explain(row: Row, grades: Sequence[Grade], limit: int) -> str:
    """Each assertion with what was expected and why it did not pass; the answer once, before them."""
    told = exchange(row, grades[0] if grades else None)
    turn = f" (turn {told.turn})" if told.turn else ""
    asked = [
        fact(
            f"asked{turn}",
            question(row, told.asked, _LINE) if limit < _WHOLE else told.asked,
            limit,
        )
    ]
    answer = (
        [*asked, fact(f"got{turn}", told.answered or "(an empty answer)", limit)]
        if row.output is not None
        else []
    )
    error = [*asked, fact("no answer", row.error, limit)] if row.error else []
    # Without an answer every assertion says the same as the row does.
    about = [visible(clip(remark, limit)) for remark in remarks(row)]
    grounds = [explain_grade(row, grade, limit) for grade in grades] or (
        [] if about else ["no assertion gives a reason"]
    )
    return "\n".join(error or [*answer, *about, *grounds])


def explain_grade(row: Row, grade: Grade, limit: int) -> str:
    """One assertion in a few lines."""
    about = (
        f"{called(grade.assertion, grade.metric)} {said(grade)}",
        scored(grade),
        place(spot(row, grade)),
    )
    texts = (
        ("expected", expected(grade.assertion)),
        ("why", grade.reason or "no reason was given"),
    )
    facts = [fact(label, text, limit) for label, text in texts if text]
    told = re.findall(r"\w+", grade.reason)
    if any(
        not isinstance(it, str) or it not in told for it in grade.evidence.values()
    ):  # else it only repeats
        facts.append(visible(clip(outline({"evidence": grade.evidence}), limit)))
    return "\n".join(
        [", ".join(filter(None, about)), *(textwrap.indent(text, "  ") for text in facts)]
    )
