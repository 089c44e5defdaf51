"""One case from the question to the decision, as plain text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from gradegate.reporting.agent import command
from gradegate.reporting.case_view import CaseView, Told, took, view
from gradegate.reporting.claims import Claim
from gradegate.reporting.differences import Piece
from gradegate.reporting.findings import Effect, doubted, finding
from gradegate.reporting.plain import outline, spread
from gradegate.reporting.visible import clip, one_line, visible
from gradegate.reporting.wording import OUTCOMES, called, name, place, remarks, said, scored, spot, titled, verdict, weight
from gradegate.values.result import Decision, Row, takes

_TEXT = 20_000  # characters of one text
_EFFECTS = {
    Effect.BLOCKS: "it blocks the run",
    Effect.ONCE: "it failed once, was not re-asked, and does not block",
    Effect.KNOWN: "it does not block",
    Effect.ADVISES: "it does not block",
}


def story(decision: Decision, at: int) -> str:
    """All that is known of the row at that place, a fact below the other."""
    row = decision.run.rows[at]
    found = finding(row, at in decision.blocking, doubted(decision))
    it = view(at + 1, found)
    parts = [*_head(it, _EFFECTS.get(found.effect, "")), *_exchange(it)]
    for told in [] if row.error else [*it.failing, *it.passing]:
        parts += ["", *_assertion(row, told)]
    return "\n".join([*parts, "", *_rest(decision, it)])


def summary(decision: Decision, at: int) -> str:
    """A line of a list: ``#7  failed  Refund after 30 days  openai:chat:gpt-5``."""
    row = decision.run.rows[at]
    told = (f"#{at + 1}", OUTCOMES[row.outcome], name(row), one_line(row.provider, 60), one_line(row.prompt_label, 60))
    return "  ".join(filter(None, told))


def _head(it: CaseView, effect: str) -> Iterator[str]:
    row = it.row
    about = ", ".join(filter(None, (OUTCOMES[row.outcome], it.about)))
    yield f"#{it.number} {name(row)}: {about}"
    told = (one_line(row.provider, 100), one_line(row.prompt_label, 100), place(row.origin))
    yield "  " + ", ".join(filter(None, told))
    if row.key:
        yield f"  id {row.key.hex()[:16]}"
    yield from [f"  {effect}"] if effect else []
    yield from (f"  {one_line(remark, 1000)}" for remark in remarks(row))


def _exchange(it: CaseView) -> Iterator[str]:
    yield ""
    if it.turns and not it.row.error:
        for spoken in it.turns:
            mark = f"  <-- fails {', '.join(spoken.blamed)}" if spoken.blamed else ""
            yield from _fact(f"{spoken.number} {one_line(spoken.turn.role, 40)}{mark}", spoken.turn.content)
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
    about = (f"{called(grade.assertion, grade.metric)} {said(grade)}", scored(grade), place(spot(row, grade)))
    yield ", ".join(filter(None, about))
    yield from _indented(_fact("why", grade.reason))
    if told.difference:
        yield from _indented(_fact("expected", _marked(told.difference.expected, "[-", "-]")))
        yield from _indented(_fact("got", _marked(told.difference.got, "{+", "+}")))
    else:
        yield from _indented(_fact("expected", told.expected))
    for number, vote in enumerate(grade.votes, 1):
        score = "" if vote.score is None else f", score {vote.score:.4g}"
        asked = f" ({one_line(vote.model, 80)})" if vote.model else ""
        yield from _indented(_fact(f"ask {number}", f"{OUTCOMES[vote.outcome]}{score}{asked}: {vote.reason}"))
    for claim in told.claims:
        yield from _indented(_claim(claim))
    if grade.evidence and not told.claims:
        yield from _indented(_fact("evidence", outline(grade.evidence)))


def _claim(claim: Claim) -> Iterator[str]:
    turn = f" (turn {claim.turn})" if claim.turn else ""
    yield from _fact(f"claim {claim.holds.value}{turn}", claim.text)
    yield from _indented(_fact("because", claim.reason))
    yield from _indented(_fact("nearest in the sources", claim.near))


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
    lines = visible(clip(text.strip(), _TEXT)).split("\n")
    if lines == [""]:
        return
    yield f"{label}: {lines[0]}" if len(lines) == 1 else f"{label}:"
    yield from _indented(lines if len(lines) > 1 else ())


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (textwrap.indent(line, "  ") for line in lines)


def _marked(pieces: Iterable[Piece], start: str, end: str) -> str:
    return "".join(f"{start}{piece.text}{end}" if piece.differs else piece.text for piece in pieces)
