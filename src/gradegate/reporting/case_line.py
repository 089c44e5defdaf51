"""Failing cases in Markdown, a line each: the case, what was asked, why it did not pass, and the line of the config."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gradegate.errors import Origin
from gradegate.reporting.failing import effect, exchange, question, why
from gradegate.reporting.findings import Finding
from gradegate.reporting.markdown import code, inline, link
from gradegate.reporting.report import Links
from gradegate.reporting.wording import name, place, spot
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
    """Characters of what was asked, and of why."""

    asked: int
    why: int


_NAMED = 3  # further cases of one reason that are named
WIDE, NARROW = Width(90, 170), Width(40, 80)


def several(rows: Iterable[Row], links: Links) -> Scope:
    """The scope of a run."""
    seen: tuple[set[str], set[str], set[str]] = set(), set(), set()
    for row in rows:
        for names, value in zip(seen, (row.suite, row.provider, row.prompt_label), strict=True):
            names.add(value)
    return Scope(links, *(len(names) > 1 for names in seen))


def line(finding: Finding, scope: Scope, width: Width) -> str:
    """One item of a list."""
    row, grades = finding.row, finding.grades
    grade = grades[0] if grades else None
    told = exchange(row, grade)
    kind, reason = why(finding, width.why)
    parts = [f"**{inline(name(row), 100)}**"]
    parts += [code(row.provider, 60)] if scope.providers else []
    parts += [inline(row.prompt_label, 50)] if scope.prompts else []
    about = [" · ".join(filter(None, parts)), *filter(None, [effect(finding)])]
    if finding.alike:
        names = ", ".join(inline(name(other), 60) for other in finding.alike)
        about.append(f"and {names if len(finding.alike) <= _NAMED else many(len(finding.alike), 'further case')}")
    about += [f"turn {told.turn}"] if told.turn else []
    if asked := question(row, told.asked, width.asked):
        about.append(f"asked: {inline(asked, 2 * width.asked)}")
    about.append(f"{code(kind, 80)} – {inline(reason, 2 * width.why)}" if kind else inline(reason, 2 * width.why))
    about.append(where(spot(row, grade) if grade else row.origin, scope))
    return f"- {' · '.join(filter(None, about))}\n"


def where(origin: Origin, scope: Scope) -> str:
    """A link to a line of a config; by the name of the file alone where there is one config."""
    said = place(origin)
    label = said if scope.suites else said.rpartition("/")[2]
    return link(inline(label, 300), scope.links.line(origin.file, origin.line)) if said else ""
