"""One case of a run: found by what somebody calls it, and told from the question to the decision as plain text for a terminal."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from gradegate.reports.format.escape import clip, join_nonempty, one_line, outline, spread
from gradegate.reports.format.markdown_case import command
from gradegate.reports.view.case import CaseView, Piece, Told, headline_of, took, view
from gradegate.reports.view.findings import Effect, doubted, finding
from gradegate.reports.view.wording import (
    OUTCOMES,
    name,
    place,
    remarks,
    titled,
    verdict,
    weight,
)
from gradegate.results.rows import Row, takes
from gradegate.results.run_result import Decision
from gradegate.security.redaction import excerpt

_TEXT = 20_000  # characters of one text
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


def story(decision: Decision, at: int) -> str:
    """All that is known of the row at that place, a fact below the other."""
    row = decision.run.rows[at]
    found = finding(row, at in decision.blocking, doubted(decision))
    it = view(at + 1, found)
    provider, prompt = one_line(row.provider, 100), one_line(row.prompt_label, 100)
    parts = [
        f"#{it.number} {name(row)}: {join_nonempty(', ', OUTCOMES[row.outcome], it.about)}",
        f"  {join_nonempty(', ', provider, prompt, place(row.origin))}",
    ]
    if row.key:
        parts.append(f"  id {row.key.hex()[:16]}")
    if effect := _EFFECTS.get(found.effect):
        parts.append(f"  {effect}")
    parts += (f"  {one_line(remark, 1000)}" for remark in remarks(row))
    parts += ["", *_exchange(it)]
    for each in [] if row.error else it.failing + it.passing:
        parts += ["", *_assertion(row, each)]
    return "\n".join([*parts, "", *_rest(decision, it)])


def _exchange(it: CaseView) -> Iterator[str]:
    if it.turns and not it.row.error:
        for spoken in it.turns:
            mark = f"  <-- fails {', '.join(spoken.blamed)}" if spoken.blamed else ""
            label = f"{spoken.number} {one_line(spoken.turn.role, 40)}{mark}"
            yield from _fact(label, spoken.turn.content)
            for document in spoken.turn.retrieval_context:
                yield from _indented(_fact("document", document))
        return
    yield from _fact("asked", it.exchange.asked)
    if it.row.error:
        yield from _fact("no answer", it.row.error)
    elif not it.compared:
        yield from _fact("got", it.row.output or "(an empty answer)")


def _assertion(row: Row, told: Told) -> Iterator[str]:
    grade = told.grade
    yield headline_of(row, grade)
    yield from _indented(_fact("why", grade.reason))
    if told.difference:
        yield from _indented(_fact("expected", _marked(told.difference.expected, "[-", "-]")))
        yield from _indented(_fact("got", _marked(told.difference.got, "{+", "+}")))
    else:
        yield from _indented(_fact("expected", told.expected))
    for number, vote in enumerate(grade.votes, 1):
        score = "" if vote.score is None else f", score {vote.score:.4g}"
        text = f"{OUTCOMES[vote.outcome]}{score}: {vote.reason}"
        yield from _indented(_fact(f"ask {number}", text))
    for claim in told.claims:
        turn = f" (turn {claim.turn})" if claim.turn else ""
        yield from _indented(_fact(f"claim {claim.holds.value}{turn}", claim.text))
        for label, text in (("because", claim.reason), ("nearest in the sources", claim.near)):
            yield from _indented(_indented(_fact(label, text)))
    if grade.evidence and not told.claims:
        yield from _indented(_fact("evidence", outline(grade.evidence, _TEXT)))


def _rest(decision: Decision, it: CaseView) -> Iterator[str]:
    row = it.row
    if row.prompt != it.exchange.asked:
        yield from _fact("prompt", row.prompt)
    yield from _fact("variables", spread(row.vars))
    several = len({result.rule.suite for result in decision.rules}) > 1
    for result in decision.rules:
        if any(takes(result.rule, row, grade) for grade in row.grades):
            yield f"rule: {titled(result.rule, several)} ({weight(result.rule)}) {verdict(result)}"
    yield f"target: {took(row.usage)}"
    if it.grader.calls or it.grader.cached:
        yield f"grader: {took(it.grader)}"
    if again := command(row, decision.run.made):
        yield f"again: {again}"


def _fact(label: str, text: str) -> Iterator[str]:
    """A short text beside its label, a longer one below it; nothing for no text."""
    lines = clip(text.strip(), _TEXT).split("\n")
    if lines == [""]:
        return
    yield f"{label}: {lines[0]}" if len(lines) == 1 else f"{label}:"
    yield from _indented(lines if len(lines) > 1 else ())


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (textwrap.indent(line, "  ") for line in lines)


def _marked(pieces: Iterable[Piece], start: str, end: str) -> str:
    return "".join(f"{start}{piece.text}{end}" if piece.differs else piece.text for piece in pieces)
