"""The Markdown page that the pull request comment and the job summary share (``templates/comment.md``).

What decides is in sight, the rest is folded. The parts are rendered in the order of their worth, and each gets the room that is
left. Cases that do not fit are left out, and the page says how many.
"""

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gradegate.reports.delivery.report import Links
from gradegate.reports.format.agent_cases import agent_cases
from gradegate.reports.format.escape import clip, visible
from gradegate.reports.format.markdown import (
    MARKDOWN,
    NOTHING,
    Markdown,
    Render,
    details,
    fence,
    fit,
    paragraphs,
    tidy,
)
from gradegate.reports.view.case import is_fixed
from gradegate.reports.view.findings import (
    Effect,
    Finding,
    count_cases,
    findings_to_read,
    iterate_cases,
    merge_similar,
)
from gradegate.reports.view.wording import OUTCOME_HEADINGS, visible_names
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision
from gradegate.structs import FrozenStruct, replace

_MOST_OPEN = 12  # cases in sight; of more, similar ones are one line, and the rest is folded
_RESERVE = 900  # for folds, and for the sentences that say what was left out
_NAMES_SHARE = 8  # the names of a case's further assertions get an eighth of the page
_SHORT = 400  # characters of a text in sight
_WIDTH = 88  # characters that fit into a comment on GitHub without scrolling
_LABEL = 10  # characters of a label and its gap


class PageForm(FrozenStruct):
    """How long a page may be, in which unit, and whether it lists the cases that passed."""

    limit: int
    measure: Callable[[str], int]
    all_cases: bool

    def fit(
        self, render: Callable[[Any], Markdown], items: Iterable[Any], share: int, header: str = ""
    ) -> list[Markdown]:
        """Render the first items that fit, with their header, into the ``share``-th part of a page."""
        room = self.limit // share - self.measure(header)
        return fit(map(render, items), room, self.measure)

    def fit_notes(
        self,
        render: Callable[[Any], Markdown],
        render_rest: Callable[[int], Markdown],
        notes: Sequence[Any],
    ) -> list[Markdown]:
        """Render a line for each note that fits, and a line for the number of the others."""
        lines = self.fit(render, notes, 12)
        left = len(notes) - len(lines)
        return [*lines, render_rest(left)] if left else lines


class Widths(FrozenStruct):
    """Characters in the line of a case: for the answer, the reason, and the names of further assertions."""

    got: int
    why: int
    names: int


class Scope(FrozenStruct):
    """Which of these a page must name, because there are several."""

    suites: bool
    providers: bool
    prompts: bool

    @classmethod
    def from_rows(cls, rows: Sequence[Row]) -> "Scope":
        """What the rows have several of."""
        return cls(
            len({row.suite for row in rows}) > 1,
            len({row.provider for row in rows}) > 1,
            len({row.prompt_label for row in rows}) > 1,
        )


class CaseLines(FrozenStruct):
    """The lines of the table of cases, in sight and folded, and how many cases found no room."""

    shown: list[Markdown]
    folded: list[Markdown]
    left: int


