"""Cases that did not pass, in Markdown: each as a row of a table, and as a block of what was expected, what came, and why."""

import textwrap
from collections.abc import Iterator

from gradegate.errors import Origin
from gradegate.reporting.failing import effect, exchange, why
from gradegate.reporting.findings import Finding
from gradegate.reporting.markdown import code, details, fence, inline, link
from gradegate.reporting.report import Links
from gradegate.reporting.visible import clip, one_line, outline, spread, visible
from gradegate.reporting.wording import EFFECTS, called, expected, name, place, remarks, said, scored, spot
from gradegate.structs import Struct
from gradegate.values.figures import many
from gradegate.values.result import Outcome, Row

COLUMNS = ("", "Case", "Got", "Why")
WIDE, NARROW = (65, 100), (40, 60)  # characters of what came, and of why
_NAMED = 3  # cases of one reason that are named
_WIDTH = 88  # what fits a comment on GitHub without scrolling
_LABEL = 10  # characters
_SHORT, _LONG = 400, 4000  # characters of one text: in sight, and folded
_GRADES = 20  # of one case
_SIGN = {Outcome.PASS: "✅", Outcome.FAIL: "❌", Outcome.ERROR: "❔"}


class Scope(Struct, frozen=True):
    """Where links go, and what has to be named because there are several of it."""

    links: Links
    suites: bool
    providers: bool
    prompts: bool


def line(finding: Finding, scope: Scope, width: tuple[int, int]) -> tuple[str, ...]:
    """The cells of a row: what it does to the check, the case or all of one reason, what came, and why that is not good enough."""
    row, grade, (most_got, most_why) = finding.row, next(iter(finding.grades), None), width
    told, (kind, reason) = exchange(row, grade), why(finding, most_why)
    named = [f"**{_linked(it, scope)}**" for it in (row, *finding.alike[: _NAMED - 1])]
    more = 1 + len(finding.alike) - len(named)
    case = (f"{many(len(named) + more, 'case')}: " if finding.alike else "") + ", ".join(named) + (", …" if more else "")
    about = [code(row.provider, 60)] if scope.providers else []
    about += [inline(row.prompt_label, 50)] if scope.prompts else []
    about += [f"turn {told.turn}"] if told.turn else []
    did = EFFECTS[finding.effect]
    reason = inline(reason, 2 * most_why)
    of = f"{name(row)}: " if any(it.output != row.output for it in finding.alike) else ""  # of several answers, whose it is
    return (
        f"{did.sign} {effect(finding) or did.words.lower()}".replace(" ", "&nbsp;", 1),
        "<br>".join(filter(None, (case, " · ".join(filter(None, about))))),
        "" if row.error else inline(one_line(of + told.answered, most_got) or "(an empty answer)", 2 * most_got),
        f"{code(kind, 80)} – {reason}" if kind else reason,  # a colon behind anybody's text could end the name of an emoji
    )


def _linked(row: Row, scope: Scope) -> str:
    """The name of a case, with a link to the line of what did not pass."""
    grade = next(iter(Finding(row).grades), None)
    origin = spot(row, grade) if grade else row.origin
    return link(inline(name(row), 100), scope.links.line(origin.file, origin.line))


def _where(origin: Origin, scope: Scope) -> str:
    """A link to a line of a config; by the name of the file alone where there is one config."""
    said = place(origin)
    label = said if scope.suites else said.rpartition("/")[2]
    return link(inline(label, 300), scope.links.line(origin.file, origin.line)) if said else ""


def block(finding: Finding, scope: Scope, folded: bool) -> str:
    """One case: its name, each assertion that did not pass, and with ``folded`` the long texts behind a fold."""
    row = finding.row
    about = [f"**{inline(name(row))}**", code(row.suite, 100) if scope.suites else "", code(row.provider, 100) if scope.providers else ""]
    about += [inline(row.prompt_label, 80) if scope.prompts else "", _where(row.origin, scope) if row.error else ""]
    parts = [" · ".join(filter(None, about)) + "\n"]
    if row.error:
        parts.append("The target gave no answer:\n\n" + fence(clip(row.error, _SHORT)))
    else:
        parts += _grades(finding, scope)
    if finding.alike:
        names = ", ".join(inline(name(row), 80) for row in finding.alike[:5])
        rest = f" and {len(finding.alike) - 5:,} more" if len(finding.alike) > 5 else ""
        parts.append(f"The same happened in {many(len(finding.alike), 'further case')}: {names}{rest}\n")
    if folded:
        texts = [("Prompt", row.prompt), ("Variables", spread(row.vars)), ("Output", row.output or "")]
        for grade in finding.grades[:_GRADES]:
            of = called(grade.assertion, grade.metric)
            texts += [(f"Expected by {of}", expected(grade.assertion)), (f"Reason of {of}", grade.reason)]
            texts.append((f"Evidence of {of}", outline(grade.evidence)))
        # What is in sight already is not worth a second look.
        long = [(title, text) for title, text in texts if title.startswith(("Prompt", "Variables", "Evidence")) or len(text) > _SHORT]
        body = "\n".join(f"{inline(title)}\n\n{fence(clip(text, _LONG))}" for title, text in long if text)
        parts += [details("Prompt, variables and evidence", body)] if body else []
    return "\n".join(parts) + "\n"


def _grades(finding: Finding, scope: Scope) -> Iterator[str]:
    row, grades = finding.row, finding.grades
    for number, grade in enumerate(grades[:_GRADES]):
        facts = [("expected", expected(grade.assertion))]
        if number == 0:
            told = exchange(row, grade)
            facts.append((f"got ({told.turn})" if told.turn else "got", told.answered or "(an empty answer)"))
        facts.append(("why", grade.reason or "(no reason was given)"))
        advice = grade.outcome is Outcome.FAIL and not (grade.counts or grade.inner)
        sign = "⚠️" if advice else _SIGN[grade.outcome]
        parts = [f"{sign} {code(called(grade.assertion, grade.metric))} {said(grade)}", scored(grade), _where(spot(row, grade), scope)]
        yield " · ".join(filter(None, parts)) + "\n\n" + fence("\n".join(_fact(label, text) for label, text in facts if text))
    for remark in remarks(row):
        yield f"{inline(remark[:1].upper() + remark[1:])}.\n"
    if not grades and not remarks(row):
        yield "No assertion gives a reason.\n"
    if len(grades) > _GRADES:
        yield f"{many(len(grades) - _GRADES, 'more assertion')} did not pass.\n"


def _fact(label: str, text: str) -> str:
    lines = visible(clip(text.strip(), _SHORT)).split("\n")
    wrapped = [part for line in lines for part in textwrap.wrap(line, _WIDTH - _LABEL) or [""]]
    return textwrap.indent("\n".join(wrapped), " " * _LABEL).replace(" " * _LABEL, label.ljust(_LABEL), 1)
