"""Failing cases in Markdown, a row of a table each: the case with the line of the config, what came, and why it did not pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gradegate.errors import Origin
from gradegate.reporting.failing import effect, exchange, why
from gradegate.reporting.findings import Finding
from gradegate.reporting.markdown import code, inline, link
from gradegate.reporting.report import Links
from gradegate.reporting.visible import one_line
from gradegate.reporting.wording import EFFECTS, name, place, spot
from gradegate.values.figures import many
from gradegate.values.result import Row


@dataclass(frozen=True, slots=True)
class Scope:
    """Where links go, and what has to be named because there are several of it."""

    links: Links
    suites: bool
    providers: bool
    prompts: bool


@dataclass(frozen=True, slots=True)
class Width:
    """Characters of what came, and of why."""

    got: int
    why: int


COLUMNS = ("", "Case", "Got", "Why")
_NAMED = 3  # cases of one reason that are named
WIDE, NARROW = Width(65, 100), Width(40, 60)


def several(rows: Iterable[Row], links: Links) -> Scope:
    """The scope of a run."""
    seen: tuple[set[str], set[str], set[str]] = set(), set(), set()
    for row in rows:
        for names, value in zip(seen, (row.suite, row.provider, row.prompt_label), strict=True):
            names.add(value)
    return Scope(links, *(len(names) > 1 for names in seen))


def line(finding: Finding, scope: Scope, width: Width) -> tuple[str, ...]:
    """The cells of a row: what it does to the check, the case or all of one reason, what came, and why that is not good enough."""
    row, grade = finding.row, next(iter(finding.grades), None)
    told, (kind, reason) = exchange(row, grade), why(finding, width.why)
    named = [f"**{line_of(it, scope)}**" for it in (row, *finding.alike[: _NAMED - 1])]
    more = 1 + len(finding.alike) - len(named)
    case = (f"{many(len(named) + more, 'case')}: " if finding.alike else "") + ", ".join(named) + (", …" if more else "")
    about = [code(row.provider, 60)] if scope.providers else []
    about += [inline(row.prompt_label, 50)] if scope.prompts else []
    about += [f"turn {told.turn}"] if told.turn else []
    did = EFFECTS[finding.effect]
    reason = inline(reason, 2 * width.why)
    of = f"{name(row)}: " if any(it.output != row.output for it in finding.alike) else ""  # of several answers, whose it is
    return (
        f"{did.sign} {effect(finding) or did.words.lower()}".replace(" ", "&nbsp;", 1),
        "<br>".join(filter(None, (case, " · ".join(filter(None, about))))),
        "" if row.error else inline(one_line(of + told.answered, width.got) or "(an empty answer)", 2 * width.got),
        f"{code(kind, 80)} – {reason}" if kind else reason,  # a colon behind anybody's text could end the name of an emoji
    )


def line_of(row: Row, scope: Scope) -> str:
    """The name of a case, with a link to the line of what did not pass."""
    grade = next(iter(Finding(row).grades), None)
    origin = spot(row, grade) if grade else row.origin
    return link(inline(name(row), 100), scope.links.line(origin.file, origin.line))


def where(origin: Origin, scope: Scope) -> str:
    """A link to a line of a config; by the name of the file alone where there is one config."""
    said = place(origin)
    label = said if scope.suites else said.rpartition("/")[2]
    return link(inline(label, 300), scope.links.line(origin.file, origin.line)) if said else ""