def render_page(decision: Decision, links: Links, form: PageForm) -> Markdown:
    """Render the page of a decision."""
    scope = Scope.from_rows(decision.run.rows)
    render = _page_macros(decision, links, form, scope)
    render_case = MARKDOWN.macros("case.md", links=links, scope=scope, wrap_facts=_wrap_facts)
    head = tidy(render("head"))
    foot = tidy(render("foot"))
    room = form.limit - form.measure(head + foot) - _RESERVE

    groups = findings_to_read(decision)
    if sum(map(len, groups.values())) > _MOST_OPEN:
        groups = {effect: merge_similar(findings) for effect, findings in groups.items()}

    # A line for each case is worth more than all else. If they do not fit, the lines get shorter.
    for widths in (Widths(65, 100, form.limit // _NAMES_SHARE), Widths(40, 60, 100)):
        lines = _fit_cases(groups, render_case, form, room * 4 // 5, widths)
        if not lines.left:
            break
    cases = tidy(render("case_table", lines.shown, lines.folded, lines.left))
    room -= form.measure(cases)

    agent_room = min(room // 2, form.limit // 5)
    agents = agent_cases(decision, agent_room, form.measure, short=True)
    agents = details("For coding agents", agents)
    room -= form.measure(agents)
    evidence = _fit_evidence(groups, render, render_case, form, room)
    room -= form.measure(evidence)
    all_cases = NOTHING
    if form.all_cases and decision.run.rows:
        all_cases = _fit_all_cases(decision, render, form, room)
    return paragraphs(head, cases, evidence, all_cases, agents, foot)


def render_bare_page(outcome: str, reason: str, text: str, links: Links) -> Markdown:
    """Render a page without a decision. ``outcome`` is a key of ``OUTCOME_HEADINGS``, ``text`` anybody's lines."""
    render = MARKDOWN.macros("opening.md")
    links = replace(links, page="")
    opening = render("opening", outcome, OUTCOME_HEADINGS[outcome].words, "", links)
    return paragraphs(opening, reason, fence(text) if text else "")


def _page_macros(decision: Decision, links: Links, form: PageForm, scope: Scope) -> Render:
    rows = iterate_cases(decision.run.rows) if decision.run.baseline else []
    fixed = [row for _, row in rows if is_fixed(row)]
    return MARKDOWN.macros(
        "comment.md",
        decision=decision,
        links=links,
        scope=scope,
        fixed=visible_names(fixed),
        fit=form.fit,
        fit_notes=form.fit_notes,
    )


# --- the cases ----------------------------------------------------------------------------------------------------------


def _fit_cases(
    groups: Mapping[Effect, Sequence[Finding]],
    render_case: Render,
    form: PageForm,
    room: int,
    widths: Widths,
) -> CaseLines:
    """Render a line for each case that fits."""
    shown: list[Markdown] = []
    folded: list[Markdown] = []
    left = 0
    open_lines = _MOST_OPEN
    for findings in groups.values():
        rendered = (render_case("case_line", finding, widths) for finding in findings)
        lines = fit(rendered, room, form.measure)
        room -= sum(map(form.measure, lines))
        left += count_cases(findings[len(lines) :])
        shown += lines[:open_lines]
        folded += lines[open_lines:]
        open_lines = max(1, open_lines - len(lines))  # of each effect something is in sight
    return CaseLines(shown, folded, left)


def _fit_evidence(
    groups: Mapping[Effect, Sequence[Finding]],
    render: Render,
    render_case: Render,
    form: PageForm,
    room: int,
) -> Markdown:
    """Render what was expected, what came and why, for as many cases as fit. Long texts are added if all cases fit."""
    findings = [finding for group in groups.values() for finding in group]
    room -= form.measure(details("x" * 80, fence("")))
    names = form.limit // _NAMES_SHARE
    for with_texts in (True, False):
        rendered = (render_case("case_block", finding, with_texts, names) for finding in findings)
        blocks = fit(rendered, room, form.measure)
        if len(blocks) == len(findings):
            break
    shown = count_cases(findings[: len(blocks)])
    return paragraphs(render("evidence", blocks, shown, count_cases(findings)))


def _wrap_facts(facts: Iterable[tuple[str, str]]) -> Markdown:
    """Labels and texts in a block of code that needs no scrolling. Empty texts are left out."""
    lines = []
    for label, text in facts:
        if not text:
            continue
        margin = label.ljust(_LABEL)
        for line in visible(clip(text.strip(), _SHORT)).split("\n"):
            for part in textwrap.wrap(line, _WIDTH - _LABEL) or [""]:
                lines.append(margin + part if part.strip() else part)
                margin = " " * _LABEL
    return fence("\n".join(lines))


def _fit_all_cases(decision: Decision, render: Render, form: PageForm, room: int) -> Markdown:
    """Render a table with as many cases as fit, passed ones included."""
    rows = [row for _, row in iterate_cases(decision.run.rows)]
    room -= form.measure(render("all_cases_header"))
    lines = fit((render("all_cases_line", row) for row in rows), room, form.measure)
    return tidy(render("all_cases", lines, len(rows) - len(lines)))
