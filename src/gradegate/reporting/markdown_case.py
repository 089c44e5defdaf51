"""One case that did not pass, in Markdown: what was expected, what came, and why it is not good enough."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from gradegate.reporting.case_line import Scope, where
from gradegate.reporting.failing import exchange
from gradegate.reporting.findings import Finding
from gradegate.reporting.markdown import code, details, fence, inline
from gradegate.reporting.plain import outline, spread
from gradegate.reporting.visible import clip, visible
from gradegate.reporting.wording import called, expected, name, remarks, said, scored, spot
from gradegate.values.figures import many
from gradegate.values.result import Grade, Outcome, Row

_WIDTH = 88  # what fits a comment on GitHub without scrolling
_LABEL = 10  # characters
_SHORT, _LONG = 400, 4000  # characters of one text: in sight, and folded
_GRADES = 20  # of one case
_SIGN = {Outcome.PASS: "✅", Outcome.FAIL: "❌", Outcome.ERROR: "❔"}


def block(finding: Finding, scope: Scope, folded: bool) -> str:
    """One case: its name, each assertion that did not pass, and with ``folded`` the long texts behind a fold."""
    row = finding.row
    about = [f"**{inline(name(row))}**", code(row.suite, 100) if scope.suites else "", code(row.provider, 100) if scope.providers else ""]
    about += [inline(row.prompt_label, 80) if scope.prompts else "", where(row.origin, scope) if row.error else ""]
    parts = [" · ".join(filter(None, about)) + "\n"]
    if finding.row.error:
        parts.append("The target gave no answer:\n\n" + fence(clip(finding.row.error, _SHORT)))
    else:
        parts += _grades(finding, scope)
    if finding.alike:
        names = ", ".join(inline(name(row), 80) for row in finding.alike[:5])
        rest = f" and {len(finding.alike) - 5:,} more" if len(finding.alike) > 5 else ""
        parts.append(f"The same happened in {many(len(finding.alike), 'further case')}: {names}{rest}\n")
    if folded:
        parts += _folded(finding)
    return "\n".join(parts) + "\n"


def _grades(finding: Finding, scope: Scope) -> Iterator[str]:
    grades = finding.grades
    for number, grade in enumerate(grades[:_GRADES]):
        facts = [("expected", expected(grade.assertion))]
        if number == 0:
            told = exchange(finding.row, grade)
            facts.append((f"got ({told.turn})" if told.turn else "got", told.answered or "(an empty answer)"))
        facts.append(("why", grade.reason or "(no reason was given)"))
        yield _grade_line(finding.row, grade, scope) + "\n" + fence("\n".join(_fact(label, text) for label, text in facts if text))
    for remark in remarks(finding.row):
        yield f"{inline(remark[:1].upper() + remark[1:])}.\n"
    if not grades and not remarks(finding.row):
        yield "No assertion gives a reason.\n"
    if len(grades) > _GRADES:
        yield f"{many(len(grades) - _GRADES, 'more assertion')} did not pass.\n"


def _grade_line(row: Row, grade: Grade, scope: Scope) -> str:
    advice = grade.outcome is Outcome.FAIL and not (grade.counts or grade.inner)
    sign = "⚠️" if advice else _SIGN[grade.outcome]
    parts = [f"{sign} {code(called(grade.assertion, grade.metric))} {said(grade)}", scored(grade)]
    return " · ".join(filter(None, [*parts, where(spot(row, grade), scope)])) + "\n"


def _fact(label: str, text: str) -> str:
    lines = visible(clip(text.strip(), _SHORT)).split("\n")
    wrapped = [part for line in lines for part in textwrap.wrap(line, _WIDTH - _LABEL) or [""]]
    return textwrap.indent("\n".join(wrapped), " " * _LABEL).replace(" " * _LABEL, label.ljust(_LABEL), 1)


def _folded(finding: Finding) -> Iterator[str]:
    row = finding.row
    texts = [("Prompt", row.prompt), ("Variables", spread(row.vars)), ("Output", row.output or "")]
    for grade in finding.grades[:_GRADES]:
        about = called(grade.assertion, grade.metric)
        texts.append((f"Expected by {about}", expected(grade.assertion)))
        texts.append((f"Reason of {about}", grade.reason))
        texts.append((f"Evidence of {about}", outline(grade.evidence)))
    # What is in sight already is not worth a second look.
    long = [
        (title, text) for title, text in texts if text and (title.startswith(("Prompt", "Variables", "Evidence")) or len(text) > _SHORT)
    ]
    body = "\n".join(f"{inline(title)}\n\n{fence(clip(text, _LONG))}" for title, text in long)
    if body:
        yield details("Prompt, variables and evidence", body)
